"""The search part by part, which plans for many customers."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import fixedfleet as ff
from fixedfleet import generate
from fixedfleet.deadline import Deadline
from fixedfleet.fleet import assess_fleet
from fixedfleet.search import (
    SearchTask,
    cpu_arrays,
    cpu_distances,
    cpu_ends,
    cpu_kernel,
    decomposition,
    improve,
    load_search,
    regions,
    savings_kernel,
)
from fixedfleet.search.cpu_distances import uses_coordinates
from fixedfleet.search.decomposition import (
    DecompositionParameters,
    _part_size,
    _whole_settings,
    part_population,
)
from fixedfleet.search.parts import DividedPlan
from fixedfleet.search.ruin_recreate import RuinRecreateParameters, ruin_recreate


@pytest.fixture(scope="module")
def instance() -> ff.Instance:
    """An instance with so many customers that the default search divides it."""
    return generate.uchoa(240, seed=5, route_size=6)


@pytest.fixture(scope="module")
def packing(instance) -> ff.Plan:
    """A plan within the fleet that is far too long."""
    return assess_fleet(instance).packing


@pytest.mark.slow
@pytest.mark.parametrize("cores", [1, 3])
def test_the_same_seed_and_cores_give_the_same_plan(instance, packing, cores):
    """With a limit on iterations, a search can be repeated on any number of cores."""
    found = [
        improve(
            instance,
            packing,
            search="decomposition",
            iterations=60_000,
            seed=seed,
            cores=cores,
        )
        for seed in (1, 1, 2)
    ]
    assert found[0].plan == found[1].plan != found[2].plan
    assert found[0].plan.is_feasible(instance)
    assert found[0].cost < 0.5 * packing.length(instance)


@pytest.mark.slow
def test_the_parts_shorten_the_plan_of_the_whole(instance, packing):
    """What ruin and recreate leaves too long becomes shorter part by part."""
    whole = improve(instance, packing, search="ruin_recreate", iterations=30_000)
    found = improve(instance, whole.plan, search="decomposition", iterations=60_000)
    assert found.cost < whole.cost


def test_the_default_search_takes_it_for_many_customers(instance):
    """A plan for more than 200 customers comes in time and within the fleet."""
    result = ff.solve(instance, time_limit=1.0, cores=2)
    assert result.feasible
    assert result.stages[-1].name == "auto"


def test_plans_are_shown_while_several_cores_search(instance, packing):
    """A listener sees better plans at once, and Ctrl-C returns the best of them."""
    costs = []

    def listen(_seconds, cost, _plan):
        costs.append(cost)
        if len(costs) == 4:
            raise KeyboardInterrupt

    found = improve(
        instance,
        packing,
        search="decomposition",
        iterations=30_000,
        cores=2,
        on_improvement=listen,
    )
    assert found.interrupted
    assert costs == sorted(costs, reverse=True)
    assert found.cost == costs[3] < packing.length(instance)


@pytest.mark.slow
def test_a_matrix_of_one_way_streets_is_searched_part_by_part():
    """Instances without coordinates have neighbouring tours, too."""
    rng = np.random.default_rng(1)
    instance = ff.Instance(
        matrix=rng.uniform(1, 9, size=(211, 211)),
        demands=rng.integers(1, 9, size=210),
        capacity=60,
        vehicles=20,
    )
    for cores in (1, 2):
        found = improve(
            instance,
            assess_fleet(instance).packing,
            search="decomposition",
            iterations=20_000,
            cores=cores,
        )
        assert found.plan.is_feasible(instance)


def test_a_large_instance_needs_no_matrix():
    """Neither planning nor checking computes all distances of a large instance."""
    instance = generate.uchoa(1500, seed=2)
    result = ff.solve(instance, time_limit=0.5, start="savings")
    assert result.feasible
    assert uses_coordinates(instance)
    assert "distances" not in vars(result.instance)
    assert "distances" not in vars(instance)


def test_many_customers_that_fill_a_vehicle_each():
    """There is no leg between customers that the temperature could be taken from."""
    n = 40
    points = np.random.default_rng(1).random((n, 2))
    instance = ff.Instance(
        depot=(0.5, 0.5), customers=points, demands=[1] * n, capacity=1, vehicles=n
    )
    parameters = DecompositionParameters(large=30)
    search = partial(decomposition.decomposition, parameters=parameters)
    found = improve(instance, search=search, iterations=100)
    assert found.plan.is_feasible(instance)


def test_customers_without_a_place_are_placed_before_parts_are_searched(instance):
    """A start may leave customers unserved, as for every other search."""
    found = improve(instance, search="decomposition", iterations=60_000, cores=2)
    assert found.plan.is_feasible(instance)


@pytest.mark.parametrize(
    ("customers", "vehicles", "removals", "longest"),
    [(1000, 50, 10, 10), (1600, 20, 20, 30), (4000, 50, 10, 10)],
)
def test_longer_strings_are_removed_from_long_tours(
    customers, vehicles, removals, longest
):
    """Strings grow with the tours, but not if there are many customers."""
    default = RuinRecreateParameters()
    assert (default.removals, default.max_string) == (10, 10)
    instance = SimpleNamespace(num_customers=customers, vehicles=vehicles)
    settings = _whole_settings(instance, DecompositionParameters())
    assert (settings.removals, settings.max_string) == (removals, longest)


def test_parts_are_fitted_to_long_tours_and_little_time():
    """With many customers, a part has three tours; a brief search breeds few plans."""
    parameters = DecompositionParameters()
    assert _part_size(1600, 20, parameters) == 100
    assert _part_size(4000, 400, parameters) == 100
    assert _part_size(4000, 40, parameters) == 300
    assert part_population(0.15) == 4
    assert part_population(0.05) == 3


# ------------------------------------------------------------------------ one tour


ITERATION = 1e-4  # seconds, by the clock of the tests


@pytest.fixture
def kernel(monkeypatch):
    """Ruin and recreate at a known speed; the clock stands still but for it.

    ``done`` is the number of iterations. ``stop`` never stops, but raises if it is
    asked again and again while nothing is searched.
    """
    kernel = SimpleNamespace(done=0, asked=0)
    advance = cpu_kernel.advance

    def timed(problem, state, count, temperature):
        kernel.done, kernel.asked = kernel.done + count, 0
        advance(problem, state, count, temperature)

    def stop():
        kernel.asked += 1
        assert kernel.asked < 1000, "nothing is searched any more"
        return False

    monkeypatch.setattr(cpu_kernel, "advance", timed)
    monkeypatch.setattr(time, "perf_counter", lambda: kernel.done * ITERATION)
    kernel.stop = stop
    return kernel


def far_away(vehicles: int, capacity: int = 300) -> ff.Instance:
    """300 customers so far from the depot that one tour is the best plan."""
    points = np.random.default_rng(1).random((300, 2))
    return ff.Instance(
        depot=(-50, -50),
        customers=points,
        demands=[1] * 300,
        capacity=capacity,
        vehicles=vehicles,
    )


@pytest.mark.parametrize("vehicles", [1, 5])
@pytest.mark.parametrize(
    ("limits", "done"),
    [({"iterations": 2000}, 2000), ({"time_limit": 1.0}, 1.0 / ITERATION)],
)
def test_one_tour_is_searched_to_the_end(kernel, vehicles, limits, done):
    """A plan of one tour has no parts; all iterations and all seconds are used."""
    instance, plan = far_away(vehicles), ff.Plan([range(1, 301)])
    found = improve(instance, plan, search="decomposition", stop=kernel.stop, **limits)
    assert kernel.done == pytest.approx(done, rel=0.01)
    assert found.plan.is_feasible(instance)
    assert found.plan.vehicles == 1
    assert found.cost < 0.98 * plan.length(instance)


def test_one_tour_is_searched_by_the_default_search(kernel):
    """``auto`` takes the search part by part for 300 customers of one vehicle, too."""
    improve(far_away(1), ff.Plan([range(1, 301)]), time_limit=0.5, stop=kernel.stop)
    assert kernel.done * ITERATION == pytest.approx(0.5, rel=0.01)


@pytest.mark.parametrize(
    ("limits", "most"),
    [({"iterations": 60_000}, 40_000), ({"time_limit": 1.0}, 1.0 / ITERATION)],
)
def test_parts_that_become_one_tour_are_searched_as_a_whole(
    kernel, monkeypatch, limits, most
):
    """If two tours are joined while parts are searched, there are no parts any more."""
    monkeypatch.setattr(decomposition, "savings_plan", lambda *_: ())
    brief = DecompositionParameters(whole_share=1e-6, whole_seconds=0.0)
    search = partial(decomposition.decomposition, parameters=brief)
    plan = ff.Plan([range(1, 151), range(151, 301)])
    instance = far_away(2)
    found = improve(instance, plan, search=search, stop=kernel.stop, **limits)
    assert found.plan.vehicles == 1
    assert found.plan.is_feasible(instance)
    assert kernel.done == pytest.approx(most, rel=0.01)


# ------------------------------------------------------------------- several cores

MANY = DecompositionParameters(
    region_customers=20, region_tours=2, min_customers=50, min_tours=4
)  # so that two cores share a plan
PARTS = replace(MANY, whole_share=1e-9, whole_seconds=0.0)  # hardly any annealing


def test_a_stop_reaches_all_threads(monkeypatch, instance, packing):
    """Only the thread that called is asked; the others are told, and end."""
    begun, asking, never_told = [], set(), []

    def search_part(part, deadline, **_):
        begun.append(part)
        for _ in range(2000):
            if deadline.over():
                return part.plan
            time.sleep(0.005)
        never_told.append(part)
        return part.plan

    def stop():
        asking.add(threading.current_thread())
        return len(begun) == 2  # in the middle of the first parts

    monkeypatch.setattr(decomposition, "search_part", search_part)
    search = partial(decomposition.decomposition, parameters=PARTS)
    found = improve(
        instance, packing, search=search, time_limit=10_000, stop=stop, cores=2
    )
    assert found.plan.is_feasible(instance)
    assert asking == {threading.current_thread()}
    assert (len(begun), never_told) == (2, [])


@pytest.mark.parametrize(
    "tours", [[range(1, 241)], [range(2, 241)], [range(3, 241), [1]]]
)
def test_a_plan_that_has_no_parts_is_annealed_as_a_whole(monkeypatch, instance, tours):
    """By both cores: a plan may be one tour, or leave customers unserved."""
    seeds = []

    def anneal(task, parameters):
        seeds.append(task.seed)
        return (yield from ruin_recreate(task, parameters))

    monkeypatch.setattr(decomposition, "ruin_recreate", anneal)
    instance = replace(instance, capacity=int(instance.demands.sum()), vehicles=2)
    plan = ff.Plan(tours)
    task = SearchTask(instance, plan, Deadline(60, iterations=500), cores=2)
    found = list(decomposition._anneal_again(task, 1.0, MANY))[-1]
    assert len(set(seeds)) == 2
    assert not found.unserved(instance)
    assert found.length(instance) < plan.length(instance)


def test_a_stop_does_not_wait_for_the_savings_plan(monkeypatch, instance, packing):
    """For many customers, this plan takes longer than a user should have to wait."""
    begun, released, waited_for = threading.Event(), threading.Event(), []

    def savings(_):
        begun.set()
        if not released.wait(20):
            waited_for.append(True)
        return packing

    monkeypatch.setattr(decomposition.construct, "savings", savings)
    limits = {"time_limit": 10_000, "stop": begun.is_set}
    found = improve(instance, packing, search="decomposition", **limits)
    assert (found.plan, waited_for) == (packing, [])
    released.set()


def test_the_plan_of_the_last_exchange_is_yielded(monkeypatch, instance, packing):
    """A plan that was combined from those of all searches is never lost."""

    def cycle(task, first, savings, parameters):
        yield task.initial_plan
        return task.initial_plan, 0

    monkeypatch.setattr(decomposition, "_search_cycle", cycle)
    combined = improve(instance, packing, search="ruin_recreate", iterations=99).plan
    task = SearchTask(
        instance, packing, Deadline(60, iterations=9), exchange=lambda _: combined
    )
    search = decomposition._search_in_cycles(task, None, DecompositionParameters())
    assert list(search)[-1] == combined


def test_parts_of_the_plan_of_another_search_are_small_again(
    monkeypatch, instance, packing
):
    """They have grown because none of the previous plan's was left to be searched."""
    sizes, adopted = [], []
    other = improve(instance, packing, search="ruin_recreate", iterations=999).plan

    def search_part(part, *_, **__):
        sizes.append(len(part.customers))
        return part.plan

    def exchange(_plan):
        adopted.append(len(sizes))
        return other

    monkeypatch.setattr(decomposition, "search_part", search_part)
    brief = DecompositionParameters(exchange_parts=10**9)
    task = SearchTask(
        instance, packing, Deadline(60, iterations=10**8), exchange=exchange
    )
    list(decomposition._search_parts(task, brief))
    assert len(adopted) == 2
    assert sizes[adopted[0] - 1] > 200
    assert sizes[adopted[0]] < 120


