"""Labels of all sizes in one training."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import fixedfleet as ff
from fixedfleet.planning.tour_groups import take_groups
from fixedfleet.training.label_groups import tour_groups
from fixedfleet.training.training_data import SHAPES, fill_buckets


def labelled(n: int, count: int, seed: int, tours: int):
    """Instances with plans of equally long tours, whatever their length."""
    rng = np.random.default_rng(seed)
    batch = ff.InstanceBatch(
        depots=rng.uniform(size=(count, 2)),
        customers=rng.uniform(size=(count, n, 2)),
        demands=np.ones((count, n), dtype=int),
        capacity=-(-n // tours),
        vehicles=tours + 1,
    )
    plans = [ff.Plan(np.array_split(rng.permutation(n) + 1, tours)) for _ in batch]
    return batch, ff.PlanBatch.from_plans(plans)


def test_groups_of_tours_are_labels_of_their_own():
    """Each group has whole tours of its label, and its plan is as long as they are."""
    batch, plans = labelled(30, 6, seed=1, tours=6)
    some, found = tour_groups(batch, plans, 2, seed=3)
    assert len(some) == 12
    assert found.feasible(some).all()
    assert ((found.vehicles() >= 2) & (found.vehicles() < 6)).all()
    assert (some.sizes == 5 * found.vehicles()).all()
    assert set(some.vehicles - found.vehicles()) == {0, 1}
    again, _ = tour_groups(batch, plans, 2, seed=3)
    assert np.array_equal(again.customers, some.customers)


def test_a_group_has_the_customers_of_its_tours():
    """Places, demands and tours are those of the whole instance, renumbered."""
    batch, plans = labelled(12, 1, seed=2, tours=4)
    chosen = np.array([[True, False, True, False]])
    some, found, names = take_groups(batch, plans, np.array([0]), chosen)
    whole, part = plans[0].tours, found[0].tours
    assert [[names[0, c - 1] for c in tour] for tour in part] == [
        list(whole[0]),
        list(whole[2]),
    ]
    assert np.allclose(some.customers[0], batch.customers[0][names[0] - 1])
    lengths = [ff.Plan([tour]).length(batch[0]) for tour in (whole[0], whole[2])]
    assert found.lengths(some)[0] == pytest.approx(sum(lengths))


def test_labels_are_sorted_by_size():
    """Small and large instances come into buckets of their own."""
    labels = [labelled(10, 20, 1, tours=3), labelled(40, 20, 2, tours=5)]
    buckets = fill_buckets(labels, "cpu", batch_size=1, parts=0, seed=0)
    shapes = [(b.labels.num_customers, b.labels.vehicles) for b in buckets]
    assert shapes == list(SHAPES[:2])
    assert [len(bucket.labels) for bucket in buckets] == [20, 20]
    assert buckets[0].batch_size >= buckets[1].batch_size
    batch = buckets[0].labels.batch(torch.arange(3))
    assert batch.features.nodes.sum(1).tolist() == [11, 11, 11]
    assert batch.features.vehicles.sum(1).tolist() == [4, 4, 4]


def test_an_instance_that_is_too_large_is_refused():
    """The error says how large instances may be."""
    with pytest.raises(ff.InputError, match=r"210 customers and 4 .*at most 207"):
        fill_buckets([labelled(210, 2, 1, 3)], "cpu", batch_size=1, parts=0, seed=0)
    with pytest.raises(ff.InputError, match="fewer labels of each size than a batch"):
        fill_buckets([labelled(10, 2, 1, 3)], "cpu", batch_size=64, parts=0, seed=0)
