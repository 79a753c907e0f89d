"""Which runs of an evaluation the file of rows lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fixedfleet.errors import InputError, at_least, check_whole
from fixedfleet.evaluate.origin import made_with
from fixedfleet.evaluate.rows import Row
from fixedfleet.evaluate.trials import Trial

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fixedfleet.evaluate.methods import Method
    from fixedfleet.evaluate.rows import Key
    from fixedfleet.evaluate.sets import InstanceSet
    from fixedfleet.instance import Instance

    Limits = tuple[float | None, int | None]  # seconds, iterations

__all__ = ["limits_of", "missing_trials"]


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


def missing_trials(
    sets: Sequence[InstanceSet],
    methods: Sequence[Method],
    limits: Sequence[Sequence[Limits]],
    seeds: Sequence[int],
    known: Mapping[Key, Row],
) -> tuple[list[Trial], list[Key]]:
    """
    Return the trials that make unknown rows, and the keys of all rows asked for.

    Instances come one after the other, each with all methods and limits, so that an
    interrupted run has compared all methods on the same instances.

    Raises
    ------
    InputError
        If the file has a row of another instance with the same name or of another
        vehicle cost, or if two sets have different instances with the same name.
    """
    asked: dict[Key, tuple[Row, Instance]] = {}
    missing = []
    for chosen in sets:
        for seed in dict.fromkeys(seeds):
            for trial in _trials(chosen, methods, limits, seed):
                new = False
                for row, instance in zip(trial.rows, trial.instances, strict=True):
                    if row.key in asked:  # sets share rows
                        _check_alike(row, instance, *asked[row.key])
                        continue
                    asked[row.key] = row, instance
                    if row.key in known:
                        _check_same(known[row.key], row)
                    else:
                        new = True
                if new:
                    missing.append(trial)
    return missing, list(asked)


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
            rows = [
                Row(
                    set=chosen.name,
                    instance=instance.name,
                    method=methods[place].name,
                    objective=methods[place].objective,
                    time_limit=seconds,
                    iterations=iterations,
                    seed=seed,
                    customers=instance.num_customers,
                    fleet=instance.vehicles,
                    vehicle_cost=chosen.vehicle_cost,
                    floor=instance.minimum_vehicles,
                    made=made[place],
                )
                for instance in instances
            ]
            yield Trial(place, tuple(instances), tuple(rows))

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


def _check_alike(row: Row, instance: Instance, other: Row, twin: Instance) -> None:
    """Raise InputError unless an instance is the same in every set that has it."""
    if other.vehicle_cost != row.vehicle_cost:
        raise InputError(
            f"{row.instance!r} of the set {row.set} is in another set too, where a "
            f"vehicle costs {other.vehicle_cost:g} instead of {row.vehicle_cost:g}: "
            "evaluate the sets into different files"
        )
    if twin is not instance and twin != instance:
        raise InputError(
            f"two sets have different instances named {row.instance!r}, one of them "
            f"{row.set}: evaluate the sets into different files"
        )


def _check_same(there: Row, here: Row) -> None:
    """Raise InputError unless both rows are of one instance, as far as they tell."""
    for field, what in (
        ("customers", "customers"),
        ("fleet", "vehicles"),
        ("vehicle_cost", "as the cost of a vehicle"),
        ("floor", "vehicles that its demands need"),
    ):
        found, wanted = getattr(there, field), getattr(here, field)
        if found != wanted:
            raise InputError(
                f"the file of results has a row of {here.instance!r} with {found:g} "
                f"{what}, here it is {wanted:g}: choose another file"
            )
