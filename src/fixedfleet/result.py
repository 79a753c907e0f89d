"""The results of ``solve`` and ``solve_batch``: plans, and how they were found."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fixedfleet.wording import describe_proof

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from fixedfleet.documents import ResultDocument
    from fixedfleet.doubts import Doubt
    from fixedfleet.fleet import FleetVerdict
    from fixedfleet.instance import Instance
    from fixedfleet.plan import Plan, PlanBatch

__all__ = ["BatchResult", "Result", "Stage"]


@dataclass(frozen=True)
class Stage:
    """
    One step of ``solve``: its time, the cost after it, and by how much the cost fell.
    """

    name: str
    seconds: float
    cost: float  # of the plan after the step; infinite if there is none
    # By how much the step lowered the cost; 0 if there was no plan before. Negative if
    # an initial plan costs more than the packing that it replaces.
    gain: float = 0.0


@dataclass(frozen=True, repr=False)
class Result:
    """
    The result of :func:`fixedfleet.solve`: a plan, and how it was found.

    Attributes
    ----------
    instance
        The instance that the plan is for. If the user asked for the guarantee, its
        fleet may be larger than the one asked for: the smallest fleet that suffices.
    plan
        The best plan, or None if no plan within the fleet was found.
    verdict
        Whether the fleet asked for suffices, and why.
    stages
        Seconds and cost of each step.
    trace
        Improvements of the search as (seconds since the call, cost).
    vehicle_cost
        Fixed cost of each vehicle used. The length plus this cost was minimised.
    interrupted
        Whether the user ended the search with Ctrl-C.
    partial
        If there is no plan for the fleet asked for: the best plan found that leaves
        customers unserved. The fewer unserved customers, the better; then the shorter,
        the better. None otherwise.
    lower_bound
        No plan for :attr:`instance` costs less; with locked tours, no plan that keeps
        them costs less. None if the user did not ask for it, or if there is none:
        :attr:`proof` says why.
    is_optimal
        Whether the plan is proven optimal. Unless all distances and the vehicle cost
        are whole numbers, another plan may cost less by a share of at most 1e-7.
    why_unbounded
        Why there is no lower bound although the user asked for it; empty otherwise.
    locked
        Number of locked tours, which come first in the plan.
    """

    instance: Instance
    plan: Plan | None
    verdict: FleetVerdict
    stages: tuple[Stage, ...]
    trace: tuple[tuple[float, float], ...] = ()
    vehicle_cost: float = 0.0
    interrupted: bool = False
    partial: Plan | None = None
    lower_bound: float | None = None
    is_optimal: bool = False
    why_unbounded: str = ""
    locked: int = 0

    @property
    def unserved(self) -> list[int]:
        """Customers that :attr:`partial` leaves unserved."""
        return [] if self.partial is None else self.partial.unserved(self.instance)

    @property
    def feasible(self) -> bool:
        """Whether there is a plan for all customers within fleet and capacity."""
        return self.plan is not None and self.plan.is_feasible(self.instance)

    @property
    def length(self) -> float:
        """Length of the plan; infinite if there is none."""
        if self.plan is None or not self.feasible:
            return math.inf
        return self.plan.length(self.instance)

    @property
    def cost(self) -> float:
        """Length plus the cost of each vehicle used; infinite if there is no plan."""
        if self.plan is None or not self.feasible:
            return math.inf
        return self.plan.cost_v(self.instance, self.vehicle_cost)

    @property
    def cost_v(self) -> float:
        """The paper's name for :attr:`cost`."""
        return self.cost

    @property
    def gap(self) -> float | None:
        """
        The share by which the plan can cost more than the best possible one.

        It is the cost divided by the lower bound, less 1. None without a lower bound.
        """
        if self.lower_bound is None or not self.feasible:
            return None
        if self.cost <= self.lower_bound:  # it is below by rounding errors only
            return 0.0
        return self.cost / self.lower_bound - 1 if self.lower_bound > 0 else math.inf

    @property
    def proof(self) -> str:
        """
        How far the plan is from the best possible one, or why that is not known.

        Empty if it was not asked for.
        """
        if self.why_unbounded:
            return f"no lower bound: {self.why_unbounded}"
        if self.gap is None:
            return ""
        return describe_proof(
            self.gap,
            is_optimal=self.is_optimal,
            vehicle_cost=self.vehicle_cost,
            locked=self.locked,
        )

    @property
    def seconds(self) -> float:
        """Seconds of all steps together."""
        return sum(stage.seconds for stage in self.stages)

    def summary(self) -> str:
        """Return the result in a few lines of text."""
        lines = [str(self.verdict)]
        if self.plan is None:
            lines.append("no plan found")
        else:
            lines.append(
                f"{self.plan.vehicles} of {self.instance.vehicles} vehicles, "
                f"length {self.length:g}, Cost_v {self.cost:g}"
            )
        if self.proof:
            lines.append(self.proof)
        if self.partial is not None:
            names = map(self.instance.name_of, self.unserved)
            lines.append(
                f"left out within the fleet of {self.verdict.vehicles}: "
                f"{len(self.unserved)} of {self.instance.num_customers} customers, "
                f"{', '.join(names)}; length {self.partial.length(self.instance):g}"
            )
        lines.extend(
            f"{stage.name}: {stage.seconds * 1e3:.1f} ms, cost {stage.cost:g}, "
            f"gain {stage.gain:g}"
            for stage in self.stages
        )
        return "\n".join(lines)

    __str__ = summary

    def __repr__(self) -> str:
        if self.plan is None:
            return f"Result(no plan, {self.verdict.status}: {self.verdict.reason})"
        return (
            f"Result({self.plan.vehicles} of {self.instance.vehicles} vehicles, "
            f"length {self.length:g}, {self.seconds:.2f} s)"
        )

    def _repr_html_(self) -> str:
        """Return HTML for a notebook: the summary, a map and a table of the tours."""
        from html import escape

        from fixedfleet.notebook import colour_of, draw_bar, draw_map, make_table

        text, instance = f"<pre>{escape(self.summary())}</pre>", self.instance
        plan = self.plan if self.plan is not None else self.partial
        if plan is None:
            return text
        if instance.has_coordinates:
            text += draw_map(instance.coordinates, instance.metric, plan.tours)
        loads, lengths = plan.load_units(instance), plan.tour_lengths(instance)
        types = plan.types(instance)
        rooms = [instance.type_capacity_units[i] for i in plan.type_indices(instance)]
        rows = [
            (
                tour + 1,
                draw_bar(load / rooms[tour], colour_of(tour)),
                f"{instance.amount(load)} of {types[tour].capacity}",
                len(plan.tours[tour]),
                f"{length:.6g}",
            )
            for tour, (load, length) in enumerate(zip(loads, lengths, strict=True))
        ]
        return text + make_table(["tour", "", "load", "stops", "length"], rows)

    def document(
        self, notes: Sequence[str] = (), doubts: Sequence[Doubt] = ()
    ) -> ResultDocument:
        """
        Return the JSON document of the result; ``docs/formats.md`` describes it.

        Notes and doubts are those of a :class:`fixedfleet.files.Reading`.
        """
        from fixedfleet.documents import (
            ResultDocument,
            StageDocument,
            describe_plan,
            describe_tours,
            describe_verdict,
            facts_of,
            finite,
        )

        plan, partial, instance = self.plan, self.partial, self.instance
        asked = self.verdict.asked(instance)
        return ResultDocument(
            **facts_of(asked),
            customers=asked.num_customers,
            feasible=plan is not None and plan.is_feasible(asked),
            vehicles_planned_for=instance.vehicles,
            vehicles_used=None if plan is None else plan.vehicles,
            vehicle_cost=self.vehicle_cost,
            length=finite(self.length),
            cost_v=finite(self.cost),
            cost=finite(self.cost),
            lower_bound=self.lower_bound,
            gap=self.gap,
            is_optimal=self.is_optimal,
            proof=self.proof,
            tours=None if plan is None else describe_tours(plan, instance),
            partial=None if partial is None else describe_plan(partial, asked),
            unserved=list(self.unserved),
            verdict=describe_verdict(self.verdict),
            stages=[
                StageDocument(
                    name=stage.name,
                    seconds=stage.seconds,
                    cost=finite(stage.cost),
                    gain=finite(stage.gain),
                )
                for stage in self.stages
            ],
            trace=[(s, cost) for s, cost in self.trace if math.isfinite(cost)],
            interrupted=self.interrupted,
            notes=list(notes),
            doubts=list(doubts),
        )


