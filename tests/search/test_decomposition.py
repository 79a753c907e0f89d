"""The search part by part, which plans for many customers."""

from __future__ import annotations

import numpy as np
import pytest

import fixedfleet as ff
from fixedfleet import generate
from fixedfleet.fleet import assess_fleet
from fixedfleet.search import Stop, improve
from fixedfleet.search.cpu_distances import is_measured
from fixedfleet.search.decomposition import part_population, part_size, whole_settings
from fixedfleet.search.ruin_recreate import RuinRecreateParameters


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
            stop=Stop(iterations=60_000),
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
    whole = improve(
        instance, packing, search="ruin_recreate", stop=Stop(iterations=30_000)
    )
    found = improve(
        instance, whole.plan, search="decomposition", stop=Stop(iterations=60_000)
    )
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
        stop=Stop(iterations=30_000),
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
            stop=Stop(iterations=20_000),
            cores=cores,
        )
        assert found.plan.is_feasible(instance)


def test_a_large_instance_needs_no_matrix():
    """Neither planning nor checking computes all distances of a large instance."""
    instance = generate.uchoa(1500, seed=2)
    result = ff.solve(instance, time_limit=0.5, start="savings")
    assert result.feasible
    assert is_measured(instance)
    assert "distances" not in vars(result.instance)
    assert "distances" not in vars(instance)


def test_many_customers_that_fill_a_vehicle_each(monkeypatch):
    """There is no leg between customers that the temperature could be taken from."""
    monkeypatch.setattr("fixedfleet.search.decomposition._LARGE", 30)
    n = 40
    points = np.random.default_rng(1).random((n, 2))
    instance = ff.Instance(
        depot=(0.5, 0.5), customers=points, demands=[1] * n, capacity=1, vehicles=n
    )
    stop = Stop(iterations=100)
    found = improve(instance, search="decomposition", stop=stop, cores=1)
    assert found.plan.is_feasible(instance)


def test_customers_without_a_place_are_placed_before_parts_are_searched(instance):
    """A start may leave customers unassigned, as for every other search."""
    found = improve(
        instance, search="decomposition", stop=Stop(iterations=60_000), cores=2
    )
    assert found.plan.is_feasible(instance)


def test_longer_strings_are_removed_from_long_tours():
    """Strings grow with the tours, but not if there are many customers."""
    default = RuinRecreateParameters()
    usual = whole_settings(1000, 50)
    assert usual.removals == default.removals
    assert usual.longest == default.longest
    long = whole_settings(1600, 20)
    assert long.removals == 20
    assert long.longest == 30
    many = whole_settings(4000, 50)
    assert (many.removals, many.longest) == (usual.removals, usual.longest)


def test_parts_are_fitted_to_long_tours_and_little_time():
    """With many customers, a part has three tours; a brief search breeds few plans."""
    assert part_size(1600, 20) == 100
    assert part_size(4000, 400) == 100
    assert part_size(4000, 40) == 300
    assert part_population(0.15) == 4
    assert part_population(0.05) == 3
