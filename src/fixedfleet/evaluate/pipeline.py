"""A start, a search, or both: the methods that this package offers by name."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, cast, get_args

from fixedfleet import solvers
from fixedfleet.errors import (
    InputError,
    MissingPackageError,
    between,
    check_choice,
    check_settings,
    require,
)
from fixedfleet.evaluate.methods import Answer
from fixedfleet.fleet import assess_fleet
from fixedfleet.instance import InstanceBatch
from fixedfleet.search import SEARCHES, Stop, better, fit, improve
from fixedfleet.search.construct import complete, make_start, savings, sweep
from fixedfleet.solve import Objective, solve
from fixedfleet.solve_batch import solve_batch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fixedfleet.evaluate.methods import Limit, Start
    from fixedfleet.evaluate.rows import Trace
    from fixedfleet.fleet import FleetVerdict
    from fixedfleet.instance import Instance
    from fixedfleet.plan import Plan
    from fixedfleet.search.construct import StartName
    from fixedfleet.solve import Result
    from fixedfleet.solve_batch import BatchStart

__all__ = ["NetworkStart", "Packing", "Pipeline", "Savings", "Sweep"]

_COUNTING = ("ruin_recreate", "hgs", "pyvrp", "gpu")  # searches that take iterations
_SILENT = ("pyvrp", "vroom", "ortools", "lkh")  # searches that report no improvements
_GPU_BATCH = 500
_LEAST_SECONDS = 1e-3

# Modules that each search or solver imports, and what to install for them.
_NEEDS = {
    "auto": (("numba", "numba"), ("hybgensea", "hybgensea")),
    "ruin_recreate": (("numba", "numba"),),
    "hgs": (("hybgensea", "hybgensea"),),
    "pyvrp": (("pyvrp", "'fixedfleet[peers]'"),),
    "vroom": (("vroom", "'fixedfleet[peers]'"),),
    "ortools": (("ortools", "ortools"),),
}


@dataclass(frozen=True)
class Pipeline:
    """
    A start's plans as they are, or improved by a search; or an outside solver alone.

    A search keeps the fleet. A start that exceeds the fleet or leaves customers out is
    cut to the fleet and completed; if that fails, the search begins with the packing,
    as in :func:`fixedfleet.solve`.

    Parameters
    ----------
    name
        Name in the rows.
    start
        Makes the first plans; None for a solver that begins with nothing.
    search
        Improves the plans; empty to keep them as they are.
    objective
        What the search minimises.
    guarantee
        Whether to plan for the smallest sufficient fleet where the fleet is too small.
    batch
        Number of instances per call; 0 for the default. The search ``gpu`` has the
        time limit of all instances of a batch together. With a batch of 1 it fills the
        GPU with searches for one instance.
    """

    name: str
    start: Start | None
    search: str = ""
    objective: Objective = "length"
    guarantee: bool = False
    batch: int = 0

    def __post_init__(self) -> None:
        check_choice("objective", self.objective, get_args(Objective))
        batch = 1
        if self.search == "gpu":
            batch = self.batch or _GPU_BATCH
        elif self.start is not None and not self.search:
            batch = self.start.batch or (_GPU_BATCH if self.start.on_gpu else 1)
        object.__setattr__(self, "batch", batch)

    @property
    def on_gpu(self) -> bool:
        """Whether it runs on a GPU, and therefore in one process."""
        return self.search == "gpu" or (self.start is not None and self.start.on_gpu)

    @property
    def limits(self) -> tuple[Limit, ...]:
        """The kinds of limit that the search takes; a start alone takes none."""
        if not self.search:
            return ()
        return ("time", "iterations") if self.search in _COUNTING else ("time",)

    def check(self) -> None:
        """Raise MissingPackageError or InputError if the method cannot run here."""
        if self.search == "gpu":
            from fixedfleet.search.gpu import require_gpu

            require_gpu()
        elif self.search == "lkh":
            solvers.get(self.search)  # looks for the program
        elif ":" in self.search:
            SEARCHES.get(self.search)
        # Solvers are not imported here: that is for the workers.
        for module, install in _NEEDS.get(self.search, ()):
            if find_spec(module) is None:
                raise MissingPackageError(
                    f"the method {self.name!r} needs the package {module!r}, which is "
                    f"not installed: pip install {install}"
                )
        if self.start is not None:
            self.start.check()

    def network(self, customers: int) -> Path | None:
        """Return the file of the network that it uses for a size; None if none."""
        find = getattr(self.start, "network", None)
        return None if find is None else cast("Path", find(customers))

    def solve(
        self,
        instances: Sequence[Instance],
        *,
        vehicle_cost: float = 0.0,
        time_limit: float | None = None,
        iterations: int | None = None,
        seed: int = 0,
    ) -> list[Answer]:
        """Plan the instances: a start and the GPU all at once, others one by one."""
        if self.start is not None and not self.search:
            return [Answer(plan) for plan in self.start.plans(instances, seed)]
        if self.search == "gpu" and self.batch > 1:
            return self._on_gpu(instances, vehicle_cost, time_limit, iterations, seed)
        if iterations is not None:
            return [self._count(i, iterations, seed, vehicle_cost) for i in instances]
        if time_limit is None:
            raise InputError(f"{self.name} needs a time limit")
        return [self._time(i, time_limit, seed, vehicle_cost) for i in instances]

    def _on_gpu(
        self,
        instances: Sequence[Instance],
        vehicle_cost: float,
        time_limit: float | None,
        iterations: int | None,
        seed: int,
    ) -> list[Answer]:
        # Of the starts that solve_batch takes, only the network is not in this list.
        start = _IN_SOLVE.get(type(self.start), "network")
        found = solve_batch(
            instances,
            time_limit=time_limit,
            iterations=iterations,
            seed=seed,
            start=cast("BatchStart", start),
            search="gpu",
            objective=self.objective,
            vehicle_cost=vehicle_cost,
            processes=1,
        )
        return [
            Answer(found.plan(row), reason=found.reasons.get(row, ""))
            for row in range(len(found))
        ]

    def _time(
        self, instance: Instance, time_limit: float, seed: int, vehicle_cost: float
    ) -> Answer:
        """Plan one instance within a time limit that includes the start."""
        begin = time.perf_counter()
        if self.start is None:
            solver = solvers.get(self.search)
            found = solvers.run(solver, instance, stop=Stop(time_limit), seed=seed)
            return Answer(found.plan)
        start: Plan | str = _IN_SOLVE.get(type(self.start), "")
        if not start:
            if self.guarantee:
                # The start is to plan for the fleet that the search will have.
                verdict = assess_fleet(instance, time_limit=time_limit / 4)
                instance = _widen(instance, verdict)
            start = self._first(instance, seed) or "packing"
        result = solve(
            instance,
            max(time_limit - (time.perf_counter() - begin), _LEAST_SECONDS),
            seed=seed,
            start=cast("StartName", start),
            search=self.search,
            objective=self.objective,
            vehicle_cost=vehicle_cost,
            guarantee=self.guarantee,
        )
        if result.plan is None:
            return Answer(None, reason=result.verdict.reason)
        seconds = time.perf_counter() - begin
        return Answer(result.plan, self._trace(result, seconds))

    def _trace(self, result: Result, seconds: float) -> Trace:
        """Return the improvements by the clock of the whole call."""
        if self.search in _SILENT:
            return ()
        before = seconds - result.seconds
        return tuple((before + moment, cost) for moment, cost in result.trace)

    def _count(
        self, instance: Instance, iterations: int, seed: int, vehicle_cost: float
    ) -> Answer:
        """Plan one instance in a number of iterations: the same plan anywhere."""
        charged = vehicle_cost if self.objective == "cost-v" else 0.0
        if self.start is None:
            return _search(self.search, instance, None, iterations, seed, charged)
        verdict = assess_fleet(instance)
        packing = verdict.packing
        if verdict.status == "impossible":
            if not self.guarantee or verdict.smallest_packing is None:
                return Answer(None, reason=verdict.reason)
            packing = verdict.smallest_packing
            instance = _widen(instance, verdict)
        name = _IN_SOLVE.get(type(self.start))
        if name is None:
            start = self._first(instance, seed) or packing
        else:
            start = make_start(name, instance, packing, seed=seed)
        return _search(self.search, instance, start, iterations, seed, charged)

    def _first(self, instance: Instance, seed: int) -> Plan | None:
        """Make a start that serves all customers within the fleet, if possible."""
        if self.start is None:
            return None
        (plan,) = self.start.plans([instance], seed)
        return plan and complete(instance, fit(instance, plan), seed=seed)


class _Construction:
    """What the starts of :mod:`fixedfleet.search.construct` have in common."""

    batch: ClassVar[int] = 1
    on_gpu: ClassVar[bool] = False

    def check(self) -> None:
        """Do nothing: no package is needed."""


@dataclass(frozen=True)
class Packing(_Construction):
    """
    The packing that proves the fleet sufficient.

    Parameters
    ----------
    guarantee
        Whether the packing may use more vehicles than the fleet has.
    """

    guarantee: bool = False

    def plans(self, instances: Sequence[Instance], _seed: int) -> list[Plan | None]:
        """Return a plan per instance; None where no packing is found."""
        verdicts = [assess_fleet(instance) for instance in instances]
        return [v.smallest_packing if self.guarantee else v.packing for v in verdicts]


@dataclass(frozen=True)
class Savings(_Construction):
    """Plans by the savings heuristic of Clarke and Wright."""

    def plans(self, instances: Sequence[Instance], _seed: int) -> list[Plan | None]:
        """Return a plan per instance."""
        return [savings(instance) for instance in instances]


@dataclass(frozen=True)
class Sweep(_Construction):
    """Plans by the angle of the customers around the depot."""

    def plans(self, instances: Sequence[Instance], _seed: int) -> list[Plan | None]:
        """Return a plan per instance."""
        return [sweep(instance) for instance in instances]


# The starts that fixedfleet.solve makes by itself, which then shares its packing with
# them, and their names there. Its start "network" has no options, so it is not listed.
_IN_SOLVE: dict[type, StartName] = {
    Packing: "packing",
    Savings: "savings",
    Sweep: "sweep",
}


def _file_name(model: str) -> str:
    """Name a network after its file, or after its folder if that says more."""
    path = Path(model)
    return path.parent.name or path.stem if path.stem == "model" else path.stem


@dataclass(frozen=True, kw_only=True)
class NetworkStart:
    """
    A network's prediction, decoded and repaired.

    Parameters
    ----------
    model
        A shipped network's name, a path, or ``auto``: the nearest in size.
    decoding
        A decoder: ``greedy``, ``membership``, ``beam20`` for a beam of width 20, …; see
        :func:`fixedfleet.planning.get_decoder`.
    repair
        How customers that the decoding leaves out are inserted.
    symmetries
        Predict each instance under this many of the square's eight symmetries and
        keep the best plan.
    guarantee
        Whether the repair may open tours beyond the fleet.
    device
        Where to predict.
    batch
        Number of instances per call; 0 for the default.
    """

    model: str = field(default="auto", metadata={"short": _file_name})
    decoding: str = "membership"
    repair: Literal["none", "paper", "room"] = "room"
    symmetries: Annotated[int, between(1, 8)] = 1
    guarantee: bool = False
    device: Literal["cpu", "cuda"] = "cpu"
    batch: int = 0

    def __post_init__(self) -> None:
        check_settings(self)
        if find_spec("torch") is not None:  # else `check` reports what is missing
            from fixedfleet.planning import get_decoder

            get_decoder(self.decoding)

    @property
    def on_gpu(self) -> bool:
        """Whether it predicts on a GPU."""
        return self.device == "cuda"

    def check(self) -> None:
        """Raise an error unless PyTorch, the device and the network are available."""
        require("torch", "network", "the method 'network'")
        require("safetensors", "network", "the method 'network'")
        from fixedfleet.model import load_once
        from fixedfleet.model.devices import check_device

        check_device(self.device)
        if self.model != "auto":
            load_once(self.model)

    def plans(self, instances: Sequence[Instance], _seed: int) -> list[Plan | None]:
        """Return a plan per instance, which may leave customers out."""
        require("torch", "network", "the method 'network'")
        from fixedfleet.model import load_once
        from fixedfleet.planning import RepairOptions, decode, predict_views

        if not all(instance.has_coordinates for instance in instances):
            raise InputError("a network needs coordinates, not a distance matrix")
        network = load_once(self.network(instances[0].num_customers), self.device)
        repair = RepairOptions(self.repair, self.guarantee)
        best: list[Plan] = []
        batch = InstanceBatch.of(instances)
        for prediction in predict_views(network, batch, self.symmetries):
            found = list(decode(prediction, self.decoding, repair).plans())
            pairs = zip(instances, best or found, found, strict=True)
            best = [better(instance, new, old, 0.0) for instance, old, new in pairs]
        return list(best)

    def network(self, customers: int) -> Path:
        """Return the file of the network that it uses for a size."""
        require("torch", "network", "the method 'network'")
        from fixedfleet.model import find_model

        return find_model(self.model, customers)


def _search(
    name: str,
    instance: Instance,
    start: Plan | None,
    iterations: int,
    seed: int,
    charged: float,
) -> Answer:
    """Run a search or solver for a number of iterations."""
    stop = Stop(iterations=iterations)
    if name in ("ruin_recreate", "gpu"):
        found = improve(
            instance,
            start,
            search=name,
            stop=stop,
            seed=seed,
            vehicle_cost=charged,
        )
        return Answer(found.plan, found.trace)
    if name in _COUNTING:
        solver = solvers.get(name)
        return Answer(solver.solve(instance, stop=stop, seed=seed, start=start))
    raise InputError(f"{name} cannot count iterations: give a time limit")


def _widen(instance: Instance, verdict: FleetVerdict) -> Instance:
    """Give the instance the smallest sufficient fleet if its own is proven too small.

    If the verdict is undecided, the instance is returned as it is.
    """
    packing = verdict.smallest_packing
    if verdict.status != "impossible" or packing is None:
        return instance
    return instance.with_vehicles(packing.vehicles)
