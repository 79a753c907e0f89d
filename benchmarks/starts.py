"""The control: the same search in the same total time, from each start.

    python benchmarks/starts.py --reference FOLDER [--instances 200]

Everything counts: verdict, features, network, decoding, search. One core, the network
on one thread, its weights loaded beforehand. Starts are interleaved in a random order;
gaps are to the reference plans `ref_vrpN_cost.npz`, every plan is checked by `Plan`.
The last column is the start alone, without a search.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
import torch

import fixedfleet as ff
from fixedfleet import generate
from fixedfleet.files import read_reference

STARTS = ("packing", "savings", "sweep", "network")


def main() -> None:
    """Print one table a size."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--reference", required=True)
    parser.add_argument("--sizes", type=int, nargs="+", default=[20, 50, 100])
    parser.add_argument("--instances", type=int, default=200)
    parser.add_argument(
        "--budgets", type=float, nargs="+", default=[0.01, 0.03, 0.1, 0.3]
    )
    parser.add_argument("--starts", nargs="+", default=STARTS, choices=STARTS)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    for n in arguments.sizes:
        gaps, seconds = measure(n, arguments)
        print(f"\n### VRP{n}: mean gap in %, ± half of the 95 % interval\n")
        heads = [f"{b * 1e3:g} ms" for b in arguments.budgets]
        print("| start | " + " | ".join([*heads, "start alone", "its ms"]) + " |")
        print("| --- |" + " --- |" * (len(heads) + 2))
        for start in arguments.starts:
            cells = [text(gaps[start, b]) for b in (*arguments.budgets, 0.0)]
            own = 1e3 * np.mean(seconds[start])
            print(f"| {start} | " + " | ".join(cells) + f" | {own:.1f} |", flush=True)


def measure(n, arguments):
    """Gaps of each start and budget (0: no search), and seconds of the start alone."""
    file = read_reference(Path(arguments.reference) / f"ref_vrp{n}_cost.npz")
    batch = generate.test_set(n, reject=False)
    gaps, seconds = defaultdict(list), defaultdict(list)
    order = random.Random(n)
    for start in arguments.starts:
        ff.solve(generate.uniform(n, 1, seed=5)[0], 0.2, start=start)  # loads it
    for row, routes in zip(
        file.index[: arguments.instances], file.routes, strict=False
    ):
        instance = batch[int(row)]
        known = ff.Plan.from_routes(routes).length(instance)
        for start in order.sample(arguments.starts, len(arguments.starts)):
            for budget in (0.0, *arguments.budgets):
                fresh = instance.with_vehicles(instance.vehicles)
                begin = time.perf_counter()
                search = "auto" if budget else "none"
                result = ff.solve(fresh, budget or 1.0, start=start, search=search)
                if not budget:
                    seconds[start].append(time.perf_counter() - begin)
                gaps[start, budget].append(100 * (result.length / known - 1))
    return gaps, seconds


def text(values):
    """Mean gap with its interval, and the share solved if not all."""
    solved = np.array([gap for gap in values if np.isfinite(gap)])
    half = 1.96 * solved.std(ddof=1) / np.sqrt(len(solved))
    share = len(solved) / len(values)
    rest = "" if share == 1 else f", {share:.1%} solved"
    return f"{solved.mean():.3f} ± {half:.3f}{rest}"


if __name__ == "__main__":
    main()
