"""A method for tests that worker processes can import, and a run to be killed."""

from __future__ import annotations

import math
import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import fixedfleet as ff
from fixedfleet.evaluate import Answer
from fixedfleet.labels import label


@dataclass(frozen=True)
class NearestFirst:
    """Fill one vehicle after another with the customers in a seeded order.

    Every call appends the depot of its instance to ``log``. Rows whose first demand is
    ``fail_on`` meet the given ``failure``; a death happens as often as ``deaths`` says.
    Rows from ``hang_from`` on never end. ``taste`` is part of the name.
    """

    log: str = ""
    taste: float = 0.0
    hang_from: float = math.inf
    failure: str = ""
    fail_on: int = -1
    deaths: int = 0
    batch = 1
    on_gpu = False
    limits = ()

    @property
    def name(self):
        return f"nearest_first {self.taste:g}"

    def check(self):
        pass

    def solve(self, instances, *, seed=0, **_limits):
        tours = [self._label(instance, seed) for instance in instances]
        return [Answer(None if one is None else ff.Plan(one)) for one in tours]

    def _label(self, instance, seed):
        if self.log:
            with open(self.log, "a") as file:
                file.write(f"{instance.depot[0]!r}\n")
        while instance.demands[0] >= self.hang_from:
            time.sleep(60)
        if instance.demands[0] == self.fail_on:
            if self.failure == "none":
                return None
            if self.failure == "infeasible":
                return [[1, 1]]
            if self.failure == "raise":
                raise ZeroDivisionError("of all things")
            if self.failure == "die" and self._deaths() < self.deaths:
                with open(f"{self.log}.deaths", "a") as file:
                    file.write("x")
                os.kill(os.getpid(), signal.SIGKILL)
        order = np.random.default_rng(seed).permutation(instance.num_customers) + 1
        tours, load = [[]], 0
        for customer in order.tolist():
            demand = int(instance.demands[customer - 1])
            if load + demand > instance.capacity:
                tours.append([])
                load = 0
            tours[-1].append(customer)
            load += demand
        return tours

    def _deaths(self):
        path = Path(f"{self.log}.deaths")
        return len(path.read_text()) if path.exists() else 0


@dataclass(frozen=True)
class WholeShards(NearestFirst):
    """The same, but it takes up to a hundred instances at once."""

    name = "whole_shards"
    batch = 100
    on_gpu = True

    def solve(self, instances, **limits):
        with open(self.log, "a") as file:
            file.write(f"{len(instances)}\n")
        return NearestFirst().solve(instances, **limits)


def make_batch(count=12, n=5, seed=3) -> ff.InstanceBatch:
    """Instances whose customers all fit, each row's first demand its number."""
    rng = np.random.default_rng(seed)
    demands = rng.integers(1, 4, size=(count, n))
    demands[:, 0] = np.arange(count)
    return ff.InstanceBatch(
        depots=rng.uniform(size=(count, 2)),
        customers=rng.uniform(size=(count, n, 2)),
        demands=demands,
        capacity=count + 3 * n,
        vehicles=2,
    )


if __name__ == "__main__":
    folder, log, hang_from = sys.argv[1:]
    label(
        make_batch(),
        folder,
        method=NearestFirst(log, hang_from=int(hang_from)),
        shard_size=2,
        processes=2,
    )
