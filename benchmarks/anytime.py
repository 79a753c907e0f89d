"""Quality against time: methods × budgets × instances, in one go on one machine.

For every instance and budget all methods run one after the other in a random order,
so that whatever else the machine does hits all of them alike. Every plan is checked by
`Plan`; a method's own cost is never believed. Time is wall time of the whole call,
reading excluded.

    python benchmarks/anytime.py --reference FOLDER --sizes 20 50 100 --instances 200
    python benchmarks/anytime.py --files 'X/*.vrp' --budgets 10 --methods auto hgs pyvrp

The first form takes the rejection-sampled test sets and the reference plans
`ref_vrpN_cost.npz` of a folder; the second CVRPLIB files with their best known
solutions (`.sol`) beside them, whose number of tours is the fleet. With `--seed-set`
another seed's instances are taken and the gap is to the best plan of the run.
"""

from __future__ import annotations

import argparse
import glob
import json
import random
import time
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

import fixedfleet as ff
from fixedfleet import generate, solvers
from fixedfleet.files import read_reference, read_solution_cost
from fixedfleet.search import Stop

OURS = ("auto", "ruin_recreate")
METHODS = (*OURS, "hgs", "pyvrp", "vroom", "ortools")
LABELS = {"auto": "fixedfleet", "ruin_recreate": "ruin and recreate"}


def test_tasks(arguments):
    """Yield (set, row, instance, reference cost) of the test sets."""
    for n in arguments.sizes:
        if arguments.seed_set is not None:
            batch = generate.uniform(n, arguments.instances, seed=arguments.seed_set)
            for row in range(arguments.instances):
                yield f"VRP{n}", row, batch[row], None
            continue
        file = read_reference(Path(arguments.reference) / f"ref_vrp{n}_cost.npz")
        batch = generate.test_set(n, reject=False)
        rows = file.index[: arguments.instances]
        for row, routes in zip(rows, file.routes, strict=False):
            instance = batch[int(row)]
            plan = ff.Plan.from_routes(routes)
            if faults := plan.check(instance):
                raise SystemExit(f"reference of row {row}: {faults[0]}")
            yield f"VRP{n}", int(row), instance, plan.length(instance)


def file_tasks(arguments):
    """Yield (set, name, instance, best known cost) of CVRPLIB files."""
    for path in sorted(glob.glob(arguments.files)):
        best = Path(path).with_suffix(".sol")
        plan = ff.read_plan(best)
        instance = ff.read(path, vehicles=plan.vehicles)
        yield "files", Path(path).stem, instance, read_solution_cost(best)


def call(method: str, instance: ff.Instance, budget: float, seed: int):
    """Run a method: (plan or None, seconds)."""
    begin = time.perf_counter()
    if method in OURS:
        plan = ff.solve(instance, budget, seed=seed, search=method).plan
    else:
        solver = solvers.get(method)
        plan = solvers.run(solver, instance, stop=Stop(budget), seed=seed).plan
    return plan, time.perf_counter() - begin


def run_instance(task):
    """Run all methods and budgets on one instance; return the rows."""
    (name, row, instance, reference), budgets, methods, seed = task
    order = random.Random(f"{name} {row} {seed}")
    rows = []
    for budget in budgets:
        for method in order.sample(methods, len(methods)):
            # A fresh copy, so that nobody finds distances that another has computed.
            fresh = instance.with_vehicles(instance.vehicles)
            plan, seconds = call(method, fresh, budget, seed)
            feasible = plan is not None and plan.is_feasible(fresh)
            rows.append(
                {
                    "set": name,
                    "instance": row,
                    "method": method,
                    "budget": budget,
                    "seconds": seconds,
                    "length": plan.length(fresh) if feasible else None,
                    "vehicles": plan.vehicles if feasible else None,
                    "reference": reference,
                }
            )
    return rows


def warm_up(methods):
    """Load every method's libraries before anything is timed."""
    tiny = generate.uniform(20, 1, seed=5)[0]
    for method in methods:
        call(method, tiny, 0.05, 1)


def summarise(rows):
    """Mean gap with its 95 % interval, share solved and seconds of each cell."""
    best = defaultdict(lambda: np.inf)
    for row in rows:
        if row["length"] is not None:
            key = row["set"], row["instance"]
            best[key] = min(best[key], row["length"])
    cells = defaultdict(list)
    for row in rows:
        known = row["reference"] or best[row["set"], row["instance"]]
        gap = None if row["length"] is None else 100 * (row["length"] / known - 1)
        cells[row["set"], row["method"], row["budget"]].append((gap, row["seconds"]))
    table = {}
    for key, values in cells.items():
        gaps = np.array([gap for gap, _ in values if gap is not None])
        half = 1.96 * gaps.std(ddof=1) / np.sqrt(len(gaps)) if len(gaps) > 1 else np.nan
        table[key] = {
            "gap": gaps.mean() if len(gaps) else np.nan,
            "half": half,
            "solved": len(gaps) / len(values),
            "seconds": np.mean([seconds for _, seconds in values]),
        }
    return table