def test_parts_do_not_grow_without_limit(monkeypatch, instance, packing):
    """HGS-CVRP needs a matrix of a part, so memory would grow with its square."""
    sizes = []

    def search_part(part, *_, **__):
        sizes.append(len(part.customers))
        return part.plan

    monkeypatch.setattr(decomposition, "search_part", search_part)
    small = DecompositionParameters(max_part_size=120)
    task = SearchTask(instance, packing, Deadline(60, iterations=10**8))
    list(decomposition._search_parts(task, small))
    assert 100 < max(sizes) <= 120


def test_two_tours_that_are_too_large_for_a_part_are_annealed_only(monkeypatch):
    """A part has two tours or more, and memory would grow with its square."""
    three = generate.uchoa(240, seed=5, route_size=80)
    plan = assess_fleet(three).packing
    monkeypatch.setattr(decomposition, "search_part", lambda *_, **__: pytest.fail())
    task = SearchTask(three, plan, Deadline(60, iterations=200_000))
    few = DecompositionParameters(max_part_size=159)
    assert list(decomposition.decomposition(task, few))


def test_parts_do_not_grow_while_all_tours_but_one_are_searched(monkeypatch):
    """There are no two tours for a larger part, either."""
    three = generate.uchoa(240, seed=5, route_size=80)
    plan, log, draw = assess_fleet(three).packing, [], DividedPlan.draw
    assert plan.vehicles == 3

    def logged(tours, size, *args):
        log.append(size)
        return draw(tours, size, *args)

    def search_part(part, *_, **__):
        while len(log) < 2:
            time.sleep(0.001)
        time.sleep(0.1)
        log.append("ended")
        return part.plan

    monkeypatch.setattr(DividedPlan, "draw", logged)
    monkeypatch.setattr(decomposition, "search_part", search_part)
    task = SearchTask(three, plan, Deadline(60, iterations=10**6), cores=2)
    list(decomposition._search_parts(task, DecompositionParameters()))
    assert log[:3] == [100, 100, "ended"]


