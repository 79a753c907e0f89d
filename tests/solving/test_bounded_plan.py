"""Plans with a proof: ``solve(..., prove=True)``."""

from __future__ import annotations

import math
import signal
import time

import pytest

import fixedfleet as ff
from fixedfleet import bound
from fixedfleet.bound import Bound

FOREVER = 600  # a proof ends long before
POOR = ff.Plan([[1, 3], [2, 4]])  # both tours cross the square


@pytest.fixture
def yields(monkeypatch):
    """Return how to have the bounds yield these values, and end by an error."""

    def make(*values, error=None):
        given = {}

        def bounds(instance, plan, **others):
            given.update(others, plan=plan)

            def run():
                for value, proven in values:
                    yield Bound(value, proven, plan)
                if error is not None:
                    raise error

            return run()

        monkeypatch.setattr(bound, "bounds", bounds)
        return given

    return make


@pytest.mark.parametrize("vehicle_cost", [0, 0.5])
def test_a_proven_plan_is_the_optimum(small, optimal_plan, vehicle_cost):
    """Whatever is odd about an instance, what is proven cannot be improved."""
    result = ff.solve(
        small, FOREVER, search="none", prove=True, vehicle_cost=vehicle_cost
    )
    best = optimal_plan(small, vehicle_cost=vehicle_cost).cost_v(small, vehicle_cost)
    assert result.is_optimal
    assert result.feasible
    assert result.cost == pytest.approx(best)
    assert result.lower_bound <= result.cost
    assert 0 <= result.gap <= 2e-7
    worse = "cheaper" if vehicle_cost else "shorter"
    assert f"\nproven: no plan is {worse}\n" in str(result)


def test_a_shorter_plan_that_the_bound_finds_becomes_the_plan(square):
    """The bound replaces a poor plan, reports it, and says what it gained."""
    plans, lower = [], []
    result = ff.solve(
        square,
        FOREVER,
        start=POOR,
        search="none",
        prove=True,
        on_improvement=lambda _seconds, cost, plan: plans.append((cost, plan)),
        on_bound=lambda _seconds, value: lower.append(value),
    )
    assert result.cost == pytest.approx(4 + 4 * math.sqrt(2))
    assert plans[-1] == (result.cost, result.plan)
    assert result.trace[-1][1] == result.cost
    assert lower == sorted(lower)
    assert lower[-1] == result.lower_bound
    stage = result.stages[-1]
    assert stage.name == "bound"
    assert stage.cost == result.cost
    assert stage.gain == pytest.approx(POOR.length(square) - result.cost)
    assert result.seconds == pytest.approx(sum(s.seconds for s in result.stages))


def test_without_prove_nothing_is_said_about_a_bound(square):
    """A plain call has no bound, no gap and no sentence about them."""
    result = ff.solve(square, 0.05)
    assert (result.lower_bound, result.gap, result.is_optimal) == (None, None, False)
    assert result.proof == ""
    assert "no plan" not in str(result)
    assert [stage.name for stage in result.stages] == ["fleet", "auto"]


def test_a_bound_that_is_not_met_gives_a_gap(square, yields):
    """The gap is the share above the bound, and the sentence rounds it up."""
    length = POOR.length(square)
    given = yields((0.0, False), (length / 1.00601, False))
    result = ff.solve(square, FOREVER, start=POOR, search="none", prove=True)
    assert not result.is_optimal
    assert result.gap == pytest.approx(0.00601)
    assert result.proof == ("at most 0.61 % longer than the shortest possible plan")
    document = result.document()
    assert document.lower_bound == result.lower_bound
    assert document.gap == result.gap
    assert document.is_optimal is False
    assert document.proof == result.proof
    assert given["plan"] == POOR


def test_the_bound_has_the_tours_of_the_search(square, yields):
    """Search and bound share what they find."""
    given = yields((1.0, False))
    result = ff.solve(square, 0.05, start=POOR, prove=True)
    assert {*POOR.tours, *result.plan.tours} <= set(given["tours"])


