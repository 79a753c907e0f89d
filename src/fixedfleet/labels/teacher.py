"""Teachers: whoever makes the plans that labels are."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from fixedfleet import solvers
from fixedfleet.errors import InputError
from fixedfleet.fleet import assess_batch, assess_fleet
from fixedfleet.plan import Plan, PlanBatch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from fixedfleet.instance import Instance, InstanceBatch

    Answer = tuple[NDArray[np.integer[Any]], NDArray[np.bool_]]

__all__ = ["GpuTeacher", "SearchTeacher", "SolverTeacher", "Teacher", "get_teacher"]


class Teacher(Protocol):
    """
    Makes plans for instances. Goes to worker processes, so it must be picklable.

    Attributes
    ----------
    name
        Its name, for the manifest.
    on_gpu
        Whether it works on a GPU and takes a whole shard at a time, in one process.
        Else it takes an instance at a time, in one process a core.
    """

    @property
    def name(self) -> str: ...

    @property
    def on_gpu(self) -> bool: ...

    def settings(self) -> Mapping[str, Any]:
        """Everything that its plans depend on, as plain JSON values."""

    def label_many(self, batch: InstanceBatch, seeds: NDArray[np.int64]) -> Answer:
        """
        Make a plan for each instance.

        Parameters
        ----------
        batch
            The instances.
        seeds
            A seed for each, shape (B,).

        Returns
        -------
        routes
            Whole numbers of shape (B, L), as in :class:`PlanBatch`.
        labelled
            Which rows hold a plan, shape (B,). Plans are checked afterwards.
        """


@dataclass(frozen=True)
class SolverTeacher:
    """
    An outside solver, on one core an instance.

    It begins with a packing where it takes a start, and is spared instances that no
    plan exists for.

    Parameters
    ----------
    solver
        Its name among :mod:`fixedfleet.solvers`.
    time_limit
        Seconds an instance.
    """

    solver: str
    time_limit: float = 1.0
    on_gpu = False

    def __post_init__(self) -> None:
        solvers.get(self.solver)  # raises for an unknown one and a missing package
        _check_above_zero("time_limit", self.time_limit)

    @property
    def name(self) -> str:
        """The solver's name."""
        return self.solver

    def settings(self) -> dict[str, Any]:
        """Return the time limit."""
        return {"time_limit": self.time_limit}

    def label_many(self, batch: InstanceBatch, seeds: NDArray[np.int64]) -> Answer:
        """Solve one instance after another."""
        return _one_by_one(self._solve, batch, seeds)

    def _solve(self, instance: Instance, seed: int) -> Plan | None:
        verdict = assess_fleet(instance)
        if verdict.status == "impossible":
            return None
        solver = solvers.get(self.solver)
        start = verdict.packing if solver.takes_start else None
        outcome = solvers.run(
            solver, instance, time_limit=self.time_limit, seed=seed, start=start
        )
        return outcome.plan


@dataclass(frozen=True)
class SearchTeacher:
    """
    Ruin and recreate from a packing, on one core an instance.

    Parameters
    ----------
    iterations
        Iterations an instance; the same labels whenever and wherever.
    time_limit
        Seconds an instance instead.
    """

    iterations: int | None = None
    time_limit: float | None = None
    name = "ruin_recreate"
    on_gpu = False

    def __post_init__(self) -> None:
        if (self.iterations is None) == (self.time_limit is None):
            raise InputError(
                "the teacher 'ruin_recreate' needs iterations or a time_limit, and not "
                "both"
            )
        if self.iterations is not None:
            _check_count("iterations", self.iterations)
        if self.time_limit is not None:
            _check_above_zero("time_limit", self.time_limit)

    def settings(self) -> dict[str, Any]:
        """Return the limit of the two that is set."""
        return {name: v for name, v in asdict(self).items() if v is not None}

    def label_many(self, batch: InstanceBatch, seeds: NDArray[np.int64]) -> Answer:
        """Search for one instance after another."""
        return _one_by_one(self._search, batch, seeds)

    def _search(self, instance: Instance, seed: int) -> Plan | None:
        # Here, for it compiles: only workers need it.
        from fixedfleet.search.ruin_recreate import ruin_recreate

        start = assess_fleet(instance).packing
        if start is None:
            return None
        result = ruin_recreate(
            instance,
            start,
            time_limit=self.time_limit,
            iterations=self.iterations,
            seed=seed,
        )
        return result.plan


