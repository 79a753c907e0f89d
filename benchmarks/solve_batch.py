"""Measure the wall time of planning ten thousand instances with `solve_batch`.

    python benchmarks/solve_batch.py --n 100 --device cuda
    python benchmarks/solve_batch.py --n 20 --count 200 --iterations 1000

Each row is one call of `fixedfleet.solve_batch` on the first instances of the test set
with the seed 1234, including those whose fleet is too small. The time includes verdict
and packing, the start (packing, or features, network, decoding and repair), the search,
and the check of every plan. A first call that is not timed compiles kernels and loads
weights. On a CPU, every call starts new worker processes, and this time counts. With 0
iterations there is no search. `fixedfleet evaluate` measures the quality of the plans,
for example `--set vrp100 --method packing+gpu:batch=10000 --iterations 10000`.
"""

from __future__ import annotations

import argparse
import platform

import fixedfleet as ff
from fixedfleet import generate

ITERATIONS = {
    20: (0, 1_000, 3_000, 10_000),
    50: (0, 3_000, 10_000, 30_000, 60_000),
    100: (0, 3_000, 10_000, 30_000, 130_000),
}
COLUMNS = (
    "start", "iterations", "fleet s", "start s", "search s", "check s", "total s",
    "instances/s", "plans", "mean length",
)  # fmt: skip


def call(batch, start, iterations, arguments):
    """Plan the batch once."""
    return ff.solve_batch(
        batch,
        start=start,
        search="none" if iterations == 0 else "auto",
        iterations=iterations or None,
        device=arguments.device,
        cores=arguments.cores,
        seed=arguments.seed,
    )


def row(result, start, iterations):
    """Return one row of the table."""
    seconds = {stage.name: stage.seconds for stage in result.stages}
    fleet, check = seconds.pop("fleet"), seconds.pop("check")
    own = seconds.pop(start, 0.0)
    return (
        start,
        f"{iterations:,}",
        f"{fleet:.3f}",
        f"{own:.3f}",
        f"{sum(seconds.values()):.3f}",
        f"{check:.3f}",
        f"{result.seconds:.3f}",
        f"{len(result) / result.seconds:,.0f}",
        f"{int(result.feasible.sum()):,}",
        f"{result.lengths[result.feasible].mean():.4f}",
    )


def main(argv: list[str] | None = None) -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add = parser.add_argument
    add("--n", type=int, nargs="+", default=[100], choices=list(ITERATIONS))
    add("--count", type=int, default=10_000)
    add("--device", default="cpu", help="cpu or cuda: for the network and the search")
    add("--starts", nargs="+", default=["packing", "network"])
    add("--iterations", type=int, nargs="+")
    add("--cores", type=int, help="on cores; default: all")
    add("--seed", type=int, default=0)
    arguments = parser.parse_args(argv)
    for n in arguments.n:
        batch = generate.test_set(n, reject=False)[: arguments.count]
        print(f"\n### VRP{n}: {len(batch):,} instances")
        print(f"\n{arguments.device}, Python {platform.python_version()}\n")
        print("| " + " | ".join(COLUMNS) + " |")
        print("| " + " | ".join("---" for _ in COLUMNS) + " |")
        for start in arguments.starts:
            call(batch, start, 1, arguments)
            for iterations in arguments.iterations or ITERATIONS[n]:
                result = call(batch, start, iterations, arguments)
                cells = row(result, start, iterations)
                print("| " + " | ".join(cells) + " |", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
