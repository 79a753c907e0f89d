"""What a worker process of the service does: it makes one plan after the other."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from fixedfleet.documents import describe_plan, describe_verdict, finite
from fixedfleet.errors import InputError
from fixedfleet.fleet import assess_fleet
from fixedfleet.instance import Instance
from fixedfleet.plan import Plan
from fixedfleet.roads import with_kept_roads, with_roads
from fixedfleet.serve.schema import (
    ImprovedDocument,
    ProgressDocument,
    SearchingDocument,
)
from fixedfleet.solving.solve import solve

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fixedfleet.documents import ResultDocument
    from fixedfleet.progress import Progress
    from fixedfleet.result import Result
    from fixedfleet.serve.schema import RequestDocument
    from fixedfleet.workers import Call

__all__ = ["Order", "RoadServer", "compile_ahead", "plan_order"]

_INTERVAL = 0.125  # the least number of seconds between two reports
# A search goes on for at least this many seconds after its first plan, which is poor.
_LEAST = 1.0
# If the fleet is too small, the search reports no plan. Then it goes on for at least
# this many seconds after its beginning.
_LEAST_UNREPORTED = 3.0


class RoadServer(NamedTuple):
    """The address of an OSRM server, and the folder in which its answers are kept."""

    url: str
    folder: Path


@dataclass(frozen=True)
class Order:
    """An order for a worker: the instance to plan, and what the request asks for."""

    instance: Instance
    request: RequestDocument
    notes: list[str]  # remarks on how the instance was read
    listed: bool = True  # whether the plan appears in the list of plans
    cores: int = 1  # the largest number of cores to use
    roads: RoadServer | None = None  # if the plan is by road

    def by_road(self, on_progress: Callable[[Progress], object] | None = None) -> Order:
        """
        Return this order with distances and times by road.

        The order is returned unchanged if it is not to be planned by road.

        Parameters
        ----------
        on_progress
            Called with the progress after each answer of the road server. The server is
            then always asked, at least whether its roads have changed. Without
            ``on_progress``, it is asked only if some distances are not kept on disk.
        """
        if self.roads is None or self.instance.metric == "road":
            return self
        url, folder = self.roads
        if on_progress is None:
            instance = with_kept_roads(self.instance, url, folder=folder)
        else:
            instance = with_roads(
                self.instance, url, folder=folder, on_progress=on_progress
            )
        note = "distances and travel times by road"
        return replace(self, instance=instance, notes=[*self.notes, note])

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
        """
        The instance that remains after customers were removed by the dispatcher.

        The remaining customers are renumbered.
        """
        if not self.request.taken_out:
            return self.instance
        rest = self.instance.without(self.request.taken_out)
        # A customer without a name keeps its number in all messages.
        return replace(rest, names=rest.names or tuple(map(str, self.customers)))

    @property
    def locked(self) -> Plan:
        """The locked tours, with the customers' numbers in :attr:`rest`."""
        for tour in self.request.locked:
            if both := {*tour} & {*self.request.taken_out}:
                raise InputError(
                    f"customer {min(both)} is taken out and in a locked tour: remove "
                    "it from one of both"
                )
        plan = Plan(self.request.locked, self.request.locked_types or None)
        plan.require_known(self.instance)
        return plan.numbered_in(self.customers)

    def describe(self, result: Result) -> ResultDocument:
        """Return a result for :attr:`rest` as a document about the whole instance."""
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
    Make a plan and return its result; send verdicts and better plans by ``call``.

    If the order is None, only load and compile what the first plan needs; return None.
    """
    if order is None:
        _warm_up()
        return None
    order = order.by_road(
        lambda progress: call.send(
            ProgressDocument(done=progress.done, total=progress.total)
        )
    )
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
    """
    Reports to the server that the search runs, and its newest plan and lower bound.

    Plans and bounds are reported at limited intervals.
    """

    def __init__(self, order: Order, call: Call) -> None:
        self._order, self._call = order, call
        self._last = -_INTERVAL
        self._searching: float | None = None  # since when the search runs
        self._first: float | None = None  # when the first plan was found
        self._best: tuple[float, Plan] | None = None
        self._bound: float | None = None
        self._pending = False

    def improved(self, _seconds: float, cost: float, plan: Plan) -> None:
        self._begin()
        self._best, self._pending = (cost, plan), True
        if self._first is None:
            self._first = time.monotonic()
        self._report()

    def bounded(self, _seconds: float, lower_bound: float) -> None:
        self._bound, self._pending = lower_bound, True
        self._report()

    def stop(self) -> bool:
        """
        Return whether the search must stop; also send a report if it is time for one.

        The search calls this often.
        """
        since = self._begin()
        self._report()
        now = time.monotonic()
        if not self._call.ending():
            return False
        if self._first is None:
            return now - since >= _LEAST_UNREPORTED
        return now - self._first >= _LEAST

    def _begin(self) -> float:
        """
        Return when the search began, which is when it first calls any of these methods.

        All code has been loaded or compiled by then. The server is told once.
        """
        if self._searching is None:
            self._searching = time.monotonic()
            self._call.send(SearchingDocument())
        return self._searching

    def _report(self) -> None:
        seconds = time.monotonic() - self._begin()
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
                vehicle_types=None
                if instance.vehicle_types is None
                else [int(index) for index in plan.type_indices(instance)],
            )
        )


def _warm_up() -> None:
    """
    Load or compile the code for plans of any size.

    Code for time windows, mixed fleets and lower bounds is loaded when it is needed. By
    then, :func:`compile_ahead` may have compiled it.
    """
    from fixedfleet.fleet import exact_packing

    exact_packing.load()
    # With more than 200 customers, other code plans part by part. With more than 500,
    # other code computes distances without a matrix.
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


def compile_ahead(_order: None, _call: Call) -> None:
    """
    Compile the code that a worker does not load at its start, for all workers.

    It is the code for time windows, mixed fleets and lower bounds. Numba keeps it on
    disk, from where a worker loads it in less than a second. This is for a process of
    its own: Numba compiles one function at a time in a process, so a worker that
    compiled in a thread would let its next plan wait. All other processes have a
    higher priority.
    """
    if hasattr(os, "nice"):
        os.nice(19)
    from fixedfleet.search.ruin_recreate import load_day_kernel
    from fixedfleet.solving.bounded_plan import load_for_bound

    load_day_kernel()
    load_for_bound()
