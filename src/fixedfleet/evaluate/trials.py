"""One call of a method on instances, and the rows that it produces."""

from __future__ import annotations

import contextlib
import math
import sys
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from fixedfleet.errors import MissingPackageError, place_of
from fixedfleet.evaluate.origin import machine_name
from fixedfleet.evaluate.rows import Row

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fixedfleet.evaluate.methods import Answer, Method
    from fixedfleet.evaluate.rows import Key, Trace
    from fixedfleet.instance import Instance
    from fixedfleet.plan import Objective
    from fixedfleet.workers import Call

__all__ = ["Trial", "failed", "work"]

# Limits of a warm-up, whose plans are thrown away.
_WARM_SECONDS = 0.1
_WARM_ITERATIONS = 10
_LONGEST_FAULT = 200

# Methods and sizes for which this worker process has loaded everything.
_warm: set[tuple[str, str, int]] = set()


@dataclass(frozen=True, eq=False)
class Trial:
    """
    Instances for one call of a method.

    Attributes
    ----------
    method
        Position of the method in the run's list.
    name, objective
        Name of the method, and what it minimises.
    set
        Name of the set.
    instances
        Instances of equal size, at most as many as the method takes at once.
    vehicle_cost
        Fixed cost per vehicle.
    time_limit, iterations
        The limit: one of them, or neither.
    seed
        The seed.
    made
        What the rows are made with.
    """

    method: int
    name: str
    set: str
    instances: tuple[Instance, ...]
    vehicle_cost: float
    time_limit: float | None
    iterations: int | None
    seed: int
    objective: Objective = "length"
    made: Mapping[str, str] = field(default_factory=dict)

    def keys(self) -> list[Key]:
        """Return the keys of the rows that it produces."""
        limits = self.time_limit, self.iterations
        return [
            (i.name, self.name, self.objective, *limits, self.seed)
            for i in self.instances
        ]


def work(
    trial: Trial, call: Call, methods: Sequence[Method], grace: float, longest: float
) -> list[Row]:
    """
    Run a trial in a worker process, after a warm-up if it is the first of a kind.

    After the warm-up, it may take ``grace`` seconds beyond twice the time limit of all
    its instances, or ``longest`` seconds if it has no time limit.

    Raises
    ------
    MissingPackageError
        If the method needs a package that is not installed.
    """
    method, limit = methods[trial.method], trial.time_limit
    kind = trial.name, trial.objective, trial.instances[0].num_customers
    if kind not in _warm:
        _warm_up(method, trial)
        _warm.add(kind)
        if torch := sys.modules.get("torch"):
            torch.set_num_threads(1)
    allowed = longest if limit is None else 2 * limit * len(trial.instances) + grace
    call.send("warm", seconds=allowed)
    return _run(method, trial)


def _warm_up(method: Method, trial: Trial) -> None:
    """Run the method briefly, so that nothing is loaded or compiled when timed."""
    limit, iterations = trial.time_limit, trial.iterations
    if limit is not None:
        limit = min(limit, _WARM_SECONDS / len(trial.instances))
    if iterations is not None:
        iterations = min(iterations, _WARM_ITERATIONS)
    with contextlib.suppress(Exception):  # the call that counts reports it
        _call(method, replace(trial, time_limit=limit, iterations=iterations))


def _call(method: Method, trial: Trial) -> list[Answer]:
    return method.solve(
        trial.instances,
        vehicle_cost=trial.vehicle_cost,
        time_limit=trial.time_limit,
        iterations=trial.iterations,
        seed=trial.seed,
    )


def _run(method: Method, trial: Trial) -> list[Row]:
    """Run a trial and measure its plans; the rows record whatever goes wrong."""
    machine = machine_name(method.on_gpu)
    begin = time.perf_counter()
    try:
        answers = _call(method, trial)
        seconds = (time.perf_counter() - begin) / len(trial.instances)
        return [
            _measure(trial, instance, answer, seconds, machine)
            for instance, answer in zip(trial.instances, answers, strict=True)
        ]
    except ImportError as error:
        # No row: when the package is installed, the same evaluation continues.
        raise MissingPackageError(f"{trial.name}: {error}") from error
    except Exception as error:  # a method may fail in any way
        spent = time.perf_counter() - begin
        return failed(trial, _tell(error), spent, machine)


def _tell(error: Exception) -> str:
    """Say what went wrong in a method, and where."""
    place = f" ({place_of(error)})"
    what = " ".join(f"{type(error).__name__}: {error}".split())
    return what[: _LONGEST_FAULT - len(place)] + place


def failed(trial: Trial, why: str, seconds: float, machine: str) -> list[Row]:
    """Return the rows of a call that returned no plans."""
    share = seconds / len(trial.instances)
    return [_row(trial, i, share, machine, fault=why) for i in trial.instances]


def _measure(
    trial: Trial, instance: Instance, answer: Answer, seconds: float, machine: str
) -> Row:
    """Check a plan and measure it; the method's own claims are not used."""
    plan, start = answer.plan, answer.start
    details = dict(answer.details)
    if start is not None:
        seconds += start.seconds
        details = {**start.details, **details}
        machine = " + ".join(dict.fromkeys((start.machine, machine)))
    if plan is None:
        none = f"no plan: {answer.reason}" if answer.reason else "no plan"
        return _row(trial, instance, seconds, machine, fault=none)
    within = plan.vehicles <= instance.vehicles
    allowed = instance if within else instance.with_vehicles(plan.vehicles)
    why = None if within else f"{plan.vehicles} tours for {instance.vehicles} vehicles"
    if faults := plan.check(allowed):
        more = f" and {len(faults) - 1} more faults" if len(faults) > 1 else ""
        why = f"infeasible: {faults[0]}{more}"
    row = _row(
        trial, instance, seconds, machine, fault=why, details=details, tours=plan.tours
    )
    if faults:
        return row
    row = replace(
        row,
        length=plan.length(instance),
        cost_v=plan.cost_v(instance, trial.vehicle_cost),
        vehicles=plan.vehicles,
        served=True,
        within=within,
    )
    return replace(row, trace=_shorten(answer.trace, row.cost or 0.0, seconds))


def _row(
    trial: Trial,
    instance: Instance,
    seconds: float,
    machine: str,
    *,
    fault: str | None,
    **found: Any,
) -> Row:
    """Return a row of an instance, by default without a plan."""
    return Row(
        set=trial.set,
        instance=instance.name,
        method=trial.name,
        objective=trial.objective,
        time_limit=trial.time_limit,
        iterations=trial.iterations,
        seed=trial.seed,
        customers=instance.num_customers,
        fleet=instance.vehicles,
        vehicle_cost=trial.vehicle_cost,
        floor=instance.minimum_vehicles,
        seconds=seconds,
        fault=fault and " ".join(fault.split())[:_LONGEST_FAULT],
        machine=machine,
        made=trial.made,
        **found,
    )


def _shorten(trace: Trace, final: float, seconds: float) -> Trace:
    """
    Keep the improvements down to the plan's true cost, and drop claims below it.

    A trace that never reaches that cost gets it as a last point, at the call's end.
    """
    kept: list[tuple[float, float]] = []
    for moment, cost in trace:
        arrived = cost <= final * (1 + 1e-9)
        better = not kept or cost < kept[-1][1]
        if not (math.isfinite(cost) and better):
            continue
        kept.append((round(moment, 6), final if arrived else float(f"{cost:.9g}")))
        if arrived:
            return tuple(kept)
    return (*kept, (round(seconds, 6), final)) if kept else ()
