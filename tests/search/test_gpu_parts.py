"""The search of one large plan on a GPU, with a search on a core in the GPU's place."""

from __future__ import annotations

import signal
import threading
import time
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import fixedfleet as ff
from fixedfleet import generate, search
from fixedfleet.deadline import Deadline
from fixedfleet.fleet import assess_fleet
from fixedfleet.search import SearchTask, decomposition, gpu_kernel, gpu_parts
from fixedfleet.search.gpu_parts import GpuPartsParameters, _PartRounds, search_parts


@pytest.fixture(scope="module")
def instance() -> ff.Instance:
    """210 customers with a vehicle to spare."""
    drawn = generate.uchoa(210, seed=3, route_size=10.0, rounding="round")
    return drawn.with_vehicles(drawn.vehicles + 1)


@pytest.fixture(scope="module")
def packing(instance) -> ff.Plan:
    return assess_fleet(instance).packing


def on_a_core(group, iterations) -> np.ndarray:
    """Search the instances of a group on a core; return their routes."""
    routes = []
    columns = group.sizes, group.points, group.demands, group.starts
    for (n, m, capacity, row), points, demands, start in zip(*columns, strict=True):
        part = ff.Instance(
            depot=points[0],
            customers=points[1 : n + 1],
            demands=demands[:n].tolist(),
            capacity=int(capacity),
            vehicles=int(m),
            rounding="round" if group.rounded else "none",
        )
        found = search.improve(
            part,
            ff.Plan.from_routes(start),
            search="ruin_recreate",
            iterations=iterations,
            seed=int(row),
        )
        routes.append(found.plan.to_routes(len(start)))
    return np.array(routes, dtype=np.uint16)


