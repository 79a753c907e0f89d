"""Days with a mixed fleet and with times, planned by outside solvers."""

from __future__ import annotations

import math

import numpy as np
import pytest

import fixedfleet as ff
from fixedfleet.errors import InputError, MissingPackageError
from fixedfleet.search import SEARCHES, load_search
from fixedfleet.search.outside.whole_day import whole_day
from tests.oracle import optimal_day

TIME_LIMIT = 0.2
PLACES = [[3, 1], [4, -2], [-2, 3], [-3, -1], [1, 4], [0, -4]]
VANS = (
    ff.VehicleType(name="small", count=2, capacity=4, cost_per_distance=1.0),
    ff.VehicleType(
        name="large", count=1, capacity=9, fixed_cost=3.0, cost_per_distance=1.6
    ),
)
SHIFTS = (
    ff.VehicleType(name="early", count=1, capacity=9, shift=(0, 14)),
    ff.VehicleType(name="late", count=2, capacity=9, shift=(5, 24)),
)
WINDOWS = [(2, 6), None, (None, 12), (8, 20), None, (0, 9)]
DAYS = {
    "mixed": {"vehicle_types": VANS},
    "windows": {
        "vehicles": 3,
        "capacity": 9,
        "speed": 1.0,
        "service_times": [0.5] * 6,
        "windows": WINDOWS,
    },
    "shifts": {"vehicle_types": SHIFTS, "speed": 1.3, "service_times": [1] * 6},
    "all": {
        "vehicle_types": [
            ff.VehicleType(count=2, capacity=4, shift=(0, 18)),
            ff.VehicleType(
                count=2,
                capacity=6,
                fixed_cost=2,
                cost_per_distance=1.25,
                shift=(1.5, 22),
            ),
        ],
        "speed": 0.9,
        "service_times": [0.25, 0.5, 0.75, 1, 0.3, 0.1],
        "windows": WINDOWS,
    },
}


def _installed(name: str) -> bool:
    try:
        SEARCHES.get(name)
    except MissingPackageError:
        return False
    return True


PEERS = [name for name in ("pyvrp", "ortools", "vroom") if _installed(name)]


@pytest.fixture(params=DAYS.values(), ids=DAYS.keys())
def day(request: pytest.FixtureRequest) -> ff.Instance:
    """A day of six customers."""
    return ff.Instance(
        depot=(0, 0), customers=PLACES, demands=[2, 2, 1, 3, 2, 1], **request.param
    )


@pytest.fixture(params=PEERS)
def peer(request: pytest.FixtureRequest) -> str:
    """Each solver that plans days, if it is installed here."""
    return request.param


def test_a_day_is_planned_without_faults(solve, peer: str, day: ff.Instance) -> None:
    """Each solver plans each day, and never cheaper than the best plan costs."""
    limits = {"iterations": 500} if peer == "pyvrp" else {"time_limit": TIME_LIMIT}
    plan = solve(peer, day, **limits)
    best = optimal_day(day)
    assert plan is not None and best is not None
    assert plan.check(day) == []
    assert plan.cost(day) >= best.cost(day) * (1 - 1e-6)
    if peer == "pyvrp":
        assert plan.cost(day) == pytest.approx(best.cost(day), rel=1e-4)


def test_a_day_may_begin_with_a_plan(solve, peer: str, day: ff.Instance) -> None:
    """From the best plan, each solver returns a plan that costs as much."""
    best = optimal_day(day)
    assert best is not None
    limits = {"iterations": 1} if peer == "pyvrp" else {"time_limit": TIME_LIMIT}
    plan = solve(peer, day, best, **limits)
    assert plan is not None and plan.check(day) == []
    assert plan.cost(day) == pytest.approx(best.cost(day), rel=1e-4)


def test_solve_plans_a_day_by_a_peer(peer: str, day: ff.Instance) -> None:
    """The solvers can be chosen by name, as for other instances."""
    result = ff.solve(day, time_limit=TIME_LIMIT, search=peer)
    assert result.plan is not None and result.plan.check(day) == []


