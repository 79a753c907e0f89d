"""VROOM, through ``pyvroom``."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from fixedfleet.errors import InputError, require
from fixedfleet.plan import Plan
from fixedfleet.search.whole_numbers import whole_amounts, whole_distances
from fixedfleet.solvers import improve_by

if TYPE_CHECKING:
    from fixedfleet.instance import Instance
    from fixedfleet.search.method import SearchTask
    from fixedfleet.search.stop import Stop

vroom = require("vroom", "peers", "the solver 'vroom'")

__all__ = ["Vroom", "vroom_search"]

_EXPLORATION = 5  # the most thorough
_LARGEST_SUM = 2**50


class Vroom:
    """The solver ``vroom``."""

    name: str = "vroom"
    limits: str = (
        "it takes no seed and draws nothing at random, but if the time limit ends the "
        "search before it stops by itself, runs differ; it leaves customers that it "
        "cannot place unassigned; distances that are not whole, or above 2^31/N, are "
        "rounded to N/2^30 of the longest"
    )

    def solve(
        self, instance: Instance, stop: Stop, seed: int = 0, start: Plan | None = None
    ) -> Plan | None:
        """Return the plan found, without the customers VROOM could not place."""
        stop.require_seconds(self.name)
        solution = _problem(instance, start).solve(
            exploration_level=_EXPLORATION,
            nb_threads=1,
            timeout=timedelta(milliseconds=max(1, round(1000 * stop.left()))),
        )
        steps = solution.routes
        stops = steps[steps["type"] == "job"]
        if stops.empty:
            return Plan([])
        return Plan(
            tour.tolist() for _, tour in stops.groupby("vehicle_id", sort=False)["id"]
        )


def vroom_search(task: SearchTask) -> None:
    """Improve a plan by VROOM, whatever a vehicle costs."""
    improve_by(Vroom(), task)


def _problem(instance: Instance, start: Plan | None) -> Any:
    n = instance.num_customers
    # VROOM adds up the longest way from each place in 32 bits to exclude overflow.
    distances = whole_distances(instance, largest=(2**32 - 1) // (2 * (n + 2)))
    demands, capacity = whole_amounts(instance, largest=_LARGEST_SUM)
    tours = () if start is None else start.tours
    if any(int(demands[list(tour)].sum()) > capacity for tour in tours):
        raise InputError(
            "a start cannot be used by vroom: it overloads a tour, or fills it to a "
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
