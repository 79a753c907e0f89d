"""Measure time and memory of ruin and recreate as the number of customers grows.

    python benchmarks/search_scaling.py

The instances are uniform, with about ten customers per tour, and the search begins with
a packing. The table shows microseconds per iteration (also relative to N = 100 in the
same run), and the memory of the search's state and of the instance. Up to 500
customers, an instance has a matrix of distances; a larger one has coordinates only. The
settings are those for many customers.
"""

from __future__ import annotations

import time
from functools import partial

import numpy as np

import fixedfleet as ff
from fixedfleet.fleet import assess_fleet
from fixedfleet.search import cpu_arrays, improve
from fixedfleet.search.ruin_recreate import RuinRecreateParameters, ruin_recreate

ITERATIONS = 20_000
SETTINGS = RuinRecreateParameters(large_scale=True)
SEARCH = partial(ruin_recreate, parameters=SETTINGS)


def instance_of(n: int) -> ff.Instance:
    """
    Return a uniform instance with demands 1 to 9 and about ten customers per tour.
    """
    rng = np.random.default_rng(n)
    demands = rng.integers(1, 10, size=n)
    return ff.Instance(
        depot=rng.uniform(size=2),
        customers=rng.uniform(size=(n, 2)),
        demands=demands,
        capacity=50,
        vehicles=int(np.ceil(1.05 * demands.sum() / 50)),
    )


def seconds(instance, start, iterations, seed):
    """Return the wall time of a search."""
    begin = time.perf_counter()
    improve(instance, start, search=SEARCH, iterations=iterations, seed=seed)
    return time.perf_counter() - begin


def size_of(arrays) -> int:
    """Return the total bytes of arrays; an array that occurs twice counts once."""
    return sum({id(a): a.nbytes for a in arrays if isinstance(a, np.ndarray)}.values())


def main() -> None:
    """Print one row per size."""
    print("| N | M | µs an iteration | relative | state KiB | instance KiB |")
    print("| --- | --- | --- | --- | --- | --- |")
    first = None
    for n in (100, 400, 1_000, 10_000, 100_000):
        instance = instance_of(n)
        start = assess_fleet(instance).packing
        if start is None:
            raise SystemExit(f"N = {n}: no packing into {instance.vehicles} vehicles")
        seconds(instance, start, 1, 0)  # loads the search
        setup = min(seconds(instance, start, 1, seed) for seed in range(5))
        whole = min(seconds(instance, start, ITERATIONS, seed) for seed in range(5))
        best = (whole - setup) / ITERATIONS
        first = first or best
        problem = cpu_arrays.lay_out(instance, 0.0, SETTINGS)
        held = size_of([*problem, *problem.legs])
        state = cpu_arrays.empty_state(instance, 0)
        print(
            f"| {n} | {instance.vehicles} | {best * 1e6:.2f} | {best / first:.2f} "
            f"| {size_of(state) / 1024:.0f} | {held / 1024:.0f} |"
        )


if __name__ == "__main__":
    main()
