"""Bounds are never above the optimum, and end at it."""

from __future__ import annotations

import math
import re
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

import fixedfleet as ff
from fixedfleet import generate
from fixedfleet.bound import bounding, bounds
from fixedfleet.bound.labelling import EXACT
from fixedfleet.bound.linear_program import LinearProgram, NoSolutionError
from fixedfleet.bound.master import Master
from fixedfleet.bound.pricing import OutOfTimeError
from fixedfleet.bound.root import Root
from fixedfleet.search import improve

LOOSE = 1 + 1e-12  # sums of floats in another order


def cost_of(optimal_plan, instance, vehicle_cost):
    """The least cost of a plan, by exhaustive enumeration."""
    plan = optimal_plan(instance, vehicle_cost=vehicle_cost)
    return plan.cost_v(instance, vehicle_cost)


def search(instance):
    """A good plan, found within a number of iterations."""
    return improve(instance, search="ruin_recreate", iterations=20_000).plan


@pytest.mark.parametrize("seed", range(60))
def test_small_odd_instances_are_proven(seed, odd, optimal_plan, forever):
    """From any plan, the bound rises to the optimum, whose plan is found."""
    instance, plan, vehicle_cost = odd(seed)
    optimum = cost_of(optimal_plan, instance, vehicle_cost)
    before = -1.0
    for step in bounds(instance, plan, seconds_left=forever, vehicle_cost=vehicle_cost):
        assert before <= step.bound <= optimum * LOOSE
        before = step.bound
    assert step.proven
    assert step.bound >= optimum * (1 - 1.01e-7)
    assert step.plan.check(instance) == []
    assert step.plan.cost_v(instance, vehicle_cost) <= optimum * (1 + 1.01e-7)


def test_known_odd_instances_are_proven(small, optimal_plan, forever):
    """Each instance that trips packages has its optimum proven, from the packing."""
    packing = ff.assess_fleet(small).packing
    optimum = cost_of(optimal_plan, small, 0.0)
    *_, last = bounds(small, packing, seconds_left=forever)
    assert last.proven
    assert optimum * (1 - 1.01e-7) <= last.bound <= optimum * LOOSE
    assert last.plan.length(small) <= optimum * (1 + 1.01e-7)


@pytest.mark.parametrize("customers", [0, 3])
def test_no_better_plan_is_claimed_than_the_optimum(
    odd, optimal_plan, forever, customers
):
    """The optimal plan itself is proven and returned."""
    instance, _, vehicle_cost = odd(2 + customers)
    best = optimal_plan(instance, vehicle_cost=vehicle_cost)
    *_, last = bounds(instance, best, seconds_left=forever, vehicle_cost=vehicle_cost)
    assert last.proven
    assert last.plan == best


def test_whole_costs_are_proven_to_the_digit(odd, optimal_plan, forever):
    """With whole distances, the bound of a proven plan is its cost."""
    instance, plan, _ = odd(3)
    *_, last = bounds(instance, plan, seconds_left=forever)
    assert last.bound == last.plan.length(instance)
    assert last.bound == optimal_plan(instance).length(instance)


def test_further_tours_change_nothing_but_the_time(odd, forever):
    """Tours of other plans lead to the same optimum."""
    instance, plan, _ = odd(4)
    *_, alone = bounds(instance, plan, seconds_left=forever)
    tours = [(1,), (2, 1), (3,)]
    *_, helped = bounds(instance, plan, seconds_left=forever, tours=tours)
    assert helped.plan.length(instance) == pytest.approx(alone.plan.length(instance))
    assert helped.proven


def test_a_plan_that_costs_nothing_is_found_from_one_of_cost_one(forever):
    """A gap to a cost of zero is no division by zero, and a bound on it no proof."""
    instance = ff.Instance(
        matrix=[[0, 1, 0], [0, 0, 0], [0, 0, 0]], demands=[1, 1], capacity=2, vehicles=2
    )
    *_, last = bounds(instance, ff.Plan([[1], [2]]), seconds_left=forever)
    assert (last.bound, last.proven, last.plan) == (0.0, True, ff.Plan([[2, 1]]))


def test_units_that_are_too_coarse_for_the_optimum_end_the_search(fake_clock):
    """From a plan over arcs of 10⁹, the optimum of 0.3 is found once, not for ever."""
    matrix = [[0, 0.1, 1e9], [1e9, 0, 0.1], [0.1, 1e9, 0]]
    instance = ff.Instance(matrix=matrix, demands=[1, 1], capacity=2, vehicles=2)
    clock = fake_clock(1000)
    *_, last = bounds(instance, ff.Plan([[1], [2]]), seconds_left=clock)
    assert clock.left > 0
    assert last.plan == ff.Plan([[1, 2]])
    assert 0.29 < last.bound < 0.3


def test_a_linear_program_of_value_zero_is_cut(forever):
    """Where many distances are zero, cuts raise a value of zero to the optimum of 1."""
    matrix = np.zeros((4, 4))
    matrix[2, 0] = matrix[3, 0] = matrix[3, 2] = 1
    instance = ff.Instance(matrix=matrix, demands=[1, 1, 1], capacity=2, vehicles=2)
    *_, last = bounds(instance, ff.Plan([[1, 2], [3]]), seconds_left=forever)
    assert (last.bound, last.proven, last.plan.length(instance)) == (1.0, True, 1.0)


def test_a_route_of_nearly_no_value_is_no_part_of_a_plan(square, forever, monkeypatch):
    """Values of a linear program that are not exactly zero do not hide a plan."""
    support = Master.support

    def inexact(master):
        routes, values = support(master)
        return [*routes, (1,)], np.append(values, 5e-7)

    monkeypatch.setattr(Master, "support", inexact)
    *_, last = bounds(square, ff.Plan([[1, 3], [2, 4]]), seconds_left=forever)
    assert last.proven
    assert last.plan.length(square) == pytest.approx(4 + 4 * math.sqrt(2))


