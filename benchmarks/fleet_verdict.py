"""
Compare the fleet verdicts on the uniform test sets with an independent exact method.

The first instances of each test set get fleets of ⌈Σq/Q⌉ − 1, ⌈Σq/Q⌉ and ⌈Σq/Q⌉ + 1
vehicles. Each verdict is compared with that of a separate integer program, which HiGHS
solves (through SciPy's ``milp``). The packing of each feasible fleet is checked. The
result is a table.

    python benchmarks/fleet_verdict.py --count 1000
"""

from __future__ import annotations

import argparse
import time
from collections import Counter

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import eye, kron

from fixedfleet import generate
from fixedfleet.fleet import assess_fleet


def fits(demands, capacity, vehicles) -> bool:
    """
    Return whether the demands fit into the vehicles, as HiGHS finds.

    The integer program has a variable for each vehicle and each size of demand: how
    many demands of this size the vehicle carries.
    """
    sizes, counts = np.unique(demands, return_counts=True)
    if vehicles < 1:
        return False
    kinds = len(sizes)
    served = kron(np.ones((1, vehicles)), eye(kinds))  # x[vehicle, size]
    loads = kron(eye(vehicles), sizes[None, :])
    result = milp(
        np.zeros(kinds * vehicles),
        constraints=[
            LinearConstraint(served, counts, counts),
            LinearConstraint(loads, 0, capacity),
        ],
        integrality=np.ones(kinds * vehicles),
        bounds=Bounds(0, np.tile(counts, vehicles)),
        options={"time_limit": 60},
    )
    if result.status not in (0, 2):
        raise RuntimeError(f"HiGHS did not decide: {result.message}")
    return result.status == 0


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[20, 50, 100])
    parser.add_argument("--count", type=int, default=1000, help="instances a size")
    arguments = parser.parse_args(argv)
    print("| n | vehicles | instances | feasible | impossible | undecided "
          "| agree | ms a verdict | slowest |")  # fmt: skip
    print("| --- " * 9 + "|")
    disagreements = 0
    for n in arguments.sizes:
        batch = generate.test_set(n, reject=False)
        rows = [batch[row] for row in range(arguments.count)]
        for extra in (-1, 0, 1):
            asked = [i.with_vehicles(i.minimum_vehicles + extra) for i in rows]
            disagreements += report(n, extra, asked)
    return 1 if disagreements else 0


def report(n, extra, instances) -> int:
    """Print a row of the table, and return the number of wrong verdicts."""
    statuses, seconds, agree = Counter(), [], 0
    for instance in instances:
        begin = time.perf_counter()
        verdict = assess_fleet(instance)
        seconds.append(time.perf_counter() - begin)
        statuses[verdict.status] += 1
        truth = fits(instance.demands, instance.capacity, instance.vehicles)
        checked = not truth or verdict.packing.is_feasible(instance)
        agree += checked and verdict.status == ("feasible" if truth else "impossible")
    bound = "⌈Σq/Q⌉" + (f" {'−' if extra < 0 else '+'} 1" if extra else "")
    cells = [n, bound, len(instances)]
    cells += [statuses[s] for s in ("feasible", "impossible", "undecided")]
    cells += [agree, f"{1e3 * np.mean(seconds):.3f}", f"{1e3 * max(seconds):.3f}"]
    print("|", " | ".join(map(str, cells)), "|", flush=True)
    return len(instances) - agree


if __name__ == "__main__":
    raise SystemExit(main())
