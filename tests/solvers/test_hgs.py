"""HGS-CVRP as the engine of the search."""

from __future__ import annotations

import pytest

import fixedfleet as ff
from fixedfleet.errors import InputError
from fixedfleet.solvers.hgs import HgsParameters, hgs_plans, hgs_search


def test_same_seed_same_plan(make_instance) -> None:
    """Limited by iterations, the same seed gives the same plan."""
    instance = make_instance(n=40, vehicles=5, capacity=30)
    plans = [hgs_search(instance, iterations=20, seed=7) for _ in range(2)]
    assert plans[0] is not None
    assert plans[0] == plans[1]


def test_seeds_differ(make_instance) -> None:
    """Seeds 0 and 1 are two seeds."""
    instance = make_instance(n=60, vehicles=6, capacity=40)
    parameters = HgsParameters(population=1)
    plans = {
        hgs_search(instance, iterations=1, seed=seed, parameters=parameters)
        for seed in (0, 1)
    }
    assert len(plans) == 2


def test_never_worse_than_the_best_start(make_instance) -> None:
    """Started from several plans, the answer is at least as short as each of them."""
    instance = make_instance(n=60, vehicles=6, capacity=40)
    good = hgs_search(instance, iterations=2000)
    poor = hgs_search(instance, iterations=1)
    assert good is not None
    assert poor is not None
    parameters = HgsParameters(population=1, generation=1)
    answer = hgs_search(
        instance, iterations=1, starts=[poor, good], parameters=parameters
    )
    assert answer is not None
    assert answer.length(instance) <= good.length(instance) + 1e-6


def test_several_plans_the_best_first(make_instance) -> None:
    """Asked for several, different feasible plans come back, none before a better."""
    instance = make_instance(n=40, vehicles=5, capacity=30)
    plans = hgs_plans(instance, most=5, iterations=50, seed=7)
    assert plans[0] == hgs_search(instance, iterations=50, seed=7)
    assert 1 < len(plans) <= 5
    assert len(set(plans)) == len(plans)
    assert all(plan.is_feasible(instance) for plan in plans)
    lengths = [plan.length(instance) for plan in plans]
    assert lengths == pytest.approx(sorted(lengths))
    assert hgs_plans(instance.with_vehicles(1), most=5, iterations=1) == []


def test_fewer_vehicles(make_instance) -> None:
    """A lower bound on the tours than the instance's fleet is kept."""
    instance = make_instance(n=12, vehicles=6, capacity=12, demands=[2] * 12)
    plan = hgs_search(instance, iterations=50, vehicles=2)
    assert plan is not None
    assert plan.vehicles == 2
    assert plan.is_feasible(instance)
    assert hgs_search(instance, iterations=50, vehicles=1) is None


def test_overloaded_start_is_repaired(make_instance) -> None:
    """A start that overloads its tours may still help; the answer does not."""
    instance = make_instance(n=6, vehicles=3, capacity=4, demands=[2] * 6)
    start = ff.Plan([[1, 2, 3, 4, 5, 6]])
    plan = hgs_search(instance, iterations=20, starts=[start])
    assert plan is not None
    assert plan.is_feasible(instance)


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (ff.Plan([[1, 2], [3], [4]]), "more than the fleet size of 2"),
        (ff.Plan([[1, 2, 3]]), "start"),
        (ff.Plan([[1, 2], [3, 4, 4]]), "more than once"),
    ],
)
def test_unusable_start(square: ff.Instance, start: ff.Plan, message: str) -> None:
    """A start with too many tours or without a customer is refused with the reason."""
    with pytest.raises(InputError, match=message):
        hgs_search(square, iterations=10, starts=[start])


@pytest.mark.parametrize(
    "limits",
    [
        {},
        {"time_limit": 1.0, "iterations": 1},
        {"time_limit": 0.0},
        {"time_limit": float("inf")},
        {"iterations": 0},
        {"iterations": 2.5},
    ],
)
def test_one_limit(square: ff.Instance, limits: dict[str, float]) -> None:
    """Exactly one limit must be given, and be above zero."""
    with pytest.raises(InputError, match=r"time limit|iterations"):
        hgs_search(square, **limits)


@pytest.mark.parametrize(
    "wrong",
    [
        {"population": 0},
        {"granularity": -1},
        {"elite": 2.5},
        {"target_feasible": 1.5},
        {"penalty_increase": 0.5},
    ],
)
def test_parameters_are_checked(wrong: dict[str, float]) -> None:
    """A parameter out of range is refused by name."""
    with pytest.raises(InputError, match=next(iter(wrong))):
        HgsParameters(**wrong)


def test_bound_above_the_fleet(square: ff.Instance) -> None:
    """A bound above the fleet is refused: no plan may use more vehicles."""
    with pytest.raises(InputError, match="the fleet of 2"):
        hgs_search(square, iterations=1, vehicles=3)