def test_the_bound_ends_with_the_deadline_of_the_call(square, yields, monkeypatch):
    """The time that is left for the bound is that of the call."""
    given = yields((1.0, False))
    now = [100.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    ff.solve(square, 10, search="none", prove=True)
    assert given["seconds_left"]() == 10
    now[0] += 4
    assert given["seconds_left"]() == 6
    now[0] += 7
    assert given["seconds_left"]() == 0


@pytest.mark.parametrize("n", [20, 400])
def test_the_search_leaves_most_of_the_time_to_the_bound(
    make_instance, yields, monkeypatch, n
):
    """It has a tenth at most, and less if there are few customers."""
    yields((1.0, False))
    monkeypatch.setattr(time, "perf_counter", lambda: 100.0)
    left = []

    def search(task):
        left.append(task.deadline.left())
        return iter(())

    ff.solve(make_instance(n=n, capacity=5 * n), 10, search=search, prove=True)
    ff.solve(make_instance(n=n, capacity=5 * n), 10, search=search)
    assert left == [pytest.approx(0.058 if n == 20 else 1), pytest.approx(10)]


def test_stop_returns_the_plan_without_a_bound(square):
    """Whoever stops before there is a bound is told that there is none."""
    result = ff.solve(square, FOREVER, prove=True, stop=lambda: True)
    assert result.feasible
    assert (result.lower_bound, result.gap, result.is_optimal) == (None, None, False)
    sentence = "no lower bound: it needs more time"
    assert result.proof == result.document().proof == sentence


def test_ctrl_c_keeps_the_best_bound_so_far(make_instance):
    """The first Ctrl-C ends the bound, with the plan and a bound that hold."""
    instance = make_instance(n=14, vehicles=4, capacity=18, seed=5)
    lower = []

    def interrupt(_seconds, bound):
        lower.append(bound)
        signal.raise_signal(signal.SIGINT)

    # The packing is longer than the optimum, so further bounds would follow.
    result = ff.solve(instance, FOREVER, search="none", prove=True, on_bound=interrupt)
    assert result.interrupted
    assert len(lower) == 1
    assert result.lower_bound == lower[0]
    assert result.lower_bound < result.cost
    assert not result.is_optimal


def test_a_second_ctrl_c_keeps_the_best_bound(square, yields):
    """A bound that is interrupted still holds."""
    yields((9.0, False), error=KeyboardInterrupt())
    result = ff.solve(square, FOREVER, start=POOR, search="none", prove=True)
    assert result.lower_bound == 9
    assert not result.is_optimal


def test_locked_tours_are_part_of_the_bound(make_instance, optimal_plan):
    """The bound is about the plans that keep the locked tours, and says so."""
    instance = make_instance(n=8, vehicles=4, capacity=20)
    locked = ff.Plan([[1, 8]])
    lower = []
    result = ff.solve(
        instance,
        FOREVER,
        locked=locked,
        search="none",
        prove=True,
        vehicle_cost=0.5,
        on_bound=lambda _seconds, value: lower.append(value),
    )
    rest = instance.with_customers(range(2, 8)).with_vehicles(3)
    best = optimal_plan(rest, vehicle_cost=0.5).cost_v(rest, 0.5) + locked.cost_v(
        instance, 0.5
    )
    assert result.plan.tours[0] == (1, 8)
    assert result.is_optimal
    assert result.cost == pytest.approx(best)
    assert result.lower_bound == pytest.approx(best)
    assert lower[-1] == result.lower_bound
    assert result.locked == 1
    assert "proven: no plan that keeps the locked tour is cheaper" in str(result)


def test_no_plan_has_no_gap(impossible):
    """A fleet that is too small has no plan, so there is nothing to bound."""
    result = ff.solve(impossible, 0.05, prove=True)
    assert result.plan is None
    assert (result.lower_bound, result.gap, result.is_optimal) == (None, None, False)
    assert "no lower bound: there is no plan to compare with" in str(result)
    assert [stage.name for stage in result.stages] == ["fleet", "partial"]


def test_the_guarantee_is_proven_for_the_larger_fleet(impossible):
    """With the guarantee, the bound is one for the fleet of the plan."""
    result = ff.solve(impossible, FOREVER, search="none", guarantee=True, prove=True)
    assert result.instance.vehicles > impossible.vehicles
    assert result.is_optimal


def test_what_cannot_be_bounded_is_said_and_planned_all_the_same(square, monkeypatch):
    """The search has all of the time then."""

    def refuse(*_arguments, **_options):
        raise ff.InputError("a lower bound is for at most 3 customers: there are 4")

    monkeypatch.setattr(bound, "bounds", refuse)
    monkeypatch.setattr(time, "perf_counter", lambda: 100.0)
    left = []

    def search(task):
        left.append(task.deadline.left())
        return iter(())

    result = ff.solve(square, 10, search=search, prove=True)
    assert left == [10]
    assert result.feasible
    assert result.proof == (
        "no lower bound: a lower bound is for at most 3 customers: there are 4"
    )


def test_display_prints_rows_with_the_bound(square, yields, capsys):
    """A row for each better bound has the best cost and the bound."""
    yields((9.5, False))
    ff.solve(square, 0.05, prove=True, display=True)
    out = capsys.readouterr().out
    assert any(line.endswith("at least 9.5") for line in out.splitlines())


def test_the_compiled_code_is_loaded_before_the_clock_starts(square, monkeypatch):
    """No time of the call is spent on it."""
    from fixedfleet.bound import proving
    from fixedfleet.deadline import Deadline

    order, of = [], Deadline.of

    def start(*limits, **stop):
        order.append("clock")
        return of(*limits, **stop)

    monkeypatch.setattr(proving, "load_kernels", lambda: order.append("load"))
    monkeypatch.setattr(Deadline, "of", start)
    ff.solve(square, FOREVER, search="none", prove=True)
    assert order == ["clock", "load", "clock"]  # the first only checks the limit
