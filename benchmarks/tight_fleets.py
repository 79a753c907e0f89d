"""Tight fleets: every test instance at ⌈Σq/Q⌉ vehicles, and set A at its k.

    python benchmarks/tight_fleets.py [--files 'A/*.vrp']

Packs each of the rejection-sampled test instances into the fewest vehicles its demands
conceivably fit into and searches a little; prints how many were packed and how many
plans are within that fleet, checked by `Plan`. The files are solved for a second each
at the k of their name, and compared with the optimum in their COMMENT line.
"""

from __future__ import annotations

import argparse
import glob
import re
from pathlib import Path

import fixedfleet as ff
from fixedfleet import generate
from fixedfleet.fleet import assess_fleet
from fixedfleet.search import Stop, improve


def main() -> None:
    """Print one row a set."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--files")
    parser.add_argument("--iterations", type=int, default=200)
    arguments = parser.parse_args()
    print("| set | instances | packed | within the fleet |")
    print("| --- | --- | --- | --- |")
    for n in (20, 50, 100):
        packed = solved = 0
        batch = generate.test_set(n)
        for instance in batch:
            tight = instance.with_vehicles(instance.minimum_vehicles)
            start = assess_fleet(tight).packing
            if start is None:
                continue
            packed += 1
            stop = Stop(iterations=arguments.iterations)
            found = improve(tight, start, search="ruin_recreate", stop=stop)
            solved += found.plan.is_feasible(tight)
        print(f"| VRP{n} | {len(batch)} | {packed} | {solved} |", flush=True)
    for path in sorted(glob.glob(arguments.files or "")):
        instance = ff.read(path)
        text = Path(path).read_text(encoding="utf-8")
        optimum = re.search(r"[Oo]ptimal value: *(\d+)", text)
        result = ff.solve(instance, 1.0)
        print(
            f"| {instance.name}, {instance.vehicles} vehicles | 1 "
            f"| {result.verdict.packing is not None:d} | {result.feasible:d}: "
            f"{result.length:g}, optimum {optimum[1] if optimum else 'unknown'} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
