"""The verdict for many instances at once."""

from __future__ import annotations

import numpy as np
import pytest

import fixedfleet as ff
from fixedfleet import generate
from fixedfleet.fleet import assess_fleet
from fixedfleet.fleet.batch import assess_batch, best_fit

# No bound tells whether four vehicles of 24 carry these; no packing into four exists.
HARD = [7, 6, 10, 11, 5, 7, 7, 5, 6, 10, 11, 10]


@pytest.mark.parametrize("listed", [False, True])
def test_a_batch_is_judged_as_its_instances_are(listed):
    """Statuses are those of each instance alone, and the packings prove them."""
    batch = generate.uniform(20, 200, seed=1, reject=False)
    given = ff.InstanceBatch.of(list(batch)) if listed else batch
    verdict = assess_batch(given, time_limit=1)
    alone = [assess_fleet(instance, time_limit=1) for instance in batch]
    assert verdict.statuses.tolist() == [one.status for one in alone]
    assert {"feasible", "impossible"} == set(verdict.statuses)
    np.testing.assert_array_equal(verdict.packings.feasible(batch), verdict.feasible)
    row, reason = next(iter(verdict.reasons.items()))
    assert reason == alone[row].reason


def test_sizes_and_decimals_mix():
    """Instances of several sizes and with decimal demands are packed exactly."""
    instances = [
        ff.Instance(
            depot=(0, 0),
            customers=[[0, 1]] * len(demands),
            demands=demands,
            capacity=0.3,
            vehicles=2,
        )
        for demands in ([0.1, 0.2, 0.3], [0.1, 0.2], [0.2, 0.2, 0.2], [0.4])
    ]
    verdict = assess_batch(ff.InstanceBatch.of(instances))
    assert verdict.statuses.tolist() == [
        "feasible", "feasible", "impossible", "impossible",
    ]  # fmt: skip
    assert verdict.packings[0].check(instances[0]) == []
    assert "alone exceeds a vehicle" in verdict.reasons[3]


def test_the_exact_search_is_for_the_rest():
    """What quick packings leave open is undecided without time, impossible with it."""
    batch = ff.InstanceBatch(
        depots=[[0, 0]],
        customers=[[[0, 1]] * len(HARD)],
        demands=[HARD],
        capacity=24,
        vehicles=4,
    )
    assert assess_batch(batch, time_limit=0).statuses.tolist() == ["undecided"]
    assert assess_batch(batch, time_limit=30).statuses.tolist() == ["impossible"]
    assert assess_batch(batch, time_limit=0).packings[0].tours == ()


def test_the_smallest_packings_use_the_fewest_vehicles():
    """Asked for it, packings are as small as an exact search finds them."""
    batch = generate.uniform(20, 60, seed=5).with_vehicles(7)
    verdict = assess_batch(batch, time_limit=1, smallest=True)
    fewest = [assess_fleet(instance).smallest for instance in batch]
    assert verdict.packings.vehicles().tolist() == fewest


def test_best_fit_opens_a_vehicle_only_when_it_must():
    """Each demand goes where it leaves the least room."""
    batch = ff.InstanceBatch(
        depots=np.zeros((3, 2)),
        customers=np.zeros((3, 4, 2)),
        demands=[[5, 4, 3, 3], [6, 6, 6, 0], [8, 0, 0, 0]],
        capacity=[8, 6, 8],
        vehicles=[3, 2, 1],
        sizes=[4, 4, 2],
    )
    plans, packed = best_fit(batch)
    assert packed.tolist() == [True, False, True]
    assert plans[0].tours == ((1, 3), (2, 4))
    assert plans[2].tours == ((1, 2),)


def test_nothing_is_judged_at_once():
    """No instances give no verdicts."""
    assert len(assess_batch(ff.InstanceBatch.of([])).statuses) == 0
