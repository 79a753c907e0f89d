"""One plan that several cores search, each in a region of its own."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import fixedfleet as ff
from fixedfleet import generate
from fixedfleet.deadline import Deadline
from fixedfleet.fleet import assess_fleet
from fixedfleet.search import SearchTask, cpu_arrays, cpu_kernel, regions
from fixedfleet.search.ruin_recreate import (
    RuinRecreateParameters,
    _begin,
    _best_plan,
    load_regions,
    ruin_recreate,
)

LARGE_SCALE = RuinRecreateParameters(large_scale=True)


@pytest.fixture(scope="module")
def instance() -> ff.Instance:
    """An instance with tours of about six customers."""
    return generate.uchoa(240, seed=5, route_size=6)


@pytest.fixture(scope="module")
def packing(instance) -> ff.Plan:
    """A plan within the fleet that is far too long."""
    return assess_fleet(instance).packing


def divided(instance: ff.Instance, plan: ff.Plan, count: int) -> list[tuple[set, set]]:
    """Divide a plan; return the tours and the customers of each region."""
    problem, state = _begin(instance, plan, 3, LARGE_SCALE, 0.0)
    parts = regions.Regions(instance, 0, count)._assign(problem, state, count)
    numbers = state.customers
    return [
        (set(part.tours.tolist()), set(numbers[part.seeds].tolist())) for part in parts
    ]


@pytest.mark.parametrize("count", [2, 3, 7, 16])
def test_each_tour_is_in_one_region_with_its_customers(instance, packing, count):
    """Nothing is left out, nothing is in two regions, and idle vehicles are shared."""
    instance = instance.with_vehicles(packing.vehicles + 2 * count)
    found = divided(instance, packing, count)
    assert len(found) == count
    longest = max(map(len, packing.tours))
    tours = sorted(tour for part, _ in found for tour in part)
    assert tours == list(range(instance.vehicles))
    for part, customers in found:
        served = [tour for tour in part if tour < packing.vehicles]
        assert customers == {stop for tour in served for stop in packing.tours[tour]}
        assert len(part) - len(served) == 2
        assert abs(len(customers) - instance.num_customers / count) <= longest


def test_a_region_has_neighbouring_tours():
    """Two towns with the same number of customers are two regions, however drawn."""
    rng = np.random.default_rng(4)
    towns = np.repeat([[0.0, 0.0], [100.0, 0.0]], 30, axis=0)
    instance = ff.Instance(
        depot=(50, 0),
        customers=towns + rng.uniform(size=(60, 2)),
        demands=[1] * 60,
        capacity=5,
        vehicles=12,
    )
    plan = ff.Plan([range(first, first + 5) for first in range(1, 61, 5)])
    found = {frozenset(customers) for _, customers in divided(instance, plan, 2)}
    assert found == {frozenset(range(1, 31)), frozenset(range(31, 61))}


def test_a_round_changes_no_tour_across_regions(monkeypatch, instance, packing):
    """In one round, the customers of a region stay in the tours of this region."""
    problem, state = _begin(instance, packing, 3, LARGE_SCALE, 0.0)
    searched = regions.Regions(instance, 0, 4)
    drawn, assign = [], searched._assign

    def remembering(*arguments):
        drawn.extend(assign(*arguments))
        return drawn

    monkeypatch.setattr(searched, "_assign", remembering)
    before = state.nodes.copy()
    searched.run_round(problem, state, 4000, 0.1 * 1000)
    assert not np.array_equal(state.nodes, before)
    assert len(drawn) == 4
    for part in drawn:
        assert set(state.nodes[part.seeds, cpu_arrays.TOUR]) <= set(part.tours)


def test_several_cores_find_as_short_plans_in_as_many_iterations(instance, packing):
    """The customers move from region to region, because each round has others."""
    lengths = {}
    for cores in (1, 4):
        deadline = Deadline(600, iterations=200_000)
        task = SearchTask(instance, packing, deadline, seed=1, cores=cores)
        plans = [list(ruin_recreate(task, LARGE_SCALE))[-1] for _ in range(2)]
        assert plans[0] == plans[1]
        assert plans[0].is_feasible(instance)
        lengths[cores] = plans[0].length(instance)
    assert lengths[4] < 1.02 * lengths[1] < 0.5 * packing.length(instance)


@pytest.mark.parametrize("tours", [[range(1, 241)], [range(2, 241), [1]], [[7]]])
def test_a_plan_without_regions_is_searched_as_a_whole(instance, tours):
    """With one or two tours, or unserved customers, the plan becomes better, too."""
    instance = replace(instance, capacity=int(instance.demands.sum()), vehicles=9)
    plan = ff.Plan(tours)
    task = SearchTask(instance, plan, Deadline(60, iterations=2000), cores=3)
    found = list(ruin_recreate(task, LARGE_SCALE))[-1]
    assert found.is_feasible(instance)
    if not plan.unserved(instance):
        assert found.length(instance) < plan.length(instance)


def test_the_best_plan_is_kept_when_later_rounds_are_worse(instance, packing):
    """A hot round makes the current plan longer, but not the best one."""
    problem, state = _begin(instance, packing, 3, LARGE_SCALE, 0.0)
    searched = regions.Regions(instance, 0, 3)
    for _ in range(50):
        searched.run_round(problem, state, 3000, 1.0)
    cold = state.costs.copy()
    searched.run_round(problem, state, 30_000, 1e6)
    assert state.costs[0] > 1.2 * cold[0]
    assert state.costs[1] <= cold[1]


def test_the_best_plan_is_whole_if_regions_are_given_up(monkeypatch, instance, packing):
    """When tours become few, one core goes on: it must know where the plans differ."""
    problem, state = _begin(instance, packing, 3, LARGE_SCALE, 0.0)
    searched = regions.Regions(instance, 0, 3)
    for temperature in (1.0, 30.0):  # the current plan becomes worse than the best one
        searched.run_round(problem, state, 3000, temperature)
    monkeypatch.setattr(regions, "MIN_TOURS", 10**9)
    before = state.costs.copy()
    assert before[0] > before[1]
    while state.costs[1] == before[1]:  # until the first plan that is better
        searched.run_round(problem, state, 1, 1e-3)
    plan = _best_plan(state, instance)
    assert plan.is_feasible(instance)
    assert plan.length(instance) == pytest.approx(state.costs[1], rel=1e-6)


@pytest.mark.parametrize("iterations", [1, 2, 7, 100])
def test_a_round_has_as_many_iterations_as_asked_for(
    monkeypatch, instance, packing, iterations
):
    """What cannot be divided equally is not lost, and no core does one too many."""
    done = []
    monkeypatch.setattr(
        regions, "advance", lambda _, __, count, ___: done.append(count)
    )
    problem, state = _begin(instance, packing, 3, LARGE_SCALE, 0.0)
    regions.Regions(instance, 0, 3).run_round(problem, state, iterations, 1.0)
    assert sum(done) == iterations
    assert max(done) - min(done) <= 1


@pytest.mark.parametrize("cores", [1, 8])
def test_the_temperature_falls_in_as_many_steps_on_any_number_of_cores(
    monkeypatch, instance, packing, cores
):
    """If cores made longer rounds, the plan would be divided only a few times."""
    rounds = []

    def run_round(_, problem, state, count, temperature):
        rounds.append(temperature)

    load_regions(measured=False)
    monkeypatch.setattr(regions.Regions, "run_round", run_round)
    monkeypatch.setattr(cpu_kernel, "advance", partial(run_round, None))
    task = SearchTask(instance, packing, Deadline(60, iterations=800), cores=cores)
    list(ruin_recreate(task, LARGE_SCALE))
    assert len(rounds) == 100
