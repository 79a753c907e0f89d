"""Labelling with one process and with two: how much faster are two?

Run on a quiet machine with two cores at least: python benchmarks/labelling.py
"""

from __future__ import annotations

import argparse
import tempfile

from fixedfleet.generate import uniform
from fixedfleet.labels import get_teacher, label

TARGET = 1.8


def measure(batch, teacher, processes: int) -> float:
    """Instances a second, with the start of the processes and the writing."""
    with tempfile.TemporaryDirectory() as folder:
        summary = label(
            batch, folder, teacher=teacher, processes=processes, shard_size=10
        )
    return summary.new / summary.seconds


def main(argv: list[str] | None = None) -> int:
    """Print the rates and their ratio; 1 if the ratio misses the target."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--customers", type=int, default=50, choices=(20, 50, 100))
    parser.add_argument("--count", type=int, default=600)
    # By iterations, not by time: processes that share a core would pass by time.
    parser.add_argument("--iterations", type=int, default=20_000)
    args = parser.parse_args(argv)
    batch = uniform(args.customers, args.count, seed=7)
    teacher = get_teacher("ruin_recreate", iterations=args.iterations)
    measure(batch[:2], teacher, 1)  # compiles, for all later processes
    rates = {processes: measure(batch, teacher, processes) for processes in (1, 2)}
    for processes, rate in rates.items():
        print(f"{processes} process{'es' * (processes > 1)}: {rate:.1f} instances/s")
    ratio = rates[2] / rates[1]
    print(f"ratio {ratio:.2f} (target: at least {TARGET})")
    return 0 if ratio >= TARGET else 1


if __name__ == "__main__":
    raise SystemExit(main())
