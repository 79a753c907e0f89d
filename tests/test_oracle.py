"""The oracle that other tests compare plans with."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import fixedfleet as ff


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
def test_no_plan_is_better(optimal_plan, vehicles: int, vehicle_cost: float) -> None:
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


def test_square(optimal_plan, square: ff.Instance) -> None:
    """The plan that can be found by hand is found."""
    plan = optimal_plan(square)
    assert plan is not None
    assert plan.length(square) == pytest.approx(4 + 4 * 2**0.5)


def test_vehicle_cost_saves_vehicles(optimal_plan) -> None:
    """A dear vehicle is left at the depot where a cheap one is sent out."""
    # To and from the depot is cheap here, from customer to customer is dear.
    matrix = np.full((4, 4), 10.0)
    matrix[0, :] = matrix[:, 0] = 1
    instance = ff.Instance(matrix=matrix, demands=[1] * 3, capacity=3, vehicles=3)
    cheap = optimal_plan(instance)
    dear = optimal_plan(instance, vehicle_cost=100)
    assert cheap is not None
    assert dear is not None
    assert (cheap.vehicles, dear.vehicles) == (3, 1)


def test_impossible(optimal_plan) -> None:
    """Where no plan exists there is none."""
    instance = ff.Instance(
        depot=(0, 0),
        customers=[[1, 0], [0, 1], [1, 1]],
        demands=[6, 6, 6],
        capacity=10,
        vehicles=2,
    )
    assert optimal_plan(instance) is None
