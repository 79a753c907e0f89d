"""The control: the same search in the same total time, from each start.

    python benchmarks/starts.py --reference FOLDER --jobs 16
    python benchmarks/starts.py --reference FOLDER --summary

The first 200 instances of each rejection-sampled test set, each start and each total
time, everything counted: verdict, features, network, decoding, search; and each start
alone, without a search. The times are the paper's for the size (0.05, 0.16 and 0.84 s)
and 10, 30, 100 and 300 ms; the objectives length, against `ref_vrpN_cost.npz`, and
Cost_v, against `ref_vrpN_costv.npz`, with the paper's costs of a vehicle.

One core for each timed call, one thread, weights and compiled code loaded beforehand;
starts are interleaved in a random order, and every plan is checked by `Plan`. Rows go
to a JSON Lines file as they come: the same command again goes on where it was ended,
`--summary` prints the tables of what there is.
"""

from __future__ import annotations

import argparse
import functools
import json
import random
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

import fixedfleet as ff
from fixedfleet import generate
from fixedfleet.files import read_reference
from fixedfleet.interrupts import interrupt_noted
from fixedfleet.workers import Answer, run_jobs

STARTS = ("network", "packing", "savings", "sweep")
BUDGETS = (0.01, 0.03, 0.1, 0.3)
PAPER = {20: 0.05, 50: 0.16, 100: 0.84}  # its total seconds an instance
VEHICLE_COST = {20: 35.0, 50: 50.0, 100: 80.0}
FILES = {"length": "cost", "cost-v": "costv"}
ALONE = 0.0  # the budget that stands for a start without a search


class Job(NamedTuple):
    """One instance and objective, with the calls that are still to be made."""

    n: int
    objective: str
    row: int
    instance: ff.Instance
    reference: float
    calls: list[tuple[str, float]]


def main(argv: list[str] | None = None) -> int:
    """Collect what is missing, then print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add = parser.add_argument
    add("--reference", type=Path, required=True, help="folder of the reference plans")
    add("--sizes", type=int, nargs="+", default=[20, 50, 100], choices=list(PAPER))
    add("--instances", type=int, default=200)
    add("--budgets", type=float, nargs="+", default=list(BUDGETS))
    add("--starts", nargs="+", default=list(STARTS[:3]), choices=STARTS)
    add("--objectives", nargs="+", default=list(FILES), choices=list(FILES))
    add("--jobs", type=int, default=1, help="cores, one timed call each")
    add("--output", type=Path, default=Path("results/starts.jsonl"))
    add("--summary", action="store_true", help="only print what there is")
    arguments = parser.parse_args(argv)
    if not arguments.summary:
        collect(arguments)
    print(tables(read_rows(arguments.output), arguments))
    return 0


def collect(arguments: argparse.Namespace) -> None:
    """Make every call that has no row yet, and append its row."""
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    there = {key(row) for row in read_rows(arguments.output)}
    jobs = list(missing_jobs(arguments, there))
    random.Random(0).shuffle(jobs)  # so that an early end leaves all sizes begun
    begin, done = time.perf_counter(), 0
    with arguments.output.open("a", encoding="utf-8") as lines:
        with interrupt_noted() as pressed:
            for event in run_jobs(
                measure, jobs, processes=arguments.jobs, ending=pressed
            ):
                if not isinstance(event, Answer):
                    raise SystemExit(event.reason)
                lines.writelines(json.dumps(row) + "\n" for row in event.value)
                lines.flush()
                done += 1
                if done % 50 == 0:
                    passed = time.perf_counter() - begin
                    print(
                        f"{done} of {len(jobs)} instances, {passed:.0f} s", flush=True
                    )
        if pressed():
            raise SystemExit("interrupted: the same command goes on from here")


def missing_jobs(arguments, there):
    """Yield the instances with calls that have no row."""
    for n in arguments.sizes:
        batch = generate.test_set(n, reject=False)
        budgets = dict.fromkeys((ALONE, *arguments.budgets, PAPER[n]))
        for objective in arguments.objectives:
            name = f"ref_vrp{n}_{FILES[objective]}.npz"
            file = read_reference(arguments.reference / name)
            rows = file.index[: arguments.instances].tolist()
            for row, routes in zip(rows, file.routes, strict=False):
                known = ff.Plan.from_routes(routes)
                if faults := known.check(batch[row]):
                    raise SystemExit(f"{name}, row {row}: {faults[0]}")
                calls = [
                    (start, budget)
                    for start in arguments.starts
                    for budget in budgets
                    if (n, objective, row, start, budget) not in there
                ]
                charged = VEHICLE_COST[n] if objective == "cost-v" else 0.0
                cost = known.cost_v(batch[row], charged)
                if calls:
                    yield Job(n, objective, row, batch[row], cost, calls)


def measure(job: Job, call) -> list[dict]:
    """Make the calls for one instance, in a random order."""
    rows = []
    calls = random.Random(f"{job.n} {job.row}").sample(job.calls, len(job.calls))
    for start, budget in calls:
        if call.ending():
            break
        load(start, job.n)
        # A fresh copy, so that nobody finds distances that another has computed.
        fresh = job.instance.with_vehicles(job.instance.vehicles)
        begin = time.perf_counter()
        result = ff.solve(
            fresh,
            budget or 1.0,
            start=start,
            search="none" if budget == ALONE else "auto",
            objective=job.objective,
            vehicle_cost=VEHICLE_COST[job.n],
        )
        seconds = time.perf_counter() - begin
        rows.append(
            {
                "n": job.n,
                "objective": job.objective,
                "instance": job.row,
                "start": start,
                "budget": budget,
                "seconds": seconds,
                "cost": result.cost if result.feasible else None,
                "vehicles": result.plan.vehicles if result.feasible else None,
                "reference": job.reference,
            }
        )
    return rows


@functools.cache
def load(start: str, n: int) -> None:
    """Load a start's code and weights, and let it run once, before it is timed."""
    if start == "network":
        import torch

        torch.set_num_threads(1)
    ff.solve(generate.uniform(n, 1, seed=5)[0], 0.2, start=start)


