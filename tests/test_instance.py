"""Tests of Instance and InstanceBatch."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fixedfleet as ff


def fields(**changes):
    """Fields of a small valid instance, with changes."""
    return {
        "depot": (0.0, 0.0),
        "customers": [[3.0, 4.0], [6.0, 8.0]],
        "demands": [1, 2],
        "capacity": 3,
        "vehicles": 1,
    } | changes


def test_distances_are_euclidean_by_default(square):
    """Coordinates give exact Euclidean distances, the depot being location 0."""
    assert square.distances[0, 1] == pytest.approx(np.sqrt(2))
    assert square.distances[1, 2] == 2.0
    assert square.distances.shape == (5, 5)


@pytest.mark.parametrize(
    ("rounding", "expected"), [("none", 2.5), ("round", 3), ("ceil", 3), ("trunc", 2)]
)
def test_each_rounding_convention(rounding, expected):
    """Distances are rounded as asked, halves upwards as TSPLIB does."""
    instance = ff.Instance(
        **fields(customers=[[1.5, 2.0], [0.0, 1.0]], rounding=rounding)
    )
    assert instance.distances[0, 1] == expected


def test_great_circle_distances_are_kilometres():
    """Berlin to Munich is 504 km as the crow flies."""
    instance = ff.Instance(
        **fields(
            depot=(52.5200, 13.4050),
            customers=[[48.1372, 11.5755], [52.5, 13.4]],
            metric="great_circle",
        )
    )
    assert instance.distances[0, 1] == pytest.approx(504.4, abs=1.0)


def test_geo_agrees_with_a_known_tsplib_distance():
    """The first two cities of TSPLIB's burma14 are 153 apart by its GEO formula."""
    instance = ff.Instance(
        **fields(
            depot=(16.47, 96.10),
            customers=[[16.47, 94.44], [20.09, 92.54]],
            metric="geo",
            rounding="round",
        )
    )
    assert instance.distances[0, 1] == 153
    assert instance.distances[0, 2] == 510


def test_an_asymmetric_matrix_is_kept_as_it_is():
    """The distances of a matrix may differ by direction."""
    matrix = [[0, 1, 2], [3, 0, 4], [5, 6, 0]]
    instance = ff.Instance(demands=[1, 1], capacity=2, vehicles=1, matrix=matrix)
    assert instance.distances.tolist() == matrix
    assert instance.metric == "explicit"
    with pytest.raises(ff.InputError, match="no coordinates"):
        _ = instance.coordinates


def test_decimal_demands_are_compared_exactly():
    """0.1 and 0.2 fill a vehicle of 0.3, though their floats sum to more."""
    instance = ff.Instance(**fields(demands=[0.1, 0.2], capacity=0.3))
    assert instance.demand_units.tolist() == [0, 1, 2]
    assert instance.capacity_units == 3
    assert instance.amount(2) == 0.2
    assert ff.Plan([[1, 2]]).is_feasible(instance)


def test_thirds_fill_a_vehicle():
    """Three demands of 10/3 fit into 10: amounts are exact to twelve digits."""
    instance = ff.Instance(
        **fields(demands=[10 / 3] * 3, capacity=10, customers=[[0, 1]] * 3)
    )
    assert ff.Plan([[1, 2, 3]]).is_feasible(instance)


@given(
    st.lists(st.decimals(0, 1000, places=3), min_size=1, max_size=8),
    st.decimals("0.001", 5000, places=2),
)
@settings(max_examples=60, deadline=None)
def test_units_are_the_decimals_scaled(demands, capacity):
    """The whole units are the decimal amounts times one power of ten."""
    if capacity <= 0:
        return
    instance = ff.Instance(
        depot=(0, 0),
        customers=np.zeros((len(demands), 2)),
        demands=[float(q) for q in demands],
        capacity=float(capacity),
        vehicles=1,
    )
    for units, demand in zip(instance.demand_units[1:], demands, strict=True):
        assert int(units) * capacity == demand * instance.capacity_units


def test_smallest_conceivable_fleet_is_rounded_up():
    """⌈Σq/Q⌉ is rounded up, and it is 1 if all demands are zero."""
    assert ff.Instance(**fields(capacity=2)).minimum_vehicles == 2
    assert ff.Instance(**fields(demands=[0, 0])).minimum_vehicles == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"capacity": 0}, "capacity is 0"),
        ({"capacity": float("nan")}, "capacity"),
        ({"capacity": "many"}, "capacity"),
        ({"capacity": "5"}, "capacity is '5', not a number above 0"),
        ({"demands": [1, 10**400]}, "demands: not numbers"),
        ({"vehicles": 0}, "vehicles is 0"),
        ({"vehicles": 1.5}, "vehicles is 1.5"),
        ({"vehicles": 10**20}, "below 2\\^53"),
        ({"demands": []}, "demands"),
        ({"demands": [1, -2]}, "customer 2 has demand -2"),
        ({"demands": [float("inf"), 2]}, "customer 1 has demand inf"),
        ({"demands": [1, 2, 3]}, "not \\(3, 2\\)"),
        (
            {"customers": [[0, 0], [0, float("nan")]]},
            "location 2 .* lies at",
        ),
        ({"customers": [[0, 0], [0, -1e308]]}, "location 2 .* within 1e\\+300"),
        ({"customers": [[0, 0], [0]]}, "without gaps"),
        ({"depot": None}, "only customers has coordinates"),
        ({"depot": None, "customers": None}, "neither coordinates nor"),
        ({"matrix": [[0, 1], [1, 0]]}, "matrix has shape \\(2, 2\\), not \\(3, 3\\)"),
        ({"matrix": [[0, 1, 1], [1, 0, -1], [1, 1, 0]]}, "matrix\\[1, 2\\] is -1"),
        ({"matrix": [[0, 1, 1], [1, 0], [1, 1, 0]]}, "without gaps"),
        ({"names": ["only one"]}, "1 names given for 2 customers"),
        ({"metric": "manhattan"}, "unknown metric 'manhattan'"),
        ({"metric": "manhattan", "matrix": np.ones((3, 3))}, "unknown metric"),
        ({"matrix": np.full((3, 3), 1e308)}, "matrix\\[0, 0\\] is 1e\\+308"),
        ({"rounding": "up"}, "unknown rounding 'up'"),
        ({"metric": "explicit"}, "needs a distance matrix"),
        ({"metric": "great_circle", "depot": (95, 0)}, "latitude 95"),
    ],
)
def test_bad_input_is_named(changes, message):
    """Whatever is wrong with an instance, the message says what and where."""
    with pytest.raises(ff.InputError, match=message):
        ff.Instance(**fields(**changes))


