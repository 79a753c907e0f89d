"""What came out, and what each step cost and gained."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fixedfleet.documents import (
    Objective,
    ResultDocument,
    StageDocument,
    describe_partial,
    describe_tours,
    describe_verdict,
    finite,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fixedfleet.fleet import FleetVerdict
    from fixedfleet.instance import Instance
    from fixedfleet.plan import Plan

__all__ = ["Objective", "Result", "Stage"]


@dataclass(frozen=True)
class Stage:
    """
    What one step of the pipeline cost and gained.

    Attributes
    ----------
    name
        Name of the step.
    seconds
        Wall time it took.
    cost
        Cost of the plan it left behind; infinite where there is none.
    gain
        By how much it lowered the cost; 0 where there was no plan before. Negative
        for a start that is worse than the packing it replaces.
    """

    name: str
    seconds: float
    cost: float
    gain: float = 0.0


@dataclass(frozen=True)
class Result:
    """
    A plan with all that was found out on the way.

    Attributes
    ----------
    instance
        The instance that was solved. With the guarantee its fleet may be larger than
        the one asked for: the smallest that suffices.
    plan
        The best plan, or None where there is none within the fleet.
    verdict
        Whether the fleet asked for suffices, and why.
    stages
        Seconds and cost of each step.
    trace
        Improvements of the search as (seconds, cost).
    objective, vehicle_cost
        What was minimised.
    interrupted
        Whether the user cut the search short.
    partial
        Where there is no plan for the fleet asked for, the best one found that leaves
        customers out: as few as can be, then as short as can be. None otherwise.
    """

    instance: Instance
    plan: Plan | None
    verdict: FleetVerdict
    stages: tuple[Stage, ...]
    trace: tuple[tuple[float, float], ...] = ()
    objective: Objective = "length"
    vehicle_cost: float = 0.0
    interrupted: bool = False
    partial: Plan | None = None

    @property
    def unserved(self) -> list[int]:
        """Customers that :attr:`partial` leaves out; none where it is not needed."""
        return [] if self.partial is None else self.partial.unserved(self.instance)

    @property
    def feasible(self) -> bool:
        """Whether there is a plan that serves everybody within fleet and capacity."""
        return self.plan is not None and self.plan.is_feasible(self.instance)

    @property
    def length(self) -> float:
        """Length of the plan; infinite where there is none."""
        if self.plan is None or not self.feasible:
            return math.inf
        return self.plan.length(self.instance)

    @property
    def cost_v(self) -> float:
        """Length plus the vehicle cost of each vehicle used; infinite for no plan."""
        if self.plan is None or not self.feasible:
            return math.inf
        return self.plan.cost_v(self.instance, self.vehicle_cost)

    @property
    def cost(self) -> float:
        """What the objective asks for: the length or Cost_v."""
        return self.length if self.objective == "length" else self.cost_v

    @property
    def seconds(self) -> float:
        """Wall time of the whole pipeline."""
        return sum(stage.seconds for stage in self.stages)

    def summary(self) -> str:
        """Say in a few lines what came out."""
        lines = [str(self.verdict)]
        if self.plan is None:
            lines.append("no plan found")
        else:
            lines.append(
                f"{self.plan.vehicles} of {self.instance.vehicles} vehicles, "
                f"length {self.length:g}, Cost_v {self.cost_v:g}"
            )
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

    def document(self, notes: Sequence[str] = ()) -> ResultDocument:
        """
        Return the JSON document of the result; ``docs/formats.md`` describes it.

        Parameters
        ----------
        notes
            Remarks on how the instance was read.
        """
        plan, partial, instance = self.plan, self.partial, self.instance
        asked = instance.with_vehicles(self.verdict.vehicles)
        return ResultDocument(
            instance=asked.name,
            customers=asked.num_customers,
            vehicles=asked.vehicles,
            capacity=asked.capacity,
            metric=asked.metric,
            rounding=asked.rounding,
            feasible=plan is not None and plan.is_feasible(asked),
            vehicles_planned_for=instance.vehicles,
            vehicles_used=None if plan is None else plan.vehicles,
            objective=self.objective,
            vehicle_cost=self.vehicle_cost,
            length=finite(self.length),
            cost_v=finite(self.cost_v),
            cost=finite(self.cost),
            tours=None if plan is None else describe_tours(plan, instance),
            partial=None if partial is None else describe_partial(partial, asked),
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
        )
