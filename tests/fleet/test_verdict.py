"""Tests of the verdict on a fleet."""

from __future__ import annotations

import subprocess
import sys
from random import Random

import numpy as np
import pytest
import vrplib
from hypothesis import given, settings
from hypothesis import strategies as st

import fixedfleet as ff
from fixedfleet import generate
from fixedfleet.deadline import Deadline
from fixedfleet.fleet import (
    assess_batch,
    assess_fleet,
    exact_packing,
    load_exact_packing,
    pack_quickly,
    quick_packing_size,
)

# By sum and bound four vehicles of 24 carry these; in truth it takes five.
HARD = [7, 6, 10, 11, 5, 7, 7, 5, 6, 10, 11, 10]


def instance(demands, capacity, vehicles, **fields):
    customers = [[index, 1] for index in range(len(demands))]
    return ff.Instance(
        depot=(0, 0),
        customers=customers,
        demands=demands,
        capacity=capacity,
        vehicles=vehicles,
        **fields,
    )


@st.composite
def tasks(draw):
    capacity = draw(st.integers(1, 30))
    sizes = st.integers(0, capacity + draw(st.sampled_from([0, 0, 0, 1])))
    demands = draw(st.lists(sizes, min_size=1, max_size=9))
    scale = draw(st.sampled_from([1, 1, 0.1, 0.25, 3, 1e9]))
    vehicles = draw(st.integers(1, 11))
    return demands, capacity, vehicles, scale


@pytest.mark.slow
@given(tasks())
@settings(deadline=None, max_examples=200)
def test_verdict_agrees_with_brute_force(fewest, task):
    """Status and smallest fleet agree with trying every packing."""
    demands, capacity, vehicles, scale = task
    asked = instance(np.array(demands) * scale, capacity * scale, vehicles)
    verdict = assess_fleet(asked, time_limit=30)
    if max(demands) > capacity:
        assert verdict.status == "impossible"
        assert verdict.smallest is verdict.upper_bound is verdict.packing is None
        assert "alone exceeds a vehicle" in verdict.reason
        return
    needed = fewest(demands, capacity)
    assert verdict.status == ("feasible" if vehicles >= needed else "impossible")
    assert verdict.smallest == verdict.lower_bound == verdict.upper_bound == needed
    assert verdict.smallest_packing.check(asked.with_vehicles(needed)) == []
    if verdict.status == "feasible":
        assert verdict.packing.check(asked) == []
    else:
        assert verdict.packing is None


