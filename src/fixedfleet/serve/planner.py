"""What a worker process of the service does: it makes one plan after the other."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fixedfleet.documents import describe_verdict, finite
from fixedfleet.fleet import assess_fleet
from fixedfleet.instance import Instance
from fixedfleet.serve.schema import ImprovedDocument
from fixedfleet.solving.solve import solve

if TYPE_CHECKING:
    from fixedfleet.documents import ResultDocument
    from fixedfleet.plan import Plan
    from fixedfleet.serve.schema import RequestDocument
    from fixedfleet.workers import Call

__all__ = ["Order", "plan_order"]

_INTERVAL = 0.125  # seconds between two improvements that are reported


@dataclass(frozen=True)
class Order:
    """What a worker is to plan."""

    instance: Instance
    request: RequestDocument
    notes: list[str]  # remarks on how the instance was read
    listed: bool = True  # whether the list of plans has the plan
    cores: int = 1  # the most cores to use


def plan_order(order: Order | None, call: Call) -> ResultDocument | None:
    """
    Make a plan, and report verdicts and improvements on the way.

    With None as the order, only load and compile what the first plan needs.
    """
    if order is None:
        _warm_up()
        return None
    instance, request = order.instance, order.request
    # A verdict by quick bounds is reported at once; `solve` searches for a proof.
    first = assess_fleet(instance, time_limit=0)
    if first.status != "undecided":
        call.send(describe_verdict(first))
    reports = _Reports(instance, call)
    result = solve(
        instance,
        request.time_limit,
        seed=request.seed,
        vehicle_cost=request.vehicle_cost,
        guarantee=request.guarantee,
        locked=request.locked,
        cores=order.cores,
        on_improvement=reports.improved,
        stop=reports.stop,
    )
    return result.document(order.notes)


class _Reports:
    """Reports improvements: the newest one, and not too often."""

    def __init__(self, instance: Instance, call: Call) -> None:
        self._instance, self._call = instance, call
        self._begin = time.monotonic()
        self._last = -_INTERVAL
        self._pending: tuple[float, Plan] | None = None

    def improved(self, _seconds: float, cost: float, plan: Plan) -> None:
        self._pending = (cost, plan)
        self._report()

    def stop(self) -> bool:
        """Tell the search whether to stop. It asks often, so report here as well."""
        self._report()
        return self._call.ending()

    def _report(self) -> None:
        seconds = time.monotonic() - self._begin
        if self._pending is None or seconds - self._last < _INTERVAL:
            return
        cost, plan = self._pending
        self._last, self._pending = seconds, None
        lengths = plan.tour_lengths(self._instance)
        self._call.send(
            ImprovedDocument(
                seconds=round(seconds, 3),
                cost=finite(cost),
                # With the guarantee, the search may use more vehicles than asked for.
                vehicles_planned_for=max(self._instance.vehicles, plan.vehicles),
                vehicles_used=plan.vehicles,
                tours=[list(tour) for tour in plan],
                lengths=[finite(length) for length in lengths],
            )
        )


def _warm_up() -> None:
    from fixedfleet.fleet import exact_packing

    exact_packing.load()
    for customers in (4, 240):  # many customers are planned by other code
        places = [(i % 16, i // 16) for i in range(customers)]
        instance = Instance(
            depot=(0, 0),
            customers=places,
            demands=[1] * customers,
            capacity=customers // 2,
            vehicles=2,
        )
        solve(instance, 0.05)
        solve(instance, 0.05, vehicle_cost=1.0)
