"""Which runs an evaluation has to do, and in which order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fixedfleet.errors import InputError, check_whole
from fixedfleet.evaluate.job import Job

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fixedfleet.evaluate.protocol import Method
    from fixedfleet.evaluate.rows import Key, Row
    from fixedfleet.evaluate.sets import InstanceSet
    from fixedfleet.instance import Instance

__all__ = ["Schedule", "limits_of"]

Limits = tuple[float | None, int | None]


def limits_of(
    method: Method, time_limits: Sequence[float], iterations: int | None
) -> list[Limits]:
    """
    Return the limits a method is run with, as (seconds, iterations).

    Raises
    ------
    InputError
        If it does not heed the kind of limit that is given.
    """
    if not method.limits:
        return [(None, None)]
    if iterations is not None:
        check_whole("iterations", iterations, least=1)
        if time_limits:
            raise InputError("give either time limits or iterations, not both")
        if "iterations" not in method.limits:
            raise InputError(
                f"the method {method.name!r} cannot count iterations: give a time limit"
            )
        return [(None, iterations)]
    if not time_limits:
        raise InputError(f"the method {method.name!r} needs a time limit")
    if "time" not in method.limits:
        raise InputError(f"the method {method.name!r} heeds iterations, not time")
    return [(float(seconds), None) for seconds in time_limits]


class Schedule:
    """
    The runs that are missing.

    Instances come one after the other, each with all limits and methods, so that a
    run that is cut short has compared all methods on the same instances.

    Parameters
    ----------
    sets, methods, seeds
        What to run.
    limits
        The limits of each method.
    rows
        What there is already.

    Attributes
    ----------
    alone
        Jobs of methods that take batches or a GPU, for one process.
    parallel
        Jobs of all other methods.
    found
        Rows asked for that are there already.
    total
        Rows asked for.

    Raises
    ------
    InputError
        If there is a row by a wanted name that is of another instance, or of another
        vehicle cost.
    """

    def __init__(
        self,
        sets: Sequence[InstanceSet],
        methods: Sequence[Method],
        limits: Sequence[Sequence[Limits]],
        seeds: Sequence[int],
        rows: Iterable[Row],
    ) -> None:
        self.alone: list[Job] = []
        self.parallel: list[Job] = []
        self.found = self.total = 0
        self._known = {row.key: row for row in rows}
        self._planned: set[Key] = set()
        for chosen in sets:
            for seed in dict.fromkeys(seeds):
                for job in _jobs(chosen, methods, limits, seed):
                    single = methods[job.method]
                    alone = single.batch > 1 or single.on_gpu
                    self._add(job, self.alone if alone else self.parallel)

    def _add(self, job: Job, jobs: list[Job]) -> None:
        """Take a job unless its rows are there or planned for; sets share rows."""
        missing = False
        for key, instance in zip(job.keys(), job.instances, strict=True):
            if key in self._planned:
                continue
            self._planned.add(key)
            self.total += 1
            if row := self._known.get(key):
                _check_same(row, instance, job.vehicle_cost)
                self.found += 1
            else:
                missing = True
        if missing:
            jobs.append(job)


def _jobs(
    chosen: InstanceSet,
    methods: Sequence[Method],
    limits: Sequence[Sequence[Limits]],
    seed: int,
) -> Iterator[Job]:
    """All jobs of a set, instance by instance; whole batches before them."""
    kinds = list(zip(methods, limits, strict=True))

    def job(place: int, part: Sequence[Instance], limit: Limits) -> Job:
        return Job(
            method=place,
            name=methods[place].name,
            set=chosen.name,
            instances=tuple(part),
            vehicle_cost=chosen.vehicle_cost,
            time_limit=limit[0],
            iterations=limit[1],
            seed=seed,
        )

    for place, (method, wanted) in enumerate(kinds):
        if method.batch > 1:
            for limit in wanted:
                for part in _batches(chosen.instances, method.batch):
                    yield job(place, part, limit)
    for instance in chosen.instances:
        for place, (method, wanted) in enumerate(kinds):
            if method.batch == 1:
                for limit in wanted:
                    yield job(place, [instance], limit)


def _batches(instances: Sequence[Instance], size: int) -> Iterator[list[Instance]]:
    """Cut a set into batches of equal-sized instances, the same in every run."""
    groups: dict[int, list[Instance]] = {}
    for instance in instances:
        groups.setdefault(instance.num_customers, []).append(instance)
    for group in groups.values():
        for begin in range(0, len(group), size):
            yield group[begin : begin + size]


def _check_same(row: Row, instance: Instance, vehicle_cost: float) -> None:
    for what, there, here in (
        ("customers", row.customers, instance.num_customers),
        ("vehicles", row.fleet, instance.vehicles),
        ("as the cost of a vehicle", row.vehicle_cost, vehicle_cost),
    ):
        if there != here:
            raise InputError(
                f"the file of results has a row of {instance.name!r} with {there:g} "
                f"{what}, here it is {here:g}: choose another file"
            )