def test_instances_compare_by_value():
    """Two instances are equal if and only if all their fields are equal."""
    assert ff.Instance(**fields()) == ff.Instance(**fields())
    assert ff.Instance(**fields()) != ff.Instance(**fields(vehicles=2))
    assert ff.Instance(**fields()) != "an instance"


def test_arrays_of_an_instance_cannot_be_changed(square):
    """The arrays of an instance are read-only."""
    with pytest.raises(ValueError, match="read-only"):
        square.demands[0] = 5


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
        ff.Instance(**fields()),
        ff.Instance(**fields(rounding="ceil", customers=[[0, 0.5]] * 2)),
        ff.Instance(demands=[1, 1], capacity=2, vehicles=2, matrix=matrix),
        ff.Instance(
            **fields(demands=[0.1, 0.2, 0.3], customers=[[1, 1]] * 3, capacity=0.3)
        ),
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
    instance = ff.Instance(**fields(capacity=1e30))
    batch = ff.InstanceBatch.of([instance])
    assert batch[0].capacity == 1e30
    assert ff.PlanBatch([[1, 2]]).feasible(batch).tolist() == [True]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"depots": [[0.0]]}, "depots has shape"),
        ({"customers": [[[0.0, float("inf")]]]}, "customers\\[0\\] is not finite"),
        ({"demands": [[1, 2]]}, "demands has shape"),
        ({"demands": [[1.5]]}, "demands\\[0, 0\\] is 1.5"),
        ({"demands": [[2**53]]}, "below 2\\^53"),
        ({"capacity": 0}, "capacity\\[0\\] is 0"),
        ({"capacity": 1e300}, "capacity\\[0\\] is 1e\\+300, .* below 2\\^53"),
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


def test_degrees_are_geographic(square):
    """Metrics of degrees are geographic: their distances are kilometres."""
    assert not square.geographic
    assert dataclasses.replace(square, metric="great_circle").geographic
    assert dataclasses.replace(square, metric="geo").geographic


def test_customers_can_be_left_out(square):
    """Names, demands, places, distances and further columns of the others stay."""
    told = dataclasses.replace(
        square, names="abcd", demands=[1, 2, 3, 4], columns={"phone": "01234"}
    )
    rest = told.without([2, 3])
    assert rest == dataclasses.replace(
        told,
        customers=[[1, 1], [-1, 1]],
        demands=[1, 4],
        names="ad",
        columns={"phone": "014"},
    )
    bare = dataclasses.replace(told, matrix=told.distances, depot=None, customers=None)
    assert (bare.without([2, 3]).distances == rest.distances).all()
    with pytest.raises(ff.InputError, match="there is no customer 5, only 1 to 4"):
        told.without([5])
    with pytest.raises(ff.InputError, match="all customers are left out"):
        told.without([1, 2, 3, 4])


def test_great_circle_distances_in_miles():
    """Distances on the globe are kilometres, or miles; they are rounded afterwards."""
    fields = {"demands": [1], "capacity": 1, "vehicles": 1, "metric": "great_circle"}
    berlin, munich = (52.52, 13.405), (48.137, 11.575)
    far = ff.Instance(depot=berlin, customers=[munich], **fields)
    miles = dataclasses.replace(far, length_unit="mi")
    assert miles.distances[0, 1] == pytest.approx(far.distances[0, 1] / 1.609344)
    assert dataclasses.replace(miles, rounding="round").distances[0, 1] == 313
    with pytest.raises(ff.InputError, match="unknown length unit 'feet': choose from"):
        dataclasses.replace(far, length_unit="feet")


def test_a_name_for_the_unit_changes_no_distance(square):
    """Distances of a plane or a matrix stay as they are, whatever their unit."""
    named = dataclasses.replace(square, length_unit="mi")
    assert (named.distances == square.distances).all()


def test_further_columns_have_a_text_per_location(square):
    """A column of the customers' table has a text for the depot and each customer."""
    told = dataclasses.replace(square, columns={"phone": ["", 1, 2, 3, 4]})
    assert told.columns == {"phone": ("", "1", "2", "3", "4")}
    with pytest.raises(ff.InputError, match="4 texts for 5 locations"):
        dataclasses.replace(square, columns={"phone": "abcd"})


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
