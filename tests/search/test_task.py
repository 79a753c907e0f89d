"""Which plan is the better one, what a search starts from, and how often it reports."""

from __future__ import annotations

import pytest

import fixedfleet as ff
from fixedfleet.deadline import Deadline
from fixedfleet.search import SearchTask, better, drop_excess
from fixedfleet.search.task import ReportPace, run_step

GOOD, POOR = ff.Plan([[1, 2], [3, 4]]), ff.Plan([[1, 3], [2, 4]])


def test_fewer_unserved_customers_are_better(square):
    """A longer plan that serves more customers is better; on a tie the known one."""
    part = ff.Plan([[1], [2]])
    assert better(square, GOOD, POOR, 0.0) == GOOD
    assert better(square, part, POOR, 0.0) == POOR
    assert better(square, ff.Plan(GOOD), GOOD, 0.0) is GOOD


def test_an_initial_plan_is_cut_to_fleet_and_capacity(square):
    """Customers beyond the capacity and tours beyond the fleet are dropped."""
    assert drop_excess(square, ff.Plan([[1, 2, 3, 4]])) == ff.Plan([[1, 2]])
    assert drop_excess(square, ff.Plan([[1], [2, 3], [4]])) == ff.Plan([[2, 3], [1]])
    assert drop_excess(square, GOOD) == GOOD


def test_the_tours_of_a_mixed_fleet_are_cut_by_type():
    """Of a type with too many tours, the longest ones stay; otherwise nothing moves."""
    instance = ff.Instance(
        depot=(0, 0),
        customers=[(1, 0), (2, 0), (3, 0), (4, 0)],
        demands=[1, 1, 1, 1],
        vehicle_types=[
            ff.VehicleType(name="small", capacity=2),
            ff.VehicleType(name="large", count=2, capacity=4),
        ],
    )
    fits = ff.Plan([[1, 2], [3], [4]], [0, 1, 1])
    assert drop_excess(instance, fits) == fits
    beyond = ff.Plan([[1], [2, 3], [4]], [0, 0, 1])
    assert drop_excess(instance, beyond) == ff.Plan([[2, 3], [4]], [0, 1])


@pytest.mark.parametrize(
    ("plans", "best"), [([], POOR), ([GOOD, POOR], GOOD), ([ff.Plan([])], POOR)]
)
def test_a_step_passes_plans_on_and_returns_the_best(square, plans, best):
    """All plans of a step are reported, and the next step starts from the best."""
    task = SearchTask(square, POOR, Deadline(9))
    returned, seen = [], []

    def steps():
        returned.append((yield from run_step(lambda _: iter(plans), task)))

    seen.extend(steps())
    assert (seen, returned) == (plans, [best])


def test_a_step_is_judged_by_the_cost_of_the_whole(square):
    """A step that ignores the vehicle cost does not lose the plan that costs less."""
    roomy = ff.Instance(
        depot=square.depot,
        customers=square.customers,
        demands=square.demands,
        capacity=4,
        vehicles=4,
    )
    one, four = ff.Plan([[1, 2, 3, 4]]), ff.Plan([[1], [2], [3], [4]])
    task = SearchTask(roomy, one, Deadline(9))
    steps = run_step(lambda _: iter([four]), task, vehicle_cost=100.0)
    assert next(steps) == four
    with pytest.raises(StopIteration) as end:
        next(steps)
    assert end.value.value == one


def test_reports_take_a_fiftieth_of_the_time():
    """If a report took a second, 49 seconds pass before the next."""
    now = [0.0]
    pace = ReportPace(Deadline(100, clock=lambda: now[0]))
    assert pace.is_due()
    for _ in pace.report(lambda: GOOD):
        now[0] += 1  # to check the plan and to show it
    assert not pace.is_due()
    now[0] = 49.9
    assert not pace.is_due()
    now[0] = 50
    assert pace.is_due()
