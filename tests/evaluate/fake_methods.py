"""Methods for tests that worker processes can import, and a run to be killed."""

from __future__ import annotations

import os
import signal
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import fixedfleet as ff
from fixedfleet.evaluate import Answer, InstanceSet, evaluate


@dataclass(frozen=True)
class FirstFit:
    """Serve customers in a seeded order, each by the first vehicle with room.

    Every call appends the names of its instances and its limits to ``log``. On the
    instances that ``wrong`` names it goes wrong in the way it says.
    """

    name: str = "first_fit"
    log: str = ""
    delay: float = 0.0
    wrong: dict = field(default_factory=dict)
    batch: int = 1
    on_gpu: bool = False
    limits: tuple = ("time", "iterations")
    objective: str = "length"
    trace: tuple = ()

    def check(self):
        if self.name == "absent":
            raise ff.MissingPackageError("the method 'absent' needs a package")

    def solve(self, instances, *, vehicle_cost, time_limit, iterations, seed):
        if self.log:
            names = " ".join(instance.name for instance in instances)
            with open(self.log, "a") as file:
                file.write(f"{names} {time_limit} {iterations} {os.getpid()}\n")
        time.sleep(self.delay)
        return [self._solve(instance, seed) for instance in instances]

    def _solve(self, instance, seed):
        how = self.wrong.get(instance.name, "")
        if how == "none":
            return Answer(None, reason="it would not")
        if how == "infeasible":
            return Answer(ff.Plan([[1, 1], [2]]))
        if how == "beyond":
            return Answer(ff.Plan([c] for c in range(1, instance.num_customers + 1)))
        if how == "raise":
            raise ZeroDivisionError("of all\nthings")
        if how == "nonsense":
            return "a plan, trust me"
        if how == "import":
            raise ModuleNotFoundError("No module named 'unheard_of'")
        if how == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if how == "hang":
            time.sleep(1000)
        order = np.random.default_rng(seed).permutation(instance.num_customers) + 1
        tours = [[] for _ in range(instance.vehicles)]
        loads = [0] * instance.vehicles
        for customer in order.tolist():
            demand = int(instance.demands[customer - 1])
            place = next(
                k for k, load in enumerate(loads) if load + demand <= instance.capacity
            )
            tours[place].append(customer)
            loads[place] += demand
        return Answer(ff.Plan(tours), self.trace)


@dataclass(frozen=True)
class WithNetwork(FirstFit):
    """Says that it takes its plans from a network in a file."""

    file: str = ""

    def network(self):
        return Path(self.file)


@dataclass(frozen=True)
class AtHome(FirstFit):
    """Can run in one process only."""

    process: int = 0

    def check(self):
        if os.getpid() != self.process:
            raise ff.InputError("it cannot run in a worker")


@dataclass(frozen=True)
class Cores(FirstFit):
    """Says by the first customer of its tour how many cores it may use."""

    name: str = "cores"

    def _solve(self, instance, seed):
        first = len(os.sched_getaffinity(0))
        rest = [c for c in range(1, instance.num_customers + 1) if c != first]
        return Answer(ff.Plan([[first, *rest]]))


@dataclass(frozen=True)
class Threads(FirstFit):
    """Says by the first customer of its tour how many threads it may start."""

    name: str = "threads"

    def _solve(self, instance, seed):
        import torch

        first = max(int(os.environ["OMP_NUM_THREADS"]), torch.get_num_threads())
        rest = [c for c in range(1, instance.num_customers + 1) if c != first]
        return Answer(ff.Plan([[first, *rest]]))


def make_set(count=6, n=5, vehicle_cost=10.0, **changes) -> InstanceSet:
    """Instances a, b, c, … whose customers one vehicle of two could serve."""
    rng = np.random.default_rng(3)
    instances = [
        ff.Instance(
            depot=rng.uniform(size=2),
            customers=rng.uniform(size=(n, 2)),
            demands=rng.integers(1, 4, size=n),
            capacity=3 * n,
            vehicles=2,
            name="abcdefghijklmnopqrstuvwxyz"[index],
        )
        for index in range(count)
    ]
    fields = {"name": "letters", "instances": instances, "vehicle_cost": vehicle_cost}
    return InstanceSet(**(fields | changes))


if __name__ == "__main__":
    results, log, delay, last = sys.argv[1:]
    wrong = {"l": last} if last else {}
    evaluate(
        [make_set(12)],
        [FirstFit(log=log, delay=float(delay), wrong=wrong)],
        [0.5],
        Path(results),
        processes=2,
    )
