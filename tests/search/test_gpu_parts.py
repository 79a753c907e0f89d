"""The search of one large plan on a GPU, with a search on a core in the GPU's place."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import fixedfleet as ff
from fixedfleet import generate, search
from fixedfleet.fleet import assess_fleet
from fixedfleet.search import Stop, decomposition, gpu_kernel, gpu_parts


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
            stop=Stop(iterations=iterations),
            seed=int(row),
        )
        routes.append(found.plan.to_routes(len(start)))
    return np.array(routes, dtype=np.uint16)


@pytest.fixture
def card(monkeypatch):
    """A GPU with room for 8 chains; its searches are done on a core.

    ``launches`` has the number of parts and the chains of each launch, ``bred`` the
    parts that HGS-CVRP would search meanwhile; here it finds nothing.
    """
    card = SimpleNamespace(launches=[], bred=[], search=on_a_core, room=8)

    def breed(part, **_):
        card.bred.append(part)
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
    monkeypatch.setattr(gpu_parts, "_ROUND_ITERATIONS", 100)
    monkeypatch.setattr(gpu_parts, "breed", breed)
    return card


def improve(instance, start, stop):
    """Search part by part."""
    return search.improve(instance, start, stop=stop, search=gpu_parts.search_parts)


def test_the_plan_becomes_shorter(card, instance, packing):
    """All parts of a large plan are searched at once, and the plan gets shorter."""
    begin = search.improve(
        instance, packing, search="decomposition", stop=Stop(iterations=300)
    )
    found = search.improve(instance, packing, search="gpu", stop=Stop(iterations=300))
    assert found.plan.is_feasible(instance)
    assert found.plan.vehicles <= instance.vehicles
    assert found.cost < begin.cost
    assert [parts for parts, _ in card.launches] == [2, 2, 2]
    again = search.improve(instance, packing, search="gpu", stop=Stop(iterations=300))
    assert again.plan == found.plan


def test_parts_grow_if_nothing_changes(card, monkeypatch, instance, packing):
    """If no part becomes better, the next round has larger parts, up to a limit."""
    card.search = lambda group, _: group.starts
    monkeypatch.setattr(gpu_parts, "_SIZE", 60)
    monkeypatch.setattr(gpu_parts, "_LARGEST", 120)
    improve(instance, packing, Stop(iterations=400))
    assert sum(parts for parts, _ in card.launches) == 4 + 3 + 2 + 4


def test_no_part_becomes_worse(card, instance, packing):
    """If the GPU finds nothing better, the plan stays as it is."""
    card.search = lambda group, _: group.starts
    begin = improve(instance, packing, Stop(iterations=1))
    found = improve(instance, begin.plan, Stop(iterations=1))
    assert found.cost <= begin.cost
    assert len(card.launches) == 2


def test_a_stop_ends_the_rounds(card, monkeypatch, instance, packing):
    """After the search is stopped, no further round begins."""
    monkeypatch.setattr(gpu_parts, "_WHOLE_SHARE", 0.0)
    stop = Stop(60, asked=lambda: len(card.launches) == 2)
    found = improve(instance, packing, stop)
    assert len(card.launches) == 2
    assert found.plan.is_feasible(instance)


def test_no_time_is_left(card, instance, packing):
    """If the time is over before the search begins, the start comes back."""
    stop = Stop(1e-9)
    assert improve(instance, packing, stop).plan == packing
    assert not card.launches


def test_ctrl_c_keeps_the_joined_parts(card, instance, packing):
    """After Ctrl-C, the plan of the rounds so far comes back."""

    def search_twice(group, iterations):
        if len(card.launches) == 2:
            raise KeyboardInterrupt
        return on_a_core(group, iterations)

    card.search = search_twice
    found = improve(instance, packing, Stop(iterations=300))
    assert found.interrupted
    assert len(card.launches) == 2
    assert found.plan.is_feasible(instance)
    assert found.cost < packing.length(instance)


def test_an_infeasible_part_is_an_error(card, instance, packing):
    """What the GPU returns for a part is checked."""
    card.search = lambda group, _: np.zeros_like(group.starts)
    with pytest.raises(RuntimeError, match="the GPU returned an infeasible plan"):
        improve(instance, packing, Stop(iterations=100))


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
    start = ff.Plan([range(1, 401), range(401, 801)])
    improve(long, start, Stop(iterations=100))
    assert not card.launches
    assert [part.instance.num_customers for part in card.bred] == [800]


def test_the_cores_search_meanwhile(card, monkeypatch, instance, packing):
    """What a core finds for a part is kept if the GPU finds nothing better."""
    card.search = lambda group, _: group.starts
    begin = improve(instance, packing, Stop(iterations=1))
    monkeypatch.setattr(gpu_parts, "breed", decomposition.breed)
    found = improve(instance, begin.plan, Stop(iterations=1))
    assert found.plan.is_feasible(instance)
    assert found.cost < begin.cost


@pytest.mark.slow
def test_a_batch_of_mixed_sizes(card, instance):
    """Small instances are searched at once, then the large ones one after the other."""
    card.search = lambda group, _: group.starts
    large = generate.uchoa(800, seed=4, route_size=10.0)
    large = large.with_vehicles(large.vehicles + 2)
    found = ff.solve_batch([instance, large, instance], iterations=100, search="gpu")
    assert found.feasible.all()
    assert card.launches[0] == (2, 1)
    assert sum(parts for parts, _ in card.launches[1:]) == 8