def read_rows(path: Path) -> list[dict]:
    """Read the rows there are; a line torn off by an early end is left out."""
    if not path.exists():
        return []
    rows = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return rows


def key(row: dict) -> tuple:
    """What tells a row from all others."""
    return tuple(row[k] for k in ("n", "objective", "instance", "start", "budget"))


def tables(rows: list[dict], arguments) -> str:
    """One Markdown table for each size and objective."""
    gaps: dict[tuple, dict[int, float]] = {}
    seconds: dict[tuple, list[float]] = {}
    for row in rows:
        cell = row["n"], row["objective"], row["start"], row["budget"]
        gap = np.nan
        if row["cost"] is not None:
            gap = 100 * (row["cost"] / row["reference"] - 1)
        gaps.setdefault(cell, {})[row["instance"]] = gap
        seconds.setdefault(cell, []).append(row["seconds"])
    lines = []
    for n in arguments.sizes:
        budgets = sorted({*arguments.budgets, PAPER[n]})
        for objective in arguments.objectives:
            what = "length" if objective == "length" else "Cost_v"
            heads = [
                f"{1e3 * b:g} ms" + (" (the paper's)" if b == PAPER[n] else "")
                for b in budgets
            ]
            lines += [
                f"\n### VRP{n}, {what}: mean gap in %, ± half of the 95 % interval\n",
                "| start | " + " | ".join([*heads, "start alone", "its ms"]) + " |",
                "| --- |" + " --- |" * (len(heads) + 2),
            ]
            for start in arguments.starts:
                cells = [
                    text(gaps.get((n, objective, start, b))) for b in (*budgets, ALONE)
                ]
                own = seconds.get((n, objective, start, ALONE), [np.nan])
                cells.append(f"{1e3 * np.mean(own):.1f}")
                lines.append(f"| {start} | " + " | ".join(cells) + " |")
            for start in arguments.starts:
                if start != "packing" and "packing" in arguments.starts:
                    cells = [
                        difference(
                            gaps.get((n, objective, start, b)),
                            gaps.get((n, objective, "packing", b)),
                        )
                        for b in (*budgets, ALONE)
                    ]
                    lines.append(f"| {start} − packing | {' | '.join(cells)} | |")
    return "\n".join(lines)


def text(gaps: dict[int, float] | None) -> str:
    """Mean gap with its interval, and the share solved if not all."""
    if not gaps:
        return "–"
    values = np.array(list(gaps.values()))
    solved = values[np.isfinite(values)]
    rest = "" if len(solved) == len(values) else f", {np.isfinite(values).mean():.1%}"
    return f"{interval(solved)}{rest}{' solved' if rest else ''}"


def difference(gaps: dict[int, float] | None, others: dict[int, float] | None) -> str:
    """Mean difference on the same instances, with its interval."""
    both = sorted(set(gaps or ()) & set(others or ()))
    values = np.array([gaps[row] - others[row] for row in both])
    return interval(values[np.isfinite(values)])


def interval(values: np.ndarray) -> str:
    """A mean and half of its 95 % interval."""
    if not len(values):
        return "–"
    half = 1.96 * values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0
    return f"{values.mean():.3f} ± {half:.3f}"


if __name__ == "__main__":
    raise SystemExit(main())