def test_parts_of_a_plan_are_searched_at_once(monkeypatch, instance, packing):
    """There are as many parts at a time as there are cores, and no tour is in two."""
    together = threading.Barrier(2, timeout=10)
    searched, pairs = [], []

    def search_part(part, *_, **__):
        searched.append(set(part.customers))
        if together.wait() == 0:
            pairs.append(searched[-2:])
        together.wait()
        return part.plan

    monkeypatch.setattr(decomposition, "search_part", search_part)
    search = partial(
        decomposition.decomposition, parameters=replace(MANY, whole_share=0.2)
    )
    roomy = instance.with_vehicles(instance.vehicles + 4)  # for a savings plan
    improve(roomy, packing, search=search, iterations=50_000, cores=2)
    assert len(pairs) == 1
    assert all(not first & second for first, second in pairs)


@pytest.mark.parametrize(
    ("customers", "vehicles", "cores", "plans"),
    [
        (240, 40, 4, 2),
        (400, 60, 4, 2),
        (999, 96, 16, 2),
        (999, 43, 8, 1),
        (999, 43, 16, 2),
        (999, 43, 1, 1),
        (3000, 400, 16, 1),
        (3000, 8, 9, 9),
        (3000, 1, 2, 2),
    ],
)
def test_cores_share_a_plan_of_many_customers(
    monkeypatch, customers, vehicles, cores, plans
):
    """A core has at least 120 customers and 5 tours; further ones search others."""
    counts = []

    def side_by_side(search, task, count):
        counts.append(count)
        yield from ()

    monkeypatch.setattr(decomposition, "search_side_by_side", side_by_side)
    monkeypatch.setattr(decomposition, "savings_plan", lambda *_: ())
    instance = SimpleNamespace(num_customers=customers, vehicles=1000)
    plan = ff.Plan([[customer + 1] for customer in range(vehicles)])
    task = SearchTask(instance, plan, Deadline(60), cores=cores)
    list(decomposition.decomposition(task))
    assert counts == [plans]


