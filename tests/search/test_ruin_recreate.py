"""Tests of ruin and recreate on a core."""

from __future__ import annotations

import importlib
import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fixedfleet as ff
from fixedfleet import generate
from fixedfleet.deadline import Deadline
from fixedfleet.fleet import assess_fleet
from fixedfleet.search import SearchResult, SearchTask, cpu_kernel, improve
from fixedfleet.search.cpu_kernel import exponential
from fixedfleet.search.ruin_recreate import RuinRecreateParameters, load_kernel_for
from fixedfleet.search.ruin_recreate import ruin_recreate as search_by_ruin_recreate


def ruin_recreate(
    instance: ff.Instance, plan: ff.Plan | None = None, **options
) -> SearchResult:
    """Improve a plan by ruin and recreate."""
    return improve(instance, plan, search="ruin_recreate", **options)


def count_iterations(monkeypatch) -> list[int]:
    """Return a list that will have the iterations of each call of the kernel."""
    counts, advance = [], cpu_kernel.advance

    def counted(problem, state, count, temperature):
        counts.append(count)
        advance(problem, state, count, temperature)

    monkeypatch.setattr(cpu_kernel, "advance", counted)
    return counts


@pytest.fixture(scope="module")
def vrp50() -> ff.Instance:
    """One uniform instance of 50 customers and 7 vehicles."""
    return generate.uniform(50, 1, seed=99)[0]


def test_finds_the_best_plan_of_a_small_instance(square):
    """Four customers on a square: the optimum is 4 + 4√2."""
    found = ruin_recreate(square, iterations=200)
    assert found.plan.is_feasible(square)
    assert found.cost == pytest.approx(4 + 4 * math.sqrt(2))


def test_a_large_instance_without_time_keeps_its_plan(monkeypatch):
    """If the time does not suffice to set up the search, it ends at once."""
    instance = generate.uchoa(600, seed=1)
    packing = assess_fleet(instance).packing
    load_kernel_for(instance)
    counts = count_iterations(monkeypatch)
    found = ruin_recreate(instance, packing, time_limit=1e-3)
    assert found.plan == packing
    assert counts == []


@given(st.integers(0, 10_000), st.integers(2, 7), st.integers(1, 4), st.booleans())
# The search is no exact method: the same examples in every run.
@settings(max_examples=25, deadline=None, derandomize=True)
def test_agrees_with_the_exhaustive_oracle(optimal_plan, seed, n, vehicles, symmetric):
    """On tiny instances, also asymmetric ones, the search finds the optimum."""
    rng = np.random.default_rng(seed)
    matrix = rng.uniform(1, 9, size=(n + 1, n + 1))
    matrix = matrix + matrix.T if symmetric else matrix
    instance = ff.Instance(
        demands=rng.integers(0, 6, size=n),
        capacity=12,
        vehicles=vehicles,
        matrix=matrix,
    )
    best = optimal_plan(instance)
    start = assess_fleet(instance).packing
    if best is None:
        assert start is None
        return
    found = ruin_recreate(instance, start, iterations=3000, seed=seed)
    assert found.plan.check(instance) == []
    assert found.cost == pytest.approx(best.length(instance), rel=1e-5)


def test_the_same_seed_gives_the_same_plan(vrp50):
    """By iterations, a search is a function of its seed alone."""
    seeds = (4, np.int64(4), 5)
    runs = [ruin_recreate(vrp50, iterations=2500, seed=s).plan for s in seeds]
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


def test_the_plan_of_a_seed_is_the_same_on_any_machine(vrp50):
    """A known seed gives a known length: no machine's arithmetic enters."""
    found = ruin_recreate(vrp50, iterations=400, seed=12)
    assert found.cost == pytest.approx(9.475804244461573, abs=1e-9)


def test_never_worse_than_the_start(vrp50):
    """However short the search, its plan is the start or better."""
    good = ruin_recreate(vrp50, iterations=20_000).plan
    for seed in range(5):
        found = ruin_recreate(vrp50, good, iterations=3, seed=seed)
        assert found.cost <= good.length(vrp50)
        assert found.plan.vehicles <= vrp50.vehicles


def test_starts_from_a_plan_that_leaves_customers_out(vrp50):
    """Customers without a tour find one, though the fleet is bounded."""
    start = ff.Plan(assess_fleet(vrp50).packing.tours[:4])
    assert start.unserved(vrp50)
    found = ruin_recreate(vrp50, start, iterations=3000)
    assert found.plan.check(vrp50) == []