@pytest.fixture
def card(monkeypatch):
    """A GPU with room for 8 chains; its searches are done on a core.

    ``launches`` has the number of parts and the chains of each launch, ``on_cores`` the
    parts that HGS-CVRP would search meanwhile; here it finds nothing.
    """
    card = SimpleNamespace(launches=[], on_cores=[], search=on_a_core, room=8)

    def search_part(part, deadline, **_):
        card.on_cores.append(part)
        return part.plan

    def launch(group, limits, chains):
        card.launches.append((len(group.rows), chains))
        iterations = min(200, int(limits["iterations"][0]))
        return lambda: card.search(group, iterations)

    def chains_to_fill(groups):
        return max(1, card.room // sum(len(group.rows) for group in groups))

    monkeypatch.setattr(gpu_kernel, "launch", launch)
    monkeypatch.setattr(gpu_kernel, "chains_to_fill", chains_to_fill)
    monkeypatch.setattr(gpu_kernel, "load_cupy", lambda: None)
    monkeypatch.setattr(gpu_kernel, "load_kernels", lambda groups: None)
    monkeypatch.setattr(gpu_parts, "search_part", search_part)
    return card


def improve(instance, plan, *, settings=None, **options):
    """Search part by part in rounds of 100 iterations."""
    settings = {"round_iterations": 100} | (settings or {})
    parameters = GpuPartsParameters(**settings)
    found = partial(search_parts, parameters=parameters)
    return search.improve(instance, plan, search=found, **options)


def test_the_plan_becomes_shorter(card, instance, packing):
    """All parts of a large plan are searched at once, and the plan gets shorter."""
    begin = search.improve(instance, packing, search="ruin_recreate", iterations=300)
    found = improve(instance, packing, iterations=300)
    assert found.plan.is_feasible(instance)
    assert found.plan.vehicles <= instance.vehicles
    assert found.cost < begin.cost
    assert [parts for parts, _ in card.launches] == [2, 2, 2]
    again = improve(instance, packing, iterations=300)
    assert again.plan == found.plan


def test_many_customers_are_searched_part_by_part(card, instance, packing):
    """The search ``gpu`` divides the plan of an instance of this size."""
    found = search.improve(instance, packing, search="gpu", iterations=300)
    assert found.plan.is_feasible(instance)
    assert card.launches == [(2, 4)]


@pytest.mark.parametrize("tours", [0, 5])
def test_an_incomplete_plan_is_completed_first(card, instance, packing, tours):
    """A core serves all customers before the plan is divided."""
    plan = ff.Plan(packing.tours[:tours])
    found = search.improve(instance, plan, search="gpu", iterations=3000)
    assert found.plan.is_feasible(instance)
    assert card.launches


def test_improvements_of_parts_are_in_the_trace(card, monkeypatch, instance, packing):
    """Each round that improves a part is an entry of the trace."""
    monkeypatch.setattr(time, "perf_counter", lambda: 0.0)  # reports take no time
    rounds, shown = [], []

    def search_and_note(group, iterations):
        if not rounds:
            shown.clear()  # what was found in the whole
        routes = on_a_core(group, iterations)
        rounds.append(not np.array_equal(routes, group.starts))
        return routes

    card.search = search_and_note
    found = improve(
        instance,
        packing,
        iterations=300,
        on_improvement=lambda _seconds, cost, _plan: shown.append(cost),
    )
    assert rounds == [True, True, True]
    assert [cost for _, cost in found.trace][-3:] == shown
    assert shown[-1] == found.cost


def test_parts_grow_if_nothing_changes(card, instance, packing):
    """If no part becomes better, the next round has larger parts, up to a limit."""
    card.search = lambda group, _: group.starts
    settings = {"size": 60, "largest": 120}
    improve(instance, packing, settings=settings, iterations=400)
    assert sum(parts for parts, _ in card.launches) == 4 + 3 + 2 + 4


def test_no_part_becomes_worse(card, instance, packing):
    """If the GPU finds nothing better, the plan stays as it is."""
    card.search = lambda group, _: group.starts
    begin = improve(instance, packing, iterations=1)
    found = improve(instance, begin.plan, iterations=1)
    assert found.cost <= begin.cost
    assert len(card.launches) == 2


def test_a_stop_ends_the_rounds(card, instance, packing):
    """After the search is stopped, no further round begins."""
    found = improve(
        instance,
        packing,
        settings={"whole_share": 0.0},
        time_limit=60,
        stop=lambda: len(card.launches) == 2,
    )
    assert len(card.launches) == 2
    assert found.plan.is_feasible(instance)


def test_no_time_is_left(card, instance, packing):
    """If the time is over before the search begins, the initial plan comes back."""
    plans = list(search_parts(SearchTask(instance, packing, Deadline(0.0))))
    assert {*plans} == {packing}
    assert improve(instance, packing, time_limit=1e-9).plan == packing
    assert not card.launches


def test_ctrl_c_keeps_the_joined_parts(card, instance, packing):
    """After Ctrl-C the round ends, and the plan of all rounds so far comes back."""

    def search_twice(group, iterations):
        if len(card.launches) == 2:
            signal.raise_signal(signal.SIGINT)
        return on_a_core(group, iterations)

    whole = improve(instance, packing, iterations=1).plan
    card.launches.clear()
    card.search = search_twice
    found = improve(instance, whole, iterations=300)
    assert found.interrupted
    assert len(card.launches) == 2
    assert found.plan.is_feasible(instance)
    assert found.cost < whole.length(instance)


def test_an_infeasible_part_is_an_error(card, instance, packing):
    """What the GPU returns for a part is checked."""
    card.search = lambda group, _: np.zeros_like(group.starts)
    with pytest.raises(RuntimeError, match="the GPU returned an infeasible plan"):
        improve(instance, packing, iterations=100)


def test_tours_too_long_for_the_gpu(card):
    """If no two tours fit into the memory of the GPU, the cores search alone."""
    points = np.random.default_rng(1).uniform(size=(801, 2))
    long = ff.Instance(
        depot=points[0],
        customers=points[1:],
        demands=[1] * 800,
        capacity=400,
        vehicles=2,
    )
    plan = ff.Plan([range(1, 401), range(401, 801)])
    improve(long, plan, iterations=100)
    assert not card.launches
    assert [part.instance.num_customers for part in card.on_cores] == [800]


def test_the_cores_search_meanwhile(card, monkeypatch, instance, packing):
    """What a core finds for a part is kept if the GPU finds nothing better."""
    card.search = lambda group, _: group.starts
    begin = improve(instance, packing, iterations=1)
    monkeypatch.setattr(gpu_parts, "search_part", decomposition.search_part)
    found = improve(instance, begin.plan, iterations=1)
    assert found.plan.is_feasible(instance)
    assert found.cost < begin.cost


def test_only_the_calling_thread_is_asked_to_stop(card, monkeypatch, instance, packing):
    """A function of the user is never called by the threads of the cores."""
    asking, searching = set(), set()

    def search_part(part, deadline, **_):
        searching.add(threading.current_thread())
        deadline.over()
        return part.plan

    def stop():
        asking.add(threading.current_thread())
        return False

    monkeypatch.setattr(gpu_parts, "search_part", search_part)
    improve(instance, packing, iterations=200, stop=stop, cores=2)
    assert asking == {threading.current_thread()}
    assert searching
    assert not searching & asking


@pytest.mark.slow
def test_a_batch_of_mixed_sizes(card, instance, monkeypatch):
    """Small instances are searched at once, then the large ones one after the other."""
    # With more cores, the plans that are divided differ.
    monkeypatch.setattr("fixedfleet.solving.solve_batch.available_cores", lambda: 2)
    card.search = lambda group, _: group.starts
    small = generate.uchoa(100, seed=4, route_size=10.0)
    large = generate.uchoa(800, seed=4, route_size=10.0)
    large = large.with_vehicles(large.vehicles + 2)
    found = ff.solve_batch(
        [instance, small, large, small], iterations=100, search="gpu"
    )
    assert found.feasible.all()
    assert card.launches[:2] == [(2, 1), (2, 4)]
    # The size classes of the eight parts depend on the plan that is divided.
    counts, chains = zip(*card.launches[2:], strict=True)
    assert sum(counts) == 8
    assert set(chains) == {1}


# ------------------------------------------------------------------ length of rounds


def play(rounds: _PartRounds, clock: list[float], speed: float, host: float) -> None:
    """Go through one round on a GPU of some iterations per second."""
    rounds.on_gpu = rounds.iterations / speed
    clock[0] += rounds.on_gpu + host
    rounds.end(changed=True)


def test_rounds_are_as_long_as_they_should_be_and_end_in_time():
    """The first round shows the speed; after it a round takes its seconds."""
    clock = [0.0]
    deadline = Deadline(10.0, clock=lambda: clock[0])
    rounds = _PartRounds(deadline, 300, 1.0, GpuPartsParameters())
    seconds = []
    while rounds.begin():
        before = clock[0]
        play(rounds, clock, speed=100_000, host=0.01)
        seconds.append(clock[0] - before)
    assert rounds.iterations > 0
    assert seconds[0] == pytest.approx(2000 / 100_000 + 0.01)
    assert seconds[2] == pytest.approx(0.26)
    assert 9.9 < clock[0] <= 10.0


def test_rounds_become_longer_if_the_host_takes_long():
    """At most an eighth of a round is not spent on the GPU."""
    clock = [0.0]
    deadline = Deadline(100.0, clock=lambda: clock[0])
    rounds = _PartRounds(deadline, 300, 1.0, GpuPartsParameters())
    for _ in range(6):
        assert rounds.begin()
        play(rounds, clock, speed=100_000, host=1.0)
    assert rounds.on_gpu == pytest.approx(8.0)
