"""
Measure the gap of lower bounds over time, and how many plans are proven, on one core.

Instances are files, or uniform instances with a seed that is used nowhere else. First a
plan is searched for; this time does not count. Each instance adds a row to a file of
rows: the gap after given numbers of CPU seconds, and when the plan was proven optimal.
CPU seconds depend less than wall time on other programs that run on the machine.
``--whole`` measures ``solve(…, prove=True)`` instead, where the search does count.
``--table`` prints the page of results for a file of rows.

    python benchmarks/lower_bounds.py --sizes 20 50 --count 20 --seconds 1 10
    python benchmarks/lower_bounds.py --table results/lower-bounds.jsonl
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

import fixedfleet as ff
from fixedfleet.bound import bounds
from fixedfleet.bound.proving import load_kernels
from fixedfleet.version import describe_commit

# The number of instances that are generated at once. It must stay the same, because
# each instance depends on it.
_DRAWN = 100
_PEER = ", VRPSolverEasy"
_WHOLE = ", everything included"
_TITLE = """\
# Lower bounds

By how many per cent the plan is above the lower bound, and how many plans are proven
optimal, on one core of an AMD EPYC. Instances are uniform or of the distribution of
Uchoa et al., of seeds on which no setting was chosen, or ten of CVRPLIB's set A.
`results/lower-bounds.jsonl` has a row of each instance.

## Everything included

