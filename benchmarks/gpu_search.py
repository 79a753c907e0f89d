"""Plans a second and gap of the GPU search on the rejection-sampled test sets.

    python benchmarks/gpu_search.py --reference FOLDER [--sizes 20 50 100]
    python benchmarks/gpu_search.py --single 'X/*.vrp' [--budgets 1 10]

Each row of the first form is one call of ``improve_batch`` for all instances of the set
at once: its wall time includes packing the arrays, both transfers and the host's
checks, but not the compilation (a first short call does that) nor the making of the
starts, which are packings. The gap is to the plans in ``ref_vrp{N}_cost.npz``, over
their instances.

The second form searches for one instance at a time with chains that fill the GPU, in
several numbers of rounds, from a packing for the best known solution's number of tours,
and the default search on a core beside it.
"""

from __future__ import annotations

import argparse
import glob
import time
from pathlib import Path

import numpy as np

import fixedfleet as ff
from fixedfleet import generate
from fixedfleet.files import read_reference, read_solution_cost
from fixedfleet.fleet import assess_batch, assess_fleet
from fixedfleet.search import Stop, improve
from fixedfleet.search.gpu import improve_batch

ITERATIONS = {
    20: (3_000, 6_000, 10_000),
    50: (10_000, 30_000, 60_000),
    100: (10_000, 30_000, 130_000, 400_000),
}


def test_set(n: int) -> tuple[ff.InstanceBatch, np.ndarray]:
    """Return the test instances with Σq ≤ MQ, and their rows among all 10,000."""
    batch = generate.test_set(n, reject=False)
    rows = np.flatnonzero(batch.demands.sum(1) <= batch.vehicles * batch.capacity)
    return batch.take(rows), rows


def reference_lengths(
    folder: Path, n: int, batch: ff.InstanceBatch, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Positions in the batch of the reference's instances, and their plans' lengths."""
    file = read_reference(folder / f"ref_vrp{n}_cost.npz")
    positions = np.searchsorted(rows, file.index)
    instances = batch.take(positions)
    plans = ff.PlanBatch(file.routes)
    if not (rows[positions] == file.index).all() or not plans.feasible(instances).all():
        raise ff.InputError(f"the reference in {folder} is for other instances")
    return positions, plans.lengths(instances)


def report(n: int, folder: Path, iterations: tuple[int, ...]) -> None:
    """Print the table of one size."""
    batch, rows = test_set(n)
    verdict = assess_batch(batch, time_limit=0)
    packed = verdict.feasible
    batch, rows = batch.take(packed), rows[packed]
    starts = ff.PlanBatch(verdict.packings.routes[packed])
    positions, reference = reference_lengths(folder, n, batch, rows)
    improve_batch(batch, starts, stop=Stop(iterations=10))
    print(f"\nVRP{n}: {len(batch)} instances ({(~packed).sum()} not packed)")
    print("| iterations | wall s | plans/s | mean length | mean vehicles | gap % |")
    print("| --- | --- | --- | --- | --- | --- |")
    for count in iterations:
        begin = time.perf_counter()
        plans = improve_batch(batch, starts, stop=Stop(iterations=count))
        wall = time.perf_counter() - begin
        if not plans.feasible(batch).all():
            raise RuntimeError("infeasible plans")
        lengths = plans.lengths(batch)
        gap = 100 * (lengths[positions].mean() / reference.mean() - 1)
        print(
            f"| {count:,} | {wall:.3f} | {len(batch) / wall:,.0f} | "
            f"{lengths.mean():.4f} | {plans.vehicles().mean():.3f} | {gap:.3f} |",
            flush=True,
        )


def report_single(pattern: str, budgets: list[float]) -> None:
    """Print gaps of single instances to their best known costs."""
    paths = sorted(map(Path, glob.glob(pattern)))
    if not paths:
        raise SystemExit(f"no files: {pattern}")
    print("\n| instance | seconds | search | real seconds | gap % |")
    print("| --- | --- | --- | --- | --- |")
    for path in paths:
        best = path.with_suffix(".sol")
        fleet, known = ff.read_plan(best).vehicles, read_solution_cost(best)
        instance = ff.read(path, vehicles=fleet)
        start = assess_fleet(instance, time_limit=0).packing
        if start is None:
            print(f"| {path.stem} | | not packed | | |")
            continue
        for budget in budgets:
            for name in ("gpu", "auto"):
                begin = time.perf_counter()
                found = improve(instance, start, search=name, stop=Stop(budget))
                wall = time.perf_counter() - begin
                if not found.plan.is_feasible(instance):
                    raise RuntimeError("infeasible plan")
                gap = 100 * (found.plan.length(instance) / known - 1)
                print(
                    f"| {path.stem} | {budget:g} | {name} | {wall:.2f} | {gap:.3f} |",
                    flush=True,
                )


def main(argv: list[str] | None = None) -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reference", type=Path, help="folder of the reference plans")
    parser.add_argument("--single", metavar="FILES", help="VRPLIB files with .sol")
    parser.add_argument("--budgets", type=float, nargs="+", default=[1.0, 10.0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[20, 50, 100])
    parser.add_argument("--iterations", type=int, nargs="+")
    arguments = parser.parse_args(argv)
    if arguments.single:
        report_single(arguments.single, arguments.budgets)
        return 0
    if arguments.reference is None:
        parser.error("give --reference or --single")
    for n in arguments.sizes:
        iterations = tuple(arguments.iterations or ITERATIONS[n])
        report(n, arguments.reference, iterations)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