@dataclass(frozen=True)
class GpuTeacher:
    """
    Ruin and recreate from packings on a GPU, for a whole batch at once.

    Parameters
    ----------
    iterations
        Iterations an instance.
    """

    iterations: int = 60_000
    name = "gpu"
    on_gpu = True

    def __post_init__(self) -> None:
        _check_count("iterations", self.iterations)

    def settings(self) -> dict[str, Any]:
        """Return the iterations."""
        return asdict(self)

    def label_many(self, batch: InstanceBatch, seeds: NDArray[np.int64]) -> Answer:
        """Search for all instances that a packing is found for, at once."""
        from fixedfleet.search.gpu import improve_batch

        # An exact search for the few that are hard to pack would hold up the rest.
        verdict = assess_batch(batch, time_limit=0)
        labelled = verdict.feasible
        if not labelled.any():
            return np.zeros((len(batch), 0), dtype=np.int64), labelled
        plans = improve_batch(
            batch[labelled],
            verdict.packings[labelled],
            iterations=self.iterations,
            # One stream serves the whole call: its first seed names it.
            seed=int(seeds[0]),
        )
        together = PlanBatch.gather(len(batch), [(labelled, plans.routes)])
        return together.routes, labelled


_SOLVERS = ("ortools", "pyvrp", "vroom", "hgs")
_TEACHERS: dict[str, Callable[..., Teacher]] = {
    **{solver: partial(SolverTeacher, solver) for solver in _SOLVERS},
    "ruin_recreate": SearchTeacher,
    "gpu": GpuTeacher,
}
_SETTINGS = {
    **dict.fromkeys(_SOLVERS, ("time_limit",)),
    "ruin_recreate": ("iterations", "time_limit"),
    "gpu": ("iterations",),
}


def get_teacher(name: str, **settings: Any) -> Teacher:
    """
    Return a teacher by its name.

    Parameters
    ----------
    name
        ``ortools``, ``pyvrp``, ``vroom`` or ``hgs`` with ``time_limit``;
        ``ruin_recreate`` with ``iterations`` or ``time_limit``; ``gpu`` with
        ``iterations``.
    settings
        The teacher's settings; those that are None count as not given.

    Raises
    ------
    InputError
        If there is no such teacher, or it has no such setting.
    """
    if name not in _TEACHERS:
        raise InputError(
            f"unknown teacher {name!r}: choose from {', '.join(_TEACHERS)}"
        )
    given = {key: value for key, value in settings.items() if value is not None}
    if wrong := [key for key in given if key not in _SETTINGS[name]]:
        raise InputError(
            f"the teacher {name!r} has no setting {wrong[0]!r}: it takes "
            + " or ".join(_SETTINGS[name])
        )
    return _TEACHERS[name](**given)


def _one_by_one(
    plan: Callable[[Instance, int], Plan | None],
    batch: InstanceBatch,
    seeds: NDArray[np.int64],
) -> Answer:
    plans = [
        plan(instance, int(seed)) for instance, seed in zip(batch, seeds, strict=True)
    ]
    labelled = np.array([found is not None for found in plans], dtype=bool)
    return PlanBatch.from_plans(found or Plan([]) for found in plans).routes, labelled


def _check_count(what: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InputError(f"{what} is {value!r}, not a whole number of at least 1")


def _check_above_zero(what: str, value: object) -> None:
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float))
        or not 0 < value < float("inf")
    ):
        raise InputError(f"{what} is {value!r}, not a number of seconds above 0")
