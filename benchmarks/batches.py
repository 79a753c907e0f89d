"""Reading 10,000 instances and checking 10,000 plans, against one at a time.

    python benchmarks/batches.py

Prints seconds and, since machines differ, the ratio to the plain way in the same run.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import fixedfleet as ff
from fixedfleet import generate
from fixedfleet.files import write_batch
from fixedfleet.fleet import assess_fleet

COUNT, SAMPLE = 10_000, 500


def timed(function):
    """Best of three runs in seconds, and the result."""
    best = float("inf")
    for _ in range(3):
        begin = time.perf_counter()
        result = function()
        best = min(best, time.perf_counter() - begin)
    return best, result


def main() -> None:
    """Time reading and checking for N = 20, 50, 100."""
    print(
        "| N | read npz s | read pkl s | pkl / npz | check batch s | one by one s | ×|"
    )
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for n in (20, 50, 100):
        batch = generate.uniform(n, COUNT, seed=77)
        plans = ff.PlanBatch.from_plans(
            assess_fleet(i).packing or ff.Plan([]) for i in batch
        )
        with tempfile.TemporaryDirectory() as folder:
            npz, pkl = Path(folder) / "batch.npz", Path(folder) / "batch.pkl"
            write_batch(npz, batch)
            write_batch(pkl, batch)
            fast, read = timed(lambda path=npz: ff.read_batch(path))
            slow, _ = timed(
                lambda path=pkl, b=batch: ff.read_batch(path, int(b.vehicles[0]))
            )
            if read != batch:
                raise SystemExit("the batch read is not the batch written")
        whole, feasible = timed(
            lambda p=plans, b=batch: (p.feasible(b), p.lengths(b))[0]
        )
        each, singly = timed(
            lambda p=plans, b=batch: [
                not p[i].check(b[i]) and p[i].length(b[i]) > 0 for i in range(SAMPLE)
            ]
        )
        if list(feasible[:SAMPLE]) != singly:
            raise SystemExit("the batch check disagrees with the single one")
        each *= COUNT / SAMPLE
        print(
            f"| {n} | {fast:.3f} | {slow:.2f} | {slow / fast:.0f} | {whole:.3f} "
            f"| {each:.2f} | {each / whole:.0f} |"
        )


if __name__ == "__main__":
    main()
