"""Tests of InstanceBatch."""

from __future__ import annotations

import numpy as np
import pytest

import fixedfleet as ff


def small(**changes) -> ff.Instance:
    """An instance of two customers, with changes."""
    fields = {"demands": [1, 2], "capacity": 3, "vehicles": 1, "depot": (0.0, 0.0)}
    return ff.Instance(**fields | {"customers": [[3.0, 4.0], [6.0, 8.0]]} | changes)


def test_a_batch_gives_its_instances(square):
    """A row of a batch is the instance it was made of."""
    batch = ff.InstanceBatch(
        depots=[square.depot] * 3,
        customers=[square.customers] * 3,
        demands=[square.demands] * 3,
        capacity=2,
        vehicles=[2, 3, 4],
    )
    assert batch[0] == square
    assert [instance.vehicles for instance in batch] == [2, 3, 4]
    assert batch[np.array([2])][0].vehicles == 4
    assert batch.with_vehicles(7)[1].vehicles == 7
    with pytest.raises(IndexError):
        batch[3]


def mixed():
    """Return instances that differ in size, distances and kind of demands."""
    matrix = np.array([[0, 3, 4], [9, 0, 5], [4, 5, 0]])
    return [
        small(),
        small(rounding="ceil", customers=[[0, 0.5]] * 2),
        ff.Instance(demands=[1, 1], capacity=2, vehicles=2, matrix=matrix),
        small(demands=[0.1, 0.2, 0.3], customers=[[1, 1]] * 3, capacity=0.3),
    ]


def test_a_batch_of_any_instances_gives_them_back():
    """Sizes, distances, roundings and decimal demands may differ within a batch."""
    batch = ff.InstanceBatch.of(mixed())
    assert list(batch) == mixed()
    assert batch.sizes.tolist() == [2, 2, 2, 3]
    assert batch.demands[3].tolist() == [1, 2, 3]
    assert batch.capacity.tolist() == [3, 3, 2, 3]
    fewest = [one.minimum_vehicles for one in mixed()]
    assert batch.minimum_vehicles.tolist() == fewest
    assert batch.euclidean.tolist() == [True, False, False, True]
    assert repr(batch) == "InstanceBatch(4 instances, 2 to 3 customers)"
    assert ff.InstanceBatch.of(batch) is batch
    with pytest.raises(ff.InputError, match="vehicles has shape"):
        batch.with_vehicles([1, 2])
    assert [one.vehicles for one in batch.with_vehicles([5, 6, 7, 8])] == [5, 6, 7, 8]


def test_a_slice_or_an_array_of_rows_gives_a_batch():
    """Rows of a batch are a batch again, padded to the largest of them."""
    batch = ff.InstanceBatch.of(mixed())
    assert batch[:3] == ff.InstanceBatch.of(mixed()[:3])
    assert batch[:3].num_customers == 2
    assert list(batch[np.array([3, 0])]) == [mixed()[3], mixed()[0]]
    assert len(batch[batch.euclidean]) == 2
    assert len(batch[:0]) == len(ff.InstanceBatch.of([])) == 0


def test_rows_of_arrays_may_be_shorter():
    """Entries beyond an instance's size are padding at the depot."""
    batch = ff.InstanceBatch(
        depots=[[5, 5], [6, 6]],
        customers=np.ones((2, 3, 2)),
        demands=[[1, 1, 1], [1, 0, 0]],
        capacity=4,
        vehicles=1,
        sizes=[3, 1],
    )
    assert batch.customers[1].tolist() == [[1, 1], [6, 6], [6, 6]]
    assert [one.num_customers for one in batch] == [3, 1]
    assert batch[1:] == batch[np.array([False, True])]
    assert batch[1:].num_customers == 1
    assert batch == ff.InstanceBatch.of(list(batch)) != batch[:1]
    with pytest.raises(ff.InputError, match="a table needs instances with equally"):
        batch.require_plain("a table")


@pytest.mark.parametrize(
    ("row", "message"), [(1, "rounding ceil"), (2, "explicit"), (3, "whole-number")]
)
def test_what_arrays_cannot_hold_is_named(row, message):
    """Instances that arrays alone cannot describe are refused with the reason."""
    ff.InstanceBatch.of(mixed()[:1]).require_plain("a table")
    with pytest.raises(ff.InputError, match=message):
        ff.InstanceBatch.of(mixed()[row : row + 1]).require_plain("a table")


def test_a_batch_holds_instances_only():
    """Anything but an instance is refused with its row."""
    with pytest.raises(ff.InputError, match="instance 1 is a str, not an Instance"):
        ff.InstanceBatch.of([mixed()[0], "tour"])


def test_a_capacity_beyond_64_bits_is_no_bound():
    """A capacity larger than any load fits into a batch's arrays."""
    instance = small(capacity=1e30)
    batch = ff.InstanceBatch.of([instance])
    assert batch[0].capacity == 1e30
    assert ff.PlanBatch([[1, 2]]).feasible(batch).tolist() == [True]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"depots": [[0.0]]}, "depots has shape"),
        (
            {"customers": [[[0.0, float("inf")]]]},
            "customers\\[0, 0, 1\\] is inf, not a number",
        ),
        ({"demands": [[1, 2]]}, "demands has shape"),
        ({"demands": [[1.5]]}, "demands\\[0, 0\\] is 1.5"),
        ({"demands": [[2**53]]}, "below 2\\^53"),
        ({"capacity": 0}, "capacity\\[0\\] is 0"),
        (
            {"capacity": 1e300},
            "capacity\\[0\\] is 1e\\+300, .* below 2\\^53",
        ),
        ({"vehicles": [1, 2]}, "vehicles has shape"),
        ({"sizes": 2}, "sizes has 2, customers has N = 1"),
        ({"sizes": [0]}, "sizes\\[0\\] is 0"),
        (
            {"customers": [[[1.0, 1.0]] * 2], "demands": [[1, 1]], "sizes": 1},
            "demands\\[0\\] has a demand behind its 1 customers",
        ),
    ],
)
def test_a_bad_batch_is_named(changes, message):
    """Whatever is wrong with a batch, the message says what and where."""
    good = {
        "depots": [[0.0, 0.0]],
        "customers": [[[1.0, 1.0]]],
        "demands": [[1]],
        "capacity": 1,
        "vehicles": 1,
    }
    with pytest.raises(ff.InputError, match=message):
        ff.InstanceBatch(**(good | changes))


def test_batches_are_put_together_in_order(square):
    """Batches of arrays and of instances, of any sizes, become one batch."""
    from fixedfleet import generate

    small, large = generate.uniform(20, 3, seed=1), generate.uniform(50, 2, seed=2)
    both = ff.InstanceBatch.concatenate([small, large[:0], large])
    assert list(both) == [*small, *large]
    assert both.sizes.tolist() == [20] * 3 + [50] * 2
    mixed = ff.InstanceBatch.concatenate([small, ff.InstanceBatch.of([square])])
    assert list(mixed) == [*small, square]
    assert mixed[-1] is square
    assert ff.InstanceBatch.concatenate([small[:2], small[2:]]) == small
    assert len(ff.InstanceBatch.concatenate([])) == 0
