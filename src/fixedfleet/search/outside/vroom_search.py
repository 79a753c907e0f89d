"""VROOM as a search, through ``pyvroom``."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from fixedfleet.errors import InputError, require
from fixedfleet.plan import Plan
from fixedfleet.search.outside.whole_day import whole_day

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fixedfleet.instance import Instance
    from fixedfleet.search.outside.whole_day import WholeDay, WholeType
    from fixedfleet.search.task import SearchTask

vroom = require("vroom", "peers", "the search 'vroom'")

__all__ = ["vroom_search"]

_EXPLORATION = 5  # VROOM's most thorough level
_LARGEST_SUM = 2**50
_LONGEST_LIMIT = 1_000_000  # seconds; VROOM counts milliseconds in 32 bits
_MOST_FIXED = 2**32 - 1
_FOREVER = 2**31


def vroom_search(task: SearchTask) -> Iterator[Plan]:
    """
    Yield VROOM's plan, which may leave customers unserved.

    The vehicle cost is ignored.
    """
    instance, initial_plan = task.instance, task.initial_plan
    if not initial_plan.is_feasible(instance):
        initial_plan = Plan([])
    n = instance.num_customers
    day = whole_day(
        instance,
        # To exclude overflow, VROOM adds up the longest distance from each location. In
        # this sum, 32 bits must not overflow.
        longest=(2**32 - 1) // (2 * (n + 2)),
        largest_sum=_LARGEST_SUM,
        most_fixed=_MOST_FIXED,
    )
    seconds = min(task.deadline.left(), _LONGEST_LIMIT)
    solution = _problem(instance, initial_plan, day).solve(
        exploration_level=_EXPLORATION,
        nb_threads=1,
        timeout=timedelta(milliseconds=max(1, round(1000 * seconds))),
    )
    steps = solution.routes
    stops = steps[steps["type"] == "job"]
    if not stops.empty:
        tours = dict(list(stops.groupby("vehicle_id", sort=False)["id"]))
        types = [day.vehicles[vehicle - 1] for vehicle in tours]
        yield day.plan([tour.tolist() for tour in tours.values()], types)


def _problem(instance: Instance, initial_plan: Plan, day: WholeDay) -> Any:
    tours = day.seat(initial_plan, instance)
    types = [day.types[index] for index in day.vehicles]
    loads = [int(day.demands[tour].sum()) for tour in tours]
    if any(load > one.capacity for load, one in zip(loads, types, strict=True)):
        raise InputError(
            "vroom cannot use the initial plan: it overloads a tour, or fills it to a "
            "digit that vroom cannot count"
        )
    problem = vroom.Input()
    if day.is_plain:  # VROOM minimises durations, so the distances are given as such
        problem.set_durations_matrix("car", day.distances)
    else:
        problem.set_durations_matrix("car", day.times)
        problem.set_distances_matrix("car", day.distances)
    problem.add_vehicle(
        [
            vroom.Vehicle(
                number,
                start=0,
                end=0,
                capacity=[one.capacity],
                time_window=_window(one.begin, one.end),
                costs=_costs(one, day),
                steps=[vroom.VehicleStep("single", customer) for customer in tour],
            )
            for number, (one, tour) in enumerate(zip(types, tours, strict=True), 1)
        ]
    )
    problem.add_job(
        [
            vroom.Job(
                customer,
                customer,
                default_service=day.services[customer],
                delivery=[demand],
                time_windows=[_window(*day.windows[customer])],
            )
            for customer, demand in enumerate(day.demands[1:].tolist(), 1)
        ]
    )
    return problem


def _window(begin: int, end: int | None) -> Any:
    if (begin, end) == (0, None):
        return vroom.TimeWindow()
    return vroom.TimeWindow(begin, _FOREVER if end is None else end)


def _costs(one: WholeType, day: WholeDay) -> Any:
    """
    Return the costs of a vehicle for VROOM.

    For a plain instance, these are VROOM's default costs. Otherwise they are the fixed
    cost and the cost per distance. VROOM wants the cost per kilometre and takes
    distances as metres, so the latter is multiplied by 1,000.
    """
    if day.is_plain:
        return vroom.VehicleCosts()
    return vroom.VehicleCosts(
        fixed=one.fixed_cost, per_hour=0, per_km=1000 * one.unit_cost
    )