def test_a_start_beyond_fleet_and_capacity_is_cut_to_them(vrp50):
    """A start with too many tours, or one too full, still ends in a plan that fits."""
    many = ff.Plan([[c] for c in range(1, 51)])
    full = ff.Plan([range(1, 51)])
    for start in (many, full):
        assert ruin_recreate(vrp50, start, iterations=3000).plan.check(vrp50) == []


def test_what_cannot_be_served_stays_out():
    """If the fleet is too small, as many customers as possible are served."""
    instance = ff.Instance(
        depot=(0, 0),
        customers=[[0, 1], [1, 0], [1, 1]],
        demands=[2, 2, 2],
        capacity=4,
        vehicles=1,
    )
    found = ruin_recreate(instance, iterations=500)
    assert len(found.plan.unserved(instance)) == 1
    assert found.plan.check(instance) == [
        f"customer {found.plan.unserved(instance)[0]} missing"
    ]


def test_one_that_fits_nowhere_keeps_nobody_out():
    """A customer larger than any vehicle does not cost the others their tours."""
    instance = ff.Instance(
        depot=(0, 0),
        customers=[[0, 1], [1, 0], [1, 1]],
        demands=[1, 1, 9],
        capacity=4,
        vehicles=2,
    )
    found = ruin_recreate(instance, iterations=100)
    assert found.plan.check(instance) == ["customer 3 missing"]


def test_a_dear_vehicle_hides_no_length(vrp50):
    """However much a vehicle costs, plans with as many of them go by their length."""
    fleet = vrp50.with_vehicles(12)
    lengths = {}
    for cost in (0.0, 1e8):
        found = ruin_recreate(fleet, iterations=4000, seed=2, vehicle_cost=cost)
        lengths[cost] = found.plan.length(fleet)
    assert found.plan.vehicles == vrp50.minimum_vehicles
    assert lengths[1e8] < 1.03 * lengths[0.0]


def test_a_vehicle_cost_saves_vehicles():
    """Two near customers that fit into one vehicle share it once vehicles cost."""
    instance = ff.Instance(
        depot=(0, 0),
        customers=[[0, 1], [0.1, -1]],
        demands=[1, 1],
        capacity=2,
        vehicles=2,
    )
    free = ruin_recreate(instance, iterations=300)
    dear = ruin_recreate(instance, iterations=300, vehicle_cost=10.0)
    assert free.cost <= dear.plan.length(instance) + 1e-9
    assert dear.plan.vehicles == 1
    assert dear.cost == pytest.approx(dear.plan.cost_v(instance, 10.0))


@pytest.mark.parametrize("demands", [[0, 0, 0, 0], [0.1, 0.2, 0.1, 0.2]])
def test_zero_and_decimal_demands(square, demands):
    """Zero demands need no room and decimals fill a vehicle exactly."""
    instance = ff.Instance(
        depot=square.depot,
        customers=square.customers,
        demands=demands,
        capacity=0.3,
        vehicles=2,
    )
    assert ruin_recreate(instance, iterations=200).plan.check(instance) == []


def test_one_customer_and_more_vehicles_than_customers():
    """The smallest instance, with a fleet beyond need, is planned."""
    instance = ff.Instance(
        depot=(0, 0), customers=[[3, 4]], demands=[1], capacity=1, vehicles=5
    )
    found = ruin_recreate(instance, iterations=10)
    assert found.plan == ff.Plan([[1]])
    assert found.cost == 10.0


def test_fleet_and_capacity_beyond_all_need(square):
    """A vehicle that carries everything and a fleet of millions take no more room."""
    roomy = replace(square, capacity=1e30, vehicles=10**12)
    found = ruin_recreate(roomy, iterations=200)
    assert found.plan.check(roomy) == []
    assert found.cost == pytest.approx(6 + 2 * math.sqrt(2))


def test_a_thousand_customers():
    """An instance of 1,000 customers becomes shorter within the fleet."""
    instance = generate.uchoa(1000, seed=3)
    start = assess_fleet(instance).packing
    found = ruin_recreate(instance, start, iterations=5000)
    assert found.plan.check(instance) == []
    assert found.cost < 0.8 * start.length(instance)


def test_the_trace_falls_to_the_best_cost(vrp50):
    """Each entry of the trace is later and cheaper than the one before."""
    seen = []
    found = ruin_recreate(
        vrp50,
        iterations=8000,
        on_improvement=lambda seconds, cost, plan: seen.append((cost, plan)),
    )
    times, costs = zip(*found.trace, strict=True)
    assert list(times) == sorted(times)
    assert list(costs) == sorted(costs, reverse=True)
    assert costs[-1] == pytest.approx(found.cost, rel=1e-5)
    assert seen[-1][1] == found.plan