@pytest.mark.parametrize(("cores", "copies"), [(1, []), (4, []), (8, [2])])
def test_few_cores_search_the_same_copy_of_a_plan(
    monkeypatch, instance, packing, cores, copies
):
    """A core has at least 50 customers and 4 tours here; further ones search copies."""
    counts, together = [], []

    def side_by_side(search, task, count):
        counts.append(count)
        yield task.initial_plan

    def search_parts(task, parameters):
        together.append(task.cores)
        yield task.initial_plan
        return task.initial_plan, 0

    monkeypatch.setattr(decomposition, "search_side_by_side", side_by_side)
    monkeypatch.setattr(decomposition, "_search_parts", search_parts)
    task = SearchTask(instance, packing, Deadline(60, iterations=1000), cores=cores)
    list(decomposition._search_cycle(task, False, None, MANY))
    assert counts == copies
    assert together == ([] if copies else [cores])


def test_cores_share_the_savings_plan_if_no_plan_is_given(
    monkeypatch, instance, packing
):
    """An empty initial plan does not mean that each core needs a plan of its own."""
    counts = []

    def savings_plan(*_):
        yield packing
        return packing

    def side_by_side(search, task, count):
        counts.append(count)
        yield from ()

    monkeypatch.setattr(decomposition, "savings_plan", savings_plan)
    monkeypatch.setattr(decomposition, "search_side_by_side", side_by_side)
    for plan in (packing, ff.Plan([])):
        task = SearchTask(instance, plan, Deadline(60), cores=4)
        list(decomposition.decomposition(task, MANY))
    assert counts == [1, 1]


