"""Teachers: they make the plans that networks learn from."""

from __future__ import annotations

import inspect
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import numpy as np

from fixedfleet.deadline import Deadline
from fixedfleet.errors import InputError, above, at_least, check_settings
from fixedfleet.fleet import assess_batch, assess_fleet
from fixedfleet.plan import Plan, PlanBatch
from fixedfleet.registry import Registry
from fixedfleet.search import SEARCHES, improve

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from fixedfleet.instance import Instance, InstanceBatch

    Labelled = tuple[NDArray[np.integer[Any]], NDArray[np.bool_]]

__all__ = [
    "TEACHERS",
    "GpuTeacher",
    "SearchTeacher",
    "Teacher",
    "get_teacher",
]


class Teacher(Protocol):
    """
    Makes plans for instances. Worker processes get a pickled copy of it.

    Attributes
    ----------
    name
        Its name, for the manifest.
    on_gpu
        Whether it takes a whole shard at a time, in one process. Otherwise it takes one
        instance at a time, in one process per core.
    """

    @property
    def name(self) -> str: ...

    @property
    def on_gpu(self) -> bool: ...

    def settings(self) -> Mapping[str, Any]:
        """Return everything that its plans depend on, as plain JSON values."""

    def label_many(self, batch: InstanceBatch, seeds: NDArray[np.int64]) -> Labelled:
        """
        Make a plan for each instance, which has a seed of its own.

        Returns
        -------
        routes
            Whole numbers of shape (B, L), as in :class:`PlanBatch`.
        labelled
            Which rows hold a plan, shape (B,). Plans are checked afterwards.
        """


# A teacher is made by calling its entry with settings.
TEACHERS: Registry[Callable[..., Teacher]] = Registry("teacher", {})


class _OnCores:
    """What the teachers that plan one instance after the other have in common."""

    on_gpu = False

    def settings(self) -> dict[str, Any]:
        """Return the settings by name, without those that are None."""
        given = vars(self).items()
        return {name: v for name, v in given if name != "name" and v is not None}

    def label_many(self, batch: InstanceBatch, seeds: NDArray[np.int64]) -> Labelled:
        """Plan one instance after the other."""
        plans = [
            self._plan(instance, int(seed))
            for instance, seed in zip(batch, seeds, strict=True)
        ]
        labelled = np.array([plan is not None for plan in plans], dtype=bool)
        return PlanBatch.from_plans(plan or Plan([]) for plan in plans).routes, labelled

    def _plan(self, instance: Instance, seed: int) -> Plan | None:
        raise NotImplementedError


@dataclass(frozen=True)
class SearchTeacher(_OnCores):
    """
    A search from a packing, on one core per instance.

    Instances without a packing get no label.

    Parameters
    ----------
    name
        Its name in :data:`fixedfleet.search.SEARCHES`.
    time_limit
        Seconds per instance.
    iterations
        Iterations per instance, instead of a time limit. The labels are then the same
        on every machine.
    """

    name: str
    time_limit: Annotated[float | None, above(0)] = None
    iterations: Annotated[int | None, at_least(1)] = None

    def __post_init__(self) -> None:
        SEARCHES.get(self.name)  # raises if it is unknown or its package is missing
        check_settings(self)
        if (self.iterations is None) == (self.time_limit is None):
            raise InputError(
                f"the teacher {self.name!r} needs iterations or a time_limit, and not "
                "both"
            )

    def _plan(self, instance: Instance, seed: int) -> Plan | None:
        packing = assess_fleet(instance).packing
        if packing is None:
            return None
        return improve(
            instance,
            packing,
            search=self.name,
            time_limit=self.time_limit,
            iterations=self.iterations,
            seed=seed,
        ).plan


def _outside_teacher(name: str, time_limit: float = 1.0) -> SearchTeacher:
    """Return an outside solver as a teacher; its limit is a time."""
    return SearchTeacher(name, time_limit)


for _solver in ("ortools", "pyvrp", "vroom", "hgs"):
    TEACHERS.register(_solver)(partial(_outside_teacher, _solver))
TEACHERS.register("ruin_recreate")(partial(SearchTeacher, "ruin_recreate"))


@TEACHERS.register("gpu")
@dataclass(frozen=True)
class GpuTeacher:
    """
    Ruin and recreate from packings on a GPU, for a whole shard at once.

    Parameters
    ----------
    iterations
        Iterations per instance.
    """

    iterations: Annotated[int, at_least(1)] = 60_000
    name = "gpu"
    on_gpu = True

    def __post_init__(self) -> None:
        check_settings(self)

    def settings(self) -> dict[str, Any]:
        """Return the iterations."""
        return asdict(self)

    def label_many(self, batch: InstanceBatch, seeds: NDArray[np.int64]) -> Labelled:
        """Search for plans of all instances at once, except those without a packing."""
        from fixedfleet.search.gpu import improve_batch

        # An exact search for the few that are hard to pack would hold up the rest.
        verdict = assess_batch(batch, time_limit=0)
        labelled = verdict.feasible
        if not labelled.any():
            return np.zeros((len(batch), 0), dtype=np.int64), labelled
        plans = improve_batch(
            batch[labelled],
            verdict.packings[labelled],
            deadline=Deadline(iterations=self.iterations),
            # The whole call has one stream of random numbers, named by its first seed.
            seed=int(seeds[0]),
        )
        together = PlanBatch.gather(len(batch), [(labelled, plans.routes)])
        return together.routes, labelled


def get_teacher(name: str, **settings: Any) -> Teacher:
    """
    Return a teacher by its name.

    Parameters
    ----------
    name
        ``ortools``, ``pyvrp``, ``vroom`` or ``hgs`` with ``time_limit``;
        ``ruin_recreate`` with ``iterations`` or ``time_limit``; ``gpu`` with
        ``iterations``; or your own, registered in :data:`TEACHERS` or named as
        "my_teacher.py:Name".
    settings
        The teacher's settings; a setting that is None counts as not given.

    Raises
    ------
    InputError
        If there is no such teacher, or it has no such setting.
    """
    make = TEACHERS.get(name)
    known = list(inspect.signature(make).parameters)
    given = {key: value for key, value in settings.items() if value is not None}
    if wrong := [key for key in given if key not in known]:
        raise InputError(
            f"the teacher {name!r} has no setting {wrong[0]!r}: it takes "
            + (" or ".join(known) or "none")
        )
    return make(**given)
