"""Tours that a plan must keep."""

from __future__ import annotations

import pytest

import fixedfleet as ff
from fixedfleet.solving.locked_tours import LockedTours

CROSSED = [[1, 3]]  # through the depot: no search would choose it


def test_locked_tours_stay_and_the_rest_is_planned(square):
    """A locked tour comes first, as it is; the others are planned around it."""
    costs = []
    result = ff.solve(
        square,
        0.05,
        locked=CROSSED,
        start=ff.Plan([[4, 2], [1, 3]]),
        on_improvement=lambda _seconds, cost, plan: costs.append(
            (cost, plan.length(square))
        ),
    )
    assert result.plan.tours[0] == (1, 3)
    assert set(result.plan.tours[1]) == {2, 4}
    assert result.feasible
    assert result.cost == pytest.approx(result.plan.length(square))
    assert result.stages[-1].cost == pytest.approx(result.cost)
    assert all(cost == pytest.approx(length) for cost, length in costs)
    assert "1 locked tour; for the rest, " in result.verdict.reason


def test_the_verdict_counts_locked_tours(square):
    """If the other vehicles do not suffice, the smallest fleet is said with locks."""
    locked = ff.Plan([[1]])
    result = ff.solve(square, 0.05, locked=locked)
    assert result.plan is None
    assert result.partial.tours[0] == (1,)
    assert result.verdict.vehicles == 2
    assert result.verdict.smallest == 3
    larger = ff.solve(square, 0.05, locked=locked, guarantee=True)
    assert larger.plan.tours[0] == (1,)
    assert larger.instance.vehicles == larger.plan.vehicles == 3


@pytest.mark.parametrize(
    ("locked", "words"),
    [
        ([[1, 9]], "customer 9 does not exist"),
        ([[1], [1, 2]], "customer 1 served twice"),
        ([[1, 2, 3]], "tour 1 carries 3 of 2"),
        ([[1], [2]], "the locked tours use all 2 vehicles, but 2 customers must still"),
        ([[1, 2], [3, 4]], "none is left to plan"),
    ],
)
def test_tours_that_cannot_be_locked_are_named(square, locked, words):
    """A fault of the locked tours is said before anything is searched."""
    with pytest.raises(ff.InputError, match=words):
        ff.solve(square, 0.05, locked=locked)


def test_a_start_must_have_the_locked_tours(square):
    """A start that breaks a locked tour is refused."""
    with pytest.raises(ff.InputError, match=r"does not have the locked tour \[1, 3\]"):
        ff.solve(square, 0.05, locked=CROSSED, start=ff.Plan([[1, 2], [3, 4]]))


def test_locked_tours_count_in_every_cost(square):
    """Stages, trace and reports have the cost of the whole plan, with vehicles."""
    reported = []
    result = ff.solve(
        square,
        0.05,
        locked=CROSSED,
        vehicle_cost=10,
        on_improvement=lambda _seconds, cost, plan: reported.append((cost, plan)),
    )
    cost = result.plan.cost_v(square, 10)
    assert cost == pytest.approx(20 + 8 * 2**0.5)
    assert result.cost == pytest.approx(cost)
    assert [stage.cost for stage in result.stages][-1] == pytest.approx(cost)
    assert result.trace[-1][1] == pytest.approx(cost)
    assert reported[-1][0] == pytest.approx(cost)
    assert all(c == pytest.approx(p.cost_v(square, 10)) for c, p in reported)


def test_the_verdict_is_about_the_whole_plan(square):
    """Bounds and packings of the verdict have the locked tours."""
    verdict = ff.solve(square, 0.05, locked=CROSSED).verdict
    assert (verdict.lower_bound, verdict.upper_bound) == (2, 2)
    for packing in (verdict.packing, verdict.smallest_packing):
        assert packing.tours[0] == (1, 3)
        assert packing.is_feasible(square)
    hopeless = ff.Instance(
        depot=(0, 0),
        customers=[[0, 1], [0, 2]],
        demands=[1, 9],
        capacity=5,
        vehicles=2,
    )
    verdict = ff.solve(hopeless, 0.05, locked=[[1]]).verdict
    assert (verdict.lower_bound, verdict.upper_bound) == (3, None)
    assert verdict.packing is verdict.smallest_packing is None


def test_one_vehicle_is_enough_for_the_rest(square):
    """A locked tour may use all vehicles but one; without costs it has its length."""
    locks = LockedTours(CROSSED, square)
    assert (locks.rest.vehicles, locks.rest.num_customers) == (1, 2)
    costs = []
    report = locks.reporting_whole_plans(
        lambda _seconds, cost, _plan: costs.append(cost)
    )
    report(0.0, 1.0, ff.Plan([[1, 2]]))
    assert costs == [pytest.approx(1 + 4 * 2**0.5)]
    assert locks.reporting_whole_plans(None) is None


def mixed():
    """A small and two large vans for four customers."""
    return ff.Instance(
        depot=(0, 0),
        customers=[(1, 0), (2, 0), (3, 0), (4, 0)],
        demands=[1, 1, 2, 2],
        vehicle_types=[
            ff.VehicleType(name="small", capacity=2),
            ff.VehicleType(name="large", count=2, capacity=4, fixed_cost=5),
        ],
    )


def test_locked_tours_keep_their_vehicles_and_the_rest_has_the_others():
    """If the only small van is locked, the rest is planned for the large ones."""
    locked = ff.Plan([[3]], [0])
    result = ff.solve(mixed(), 1, locked=locked, search="none")
    assert result.plan.tours[0] == (3,)
    assert result.plan.vehicle_types[0] == 0
    assert set(result.plan.vehicle_types[1:]) == {1}
    assert result.plan.check(mixed()) == []
    assert result.instance == mixed()


def test_a_start_with_locked_tours_keeps_its_vehicle_types():
    """The other tours of the start are those of the rest."""
    start = ff.Plan([[3], [1, 2, 4]], [0, 1])
    locked = ff.Plan([[3]], [0])
    result = ff.solve(mixed(), 1, locked=locked, start=start, search="none")
    assert result.plan == start


def test_a_start_cannot_use_a_vehicle_that_is_locked():
    """The start's tour is not given another vehicle in silence."""
    start = ff.Plan([[1, 2], [3], [4]], [0, 1, 1])
    locked = ff.Plan([[3]], [0])  # in the start, it has a large van
    with pytest.raises(ff.InputError, match="needs a vehicle of type 'small'"):
        ff.solve(mixed(), 1, locked=locked, start=start, search="none")


def test_locked_tours_of_a_mixed_fleet_need_their_vehicle_types():
    """Which vehicles are left would not be known."""
    with pytest.raises(ff.InputError, match="lock a Plan with vehicle types"):
        ff.solve(mixed(), 1, locked=[[3]], search="none")


def test_the_guarantee_adds_vehicles_beside_locked_tours():
    """The added vehicles are in the fleet of the result."""
    instance = mixed().with_vehicle_types(
        [ff.VehicleType(name="small", capacity=2, count=2, fixed_cost=1)]
    )
    locked = ff.Plan([[3]], [0])
    result = ff.solve(instance, 1, locked=locked, guarantee=True, search="none")
    assert result.instance.fleet[0].count == 3
    assert result.plan.tours[0] == (3,)
    assert result.plan.check(result.instance) == []
    assert result.document().vehicles == 2