# ------------------------------------------------------------------------- loading


@pytest.mark.parametrize(
    ("customers", "metric"), [(210, "euclidean"), (510, "geo"), (210, "explicit")]
)
def test_nothing_is_compiled_after_a_search_was_loaded(customers, metric):
    """All that a search needs is loaded by what is asked for, before the clock."""
    modules = cpu_arrays, cpu_distances, cpu_ends, cpu_kernel, regions, savings_kernel

    def versions():
        return {
            (module.__name__, name): len(function.signatures)
            for module in modules
            for name, function in vars(module).items()
            if hasattr(function, "signatures")
        }

    rng = np.random.default_rng(1)
    points = {"depot": (51, 12), "customers": rng.uniform(10, 60, (customers, 2))}
    if metric == "explicit":
        points = {"matrix": rng.uniform(1, 9, size=(customers + 1,) * 2)}
    instance = ff.Instance(
        **points,
        demands=rng.integers(1, 9, size=customers),
        capacity=60,
        vehicles=customers // 10,
        metric=metric,
    )
    load_search("decomposition", instance)
    before = versions()
    search = partial(decomposition.decomposition, parameters=MANY)
    packing = assess_fleet(instance).packing
    improve(instance, packing, search=search, iterations=30_000, cores=2)
    assert versions() == before