@dataclass(frozen=True, eq=False, repr=False)
class BatchResult:
    """
    The result of :func:`fixedfleet.solve_batch`: a plan for each instance.

    Attributes
    ----------
    plans
        The best plans; an empty one for each instance without a plan.
    statuses
        Verdict on each fleet: ``feasible``, ``impossible``, ``undecided``.
    reasons
        For each instance whose fleet is not known to suffice, the reason, by row.
    feasible
        Whether each plan serves every customer within fleet and capacity.
    lengths, costs
        Length of each plan, and length plus the cost of each vehicle used; infinite if
        the plan is not feasible.
    stages
        Seconds of each step, with the mean cost of the feasible instances after it.
    vehicle_cost
        Fixed cost of each vehicle used. The length plus this cost was minimised.
    interrupted
        Whether the user ended the search with Ctrl-C.
    """

    plans: PlanBatch
    statuses: NDArray[np.str_]
    reasons: dict[int, str]
    feasible: NDArray[np.bool_]
    lengths: NDArray[np.float64]
    costs: NDArray[np.float64]
    stages: tuple[Stage, ...]
    vehicle_cost: float = 0.0
    interrupted: bool = False

    def __len__(self) -> int:
        return len(self.plans)

    @property
    def seconds(self) -> float:
        """Seconds of all steps together."""
        return sum(stage.seconds for stage in self.stages)

    @property
    def costs_v(self) -> NDArray[np.float64]:
        """The paper's name for ``costs``."""
        return self.costs

    def plan(self, row: int) -> Plan | None:
        """Return the plan of the instance in this row; None if it has none."""
        return self.plans[row] if self.feasible[row] else None

    def summary(self) -> str:
        """Return the result in a few lines of text."""
        good = int(self.feasible.sum())
        counts = ", ".join(
            f"{int((self.statuses == status).sum()):,} {status}"
            for status in ("feasible", "impossible", "undecided")
        )
        lines = [f"{len(self):,} fleets: {counts}"]
        if good:
            lines.append(
                f"{good:,} plans, mean length {self.lengths[self.feasible].mean():g}, "
                f"mean Cost_v {self.costs[self.feasible].mean():g}"
            )
        lines.extend(
            f"{stage.name}: {stage.seconds:.3f} s, mean cost {stage.cost:g}, "
            f"gain {stage.gain:g}"
            for stage in self.stages
        )
        return "\n".join(lines)

    __str__ = summary

    def __repr__(self) -> str:
        return (
            f"BatchResult({len(self)} instances, {int(self.feasible.sum())} plans, "
            f"{self.seconds:.2f} s)"
        )
