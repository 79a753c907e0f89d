"""Which runs of an evaluation the file of rows lacks."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, NamedTuple

from fixedfleet.errors import InputError, at_least, check_whole
from fixedfleet.evaluate.origin import made_with, without_outdated
from fixedfleet.evaluate.trials import Trial

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from fixedfleet.evaluate.methods import Method
    from fixedfleet.evaluate.rows import Key, Row
    from fixedfleet.evaluate.sets import InstanceSet
    from fixedfleet.instance import Instance

    Limits = tuple[float | None, int | None]  # seconds, iterations

__all__ = ["Agenda", "limits_of", "make_agenda"]


def limits_of(
    method: Method, time_limits: Sequence[float], iterations: int | None
) -> list[Limits]:
    """
    Return the limits that a method is run with, as (seconds, iterations).

    Raises
    ------
    InputError
        If the method does not take the kind of limit that is given.
    """
    if not method.limits:
        return [(None, None)]
    if iterations is not None:
        check_whole("iterations", iterations, at_least(1))
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
        raise InputError(f"the method {method.name!r} takes iterations, not time")
    return [(float(seconds), None) for seconds in time_limits]


class Agenda(NamedTuple):
    """
    The runs that the file lacks.

    Attributes
    ----------
    single
        Trials of methods that take batches or a GPU, for a single process.
    parallel
        Trials of all other methods.
    known
        Keys of the rows in the file.
    total, found
        Number of rows asked for, and how many of them are in the file.
    """

    single: list[Trial]
    parallel: list[Trial]
    known: set[Key]
    total: int
    found: int


def make_agenda(
    sets: Sequence[InstanceSet],
    methods: Sequence[Method],
    limits: Sequence[Sequence[Limits]],
    seeds: Sequence[int],
    rows: Iterable[Row],
) -> Agenda:
    """
    Return the runs that the file lacks.

    Instances come one after the other, each with all methods and limits, so that an
    interrupted run has compared all methods on the same instances.

    Parameters
    ----------
    sets, methods, seeds
        What to run.
    limits
        The limits of each method.
    rows
        The rows in the file. Rows of a network that has changed since do not count.

    Raises
    ------
    InputError
        If the file has a row of another instance with the same name or of another
        vehicle cost, or if two sets have different instances with the same name.
    """
    by_key = {row.key: row for row in without_outdated(rows, methods)}
    planned: dict[Key, tuple[Instance, float]] = {}
    single: list[Trial] = []
    parallel: list[Trial] = []
    for chosen in sets:
        for seed in dict.fromkeys(seeds):
            for trial in _trials(chosen, methods, limits, seed):
                if _plan_keys(trial, planned) - by_key.keys():
                    method = methods[trial.method]
                    together = method.batch > 1 or method.on_gpu
                    (single if together else parallel).append(trial)
    found = [key for key in planned if key in by_key]
    for key in found:
        _check_same(by_key[key], *planned[key])
    return Agenda(single, parallel, set(by_key), len(planned), len(found))


def _plan_keys(trial: Trial, planned: dict[Key, tuple[Instance, float]]) -> set[Key]:
    """Add a trial's rows to those planned; return the keys that are new."""
    new = set()
    for key, instance in zip(trial.keys(), trial.instances, strict=True):
        here = instance, trial.vehicle_cost
        if key in planned:  # sets share rows
            _check_alike(planned[key], here, trial.set)
        else:
            planned[key] = here
            new.add(key)
    return new


def _trials(
    chosen: InstanceSet,
    methods: Sequence[Method],
    limits: Sequence[Sequence[Limits]],
    seed: int,
) -> Iterator[Trial]:
    """Yield all trials of a set: whole batches first, then instance by instance."""
    kinds = list(zip(methods, limits, strict=True))

    @functools.cache
    def made(place: int, customers: int) -> Mapping[str, str]:
        return made_with(methods[place], customers)

    def trial(place: int, part: Sequence[Instance], limit: Limits) -> Trial:
        return Trial(
            method=place,
            name=methods[place].name,
            set=chosen.name,
            instances=tuple(part),
            vehicle_cost=chosen.vehicle_cost,
            time_limit=limit[0],
            iterations=limit[1],
            seed=seed,
            objective=methods[place].objective,
            made=made(place, part[0].num_customers),
        )

    for place, (method, wanted) in enumerate(kinds):
        if method.batch > 1:
            for limit in wanted:
                for part in _batches(chosen.instances, method.batch):
                    yield trial(place, part, limit)
    for instance in chosen.instances:
        for place, (method, wanted) in enumerate(kinds):
            if method.batch == 1:
                for limit in wanted:
                    yield trial(place, [instance], limit)


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
    """Raise InputError unless an instance is the same in every set that has it."""
    if there[1] != here[1]:
        raise InputError(
            f"{here[0].name!r} of the set {name} is in another set too, where a "
            f"vehicle costs {there[1]:g} instead of {here[1]:g}: evaluate the sets "
            "into different files"
        )
    if there[0] is not here[0] and there[0] != here[0]:
        raise InputError(
            f"two sets have different instances named {here[0].name!r}, one of them "
            f"{name}: evaluate the sets into different files"
        )


def _check_same(row: Row, instance: Instance, vehicle_cost: float) -> None:
    """Raise InputError unless a row is of this instance, as far as the row tells."""
    for what, there, here in (
        ("customers", row.customers, instance.num_customers),
        ("vehicles", row.fleet, instance.vehicles),
        ("as the cost of a vehicle", row.vehicle_cost, vehicle_cost),
        ("vehicles that its demands need", row.floor, instance.minimum_vehicles),
    ):
        if there != here:
            raise InputError(
                f"the file of results has a row of {instance.name!r} with {there:g} "
                f"{what}, here it is {here:g}: choose another file"
            )