@pytest.mark.parametrize("name", ["hgs", "command:cat {instance}"])
def test_others_refuse_days(name: str, day: ff.Instance) -> None:
    """What cannot plan such a day says so in one sentence."""
    with pytest.raises(InputError, match="which the instance has"):
        load_search(name, day)


def test_rounding_never_meets_a_window(make_instance) -> None:
    """Times that are not whole are rounded so that no plan becomes feasible by it."""
    rng = np.random.default_rng(3)
    opens = rng.uniform(0, 1, size=8)
    instance = make_instance(
        n=8,
        speed=1 / math.pi,
        service_times=rng.uniform(0, 0.1, size=8),
        windows=np.column_stack((opens, opens + rng.uniform(0.5, 3, size=8))),
    )
    day = whole_day(instance, longest=2**24, largest_sum=2**33, most_fixed=2**40)
    factor = day.times.max() / instance.travel_times.max()
    assert (day.times >= instance.travel_times * factor * (1 - 1e-6)).all()
    scale = day.times[0, 1] / instance.travel_times[0, 1]
    for (begin, end), (opens, closes) in zip(
        day.windows[1:], instance.windows, strict=True
    ):
        assert begin >= opens * scale * (1 - 1e-5)
        assert end is not None and end <= closes * scale * (1 + 1e-5)


def test_decimal_times_stay_exact(make_instance) -> None:
    """Seconds of an hour and tenths are multiplied to whole numbers, not rounded."""
    for unit in (0.1, 1 / 60):
        times = unit * np.arange(81).reshape(9, 9)
        windows = [(unit, 99 * unit)] * 8
        instance = make_instance(n=8, time_matrix=times, windows=windows)
        day = whole_day(instance, longest=2**24, largest_sum=2**33, most_fixed=2**40)
        assert day.times.tolist() == [
            [0 if i == j else 9 * i + j for j in range(9)] for i in range(9)
        ]
        assert day.windows[1] == (1, 99)


def test_fixed_costs_are_in_the_unit_of_distances() -> None:
    """A fixed cost weighs as much against distances as in the instance."""
    instance = ff.Instance(
        depot=(0, 0), customers=PLACES, demands=[1] * 6, vehicle_types=VANS
    )
    day = whole_day(instance, longest=2**24, largest_sum=2**33, most_fixed=2**40)
    small, large = day.types
    assert (small.unit_cost, large.unit_cost) == (10, 16)
    way = 10 * day.distances[0, 1]
    assert large.fixed_cost / way == pytest.approx(3 / math.hypot(3, 1), rel=1e-5)


def _with_fixed_costs(*costs: float) -> ff.Instance:
    """Return a day whose vehicle types differ in nothing but their fixed costs."""
    types = [ff.VehicleType(capacity=30, fixed_cost=cost) for cost in costs]
    places = np.array(PLACES) / math.pi
    return ff.Instance(
        depot=(0, 0), customers=places, demands=[1] * 6, vehicle_types=types
    )


def test_large_fixed_costs_keep_their_ratio():
    """Fixed costs that do not fit make the distances coarser; none is cut."""
    instance = _with_fixed_costs(1e4, 2e4)
    limits = {"longest": 2**31, "largest_sum": 2**31, "most_fixed": 2**32 - 1}
    one, other = (kind.fixed_cost for kind in whole_day(instance, **limits).types)
    assert one < other <= 2**32 - 1
    assert other == pytest.approx(2 * one, rel=1e-3)


def test_a_fixed_cost_beside_which_distances_vanish_is_refused():
    """A vehicle that costs more than the solver can count is an error."""
    limits = {"longest": 2**31, "largest_sum": 2**31, "most_fixed": 2**32 - 1}
    with pytest.raises(InputError, match=r"costs 1e\+15 per use, which is too much"):
        whole_day(_with_fixed_costs(1.0, 1e15), **limits)
