"""The exhaustive oracle."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import fixedfleet as ff
from fixedfleet.errors import InputError
from fixedfleet.solvers.exact import Exact, optimal_plan


def _plans(customers: tuple[int, ...]):
    """Every plan: every order of the customers, cut everywhere possible."""
    for order in itertools.permutations(customers):
        for cuts in itertools.product((False, True), repeat=len(order) - 1):
            tours = [[order[0]]]
            for customer, cut in zip(order[1:], cuts, strict=True):
                if cut:
                    tours.append([])
                tours[-1].append(customer)
            yield ff.Plan(tours)


@pytest.mark.parametrize("vehicle_cost", [0.0, 40.0])
@pytest.mark.parametrize("vehicles", [2, 3, 5])
def test_no_plan_is_better(vehicles: int, vehicle_cost: float) -> None:
    """No plan at all, tried one by one, is cheaper than the oracle's."""
    rng = np.random.default_rng(vehicles)
    instance = ff.Instance(
        matrix=rng.uniform(1, 50, size=(6, 6)),
        demands=[2, 3, 4, 1, 2],
        capacity=6,
        vehicles=vehicles,
    )
    best = min(
        plan.cost_v(instance, vehicle_cost)
        for plan in _plans((1, 2, 3, 4, 5))
        if plan.is_feasible(instance)
    )
    plan = optimal_plan(instance, vehicle_cost=vehicle_cost)
    assert plan is not None
    assert plan.check(instance) == []
    assert plan.cost_v(instance, vehicle_cost) == pytest.approx(best)


def test_square(square: ff.Instance) -> None:
    """The plan that can be found by hand is found."""
    plan = optimal_plan(square)
    assert plan is not None
    assert plan.length(square) == pytest.approx(4 + 4 * 2**0.5)


def test_vehicle_cost_saves_vehicles() -> None:
    """A dear vehicle is left at the depot where a cheap one is sent out."""
    # To and from the depot is cheap here, from customer to customer is dear.
    matrix = np.full((4, 4), 10.0)
    matrix[0, :] = matrix[:, 0] = 1
    instance = ff.Instance(matrix=matrix, demands=[1] * 3, capacity=3, vehicles=3)
    cheap = Exact().solve(instance, time_limit=1)
    dear = Exact(vehicle_cost=100).solve(instance, time_limit=1)
    assert cheap is not None
    assert dear is not None
    assert (cheap.vehicles, dear.vehicles) == (3, 1)


def test_impossible(impossible: ff.Instance) -> None:
    """Where no plan exists there is none."""
    assert optimal_plan(impossible) is None


@pytest.mark.parametrize("vehicle_cost", [float("nan"), float("inf"), -1])
def test_vehicle_cost_is_checked(square: ff.Instance, vehicle_cost: float) -> None:
    """A cost that is no cost is refused, and not taken for an impossible fleet."""
    with pytest.raises(InputError, match="vehicle cost is"):
        optimal_plan(square, vehicle_cost=vehicle_cost)


def test_too_many_customers(make_instance) -> None:
    """An instance beyond the oracle's reach is refused with the limit."""
    with pytest.raises(InputError, match="at most 10 customers, not 12"):
        optimal_plan(make_instance(n=12))
