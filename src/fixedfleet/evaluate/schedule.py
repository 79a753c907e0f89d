"""Which runs an evaluation has to do, and in which order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fixedfleet.errors import InputError, check_whole
from fixedfleet.evaluate.job import Job
from fixedfleet.evaluate.made import current, made_with

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
        What there is already. Those of a network that was replaced since do not count.

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
        vehicle cost; or if two sets have different instances of one name.
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
        by_name = {method.name: method for method in methods}
        self._known = {row.key: row for row in current(rows, by_name)}
        self._planned: dict[Key, tuple[Instance, float]] = {}
        for chosen in sets:
            for seed in dict.fromkeys(seeds):
                for job in _jobs(chosen, methods, limits, seed):
                    single = methods[job.method]
                    alone = single.batch > 1 or single.on_gpu
                    self._add(job, self.alone if alone else self.parallel)

    @property
    def known(self) -> set[Key]:
        """Keys of the rows there are."""
        return set(self._known)

    def _add(self, job: Job, jobs: list[Job]) -> None:
        """Take a job unless its rows are there or planned for; sets share rows."""
        missing = False
        for key, instance in zip(job.keys(), job.instances, strict=True):
            if there := self._planned.get(key):
                _check_alike(there, (instance, job.vehicle_cost), job.set)
                continue
            self._planned[key] = instance, job.vehicle_cost
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
            objective=methods[place].objective,
            made=made_with(methods[place], part[0].num_customers),
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


def _check_alike(
    there: tuple[Instance, float], here: tuple[Instance, float], name: str
) -> None:
    """See that an instance that several sets have is the same in all of them."""
    if there[1] != here[1]:
        raise InputError(
            f"{here[0].name!r} of the set {name} is in another set too, where a "
            f"vehicle costs {there[1]:g} instead of {here[1]:g}: evaluate them apart"
        )
    if there[0] is not here[0] and there[0] != here[0]:
        raise InputError(
            f"two sets have different instances named {here[0].name!r}, one of them "
            f"{name}: evaluate them apart, into different files"
        )


def _check_same(row: Row, instance: Instance, vehicle_cost: float) -> None:
    for what, there, here in (
        ("customers", row.customers, instance.num_customers),
        ("vehicles", row.fleet, instance.vehicles),
        ("as the cost of a vehicle", row.vehicle_cost, vehicle_cost),
        ("vehicles that its demands ask for", row.floor, instance.minimum_vehicles),
    ):
        if there != here:
            raise InputError(
                f"the file of results has a row of {instance.name!r} with {there:g} "
                f"{what}, here it is {here:g}: choose another file"
            )