def test_a_bound_cannot_be_changed(square, fake_clock):
    """What was claimed at one moment stays as it was."""
    plan = ff.Plan([[1, 3], [2, 4]])
    (only,) = bounds(square, plan, seconds_left=fake_clock(0))
    with pytest.raises(FrozenInstanceError):
        only.proven = True


def test_a_wrong_plan_is_refused(square, forever):
    """A plan that leaves a customer out is no plan to bound."""
    with pytest.raises(ff.InputError, match="customer 4 missing"):
        bounds(square, ff.Plan([[1, 2], [3]]), seconds_left=forever)


def test_an_instance_that_is_too_large_is_refused(square, forever, monkeypatch):
    """As many customers as the limit says are accepted, one more is not."""
    plan = ff.Plan([[1, 2], [3, 4]])
    monkeypatch.setattr(bounding, "_MOST_CUSTOMERS", 4)
    *_, last = bounds(square, plan, seconds_left=forever)
    assert last.proven
    monkeypatch.setattr(bounding, "_MOST_CUSTOMERS", 3)
    with pytest.raises(ff.InputError, match="at most 3 customers: there are 4"):
        bounds(square, plan, seconds_left=forever)


@pytest.mark.parametrize(
    ("tour", "fault"),
    [
        ((1, 1), "served twice"),
        ((1, 2, 3), "carries 3 of 2"),
        ((5,), "does not exist"),
    ],
)
def test_a_wrong_tour_is_refused(square, forever, tour, fault):
    """A tour that no plan can have would make a bound wrong."""
    plan = ff.Plan([[1, 2], [3, 4]])
    with pytest.raises(ff.InputError, match=fault):
        bounds(square, plan, seconds_left=forever, tours=[tour])


@pytest.mark.slow
def test_the_time_limit_is_kept_everywhere(make_instance, fake_clock):
    """Whenever time is over, the bounds end, with one below the optimum."""
    instance = make_instance(n=14, vehicles=4, capacity=18, seed=5)
    plan = ff.assess_fleet(instance).packing
    everything = fake_clock()
    *_, last = bounds(instance, plan, seconds_left=everything)
    assert last.proven
    optimum = last.plan.length(instance)
    ends = set()
    for looks in range(1, everything.looks, max(1, everything.looks // 12)):
        clock = fake_clock(looks)
        *_, step = bounds(instance, plan, seconds_left=clock)
        assert clock.looks <= looks
        assert not step.proven
        assert step.bound <= optimum * LOOSE
        ends.add(step.bound)
    assert len(ends) > 2


@pytest.mark.parametrize("seed", range(3))
def test_a_full_fleet_has_a_good_bound_early(seed, forever, monkeypatch):
    """With few routes, duals could be so large that bounds would stay below zero."""
    instance = generate.uchoa(40, seed=seed, route_size=10)
    plan, exact, price = search(instance), [], Root._price

    def four_times(root, duals, mode):
        exact.extend([mode] if mode == EXACT else [])
        if len(exact) > 4:
            raise OutOfTimeError
        return price(root, duals, mode)

    monkeypatch.setattr(Root, "_price", four_times)
    *_, last = bounds(instance, plan, seconds_left=forever)
    assert 0.85 < last.bound / plan.length(instance) <= 1


def test_no_time_at_all_gives_a_bound_of_zero(square, fake_clock):
    """Even without any time there is a bound."""
    plan = ff.Plan([[1, 3], [2, 4]])
    (only,) = bounds(square, plan, seconds_left=fake_clock(0))
    assert (only.bound, only.proven, only.plan) == (0.0, False, plan)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_the_optimum_is_found_again_from_a_worse_plan(seed, forever):
    """Bounds from a plan and from a worse one end at the same optimum."""
    instance = ff.generate.uniform(20, 1, seed=100 + seed)[0]
    good = search(instance)
    *_, first = bounds(instance, good, seconds_left=forever)
    worse = ff.Plan([*tour[1:], tour[0]] for tour in first.plan)
    assert worse.length(instance) > 1.02 * first.plan.length(instance)
    *_, second = bounds(instance, worse, seconds_left=forever)
    assert first.proven
    assert second.proven
    assert second.plan.length(instance) == pytest.approx(first.plan.length(instance))


@pytest.mark.slow
def test_no_bound_is_above_a_published_optimum(shared, fake_clock):
    """The bounds on instances of the set A stay below the optima in their files."""
    files = sorted((shared / "cvrplib" / "A").glob("*.vrp"))[:4]
    assert files
    for file in files:
        text = file.read_text()
        optimum = int(re.search(r"Optimal value: (\d+)", text)[1])
        instance = ff.read(file)
        plan = search(instance)
        *_, last = bounds(instance, plan, seconds_left=fake_clock(600))
        assert 0.9 * optimum < last.bound <= optimum
        assert last.bound == round(last.bound)


def test_a_program_that_is_not_solved_ends_the_bound_and_is_told(
    square, forever, monkeypatch, caplog
):
    """The plan is not lost, and a warning says what happened."""
    plan = ff.Plan([[1, 2], [3, 4]])

    def fail(_program):
        raise NoSolutionError("GLOP found no solution: numerical trouble")

    monkeypatch.setattr(LinearProgram, "solve", fail)
    *_, last = bounds(square, plan, seconds_left=forever)
    assert (last.plan, last.proven) == (plan, False)
    assert "ended early: GLOP found no solution: numerical trouble" in caplog.text
