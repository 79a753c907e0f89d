"""VROOM, through ``pyvroom``."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from fixedfleet.errors import InputError, require
from fixedfleet.plan import Plan
from fixedfleet.search.outside.whole_numbers import whole_amounts, whole_distances

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fixedfleet.instance import Instance
    from fixedfleet.search.task import SearchTask

vroom = require("vroom", "peers", "the search 'vroom'")

__all__ = ["vroom_search"]

_EXPLORATION = 5  # the most thorough
_LARGEST_SUM = 2**50
_LONGEST_LIMIT = 1_000_000  # seconds; VROOM counts milliseconds in 32 bits


def vroom_search(task: SearchTask) -> Iterator[Plan]:
    """
    Yield VROOM's plan, without the customers that it could not place.

    The vehicle cost is ignored.
    """
    instance, initial_plan = task.instance, task.initial_plan
    if not initial_plan.is_feasible(instance):
        initial_plan = Plan([])
    seconds = min(task.deadline.left(), _LONGEST_LIMIT)
    solution = _problem(instance, initial_plan).solve(
        exploration_level=_EXPLORATION,
        nb_threads=1,
        timeout=timedelta(milliseconds=max(1, round(1000 * seconds))),
    )
    steps = solution.routes
    stops = steps[steps["type"] == "job"]
    if not stops.empty:
        yield Plan(
            tour.tolist() for _, tour in stops.groupby("vehicle_id", sort=False)["id"]
        )


def _problem(instance: Instance, initial_plan: Plan) -> Any:
    n = instance.num_customers
    # VROOM adds up the longest way from each place in 32 bits to exclude overflow.
    distances = whole_distances(instance, largest=(2**32 - 1) // (2 * (n + 2)))
    demands, capacity = whole_amounts(instance, largest=_LARGEST_SUM)
    tours = initial_plan.tours
    if any(int(demands[list(tour)].sum()) > capacity for tour in tours):
        raise InputError(
            "vroom cannot use the initial plan: it overloads a tour, or fills it to a "
            "digit that vroom cannot count"
        )
    problem = vroom.Input()
    problem.set_durations_matrix("car", distances)
    problem.add_vehicle(
        [
            vroom.Vehicle(
                number + 1,
                start=0,
                end=0,
                capacity=[capacity],
                steps=[
                    vroom.VehicleStep("single", customer)
                    for customer in (tours[number] if number < len(tours) else ())
                ],
            )
            for number in range(min(instance.vehicles, n))
        ]
    )
    problem.add_job(
        [
            vroom.Job(customer, customer, delivery=[demand])
            for customer, demand in enumerate(demands[1:].tolist(), 1)
        ]
    )
    return problem
