"""Which runs of an evaluation the file of rows lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fixedfleet.errors import InputError, at_least, check_whole
from fixedfleet.evaluate.origin import made_with, without_outdated
from fixedfleet.evaluate.trials import Trial

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

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
    agenda = Agenda([], [], set(by_key), 0, 0)
    for chosen in sets:
        for seed in dict.fromkeys(seeds):
            for trial in _trials(chosen, methods, limits, seed):
                if _plan_keys(trial, planned) - by_key.keys():
                    method = methods[trial.method]
                    together = method.batch > 1 or method.on_gpu
                    (agenda.single if together else agenda.parallel).append(trial)
    found = [key for key in planned if key in by_key]
    for key in found:
        _check_same(by_key[key], *planned[key])
    return agenda._replace(total=len(planned), found=len(found))


def _plan_keys(trial: Trial, planned: dict[Key, tuple[Instance, float]]) -> set[Key]:
    """Add a trial's rows to those planned; return the keys that are new."""
    new = set()
    for key, instance in zip(trial.keys(), trial.instances, strict=True):
        if key in planned:  # sets share rows
            _check_alike(trial, instance, *planned[key])
        else:
            planned[key] = instance, trial.vehicle_cost
            new.add(key)
    return new


def _trials(
    chosen: InstanceSet,
    methods: Sequence[Method],
    limits: Sequence[Sequence[Limits]],
    seed: int,
) -> Iterator[Trial]:
    """Yield all trials of a set: whole batches first, then instance by instance."""
    made = [made_with(method) for method in methods]

    def trials(place: int, instances: Sequence[Instance]) -> Iterator[Trial]:
        """Yield a trial of a method per limit."""
        for seconds, iterations in limits[place]:
            yield Trial(
                method=place,
                name=methods[place].name,
                set=chosen.name,
                instances=tuple(instances),
                vehicle_cost=chosen.vehicle_cost,
                time_limit=seconds,
                iterations=iterations,
                seed=seed,
                objective=methods[place].objective,
                made=made[place],
            )

    for place, method in enumerate(methods):
        if method.batch > 1:
            for batch in _batches(chosen.instances, method.batch):
                yield from trials(place, batch)
    for instance in chosen.instances:
        for place, method in enumerate(methods):
            if method.batch == 1:
                yield from trials(place, [instance])


def _batches(instances: Sequence[Instance], size: int) -> Iterator[list[Instance]]:
    """Cut a set into batches of equal-sized instances, the same in every run."""
    groups: dict[int, list[Instance]] = {}
    for instance in instances:
        groups.setdefault(instance.num_customers, []).append(instance)
    for group in groups.values():
        for begin in range(0, len(group), size):
            yield group[begin : begin + size]


def _check_alike(
    trial: Trial, instance: Instance, other: Instance, other_cost: float
) -> None:
    """Raise InputError unless an instance is the same in every set that has it."""
    if other_cost != trial.vehicle_cost:
        raise InputError(
            f"{instance.name!r} of the set {trial.set} is in another set too, where a "
            f"vehicle costs {other_cost:g} instead of {trial.vehicle_cost:g}: evaluate "
            "the sets into different files"
        )
    if other is not instance and other != instance:
        raise InputError(
            f"two sets have different instances named {instance.name!r}, one of them "
            f"{trial.set}: evaluate the sets into different files"
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
