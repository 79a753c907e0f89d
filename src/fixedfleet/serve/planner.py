"""What a worker process of the service does: it makes one plan after the other."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from fixedfleet.documents import describe_plan, describe_verdict, finite
from fixedfleet.errors import InputError
from fixedfleet.fleet import assess_fleet
from fixedfleet.instance import Instance
from fixedfleet.plan import Plan
from fixedfleet.serve.schema import ImprovedDocument
from fixedfleet.solving.solve import solve

if TYPE_CHECKING:
    from fixedfleet.documents import ResultDocument
    from fixedfleet.result import Result
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

    @cached_property
    def customers(self) -> list[int]:
        """The customers to plan: all but those that the dispatcher took out."""
        everybody, out = (
            range(1, self.instance.num_customers + 1),
            {*self.request.taken_out},
        )
        return [c for c in everybody if c not in out]

    @cached_property
    def rest(self) -> Instance:
        """The instance without the customers taken out; the others are renumbered."""
        if not self.request.taken_out:
            return self.instance
        rest = self.instance.without(self.request.taken_out)
        # A customer without a name keeps its number in all messages.
        return replace(rest, names=rest.names or tuple(map(str, self.customers)))

    @property
    def locked(self) -> Plan:
        """The locked tours, with the numbers of :attr:`rest`."""
        for tour in self.request.locked:
            if both := {*tour} & {*self.request.taken_out}:
                raise InputError(
                    f"customer {min(both)} is taken out and in a locked tour: remove "
                    "it from one of both"
                )
        plan = Plan(self.request.locked)
        plan.require_known(self.instance)
        return plan.numbered_in(self.customers)

    def describe(self, result: Result) -> ResultDocument:
        """Return the document of a result for :attr:`rest`, for the whole instance."""
        document = result.document(self.notes)
        out = self.request.taken_out
        if not out:
            return document
        tours = [
            replace(tour, customers=[self.customers[c - 1] for c in tour.customers])
            for tour in document.tours or []
        ]
        partial = None
        if result.partial is not None:
            plan = result.partial.renumbered(self.customers)
            partial = describe_plan(plan, self.instance)
        return replace(
            document,
            customers=self.instance.num_customers,
            tours=None if document.tours is None else tours,
            partial=partial,
            unserved=sorted(out) if partial is None else partial.unserved,
        )


def plan_order(order: Order | None, call: Call) -> ResultDocument | None:
    """
    Make a plan, and report verdicts and improvements on the way.

    With None as the order, only load and compile what the first plan needs.
    """
    if order is None:
        _warm_up()
        return None
    instance, request = order.rest, order.request
    # A verdict by quick bounds is reported at once; `solve` searches for a proof.
    first = assess_fleet(instance, time_limit=0)
    if first.status != "undecided":
        call.send(describe_verdict(first))
    reports = _Reports(order, call)
    result = solve(
        instance,
        request.time_limit,
        seed=request.seed,
        vehicle_cost=request.vehicle_cost,
        guarantee=request.guarantee,
        prove=request.prove,
        locked=order.locked,
        cores=order.cores,
        on_improvement=reports.improved,
        on_bound=reports.bounded,
        stop=reports.stop,
    )
    return order.describe(result)


class _Reports:
    """Reports the best plan and the lower bound: the newest, and not too often."""

    def __init__(self, order: Order, call: Call) -> None:
        self._order, self._call = order, call
        self._begin = time.monotonic()
        self._last = -_INTERVAL
        self._best: tuple[float, Plan] | None = None
        self._bound: float | None = None
        self._pending = False

    def improved(self, _seconds: float, cost: float, plan: Plan) -> None:
        self._best, self._pending = (cost, plan), True
        self._report()

    def bounded(self, _seconds: float, lower_bound: float) -> None:
        self._bound, self._pending = lower_bound, True
        self._report()

    def stop(self) -> bool:
        """Tell the search whether to stop. It asks often, so report here as well."""
        self._report()
        return self._call.ending()

    def _report(self) -> None:
        seconds = time.monotonic() - self._begin
        soon = seconds - self._last < _INTERVAL
        if self._best is None or not self._pending or soon:
            return
        cost, plan = self._best
        self._last, self._pending = seconds, False
        instance = self._order.instance
        plan = plan.renumbered(self._order.customers)
        lengths = plan.tour_lengths(instance)
        self._call.send(
            ImprovedDocument(
                seconds=round(seconds, 3),
                cost=finite(cost),
                lower_bound=self._bound,
                # With the guarantee, the search may use more vehicles than asked for.
                vehicles_planned_for=max(instance.vehicles, plan.vehicles),
                vehicles_used=plan.vehicles,
                tours=[list(tour) for tour in plan],
                lengths=[finite(length) for length in lengths],
            )
        )


def _warm_up() -> None:
    """Load, or compile, all variants of the code that plans of any size need."""
    from fixedfleet.fleet import exact_packing

    exact_packing.load()
    # More than 200 customers are planned part by part, by other code. So are more than
    # 500, which have no matrix of distances.
    for customers in (4, 240, 520):
        places = [(i % 32 / 100, i // 32 / 100) for i in range(customers)]
        instance = Instance(
            depot=(0, 0),
            customers=places,
            demands=[1] * customers,
            capacity=customers // 2,
            vehicles=2,
        )
        solve(instance, 0.05)
        solve(instance, 0.05, vehicle_cost=1.0)
