"""Measure how long each step of `fixedfleet solve FILE --time-limit 0.5` takes.

    python benchmarks/cold_start.py [FILE] [--runs 10]

Every run is a new process. A first run, which is not counted, fills Python's and
Numba's caches. The tables show the time of the whole command, of an interpreter that
does nothing, of each step of the command, and of the packages that take longest to
import (`-X importtime`). Each time is the median of all runs, with the range from the
smallest to the largest.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

EXAMPLE = Path(__file__).parent.parent / "examples" / "leipzig_parcels.csv"
STEPS = """
import json, sys, time
clock = [time.perf_counter()]
steps = {}
def done(name):
    clock.append(time.perf_counter())
    steps[name] = clock[-1] - clock[-2]
from fixedfleet.cli import main
from fixedfleet.cli.report import report_result
done("importing the command line")
from fixedfleet.files import read_file
reading = read_file(sys.argv[1])
instance, notes = reading.instance, reading.notes
done("reading the file")
from fixedfleet.fleet import assess_fleet
verdict = assess_fleet(instance, time_limit=0.25)
done("verdict on the fleet")
import numba
done("importing Numba")
import fixedfleet.search.ruin_recreate
done("loading the compiled search")
import fixedfleet.search.auto
done("importing HGS-CVRP")
from fixedfleet import solve
result = solve(instance, 0.5)
done("solve with a limit of 0.5 s")
text = report_result(result, instance, notes)
done("report")
print(json.dumps(steps))
"""


def run(*command: str) -> tuple[float, str, str]:
    """Run a command in a new process; return the seconds, the output and the errors."""
    begin = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return time.perf_counter() - begin, done.stdout, done.stderr


def imports(errors: str) -> dict[str, float]:
    """
    Return the seconds that importing each package takes, by the name of the package.

    ``errors`` is the output of ``-X importtime``. The time of a module does not include
    the modules that it imports.
    """
    packages: dict[str, float] = defaultdict(float)
    for line in errors.splitlines():
        if line.startswith("import time:") and "|" in line and "self" not in line:
            own, _, name = line.removeprefix("import time:").split("|")
            packages[name.strip().split(".")[0]] += int(own) / 1e6
    return packages


def said(values: list[float]) -> str:
    """Return a median with its range, in milliseconds, as text."""
    low, high = min(values), max(values)
    middle = statistics.median(values)
    return f"{1e3 * middle:.0f} | {1e3 * low:.0f} to {1e3 * high:.0f}"


def main(argv: list[str] | None = None) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", nargs="?", type=Path, default=EXAMPLE)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--packages", type=int, default=12, help="most to list")
    arguments = parser.parse_args(argv)
    path = str(arguments.file)
    solving = (sys.executable, "-m", "fixedfleet", "solve", path, "--time-limit", "0.5")
    run(*solving)
    figures: dict[str, list[float]] = defaultdict(list)
    packages: dict[str, list[float]] = defaultdict(list)
    for _ in range(arguments.runs):
        figures["the whole command"].append(run(*solving)[0])
        figures["an interpreter that does nothing"].append(
            run(sys.executable, "-c", "pass")[0]
        )
        for step, seconds in json.loads(
            run(sys.executable, "-c", STEPS, path)[1]
        ).items():
            figures[step].append(seconds)
        timed = (solving[0], "-X", "importtime", *solving[1:])
        for name, seconds in imports(run(*timed)[2]).items():
            packages[name].append(seconds)
    for title, table in (("step", figures), ("package imported", packages)):
        ranked = list(table.items())
        if table is packages:
            ranked.sort(key=lambda item: -statistics.median(item[1]))
            ranked = ranked[: arguments.packages]
        print(f"\n| {title} | median ms | range |\n| --- | --- | --- |")
        for name, values in ranked:
            print(f"| {name} | {said(values)} |")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
