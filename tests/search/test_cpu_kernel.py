"""What the compiled search keeps of a plan, against the plan counted anew."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fixedfleet as ff
from fixedfleet import generate
from fixedfleet.search import cpu_arrays as arrays
from fixedfleet.search import cpu_kernel, drop_excess
from fixedfleet.search.regions import Regions
from fixedfleet.search.ruin_recreate import RuinRecreateParameters, _best_plan


@st.composite
def instances(draw) -> ff.Instance:
    """Small instances, the odd ones among them: one customer, no demand, one place."""
    n = draw(st.sampled_from((1, 2, 3, 8, 20)))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    unit = draw(st.sampled_from((1, 10**15)))  # loads beyond 32 bits
    demands = rng.integers(0, draw(st.sampled_from((1, 4, 14))), size=n)  # 13: too much
    kind = draw(st.sampled_from(("one way", "grid", "one place")))
    matrix = rng.uniform(0, 9, size=(n + 1, n + 1))
    points = rng.integers(0, 3 if kind == "grid" else 1, size=(n + 1, 2))
    return ff.Instance(
        demands=unit * demands,
        capacity=unit * 12,
        vehicles=draw(st.sampled_from((1, 2, n, n + 3))),
        **(
            {"matrix": matrix}
            if kind == "one way"
            else {"depot": points[0], "customers": points[1:]}
        ),
    )


parameters = st.builds(
    RuinRecreateParameters,
    removals=st.sampled_from((1.0, 10.0)),
    max_string=st.sampled_from((1, 4, 10)),
    split=st.sampled_from((0.0, 0.5, 1.0)),
    blink=st.sampled_from((2, 100)),
    ruin_neighbours=st.sampled_from((1, 40)),
    insertion_neighbours=st.sampled_from((1, 12)),
    large_scale=st.booleans(),
)


def tours_of(state: arrays.State) -> list[list[int]]:
    """The current plan along its links, which must lead back as they lead there."""
    nodes, fleet = state.nodes.tolist(), len(state.loads)
    tours = []
    for number, depot in enumerate(range(len(nodes) - fleet, len(nodes))):
        tour, node = [], depot
        while True:
            following, _, name, _ = nodes[node]
            assert name == number
            assert nodes[following][arrays.PREV] == node
            if following == depot:
                break
            tour.append(following)
            node = following
        tours.append(tour)
    return tours


def check(instance: ff.Instance, problem: arrays.Problem, state: arrays.State) -> None:
    """Compare everything a state holds of its plan with the plan itself."""
    n, tours = instance.num_customers, tours_of(state)
    plan = ff.Plan(tours)
    absent = state.absent[: state.counts[arrays.ABSENT]].tolist()
    assert sorted(absent) == plan.unserved(instance)
    assert all(state.nodes[absent, arrays.TOUR] == len(tours))
    assert len(set(absent)) + sum(map(len, tours)) == n  # nobody twice
    assert state.loads.tolist() == [
        int(instance.demand_units[tour].sum()) if tour else 0 for tour in tours
    ]
    assert state.loads.max() <= instance.capacity_units
    assert state.counts[arrays.USED] == plan.vehicles
    distances, cost = instance.distances.astype(np.float32), 0.0
    for number, tour in enumerate(tours):
        legs = distances[[0, *tour], [*tour, 0]]
        assert state.legs[[n + 1 + number, *tour]].tolist() == legs.tolist()
        cost += float(legs.sum(dtype=float))
    cost += float(problem.vehicle_cost) * plan.vehicles
    assert state.costs[0] == pytest.approx(cost, rel=1e-12, abs=1e-9)


def check_best(
    instance: ff.Instance, problem: arrays.Problem, state: arrays.State
) -> None:
    """The best plan is whole, and costs what was noted when it was found."""
    plan = _best_plan(state, instance)
    assert len(plan.unserved(instance)) == state.counts[arrays.BEST_ABSENT]
    cost = plan.cost_v(instance, float(problem.vehicle_cost))
    assert state.costs[1] == pytest.approx(cost, rel=1e-6, abs=1e-5)


@pytest.fixture(scope="module", params=[500, 0], ids=["matrix", "coordinates"])
def _distances(request):
    """Distances come from a matrix, or from coordinates if there are any."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fixedfleet.search.cpu_distances.MOST_WITH_MATRIX", request.param)
        yield