@pytest.mark.parametrize("mixed", [False, True])
def test_it_goes_on_from_the_plan_of_an_exchange(vrp50, mixed):
    """Its current plan is handed in, and the plan that is returned is not lost."""
    instance = vrp50
    if mixed:
        types = [
            ff.VehicleType(count=4, capacity=vrp50.capacity, cost_per_distance=price)
            for price in (1.0, 1.5)
        ]
        instance = replace(vrp50, vehicles=None, capacity=None, vehicle_types=types)
    known = ruin_recreate(instance, iterations=20_000).plan
    handed_in = []

    def exchange(plan):
        handed_in.append(plan)
        return known

    start = ruin_recreate(instance, iterations=100).plan
    limit = Deadline(60, iterations=100)
    task = SearchTask(instance, start, limit, exchange=exchange)
    *_, found = search_by_ruin_recreate(task)
    assert found.is_feasible(instance)
    assert found.cost(instance) <= known.cost(instance) < start.cost(instance)
    assert 8 <= len(handed_in) <= 10
    assert len(set(handed_in)) > 1
    assert all(plan.is_feasible(instance) for plan in handed_in)


def test_the_user_may_stop_it(monkeypatch, vrp50):
    """A search asked to stop returns what it has."""
    counts = count_iterations(monkeypatch)
    found = ruin_recreate(vrp50, iterations=10**9, stop=lambda: len(counts) == 3)
    assert counts == [1000] * 3
    assert found.plan.is_feasible(vrp50)


def test_all_iterations_are_done(monkeypatch, vrp50):
    """Neither one more nor one less, in chunks of at most a hundredth."""
    counts = count_iterations(monkeypatch)
    ruin_recreate(vrp50, iterations=2050)
    assert counts == [20] * 102 + [10]


def test_an_interrupt_keeps_the_best_plan(vrp50):
    """Ctrl-C ends the search, not the plan."""

    def interrupt(seconds, cost, plan):
        raise KeyboardInterrupt

    found = ruin_recreate(vrp50, iterations=10**9, on_improvement=interrupt)
    assert found.interrupted
    assert found.plan.is_feasible(vrp50)


def test_tight_fleets_are_solved():
    """At ⌈Σq/Q⌉ vehicles every instance that packs is planned."""
    batch = generate.uniform(50, 40, seed=17)
    for instance in batch:
        tight = instance.with_vehicles(instance.minimum_vehicles)
        start = assess_fleet(tight).packing
        if start is not None:
            found = ruin_recreate(tight, start, iterations=300)
            assert found.plan.check(tight) == []


@given(st.floats(2**-32, 1.0))
def test_the_logarithm_of_the_annealing(u):
    """Acceptance uses −ln u to six digits."""
    assert exponential(u) == pytest.approx(-math.log(u), abs=2e-6)


@pytest.mark.parametrize("factor", [1e40, 1e-40])
def test_lengths_that_no_number_holds_are_refused(square, factor):
    """Distances too long or too short to be summed are refused, with the remedy."""
    far = replace(square, customers=factor * square.customers)
    with pytest.raises(ff.InputError, match=r"longest distance is 2\.8.*another unit"):
        ruin_recreate(far, iterations=5)


@pytest.mark.parametrize(
    "change",
    [
        {"removals": 0},
        {"removals": math.nan},
        {"start_temperature": math.inf},
        {"split": 2},
        {"blink": 1},
        {"end_temperature": 1.0},
        {"end_temperature": -1.0},
    ],
)
def test_bad_parameters_are_refused(change):
    """Parameters check themselves."""
    with pytest.raises(ff.InputError):
        RuinRecreateParameters(**change)


def test_a_cache_of_another_version_is_replaced(tmp_path, monkeypatch):
    """What another version has compiled is removed if it cannot be read."""
    module = importlib.import_module("fixedfleet.search.ruin_recreate")
    (tmp_path / "cpu_kernel.advance-1.py311.nbi").touch()

    def advance(*_arguments):
        if list(tmp_path.iterdir()):
            raise ModuleNotFoundError("No module named 'fixedfleet.search.gone'")

    advance.stats = SimpleNamespace(cache_path=str(tmp_path))
    monkeypatch.setattr(module.cpu_kernel, "advance", advance)
    module.load_kernel.__wrapped__(measured=False)
    assert list(tmp_path.iterdir()) == []