`solve(instance, seconds, prove=True, cores=1)`: the time limit is wall time, and the
search for the plan is part of it. Seed 9961, commit 16d26c7; two processes at a time.
Rows that say "dirty" had changes in other rooms. Uchoa's have the seeds 9961 to 9968
(`fixedfleet generate uchoa 100 --seed 9961 --output uchoa/1.vrp`).

    python benchmarks/lower_bounds.py --whole --rows ROWS --seed 9961 \\
        --sizes 100 --count 20 --seconds 10
    python benchmarks/lower_bounds.py --whole --rows ROWS --seed 9961 \\
        --sizes 200 --per-tour 9 --count 4 --seconds 60
    python benchmarks/lower_bounds.py --whole --rows ROWS --seconds 10 uchoa/*.vrp

{whole}

## The plan given

The time is processor time of the bound alone. Seed 9711, commit 7d86afe.

    python benchmarks/lower_bounds.py --seed 9711 --sizes 100 --count 10 --rows ROWS
    python benchmarks/lower_bounds.py --seed 9711 --sizes 100 --count 2 --per-tour 15 \\
        --rows ROWS

{given}

## VRPSolverEasy on the same instances

VRPSolverEasy 0.1.3 with CLP on the first instances of seed 9711, with the length of the
plan as its upper bound (`benchmarks/vrpsolver_bounds.py`). Some runs ended as much as
10 s after the limit.
The line below it is ours for the same instances, with the plan given.

{peer}

`python benchmarks/lower_bounds.py --table results/lower-bounds.jsonl` prints this page.
"""


def measure(instance, plan, tours, seconds):
    """
    Return the gap after each of the CPU seconds, and when the plan was proven optimal.

    Gaps are in per cent. The time is None if the plan was not proven optimal.
    """
    begin, gaps, proven = time.process_time(), np.full(len(seconds), 100.0), None
    length = plan.length(instance)

    def seconds_left():
        return begin + max(seconds) - time.process_time()

    for step in bounds(instance, plan, tours=tours, seconds_left=seconds_left):
        spent = time.process_time() - begin
        gap = 0.0 if step.proven else _per_cent(length, step.bound)
        gaps[spent <= np.array(seconds)] = gap
        proven = spent if step.proven else None
    return [round(gap, 4) for gap in gaps], proven


def search(instance, seconds):
    """Search for a plan; return it and the tours of all plans that the search found."""
    tours = set()
    found = ff.solve(
        instance,
        seconds,
        cores=1,
        on_improvement=lambda _s, _c, plan: tours.update(plan.tours),
    )
    return found.plan, sorted(tours)


def measure_solve(instance, seconds):
    """
    Return the plan that ``solve`` proves within a time limit, its gap, and the time.

    The search is included. The time limit is wall time; the time returned is in CPU
    seconds, or None if the plan was not proven optimal. The gap is in per cent.
    """
    begin = time.process_time()
    found = ff.solve(instance, seconds, prove=True, cores=1)
    spent = time.process_time() - begin
    bound = found.lower_bound or 0.0
    gap = 0.0 if found.is_optimal else _per_cent(found.cost, bound)
    return found.plan, [round(gap, 4)], spent if found.is_optimal else None


def _per_cent(cost, bound):
    """Return by how many per cent a cost is above its bound, at most 100."""
    return 100 * (cost / max(bound, cost / 2) - 1)


def draw(n, per_tour, number, seed):
    """Return a uniform instance with about this many customers per tour."""
    rng = np.random.default_rng((seed, n, number))
    demands = rng.integers(1, 10, size=n)
    capacity = round(per_tour * 5)
    return ff.Instance(
        depot=rng.uniform(size=2),
        customers=rng.uniform(size=(n, 2)),
        demands=demands,
        capacity=capacity,
        vehicles=-(-int(demands.sum()) // capacity) + 1,
    )


def instances(arguments):
    """Yield (group, name, instance); the table has a line per group of instances."""
    for path in arguments.files:
        yield f"set {path.parent.name}", path.stem, ff.read(path)
    for n in arguments.sizes:
        batch = None
        if arguments.per_tour is None:
            batch = ff.generate.uniform(n, _DRAWN, seed=arguments.seed)
        for number in range(arguments.first, arguments.first + arguments.count):
            if batch is not None:
                yield f"N = {n}", f"uniform{n}:{arguments.seed}/{number}", batch[number]
            else:
                mean = arguments.per_tour
                name = f"{n}x{mean:g}:{arguments.seed}/{number}"
                drawn = draw(n, mean, number, arguments.seed)
                yield f"N = {n}, about {mean:g} customers per tour", name, drawn


def table(rows, ours=()):
    """
    Return a Markdown table with a line for each group of instances and each time.

    If ``ours`` has rows of the same instances, a line for these follows each line.
    """
    lines = [
        "| instances | seconds | proven | mean gap | largest gap |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for group, limits in dict.fromkeys(
        (row["group"], tuple(row["seconds"])) for row in rows
    ):
        chosen = [
            row
            for row in rows
            if row["group"] == group and tuple(row["seconds"]) == limits
        ]
        names = {row["name"] for row in chosen}
        for seconds in limits:
            lines.append(_line(group.removesuffix(_WHOLE), seconds, chosen))
            same = [
                row
                for row in ours
                if row["name"] in names and seconds in row["seconds"]
            ]
            if same:
                ends = group.removesuffix(_PEER) + ", fixedfleet"
                lines.append(_line(ends, seconds, same))
    return "\n".join(lines)


def _line(group, seconds, rows):
    """Return a line of the table."""
    gaps = [row["gaps"][row["seconds"].index(seconds)] for row in rows]
    proven = sum((row["proven"] or np.inf) <= seconds for row in rows)
    mean, largest = (
        "none on some" if value >= 99 else f"{value:.2f} %"
        for value in (np.mean(gaps) if max(gaps) < 99 else 100, max(gaps))
    )
    return f"| {group} | {seconds:g} | {proven} of {len(rows)} | {mean} | {largest} |"


def read_rows(path):
    """Return the rows of a file; an empty list if it does not exist yet."""
    return [json.loads(line) for line in path.open()] if path.exists() else []


def page(rows):
    """Return the page results/lower-bounds.md."""
    whole = [row for row in rows if row["group"].endswith(_WHOLE)]
    peer = [row for row in rows if row["group"].endswith(_PEER)]
    given = [row for row in rows if row not in whole and row not in peer]
    return _TITLE.format(
        whole=table(whole), given=table(given), peer=table(peer, given)
    )


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path, help="VRPLIB files")
    parser.add_argument("--sizes", type=int, nargs="*", default=[])
    parser.add_argument("--count", type=int, default=20, help="instances per size")
    parser.add_argument("--first", type=int, default=0, help="number of the first")
    parser.add_argument(
        "--per-tour", type=float, help="customers per tour, on the mean"
    )
    parser.add_argument("--seconds", type=float, nargs="+", default=[1, 10, 60])
    parser.add_argument("--seed", type=int, default=777, help="not 1234")
    parser.add_argument("--rows", type=Path, help="file that rows are added to")
    parser.add_argument(
        "--export", type=Path, help="write instances and plans, as JSON"
    )
    parser.add_argument(
        "--whole",
        action="store_true",
        help="measure solve(…, prove=True) with one time limit, the search included",
    )
    parser.add_argument("--table", type=Path, help="print the table of these rows only")
    arguments = parser.parse_args(argv)
    if arguments.table:
        print(page(read_rows(arguments.table)), end="")
        return 0
    if arguments.whole and (len(arguments.seconds) > 1 or arguments.export):
        parser.error("--whole takes one time limit, and no --export")
    load_kernels()
    rows = read_rows(arguments.rows) if arguments.rows else []
    tasks = []
    known = {(row["group"], row["name"], tuple(row["seconds"])) for row in rows}
    for group, name, instance in instances(arguments):
        if arguments.whole:
            group += _WHOLE
        if (group, name, tuple(arguments.seconds)) in known:
            continue
        if arguments.whole:
            plan, gaps, proven = measure_solve(instance, arguments.seconds[0])
        else:
            plan, tours = search(instance, min(5.0, instance.num_customers / 30))
        if arguments.export:
            tasks.append(
                {
                    "group": group,
                    "name": name,
                    "length": plan.length(instance),
                    "distances": instance.distances.tolist(),
                    "demands": instance.demands.tolist(),
                    "capacity": instance.capacity,
                    "vehicles": instance.vehicles,
                }
            )
            arguments.export.write_text(json.dumps(tasks))
            continue
        if not arguments.whole:
            gaps, proven = measure(instance, plan, tours, arguments.seconds)
        row = {
            "group": group,
            "name": name,
            "length": plan.length(instance),
            "seconds": arguments.seconds,
            "gaps": gaps,
            "proven": proven,
            "commit": describe_commit(),
        }
        rows.append(row)
        print(json.dumps(row), flush=True)
        if arguments.rows:
            with arguments.rows.open("a") as file:
                file.write(json.dumps(row) + "\n")
    print(table(rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