# -------------------------------------------------------------------------- cycles


def test_a_long_search_has_a_good_plan_early(kernel, monkeypatch, instance, packing):
    """After a tenth of the time, the plan is at most twice as far off as at the end."""
    monkeypatch.setattr(decomposition, "search_part", lambda part, *_, **__: part.plan)

    def search(seconds):
        return improve(instance, packing, search="decomposition", time_limit=seconds)

    found, brief = search(20.0), search(2.0)
    early = min(cost for seconds, cost in found.trace if seconds <= 2.0)
    assert found.cost < brief.cost
    assert early - found.cost < 2 * (brief.cost - found.cost)


@pytest.mark.parametrize(
    ("left", "least", "lengths"),
    [(10, 20, [10]), (10, 2, [2, 8]), (21, 0.9, [1, 4, 16]), (63, 1, [3, 12, 48])],
)
def test_cycles_grow_fourfold_until_the_end(left, least, lengths):
    """The lengths together are all that is left, and none is too short."""
    found = []
    while left > 1e-9:
        found.append(decomposition._cycle_length(left, least, 4.0))
        left, least = left - found[-1], 4 * found[-1]
    assert found == pytest.approx(lengths)


def test_searches_exchange_their_plans_after_each_cycle(monkeypatch, instance, packing):
    """The worse half of the searches goes on from the best plan."""
    found = [
        improve(instance, packing, search="ruin_recreate", iterations=count).plan
        for count in (10, 20_000)
    ]
    begun: dict[bool, list[ff.Plan]] = {False: [], True: []}

    def cycle(task, first, savings, parameters):
        second = task.seed >= 1000  # the first search has the seeds from 0 on
        begun[second].append(task.initial_plan)
        plan = found[second] if first else task.initial_plan
        yield plan
        return plan, 0

    monkeypatch.setattr(decomposition, "_search_cycle", cycle)
    apart = DecompositionParameters(region_customers=200)  # a plan for each core
    search = partial(decomposition.decomposition, parameters=apart)
    improve(instance, packing, search=search, iterations=20_000_000, cores=2)
    assert begun[False] == [packing, found[1], found[1]]
    assert begun[True] == [packing, found[1], found[1]]


# --------------------------------------------------------------------- improvements


def test_improvements_found_in_parts_are_in_the_trace(monkeypatch, instance, packing):
    """Each part that becomes better is an entry of the trace, and is shown."""
    plan = improve(instance, packing, search="ruin_recreate", iterations=5000).plan
    monkeypatch.setattr(time, "perf_counter", lambda: 0.0)  # reports take no time
    shown, changed = [], []
    search_part = decomposition.search_part

    def watched(part, deadline, **options):
        if not changed:
            shown.clear()  # what was found in the whole
        found = search_part(part, deadline, **options)
        changed.append(found != part.plan)
        return found

    monkeypatch.setattr(decomposition, "search_part", watched)
    found = improve(
        instance,
        plan,
        search="decomposition",
        iterations=200_000,
        on_improvement=lambda _seconds, cost, plan: shown.append((cost, plan)),
    )
    assert sum(changed) > 2
    assert len(shown) == sum(changed)
    assert [cost for _, cost in found.trace][-len(shown) :] == [c for c, _ in shown]
    assert shown[-1] == (found.cost, found.plan)
    assert all(plan.is_feasible(instance) for _, plan in shown)


def test_a_vehicle_cost_counts_in_each_part(monkeypatch, instance, packing):
    """A part keeps its plan if a shorter one costs more."""
    dear = replace(instance, vehicles=instance.vehicles + 20)
    found = improve(
        dear, packing, search="decomposition", iterations=60_000, vehicle_cost=1e4
    )
    assert found.plan.vehicles <= packing.vehicles
    assert found.cost == pytest.approx(found.plan.cost_v(dear, 1e4))
