"""Ruin and recreate with vehicle types and times, and what it keeps of a plan."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import fixedfleet as ff
from fixedfleet.search import SEARCHES, Deadline, SearchTask, improve
from fixedfleet.search import cpu_arrays as arrays
from fixedfleet.search import day_arrays as days
from fixedfleet.search.auto import auto_search
from fixedfleet.search.day_kernel import advance_day
from fixedfleet.search.ruin_recreate import (
    RuinRecreateParameters,
    _begin,
    _best_plan,
    load_day_kernel,
    ruin_recreate,
)
from fixedfleet.search.side_by_side import search_side_by_side
from fixedfleet.search.task import drop_excess
from tests.oracle import optimal_day


def draw_day(seed: int, n: int, *, timed: bool, decimals: int = 0) -> ff.Instance:
    """Draw a day with three types of vehicles; timed ones also differ in shifts."""
    rng = np.random.default_rng(seed)
    matrix = np.round(rng.uniform(1, 9, size=(n + 1, n + 1)), decimals)
    opens = np.round(rng.uniform(0, 30, size=n), decimals)
    times = {
        "time_matrix": np.round(rng.uniform(1, 9, size=(n + 1, n + 1)), decimals),
        "service_times": np.round(rng.uniform(0, 3, size=n), decimals),
        "windows": np.stack((opens, opens + rng.integers(2, 30, size=n)), axis=1),
        "priorities": rng.integers(0, 3, size=n),
    }
    shifts = [(0, 60), (5, 50), (20, 80)] if timed else [None] * 3
    return ff.Instance(
        matrix=matrix,
        demands=rng.integers(0, 6, size=n),
        vehicle_types=[
            ff.VehicleType(
                name=str(kind),
                count=int(rng.integers(1, 4)),
                capacity=int(rng.integers(4, 14)),
                fixed_cost=float(rng.choice([0.0, 7.5])),
                cost_per_distance=float(rng.choice([0.5, 1.0, 2.0])),
                shift=shift,
            )
            for kind, shift in enumerate(shifts)
        ],
        **(times if timed else {}),
    )


def tours_of(state: arrays.State) -> list[list[int]]:
    """Return the current plan along its links."""
    depots = range(len(state.nodes) - len(state.loads), len(state.nodes))
    tours = []
    for depot in depots:
        tour, node = [], state.nodes[depot, arrays.NEXT]
        while node != depot:
            tour.append(int(node))
            assert state.nodes[node, arrays.TOUR] == len(tours)
            node = state.nodes[node, arrays.NEXT]
        tours.append(tour)
    return tours


def check_times(problem: arrays.Problem, state: arrays.State) -> None:
    """Compare the times of all stops with times that are counted anew."""
    day, now, n = problem.day, state.day, len(problem.near_depot) - 1
    for number, tour in enumerate(tours_of(state)):
        depot, kind = n + 1 + number, now.types[number]
        assert now.times[depot, :2].tolist() == [day.begins[kind], day.ends[kind]]
        path = [depot, *tour, depot]
        rides = [
            day.there[a, b] if a <= n else day.back[b, a]
            for a, b in pairwise(path)
            if a != b
        ]
        depart, latest = day.begins[kind], day.ends[kind]
        for stop, ride in zip(tour, rides, strict=False):
            begin = max(depart + ride, day.opens[stop])
            assert begin <= day.closes[stop]
            depart = begin + day.service[stop]
            assert now.times[stop, days.DEPART] == depart
        assert not tour or depart + rides[-1] <= day.ends[kind]
        for stop, ride in zip(tour[::-1], rides[::-1], strict=False):
            latest = min(latest - ride - day.service[stop], day.closes[stop])
            assert now.times[stop, days.LATEST] == latest


def check(instance: ff.Instance, problem: arrays.Problem, state: arrays.State) -> None:
    """Compare everything a state holds of its plan with the plan itself."""
    tours, now = tours_of(state), state.day
    plan = days.read_types(instance, now.types, tours)
    assert plan.check(instance, partial=True) == []
    absent = state.absent[: state.counts[arrays.ABSENT]].tolist()
    assert sorted(absent) == plan.unserved(instance)
    assert now.missing[0] == plan.unserved_weight(instance)
    assert state.counts[arrays.USED] == plan.vehicles
    assert state.loads.tolist() == [
        int(instance.demand_units[tour].sum()) if tour else 0 for tour in tours
    ]
    assert now.capacities.tolist() == problem.day.capacities[now.types].tolist()
    empty = [kind for tour, kind in zip(tours, now.types, strict=True) if not tour]
    idle = np.bincount(empty, minlength=now.idle.shape[1])
    assert now.idle[0].tolist() == idle.tolist()
    assert state.costs[0] == pytest.approx(plan.cost(instance), rel=1e-6, abs=1e-5)
    if instance.is_timed:
        check_times(problem, state)


@given(
    st.integers(0, 10_000),
    st.sampled_from((1, 2, 5, 12, 30)),
    st.booleans(),
    st.sampled_from((1.0, 10.0)),
)
@settings(max_examples=80, deadline=None)
def test_the_books_of_a_day_are_kept(seed, n, timed, removals):
    """Links, loads, vehicles, times, absent customers and cost fit after every step."""
    instance = draw_day(seed, n, timed=timed, decimals=seed % 3)
    assume(not instance.is_plain)  # both vehicle types may be drawn alike
    order = np.random.default_rng(seed).permutation(n) + 1
    start = drop_excess(instance, ff.Plan([order[::2], order[1::2]][:n], [0, 1][:n]))
    parameters = RuinRecreateParameters(removals=removals, blink=3)
    problem, state = _begin(instance, start, seed, parameters, 0.0)
    check(instance, problem, state)
    for iterations, temperature in ((1, 0.1), (1, 10.0), (1, 1e-3), (50, 1.0)):
        advance_day(problem, state, iterations, temperature)
        check(instance, problem, state)
    best = _best_plan(state, instance)
    assert best.check(instance, partial=True) == []
    assert state.day.missing[1] == best.unserved_weight(instance)
    assert state.costs[1] == pytest.approx(best.cost(instance), rel=1e-6, abs=1e-5)


def test_types_that_differ_in_names_are_one_for_the_search():
    """Vans with names of their own are given out by name when a plan is read."""
    van = ff.VehicleType(capacity=2)
    instance = ff.Instance(
        depot=(0, 0),
        customers=[(1, 0), (0, 1), (-1, 0)],
        demands=[2, 2, 9],
        vehicle_types=[
            replace(van, name="Anna"),
            replace(van, name="large", capacity=9),
            replace(van, name="Ben"),
        ],
    )
    assert days.type_groups(instance) == [[0, 2], [1]]
    plan = days.read_types(instance, np.array([0, 0, 1]), [[1], [2], [3]])
    assert plan == ff.Plan([[1], [2], [3]], [0, 2, 1])


@pytest.mark.parametrize("unit", [1, 0.1, 0.125, 1 / 3])
def test_times_are_whole_and_never_too_early(unit):
    """Decimals stay exact; other times are rounded so that no plan becomes late."""
    rides = unit * np.array([[0, 3, 4], [3, 0, 5], [4, 5, 0]])
    instance = ff.Instance(
        matrix=rides,
        time_matrix=rides,
        demands=[1, 1],
        windows=[(unit, 7 * unit), None],
        service_times=[unit, unit],
        vehicle_types=[ff.VehicleType(capacity=2, shift=(0, 14 * unit))],
    )
    day = days.lay_out_day(instance, 0.0, RuinRecreateParameters()).day
    scale = day.ends[0] / (14 * unit)
    assert day.there[1, 2] == pytest.approx(5 * unit * scale, abs=2)
    assert day.there[1, 2] / scale >= 5 * unit * (1 - 1e-9)
    assert day.closes[1] / scale <= 7 * unit * (1 + 1e-9)
    if unit in (1, 0.1):  # a tour that fills the shift to the minute is possible
        assert day.there[0, 1] + day.there[1, 2] + day.there[2, 0] == (
            day.ends[0] - day.service[1] - day.service[2]
        )


@given(st.integers(0, 10_000), st.integers(1, 5), st.booleans())
# The search is no exact method: the same examples in every run.
@settings(max_examples=40, deadline=None, derandomize=True)
def test_a_day_agrees_with_the_exhaustive_oracle(seed, n, timed):
    """On tiny days, the search finds the optimum, and no plan where there is none."""
    instance = draw_day(seed, n, timed=timed, decimals=1)
    best = optimal_day(instance)
    found = improve(instance, search="ruin_recreate", iterations=4000, seed=seed)
    assert found.plan.check(instance, partial=True) == []
    if best is None:
        assert found.plan.unserved(instance)
    else:
        assert not found.plan.unserved(instance)
        assert found.cost == pytest.approx(best.cost(instance), rel=1e-5)


@given(st.integers(0, 10_000))
@settings(max_examples=15, deadline=None, derandomize=True)
def test_a_fleet_that_is_too_small_serves_priorities_first(seed):
    """Of all that one small vehicle can serve, the weightiest customers are served."""
    whole = draw_day(seed, 5, timed=True)
    instance = whole.with_vehicle_types([replace(whole.fleet[0], count=1, capacity=6)])
    found = improve(instance, search="ruin_recreate", iterations=4000, seed=seed).plan
    assert found.check(instance, partial=True) == []
    for customers in range(1, 2**5):
        chosen = [c for c in range(1, 6) if customers >> (c - 1) & 1]
        if optimal_day(instance.with_customers(chosen)) is not None:
            served = ff.Plan([chosen])
            assert found.unserved_weight(instance) <= served.unserved_weight(instance)


def test_the_same_seed_gives_the_same_plan():
    """By iterations, the search of a day is a function of its seed alone."""
    instance = draw_day(3, 40, timed=True)
    runs = [
        improve(instance, search="ruin_recreate", iterations=2000, seed=seed).plan
        for seed in (4, 4, 5)
    ]
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


def test_auto_searches_a_day_by_ruin_and_recreate():
    """It is the same search, whatever the number of customers."""
    instance = draw_day(5, 30, timed=True)
    task = SearchTask(instance, ff.Plan([]), Deadline(1e9, iterations=500), seed=7)
    assert list(auto_search(task))[-1] == list(ruin_recreate(task))[-1]


def test_a_day_ends_at_its_deadline():
    """The clock is read about every millisecond, however long an iteration takes."""
    load_day_kernel()
    instance, now = draw_day(1, 20, timed=True), [0.0]

    def clock():
        now[0] += 0.01
        return now[0]

    deadline = Deadline(1.0, clock=clock)
    for plan in ruin_recreate(SearchTask(instance, ff.Plan([]), deadline)):
        assert plan.check(instance, partial=True) == []
    assert 1.0 <= now[0] < 1.2


def test_vehicles_are_exchanged_between_full_tours():
    """A small van that starts at the large village changes places with the truck."""
    villages = [(10.0 + x, 0.0) for x in range(4)] + [(-30.0, 0.0), (-31.0, 0.0)]
    instance = ff.Instance(
        depot=(0, 0),
        customers=villages,
        demands=[1] * 6,
        vehicle_types=[
            ff.VehicleType(name="van", capacity=2, cost_per_distance=1.0),
            ff.VehicleType(name="truck", capacity=4, cost_per_distance=3.0),
        ],
    )
    start = ff.Plan([[1, 2], [3, 4, 5, 6]], [0, 1])
    found = improve(instance, start, search="ruin_recreate", iterations=500)
    assert found.cost == pytest.approx(3 * 26 + 62)
    assert sorted(map(len, found.plan.tours)) == [2, 4]


def test_a_vehicle_cost_is_added_to_the_fixed_cost():
    """Two customers share a vehicle once every vehicle costs."""
    instance = ff.Instance(
        matrix=[[0, 1, 1], [1, 0, 9], [1, 9, 0]],
        demands=[1, 1],
        vehicle_types=[ff.VehicleType(count=2, capacity=2, fixed_cost=1.0)],
    )
    alone = improve(instance, search="ruin_recreate", iterations=200)
    shared = improve(instance, search="ruin_recreate", iterations=200, vehicle_cost=9.0)
    assert (alone.cost, alone.plan.vehicles) == (6.0, 2)
    assert (shared.cost, shared.plan.vehicles) == (11.0 + 1.0 + 9.0, 1)


def test_vehicles_without_a_price_per_distance():
    """If distance costs nothing, the cheapest vehicles that suffice are used."""
    instance = draw_day(2, 12, timed=False)
    free = [
        replace(one, cost_per_distance=0.0, fixed_cost=2.0) for one in instance.fleet
    ]
    instance = instance.with_vehicle_types([replace(free[0], count=12, capacity=60)])
    found = improve(instance, search="ruin_recreate", iterations=500)
    assert found.cost == 2.0


def test_our_searches_say_whether_they_plan_days():
    """Only those that can plan a day are not for plain instances only."""
    able = [n for n in ("auto", "ruin_recreate", "decomposition", "gpu", "hgs")]
    assert [n for n in able if not SEARCHES.abilities(n).plain_only] == able[:2]


def test_a_day_is_searched_on_several_cores():
    """Two cores give a feasible plan, as good for the same seed and iterations."""
    instance = draw_day(3, 12, timed=True, decimals=1)
    nothing = drop_excess(instance, ff.Plan([]))
    plans = []
    for _ in range(2):
        limit = Deadline(iterations=4000)
        task = SearchTask(instance, nothing, limit, seed=5, cores=2)
        plans.append([*search_side_by_side(ruin_recreate, task)][-1])
    costs = [plan.cost(instance) for plan in plans]
    assert costs[0] == pytest.approx(costs[1])
    assert plans[0].unserved(instance) == plans[1].unserved(instance)
    assert plans[0].check(instance, partial=True) == []


def test_a_shorter_shift_after_a_wait_is_judged_by_the_return():
    """A vehicle that waits for a window is late if its new shift ends before that."""
    van = {"capacity": 9, "cost_per_distance": 1.0}
    instance = ff.Instance(
        depot=(0, 0),
        customers=[(1, 0), (0, 8)],
        demands=[1, 1],
        vehicle_types=[
            ff.VehicleType(**van, fixed_cost=50.0),
            ff.VehicleType(**van, shift=(0, 20)),
        ],
        speed=1,
        windows=[(25, 40), (0, 40)],
    )
    found = improve(instance, iterations=2000, search="ruin_recreate", seed=0).plan
    assert found.check(instance) == []
