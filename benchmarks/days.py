"""
Compare the default search, PyVRP and OR-Tools on mixed fleets and time windows.

    python benchmarks/days.py mixed FOLDER/HFVRP --limits 10 --rows ROWS
    python benchmarks/days.py windows FOLDER/VRPTW --limits 1 3 --first 100 --rows ROWS
    python benchmarks/days.py --page results/days.md --rows results/days.jsonl

Each run has one core. FOLDER has instances (.vrp) and their best known plans (.sol), as
PyVRP's collection does. Each run adds a row to the file of rows. A run whose row is
already in the file is not repeated.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from pathlib import Path

import numpy as np

import fixedfleet as ff
from fixedfleet.evaluate import get_method
from fixedfleet.files import read_plan
from fixedfleet.search import load_search
from fixedfleet.version import describe_commit, version_of

METHODS = {"auto": "ours", "pyvrp": "PyVRP", "ortools": "OR-Tools"}
ROUNDING = {"mixed": "none", "windows": "dimacs"}
_TITLE = """\
# Mixed fleets and time windows

Mean gap in per cent, one core per run, one seed. `mixed`: instances with a limited
mixed fleet of Pessoa, Sadykov and Uchoa (2018), exact distances; the gap is to the cost
of the best known plan's tours. `windows`: instances of Gehring and Homberger with 1,000
customers, distances rounded as in the DIMACS challenge; the gap is to the best known
plan or, of their first 100 and 200 customers, to the best plan of these rows. Both sets
are from PyVRP's collection. Every plan was checked; a gap counts feasible plans only.
PyVRP and OR-Tools begin without an initial plan, ours with a packing. Nothing was tuned
on these sets. The commands are in `benchmarks/days.py`.

Ours ran on an idle machine with two cores, two runs at a time. PyVRP and OR-Tools ran
later on the same machine, one at a time, while other programs used the second core;
real-time scheduling gave them at least 93 % of a core (`cpu_seconds` in the rows).

"""


def read_rows(path):
    """Return the rows of a file; an empty list if it does not exist."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines()]


def measure(name, instance, reference, method, limit):
    """
    Return the row of one run.

    Outside solvers begin without an initial plan, as their own users run them.
    """
    load_search(method, instance)
    begin, cpu = time.perf_counter(), time.process_time()
    if method == "auto":
        plan = ff.solve(instance, limit, seed=1, cores=1).plan
    else:
        plan = get_method(method).solve([instance], time_limit=limit, seed=1)[0].plan
    seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
    return {
        "instance": name,
        "method": method,
        "limit": limit,
        "cost": None if plan is None else plan.cost(instance),
        "feasible": plan is not None and plan.is_feasible(instance),
        "reference": reference,
        "seconds": round(seconds, 3),
        "cpu_seconds": round(cpu, 3),
        "commit": describe_commit(),
        "peer": "" if method == "auto" else version_of(method),
        "machine": platform.processor() or platform.machine(),
    }


def page(rows):
    """Return the page: the mean gaps of each method by set and limit."""
    best = {}
    for row in rows:
        key = row["set"], row["first"], row["instance"]
        if row["feasible"]:
            best[key] = min(best.get(key, np.inf), row["cost"])
    gaps, late = {}, 0.0
    for row in rows:
        cell = row["set"], row["first"], row["limit"]
        key = row["set"], row["first"], row["instance"]
        base = row["reference"] or best.get(key)  # None: no method found a plan
        gap = 100 * (row["cost"] / base - 1) if row["feasible"] else None
        gaps.setdefault(cell, {}).setdefault(row["method"], {})[row["instance"]] = gap
        late = max(late, row["seconds"] - row["limit"])
    lines = [
        "| set | customers | seconds | instances | " + " | ".join(METHODS.values()),
        "| --- | --- | ---: | ---: |" + " ---: |" * len(METHODS),
    ]
    lines[0] += " |"
    for (which, first, limit), found in sorted(
        gaps.items(), key=lambda item: (item[0][0], item[0][1] or 10**6, item[0][2])
    ):
        # Only instances that all methods of this line have measured are compared.
        shared = set.intersection(*(set(one) for one in found.values()))
        cells = [_cell(found.get(method), shared) for method in METHODS]
        size = f"the first {first}" if first else "all"
        lines.append(
            f"| {which} | {size} | {limit:g} | {len(shared)} | {' | '.join(cells)} |"
        )
    end = f"\nThe slowest run ended {late:.2f} s after its limit.\n"
    return _TITLE + "\n".join(lines) + "\n" + end


def _cell(found, shared):
    """Write the mean gap of the feasible plans, and the number of infeasible ones."""
    if found is None:
        return "–"
    values = [found[name] for name in shared]
    good = [gap for gap in values if gap is not None]
    text = f"{np.mean(good):.2f}" if good else "–"
    missing = len(values) - len(good)
    return f"{text} ({missing} infeasible)" if missing else text


def main(argv=None):
    """Measure, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[1])
    add = parser.add_argument
    add("set", nargs="?", choices=list(ROUNDING))
    add("folder", nargs="?", type=Path)
    add("--limits", type=float, nargs="+", default=[10.0])
    add("--first", type=int, help="plan the first customers of each instance only")
    add("--methods", nargs="+", choices=list(METHODS), default=["auto", "pyvrp"])
    add("--minutes", type=float, default=60.0, help="begin no run after these minutes")
    add("--rows", type=Path, required=True)
    add("--page", type=Path)
    asked = parser.parse_args(argv)
    rows = read_rows(asked.rows)
    if asked.page is not None:
        asked.page.write_text(page(rows), encoding="utf-8")
        return 0
    if asked.folder is None:
        parser.error("give a set and its folder, or --page")
    begin = time.monotonic()
    known = {
        (r["set"], r["first"], r["instance"], r["method"], r["limit"]) for r in rows
    }
    for limit in asked.limits:
        for path in sorted(asked.folder.glob("*.vrp")):
            instance, reference = ff.read(path, rounding=ROUNDING[asked.set]), None
            if asked.first is None:
                plan = read_plan(path.with_suffix(".sol"), instance)
                reference = plan.cost(instance)
            else:
                instance = instance.with_customers(range(1, asked.first + 1))
            for method in asked.methods:
                key = asked.set, asked.first, path.stem, method, limit
                if key in known or time.monotonic() - begin > 60 * asked.minutes:
                    continue
                row = measure(path.stem, instance, reference, method, limit)
                row = {"set": asked.set, "first": asked.first, **row}
                with asked.rows.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
                print(key, row["cost"], reference, flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
