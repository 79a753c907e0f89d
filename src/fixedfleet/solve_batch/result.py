"""What came out for a batch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fixedfleet.plan import Plan, PlanBatch
    from fixedfleet.solve import Objective, Stage

__all__ = ["BatchResult"]


@dataclass(frozen=True, eq=False)
class BatchResult:
    """
    A plan for each instance of a batch, with what was found out on the way.

    Attributes
    ----------
    plans
        The best plans; an empty one where there is none within the fleet.
    statuses
        Verdict on each fleet: ``feasible``, ``impossible``, ``undecided``.
    reasons
        Why the fleets of the other rows are not known to suffice, by row.
    feasible
        Whether each plan serves everybody within fleet and capacity.
    lengths, costs_v
        Of each plan; infinite where it is not feasible.
    stages
        Seconds of each step, with the mean cost of the feasible instances after it.
    objective, vehicle_cost
        What was minimised.
    interrupted
        Whether Ctrl-C cut the search short.
    """

    plans: PlanBatch
    statuses: NDArray[np.str_]
    reasons: dict[int, str] = field(repr=False)
    feasible: NDArray[np.bool_]
    lengths: NDArray[np.float64]
    costs_v: NDArray[np.float64]
    stages: tuple[Stage, ...]
    objective: Objective = "length"
    vehicle_cost: float = 0.0
    interrupted: bool = False

    def __len__(self) -> int:
        return len(self.plans)

    @property
    def costs(self) -> NDArray[np.float64]:
        """What the objective asks for: lengths or Cost_v."""
        return self.lengths if self.objective == "length" else self.costs_v

    @property
    def seconds(self) -> float:
        """Wall time of the whole pipeline."""
        return sum(stage.seconds for stage in self.stages)

    def plan(self, row: int) -> Plan | None:
        """Return the plan of an instance, or None where there is none."""
        return self.plans[row] if self.feasible[row] else None

    def summary(self) -> str:
        """Say in a few lines what came out."""
        good = int(self.feasible.sum())
        counts = ", ".join(
            f"{int((self.statuses == status).sum()):,} {status}"
            for status in ("feasible", "impossible", "undecided")
        )
        lines = [f"{len(self):,} fleets: {counts}"]
        if good:
            lines.append(
                f"{good:,} plans, mean length {self.lengths[self.feasible].mean():g}, "
                f"mean Cost_v {self.costs_v[self.feasible].mean():g}"
            )
        lines.extend(
            f"{stage.name}: {stage.seconds:.3f} s, mean cost {stage.cost:g}, "
            f"gain {stage.gain:g}"
            for stage in self.stages
        )
        return "\n".join(lines)

    __str__ = summary
