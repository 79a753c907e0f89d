"""Methods of one step: a start, or an outside solver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from fixedfleet import solvers
from fixedfleet.evaluate.methods import Answer
from fixedfleet.evaluate.starts import first_answers
from fixedfleet.search import Stop
from fixedfleet.search.traits import search_traits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fixedfleet.evaluate.methods import Limit, Start
    from fixedfleet.instance import Instance
    from fixedfleet.plan import Objective

__all__ = ["GPU_BATCH", "SolverAlone", "StartAlone"]

GPU_BATCH = 500  # instances per call, unless the user says otherwise


@dataclass(frozen=True)
class StartAlone:
    """A start's plans as they are."""

    name: str
    start: Start

    limits: ClassVar[tuple[Limit, ...]] = ()
    objective: ClassVar[Objective] = "length"

    @property
    def batch(self) -> int:
        """Number of instances per call."""
        return self.start.batch or (GPU_BATCH if self.on_gpu else 1)

    @property
    def on_gpu(self) -> bool:
        """Whether it runs on a GPU, and therefore in one process."""
        return self.start.on_gpu

    def check(self) -> None:
        """Raise MissingPackageError or InputError if the start cannot run here."""
        self.start.check()

    def solve(
        self, instances: Sequence[Instance], *, seed: int = 0, **_limits: object
    ) -> list[Answer]:
        """Make a plan for each instance."""
        return first_answers(self.start, instances, seed)


@dataclass(frozen=True)
class SolverAlone:
    """An outside solver that begins with nothing."""

    name: str
    solver: str  # its name in `fixedfleet.solvers.get`

    batch: ClassVar[int] = 1
    on_gpu: ClassVar[bool] = False
    objective: ClassVar[Objective] = "length"

    @property
    def limits(self) -> tuple[Limit, ...]:
        """The kinds of limit that the solver takes."""
        counts = search_traits(self.solver).counts
        return ("time", "iterations") if counts else ("time",)

    def check(self) -> None:
        """Raise MissingPackageError if its package or program is not here."""
        solvers.get(self.solver)

    def solve(
        self,
        instances: Sequence[Instance],
        *,
        time_limit: float | None = None,
        iterations: int | None = None,
        seed: int = 0,
        **_cost: object,
    ) -> list[Answer]:
        """Plan one instance after the other."""
        solver = solvers.get(self.solver)
        answers = []
        for instance in instances:
            stop = Stop(time_limit, iterations=iterations)
            found = solvers.run(solver, instance, stop=stop, seed=seed)
            answers.append(Answer(found.plan))
        return answers