@pytest.mark.usefixtures("_distances")
@given(
    instances(),
    parameters,
    st.sampled_from((0.0, 1e6)),
    st.integers(0, 99),
    st.integers(1, 3),
)
@settings(max_examples=120, deadline=None)
def test_the_books_are_kept(instance, parameters, vehicle_cost, seed, cores):
    """
    Links, legs, loads, vehicles, absent customers and cost fit after every step.

    So they do if several cores search, each in a region of the plan.
    """
    problem = arrays.lay_out(instance, vehicle_cost, parameters)
    state = arrays.empty_state(instance, seed)
    order = np.random.default_rng(seed).permutation(instance.num_customers) + 1
    start = drop_excess(instance, ff.Plan([order[k::4] for k in range(4)]))
    advance = cpu_kernel.advance
    if cores > 1:
        advance = Regions(instance, seed, cores).run_round
    arrays.put_plan(problem, state, start.to_routes(len(state.best)))
    check(instance, problem, state)
    for iterations, temperature in ((1, 0.1), (1, 10.0), (1, 1e-3), (50, 1.0)):
        advance(problem, state, iterations, temperature)
        check(instance, problem, state)
    check_best(instance, problem, state)


@pytest.mark.parametrize("vehicle_cost", [0.0, 1e8])
def test_a_long_search_does_not_lose_count(vehicle_cost):
    """After many iterations the cost that was counted is still that of the plan."""
    instance = generate.uniform(50, 1, seed=99)[0].with_vehicles(12)
    problem = arrays.lay_out(instance, vehicle_cost, RuinRecreateParameters())
    state = arrays.empty_state(instance, 2)
    arrays.put_plan(problem, state, ff.Plan([]).to_routes(len(state.best)))
    for temperature in (0.1, 0.03, 0.01):
        cpu_kernel.advance(problem, state, 10_000, temperature)
    plan = ff.Plan(tours_of(state))
    assert plan.unserved(instance) == []
    exact = plan.cost_v(instance, vehicle_cost)
    assert state.costs[0] == pytest.approx(exact, rel=2e-7, abs=1e-5)


def anneal(instance: ff.Instance, plan: ff.Plan, **settings: bool) -> float:
    """Return the length of the best plan after some cold iterations."""
    parameters = RuinRecreateParameters(
        removals=2, max_string=2, insertion_neighbours=2, **settings
    )
    problem = arrays.lay_out(instance, 0.0, parameters)
    state = arrays.empty_state(instance, 1)
    arrays.put_plan(problem, state, plan.to_routes(len(state.best)))
    cpu_kernel.advance(problem, state, 3000, 1e-6)
    best = _best_plan(state, instance)
    assert best.is_feasible(instance)
    return best.length(instance)


def test_tours_exchange_their_ends():
    """Two long tours that change sides half-way each stay on one side in the end."""
    steps = np.arange(1, 31)
    south, north = steps.tolist(), (30 + steps).tolist()
    instance = ff.Instance(
        depot=(0, 0),
        customers=[*((x, -5) for x in steps), *((x, 5) for x in steps)],
        demands=[1] * 60,
        capacity=30,
        vehicles=2,
    )
    straight = ff.Plan([south, north])
    crossed = ff.Plan([south[:15] + north[15:], north[:15] + south[15:]])
    assert anneal(instance, crossed) > straight.length(instance) + 1
    assert anneal(instance, crossed, large_scale=True) == pytest.approx(
        straight.length(instance)
    )


def test_a_customer_on_the_way_joins_a_tour_that_passes():
    """A tour that begins far away serves a customer on its way there."""
    near = [(50, 0), (50, 5), (50, 6), (50, 7)]
    instance = ff.Instance(
        depot=(0, 0),
        customers=[*near, (100, 0), (101, 0), (102, 0), (103, 0)],
        demands=[1] * 8,
        capacity=5,
        vehicles=2,
    )
    plan = ff.Plan([[1, 2, 3, 4], [5, 6, 7, 8]])
    best = ff.Plan([[2, 3, 4], [1, 5, 6, 7, 8]]).length(instance)
    assert anneal(instance, plan) > best + 0.1
    assert anneal(instance, plan, large_scale=True) == pytest.approx(best)


def test_one_region_after_the_other_is_searched(monkeypatch):
    """The seeds of ruins are neighbours for a while, and in the end all customers."""
    monkeypatch.setattr(arrays, "_WINDOW", 7)
    instance = generate.uniform(50, 1, seed=98)[0].with_vehicles(50)
    problem = arrays.lay_out(
        instance, 0.0, RuinRecreateParameters(removals=1, max_string=1)
    )
    state = arrays.empty_state(instance, 2)
    alone = ff.Plan([[customer] for customer in range(1, 51)])
    arrays.put_plan(problem, state, alone.to_routes(len(state.best)))
    everybody = set()
    for visit in range(8):
        seeds = set()
        state.counts[arrays.ITERATION] = visit * cpu_kernel._STAY
        for _ in range(60):
            cpu_kernel.advance(problem, state, 1, 1e-9)
            seeds.add(int(state.removed[0]))
        assert seeds == {1 + (7 * visit + k) % 50 for k in range(7)}
        everybody |= seeds
    assert everybody == set(range(1, 51))
