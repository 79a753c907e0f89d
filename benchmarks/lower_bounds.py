"""
Measures how soon bounds come near, and how many plans are proven, on one core.

For uniform instances of a fresh seed, a plan is searched for first. Its time does not
count. Then the gap after some CPU seconds is printed for each instance, and the share
of proven plans. CPU seconds depend less on other work of the machine than seconds do.

    python benchmarks/lower_bounds.py --sizes 20 50 --count 20 --seconds 1 10
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import fixedfleet as ff
from fixedfleet.bound import bounds
from fixedfleet.bound.proving import load_kernels


def measure(instance, plan, tours, seconds):
    """Return the gap in per cent after each time, and when the plan was proven."""
    begin, gaps, proven = time.process_time(), np.full(len(seconds), 100.0), np.inf

    def seconds_left():
        return begin + max(seconds) - time.process_time()

    for step in bounds(instance, plan, tours=tours, seconds_left=seconds_left):
        spent = time.process_time() - begin
        gaps[spent <= np.array(seconds)] = 100 * (
            1 - step.bound / plan.length(instance)
        )
        proven = spent if step.proven else np.inf
    return gaps, proven


def search(instance, seconds):
    """Return a plan, and the tours of all plans on the way."""
    tours = set()
    found = ff.solve(
        instance, seconds, on_improvement=lambda _s, _c, plan: tours.update(plan.tours)
    )
    return found.plan, sorted(tours)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[20, 50, 100])
    parser.add_argument("--count", type=int, default=20, help="instances per size")
    parser.add_argument("--seconds", type=float, nargs="+", default=[1, 10, 60])
    parser.add_argument("--seed", type=int, default=777, help="not 1234")
    arguments = parser.parse_args(argv)
    load_kernels()
    print("| N | CPU seconds | proven | mean gap | largest gap |")
    print("| --- " * 5 + "|")
    for n in arguments.sizes:
        batch = ff.generate.uniform(n, arguments.count, seed=arguments.seed)
        rows = []
        for row in range(arguments.count):
            plan, tours = search(batch[row], n / 40)
            rows.append(measure(batch[row], plan, tours, arguments.seconds))
        gaps = np.array([gap for gap, _ in rows])
        ends = np.array([end for _, end in rows])
        for place, seconds in enumerate(arguments.seconds):
            print(
                f"| {n} | {seconds:g} | {(ends <= seconds).sum()} of {len(rows)} "
                f"| {gaps[:, place].mean():.2f} % | {gaps[:, place].max():.2f} % |",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