@pytest.mark.slow
def test_tight_fleets_agree_with_brute_force(fewest):
    """The hardest demands to pack, from a fifth to half a vehicle, are decided."""
    rng, exhausted = Random(1), 0
    for _ in range(150):
        capacity = rng.randint(20, 60)
        demands = [rng.randint(capacity // 5, capacity // 2) for _ in range(9)]
        needed = fewest(demands, capacity)
        for vehicles in range(1, needed + 1):
            verdict = assess_fleet(instance(demands, capacity, vehicles), time_limit=30)
            assert verdict.smallest == needed
            assert (verdict.status == "feasible") == (vehicles == needed)
            exhausted += "ruled out" in verdict.reason
    assert exhausted  # or the exact search was not tested


@pytest.mark.parametrize("n", [20, 50, 100])
def test_verdict_on_the_test_sets_agrees_with_another_method(fits, n):
    """One vehicle less than the sum needs is impossible; that many and one more are
    decided as an independent search decides them, with a packing that holds."""
    batch = generate.test_set(n, reject=False)
    for row in range(0, 400, 10):
        asked = batch[row]
        for vehicles in range(asked.minimum_vehicles - 1, asked.minimum_vehicles + 2):
            verdict = assess_fleet(asked.with_vehicles(vehicles))
            fit = fits(asked.demands.tolist(), asked.capacity, vehicles)
            assert verdict.status == ("feasible" if fit else "impossible")
            if fit:
                assert verdict.packing.check(asked.with_vehicles(vehicles)) == []
            least = verdict.smallest
            assert verdict.smallest_packing.check(asked.with_vehicles(least)) == []


def test_set_a_needs_the_vehicles_of_its_names(shared):
    """Each of Augerat's instances fits the fleet of its name, and no smaller one."""
    paths = sorted((shared / "cvrplib" / "A").glob("*.vrp"))
    assert len(paths) == 10
    for path in paths:
        data = vrplib.read_instance(path, compute_edge_weights=False)
        named = int(path.stem.partition("-k")[2])
        asked = instance(data["demand"][1:], data["capacity"], named)
        verdict = assess_fleet(asked)
        assert (verdict.status, verdict.smallest) == ("feasible", named), path.name
        assert verdict.packing.check(asked) == []
        less = assess_fleet(asked.with_vehicles(named - 1))
        assert less.status == "impossible", path.name


@pytest.mark.parametrize("name", ["X-n599-k92", "X-n670-k130", "X-n819-k171"])
def test_large_instances_are_decided(shared, name):
    """Instances with hundreds of customers need exactly the fleet of their name."""
    path = shared / "cvrplib" / "X" / f"{name}.vrp"
    data = vrplib.read_instance(path, compute_edge_weights=False)
    named = int(name.partition("-k")[2])
    asked = instance(data["demand"][1:], data["capacity"], named)
    verdict = assess_fleet(asked, time_limit=30)
    assert (verdict.status, verdict.smallest) == ("feasible", named)
    assert verdict.packing.check(asked) == []


def test_one_customer_alone_exceeds_a_vehicle():
    """A customer that no vehicle can serve is named, and no fleet is offered."""
    asked = instance([3, 45, 2], 40, 7, names=["Ash", "Birch", "Cedar"])
    verdict = assess_fleet(asked)
    assert verdict.reason == (
        "customer Birch alone exceeds a vehicle: it demands 45 of 40"
    )
    assert str(verdict).endswith("no fleet suffices")
    assert "; so do 2 more" in assess_fleet(instance([9, 9, 9], 8, 1)).reason
    assert "; so does 1 more" in assess_fleet(instance([9, 8, 9], 8, 1)).reason


@pytest.mark.parametrize(
    ("demands", "capacity", "vehicles", "reason"),
    [
        ([40] * 6 + [43], 44, 6, "the demands sum to 283, but the fleet carries 264"),
        ([0.1, 0.2, 0.3], 0.3, 1, "the demands sum to 0.6, but the fleet carries 0.3"),
        (
            [5, 15, 24, 11, 6, 18, 25],
            28,
            4,
            "every way to pack the demands into 4 vehicles was ruled out",
        ),
        ([6, 6, 7, 1], 10, 2, "the Martello–Toth bound is 3 vehicles"),
        (
            [2, 2, 2],
            3,
            2,
            "every demand is a multiple of 2, so a vehicle carries at most 2 of "
            "3, and the demands sum to 6, but the fleet carries 4",
        ),
    ],
)
def test_the_proof_of_impossible(demands, capacity, vehicles, reason):
    """``impossible`` comes with the simplest proof, in the unit of the instance."""
    verdict = assess_fleet(instance(demands, capacity, vehicles))
    assert (verdict.status, verdict.reason) == ("impossible", reason)


def test_the_proof_by_exhaustion_and_the_undecided():
    """If no bound decides, the exact search does; without time it is undecided."""
    verdict = assess_fleet(instance(HARD, 24, 4), time_limit=0)
    assert verdict.status == "undecided"
    assert verdict.packing is verdict.smallest is None
    assert (verdict.lower_bound, verdict.upper_bound) == (4, 5)
    assert "4 to 5 vehicles, undecided" in str(verdict)
    verdict = assess_fleet(instance(HARD, 24, 4), time_limit=30)
    assert verdict.reason == (
        "every way to pack the demands into 4 vehicles was ruled out"
    )
    assert verdict.smallest == 5


def test_a_fleet_that_suffices_may_leave_the_smallest_open():
    """The limit for the smallest fleet counts only if the fleet is known to suffice."""
    verdict = assess_fleet(instance(HARD, 24, 5), time_limit=30, smallest_limit=0)
    assert (verdict.status, verdict.smallest) == ("feasible", None)
    verdict = assess_fleet(instance(HARD, 24, 4), time_limit=30, smallest_limit=0)
    assert (verdict.status, verdict.smallest) == ("impossible", 5)


def test_decimal_demands_fit_to_the_last_digit():
    """Decimal demands that fill a vehicle exactly do fit."""
    asked = instance([0.1, 0.2, 0.7, 0.3, 0.6, 0.1], 1.0, 2)
    assert assess_fleet(asked).status == "feasible"


def test_zero_demands_need_one_vehicle():
    """Customers with demand zero are served, and one vehicle is enough for them."""
    verdict = assess_fleet(instance([0, 0, 0], 5, 9))
    assert verdict.smallest == 1
    assert verdict.packing.tours == ((1, 2, 3),)


def test_the_printed_verdict():
    """The verdict prints as two lines: status with proof, and the smallest fleet."""
    assert str(assess_fleet(instance([5, 5, 5, 5], 10, 1))) == (
        "1 vehicle: impossible, the demands sum to 20, but the fleet carries 10\n"
        "the smallest fleet that suffices: 2 vehicles"
    )
    assert str(assess_fleet(instance([5, 5, 5, 5], 10, 3))) == (
        "3 vehicles: feasible, the demands fit into 2 vehicles, as the packing shows\n"
        "the smallest fleet that suffices: 2 vehicles"
    )


@pytest.mark.parametrize("time_limit", [-1, float("nan")])
def test_a_wrong_time_limit_is_named(square, time_limit):
    """A time limit is a number of at least 0."""
    with pytest.raises(ff.InputError, match=f"time limit is {time_limit} s"):
        assess_fleet(square, time_limit=time_limit)


@pytest.mark.slow
def test_the_exact_solver_is_not_imported_without_need():
    """A verdict that bounds and quick packings settle does not load OR-Tools."""
    code = (
        "import sys; import fixedfleet as ff;"
        "asked = ff.Instance(matrix=[[0] * 4] * 4, demands=[4, 5, 6], capacity=10,"
        " vehicles=2);"
        "assert ff.assess_fleet(asked).smallest == 2;"
        "assert not any(name.startswith('ortools') for name in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


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
    """The exact search decides what quick packings leave undecided."""
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
    """On request, packings use the fewest vehicles."""
    batch = generate.uniform(20, 60, seed=5).with_vehicles(7)
    verdict = assess_batch(batch, time_limit=1, smallest=True)
    fewest = [assess_fleet(instance).smallest for instance in batch]
    assert verdict.packings.vehicles().tolist() == fewest


def test_nothing_is_judged_at_once():
    """No instances give no verdicts."""
    assert len(assess_batch(ff.InstanceBatch.of([])).statuses) == 0


@pytest.fixture
def loads(monkeypatch):
    """How often the exact solver was loaded; the search itself decides nothing."""
    loads = []
    monkeypatch.setattr(exact_packing, "load", lambda: loads.append(1))
    monkeypatch.setattr(exact_packing, "pack_exactly", lambda *_: "undecided")
    return loads


@pytest.mark.parametrize(("limit", "times"), [({}, 1), ({"time_limit": 0}, 0)])
def test_the_solver_is_loaded_before_the_clock_starts(loads, limit, times):
    """It is loaded once if an exact search may run, and not without time for it."""
    assert assess_fleet(instance(HARD, 24, 4), **limit).status == "undecided"
    assert len(loads) == times


@pytest.mark.parametrize(("limit", "times"), [({}, 1), ({"time_limit": 0}, 0)])
def test_for_a_mixed_fleet_the_solver_is_loaded_as_early(
    loads, monkeypatch, limit, times
):
    """Without time for the exact search, nothing is loaded for it."""
    monkeypatch.setattr(exact_packing, "pack_mixed", lambda *_: "undecided")
    kinds = [ff.VehicleType(capacity=10), ff.VehicleType(capacity=11)]
    asked = instance([6, 6, 6], None, None, vehicle_types=kinds)
    assert assess_fleet(asked, **limit).status == "undecided"
    assert len(loads) == times


def test_an_undecided_verdict_says_its_limit(loads):
    """The default limit is 1 s for an instance, and 0.1 s for each of a batch."""
    asked = instance(HARD, 24, 4)
    assert "within the limit of 1 s" in assess_fleet(asked).reason
    verdict = assess_batch(ff.InstanceBatch.of([asked]))
    assert "within the limit of 0.1 s" in verdict.reasons[0]


def test_fleets_that_suffice_need_no_search(loads):
    """Unless the smallest packings are asked for, best fit decides about them."""
    batch = ff.InstanceBatch.of([instance(HARD, 24, 5)])
    assert assess_batch(batch).feasible.all()
    assert loads == []
    assess_batch(batch, smallest=True)
    assert loads == [1]


@pytest.mark.parametrize(
    ("demands", "size"), [([0, 0], 1), ([3], 1), ([3, 4], 2), ([3, 6], None)]
)
def test_the_size_of_a_quick_packing(demands, size):
    """It is at least one vehicle, and None if a demand exceeds a vehicle."""
    assert quick_packing_size(instance(demands, 5, 1)) == size


def test_the_size_of_a_quick_packing_into_a_mixed_fleet():
    """It is the number of vehicles that are used, and None if no packing is found."""
    kinds = [ff.VehicleType(capacity=4), ff.VehicleType(capacity=6)]
    for demands, size in (
        ([0, 0], 1),
        ([3], 1),
        ([4, 6], 2),
        ([5, 5], None),
        ([7], None),
    ):
        asked = instance(demands, None, None, vehicle_types=kinds)
        assert quick_packing_size(asked) == size


@pytest.mark.parametrize(
    ("demands", "vehicles", "times"), [(HARD, 4, 1), (HARD, 7, 1), ([25], 4, 0)]
)
def test_the_solver_is_loaded_early_only_if_it_may_be_needed(
    loads, demands, vehicles, times
):
    """It may be needed unless quick packings, or a demand, have decided."""
    load_exact_packing(instance(demands, 24, vehicles))
    load_exact_packing(instance([5, 5, 5], 10, 2))
    assert len(loads) == times


def test_with_times_no_search_for_the_smallest_fleet(monkeypatch):
    """If the fleet suffices for the demands, the exact search has nothing to do."""
    monkeypatch.setattr(exact_packing, "pack_exactly", lambda *_: pytest.fail("search"))
    day = instance(
        HARD,
        None,
        None,
        vehicle_types=[ff.VehicleType(capacity=24, count=5, shift=(0, 900))],
        speed=1,
    )
    assert assess_fleet(day, time_limit=30).status == "feasible"


def test_a_plan_confirms_an_undecided_verdict_on_its_fleet():
    """The verdict becomes feasible, with the plan as its proof."""
    asked = instance(HARD, 24, 4)
    plan = ff.Plan([[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12]])
    verdict = assess_fleet(asked, time_limit=0)
    found = verdict.confirmed_by(plan, asked)
    assert (found.status, found.upper_bound) == ("feasible", 4)
    assert found.reason == "the plan shows that the fleet suffices"
    assert found.packing == found.smallest_packing == plan
    assert found.advice == "the plan uses 4 vehicles"
    # A plan for a larger fleet says nothing about the fleet that was judged.
    assert verdict.confirmed_by(plan, asked.with_vehicles(5)) is verdict
    proven = assess_fleet(asked, time_limit=30)
    assert proven.confirmed_by(plan, asked) is proven
    enough = asked.with_vehicles(6)
    feasible = assess_fleet(enough, time_limit=0)
    assert feasible.confirmed_by(plan, enough).reason == feasible.reason


def test_the_repr_says_how_many_vehicles_are_needed():
    """It is what a notebook shows."""
    said = repr(assess_fleet(instance([1, 1, 1], capacity=2, vehicles=3)))
    assert "at least 2 needed, 2 suffice" in said


def test_the_repr_of_a_batch_says_how_many_fleets_suffice():
    """It is what a notebook shows."""
    batch = ff.InstanceBatch.of([instance([3], 4, 1), instance([3, 3], 4, 1)])
    assert repr(assess_batch(batch)) == "BatchVerdict(2 fleets, 1 feasible)"


def test_the_smallest_fleet_of_one_vehicle_type_is_taken_and_given_back():
    """An instance can have the smallest fleet that suffices, and its own again."""
    asked = instance([3, 3, 3], 4, 2)
    verdict = assess_fleet(asked)
    assert verdict.enlarge(asked).vehicles == 3
    assert verdict.asked(verdict.enlarge(asked)) == asked
    hopeless = instance([5], 4, 2)
    assert assess_fleet(hopeless).enlarge(hopeless) is hopeless


def test_a_quick_packing_into_equal_vehicles_is_within_the_fleet():
    """There is none if it needs more vehicles, or if a demand exceeds one."""
    enough = instance([3, 3], 4, 2)
    assert pack_quickly(enough, Deadline()).check(enough) == []
    assert pack_quickly(instance([3, 3], 4, 1), Deadline()) is None
    assert pack_quickly(instance([5], 4, 1), Deadline()) is None