def markdown(table, methods):
    """The summary as one Markdown table a set."""
    lines = []
    for name in dict.fromkeys(key[0] for key in table):
        budgets = sorted({key[2] for key in table if key[0] == name})
        lines += [
            f"\n### {name}: mean gap in %, ± half of the 95 % interval\n",
            "| method | " + " | ".join(f"{b * 1e3:g} ms" for b in budgets) + " |",
            "| --- |" + " --- |" * len(budgets),
        ]
        for method in methods:
            cells = [table.get((name, method, budget)) for budget in budgets]
            lines.append(
                f"| {LABELS.get(method, method)} | "
                + " | ".join("–" if c is None else cell_text(c) for c in cells)
                + " |"
            )
    return "\n".join(lines)


def cell_text(cell):
    """One cell: gap, interval, real seconds, and the share solved if not all."""
    solved = "" if cell["solved"] == 1 else f", {100 * cell['solved']:.1f} % solved"
    if np.isnan(cell["gap"]):
        return "none solved"
    return f"{cell['gap']:.3f} ± {cell['half']:.3f} ({cell['seconds']:.3f} s{solved})"


def picture(table, methods, path):
    """Gap against real time, both on a log axis, one panel a set."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    sets = list(dict.fromkeys(key[0] for key in table))
    figure, axes = plt.subplots(1, len(sets), figsize=(5 * len(sets), 4), squeeze=False)
    colours = ["#D55E00", "#E69F00", "#0072B2", "#009E73", "#CC79A7", "#56B4E9"]
    for axis, name in zip(axes[0], sets, strict=True):
        for colour, method in zip(colours, methods, strict=False):
            keys = sorted(k for k in table if k[0] == name and k[1] == method)
            cells = [table[key] for key in keys]
            axis.errorbar(
                [cell["seconds"] for cell in cells],
                [max(cell["gap"], 1e-3) for cell in cells],
                yerr=[cell["half"] for cell in cells],
                label=LABELS.get(method, method),
                color=colour,
                marker="o",
                capsize=2,
            )
        axis.set(xscale="log", yscale="log", title=name, xlabel="seconds, one core")
        axis.set_ylim(bottom=1e-3)
    axes[0][0].set_ylabel("mean gap in %")
    axes[0][-1].legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(path, dpi=130)


def main() -> None:
    """Run the methods, append rows as they come, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--reference", help="folder of the test sets' plans")
    parser.add_argument("--sizes", type=int, nargs="+", default=[20, 50, 100])
    parser.add_argument("--instances", type=int, default=200)
    parser.add_argument("--seed-set", type=int)
    parser.add_argument("--files")
    parser.add_argument(
        "--budgets", type=float, nargs="+", default=[0.01, 0.03, 0.1, 0.3, 1.0]
    )
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="cores, one method each")
    parser.add_argument("--output", default="results/anytime")
    arguments = parser.parse_args()
    if not (arguments.reference or arguments.files or arguments.seed_set is not None):
        parser.error("give --reference, --files or --seed-set")
    output = Path(arguments.output)
    output.parent.mkdir(parents=True, exist_ok=True)
    tasks = list(file_tasks(arguments) if arguments.files else test_tasks(arguments))
    work = [(t, arguments.budgets, arguments.methods, arguments.seed) for t in tasks]
    rows = []
    begin = time.perf_counter()
    with (
        ProcessPoolExecutor(
            arguments.jobs, initializer=warm_up, initargs=(arguments.methods,)
        ) as pool,
        output.with_suffix(".jsonl").open("w") as lines,
    ):
        for count, found in enumerate(pool.map(run_instance, work), 1):
            rows += found
            lines.writelines(json.dumps(row) + "\n" for row in found)
            lines.flush()
            if count % 20 == 0:
                passed = time.perf_counter() - begin
                print(f"{count} of {len(work)} instances, {passed:.0f} s", flush=True)
    table = summarise(rows)
    text = markdown(table, arguments.methods)
    output.with_suffix(".md").write_text(text + "\n", encoding="utf-8")
    print(text)
    try:
        picture(table, arguments.methods, output.with_suffix(".png"))
    except ImportError:
        print("no picture: matplotlib is not installed")


if __name__ == "__main__":
    main()
