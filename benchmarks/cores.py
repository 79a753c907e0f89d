"""Measure how much shorter a plan becomes with more cores and with more time.

    python benchmarks/cores.py 'X/*.vrp' --runs 1x16 2x3 4x3 8x3 16x3 16x1@60
    python benchmarks/cores.py uchoa:220:1 uchoa:500:2 --runs 16x1 16x1:reheat=1.0

``4x3`` means three runs with different seeds on four cores each, with the default
search from a packing. ``16x1@60`` is one run with its own time limit of 60 s. After a
colon, settings of the decomposition search may follow. They are chosen on generated
instances. Each run has its own processors, and runs with few cores run at the same
time. An instance file needs its best known plan beside it: this has the fleet, and the
gap is relative to its length. For generated instances, the gap is relative to the
shortest plan of all runs. A row is written as soon as a run ends.
"""

from __future__ import annotations

import argparse
import glob
import json
import lzma
import multiprocessing
import os
import time
from collections import defaultdict
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import mean

import fixedfleet as ff
from fixedfleet import generate
from fixedfleet.evaluate.best_known import best_known
from fixedfleet.evaluate.origin import machine_name
from fixedfleet.evaluate.tables import markdown_table
from fixedfleet.fleet import assess_fleet
from fixedfleet.search import Deadline, SearchTask, improve, load_search
from fixedfleet.search.decomposition import DecompositionParameters, decomposition
from fixedfleet.search.ruin_recreate import RuinRecreateParameters, ruin_recreate
from fixedfleet.version import describe_commit, own_version

ITERATIONS = 400_000  # of each core, for measuring the time per iteration
# The tables show the gap after each of these numbers of seconds.
MARKS = 0.5, 1, 2, 5, 10, 20, 30, 40, 60, 80, 120, 160
_FIRST_MACHINE = "Intel Xeon"  # of the rows that do not name theirs
_FEW_CUSTOMERS = 200
_MOST_COLUMNS = 8  # with more instances, the tables show means only
_PAGE = """\
# What more cores and more time are worth for one plan

The default search from a packing. Gaps are in %, means over the seeds, and "mean" over
the instances of the line. Versions: in "before", cores compared their plans only
between cycles; in commits df0c6d1 and 3555cb4, they exchange plans, with `exchanges=10`
by default; from commit cda2090 on, they share a plan in regions, of about 70 customers
or more, and from d5c6c0d on of 120. From 8591cc9 on, brief annealings come first below
200 customers. "trial" was never committed, and settings were chosen with it.
"processors used" is the processor time divided by the time of all cores. The Intel Xeon
has 16 cores, the AMD EPYC two.

## Eight instances of set X

The fleet and the gap are those of the best known plan. The eight runs "before" on 8
cores ran beside those of 160 s on one core.

{x}
## The 21 instances of set X below 200 customers

{small}
## Set XXL

{xxl}
## Generated instances

The settings were chosen on these instances (`uchoa:CUSTOMERS:SEED`), not on set X. The
gap is relative to the shortest plan of all these runs. `min_vehicles` is `min_tours`
now.

{generated}
## What is reached, and what is not

- On set XXL, two cores that share a plan in regions have a mean gap below 0.5 % after
  60 s, which was the aim for 16 cores. On Leuven1, Ghent1 and Flanders1, which were
  also run with exchanges alone (3555cb4), it is 0.33 against 0.37 %, one seed each.
- On set X, two cores have the same gap after 10 s as with exchanges alone, and are not
  better than one core beyond chance: the three seeds have 0.35, 0.32 and 0.41 %, and
  0.39, 0.37 and 0.38 % on one core.
- Below 200 customers, two cores are better than one in {pairs}.
- One core has 0.205 % after 160 s, where the aim was 0.20 %.
- At any time, the mean gap of a run of 60 s is at most 1.4 times that of a run of 5, 10
  or 20 s with two cores. But X-n701 after 10 s and X-n1001 after 20 s are twice as far
  off (one seed). On one core, the run of 160 s has 0.55 % after 10 s, a run of 10 s
  0.38 %.
- Regions have not been measured on 16 cores. With exchanges alone, 16 cores on set X
  had the same gap as before, and 2, 4 and 8 cores a smaller one. The aim for 16 cores
  was 0.25 % after 10 s and 0.15 % after 60 s. They did not reach it: they were not
  better than 8, and on X-n1001 not better than one core. There the threads used only
  70 % of the processors, probably because they waited for each other when they
  exchanged plans, and plans with long tours have few groups of tours that can be
  combined. In regions, cores wait for each other after each round of 5 to 20 ms. On
  these eight instances, 16 cores would still search 2 to 16 plans and exchange them.

The commands of the runs of 10 s on set X, and the one that prints this page:

    python benchmarks/cores.py X/X-n{{209,251,401,513,613,701,801,1001}}-*.vrp \\
        --rows x.jsonl --runs 16x2 8x2 4x3 2x3 1x3
    python benchmarks/cores.py XXL/*.vrp --rows xxl.jsonl --runs 2x1@60
    python benchmarks/cores.py --page results/cores.jsonl.xz
"""


@dataclass(frozen=True)
class Run:
    """One run of the search; ``name`` is that of the instance, ``limit`` in seconds."""

    name: str
    cores: int
    seed: int
    limit: float
    settings: str = ""


def instances_of(names: list[str]) -> dict[str, tuple[ff.Instance, float | None]]:
    """
    Return the instances by name, each with the length of its best known plan.

    The length is None for generated instances. ``names`` are patterns of files, or
    ``uchoa:CUSTOMERS:SEED``.
    """
    found: dict[str, tuple[ff.Instance, float | None]] = {}
    for name in names:
        if name.startswith("uchoa:"):
            customers, seed = map(int, name.split(":")[1:])
            found[name] = generate.uchoa(customers, seed=seed), None
            continue
        for path in sorted(glob.glob(name)):
            found[Path(path).stem] = best_known(Path(path))
    return found


def search_of(settings: str):
    """Return the default search, or the decomposition search with other settings."""
    if not settings:
        return "auto"
    values = dict(text.split("=") for text in settings.split(","))
    numbers = {name: json.loads(value) for name, value in values.items()}
    return partial(decomposition, parameters=DecompositionParameters(**numbers))


def measure(run: Run, instance: ff.Instance, processors: list[int], rows) -> None:
    """Run a search on some processors, and put its row into a queue."""
    os.sched_setaffinity(0, processors)
    packing = assess_fleet(instance).packing
    begin = time.perf_counter(), time.process_time()
    found = improve(
        instance,
        packing,
        time_limit=run.limit,
        search=search_of(run.settings),
        seed=run.seed,
        cores=run.cores,
    )
    trace = {
        f"{mark:g}": min(
            (cost for seconds, cost in found.trace if seconds <= mark), default=0
        )
        for mark in MARKS
        if mark <= run.limit
    }
    faults = found.plan.check(instance)
    row = asdict(run) | {
        "customers": instance.num_customers,
        "cost": found.cost,
        "seconds": round(time.perf_counter() - begin[0], 3),
        "processor_seconds": round(time.process_time() - begin[1], 2),
        "last_gain": round(found.trace[-1][0], 3),
        "trace": trace,
        "faults": len(faults),
        "version": describe_commit() or own_version(),
        "machine": machine_name(),
    }
    rows.put((row, processors))


def run_all(runs: list[Run], instances, processors: list[int], path: Path, end: float):
    """
    Run all runs, as many at a time as the processors allow, and return their rows.

    No run begins that would end after ``end``, a time of ``time.monotonic``.
    """
    context = multiprocessing.get_context("fork")  # everything is loaded already
    queue, free, rows = context.Queue(), list(processors), []
    waiting, active = list(runs), 0
    with path.open("a") as file:
        while active or waiting:
            now = time.monotonic()
            if waiting and now + waiting[0].limit > end:
                print(f"no time for {len(waiting)} runs")
                waiting = []
            elif waiting and waiting[0].cores <= len(free):
                run = waiting.pop(0)
                mine, free = free[: run.cores], free[run.cores :]
                arguments = run, instances[run.name][0], mine, queue
                context.Process(target=measure, args=arguments).start()
                active += 1
            else:
                row, mine = queue.get()
                row["best"] = instances[row["name"]][1]
                free, active = sorted(free + mine), active - 1
                rows.append(row)
                file.write(json.dumps(row) + "\n")
                file.flush()
    return rows


def tables(rows) -> str:
    """Return the tables of the gaps of all runs, and of the gaps during the runs."""
    if not rows:
        return "There are no runs.\n"
    rows = sorted(rows, key=lambda row: (row["customers"], row["name"]))
    names = list(dict.fromkeys(row["name"] for row in rows))
    best = {}
    for row in rows:
        shortest = min(best.get(row["name"], row["cost"]), row["cost"])
        best[row["name"]] = row["best"] or shortest

    def gap(row, cost: float) -> float:
        return 100 * (cost / best[row["name"]] - 1)

    groups = defaultdict(list)
    for row in rows:
        version = row.get("version", "before")
        groups[row["limit"], version, row["settings"], row["cores"]].append(row)
    body, curves = [], []
    for (limit, version, settings, cores), group in sorted(groups.items()):
        gaps = defaultdict(list)
        for row in group:
            gaps[row["name"]].append(gap(row, row["cost"]))
        share = mean(r["processor_seconds"] / r["seconds"] / cores for r in group)
        head = [f"{limit:g} s", version, settings or "default", f"{cores}"]
        means = [mean(gaps[name]) if name in gaps else None for name in names]
        known = [value for value in means if value is not None]
        cells = ["" if value is None else f"{value:.2f}" for value in means]
        seeds = f"{len({row['seed'] for row in group})}"
        body.append(
            [*head, seeds, f"{100 * share:.0f} %", f"{mean(known):.3f}", *cells]
        )
        curves.append([*head, *_curve(group, gap)])
    headings = ["limit", "version", "settings", "cores"]
    if len(names) > _MOST_COLUMNS:
        names, body = [], [line[: len(headings) + 3] for line in body]
    shown = [name.partition("-k")[0].replace("uchoa:", "N = ") for name in names]
    late = max(row["seconds"] - row["limit"] for row in rows)
    return (
        markdown_table([*headings, "seeds", "processors used", "mean", *shown], body)
        + f"\nNo run ended more than {late:.3f} s after its limit; "
        + f"{sum(row['faults'] > 0 for row in rows)} plans have faults. "
        + "The mean gap during the runs:\n\n"
        + markdown_table([*headings, *(f"{mark:g} s" for mark in MARKS)], curves)
    )


def _curve(rows, gap) -> list[str]:
    """Return the mean gap of the best plans at each mark; "" behind the end of runs."""
    cells = []
    for mark in MARKS:
        costs = [row["trace"].get(f"{mark:g}") for row in rows]
        known = all(costs)
        found = [gap(row, cost) for row, cost in zip(rows, costs, strict=True) if known]
        cells.append(f"{mean(found):.2f}" if found else "")
    return cells


def page(rows) -> str:
    """Return the page results/cores.md for its rows."""
    parts = {"x": [], "small": [], "xxl": [], "generated": []}
    for row in rows:
        known = "x" if row["name"].startswith("X-") else "xxl"
        known = "small" if row["customers"] < _FEW_CUSTOMERS else known
        parts[known if row["best"] else "generated"].append(row)
    tables_of = {kind: _by_machine(part) for kind, part in parts.items()}
    return _PAGE.format(pairs=_compare_cores(parts["small"]), **tables_of)


def _compare_cores(rows) -> str:
    """Return on how many instances two cores have a shorter mean length than one."""
    costs = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row["version"] == rows[-1]["version"]:
            costs[row["name"]][row["cores"]].append(row["cost"])
    signs = [mean(one[1]) - mean(one[2]) for one in costs.values()]
    better, worse = sum(sign > 0 for sign in signs), sum(sign < 0 for sign in signs)
    return f"{better} of {len(signs)} instances and worse in {worse}"


def _by_machine(rows) -> str:
    """Return the tables of each machine."""
    machines = defaultdict(list)
    for row in rows:
        machines[row.get("machine", _FIRST_MACHINE)].append(row)
    if not machines:
        return tables([])
    return "\n".join(
        f"{machine}:\n\n{tables(part)}" for machine, part in sorted(machines.items())
    )


def print_speed(instance: ff.Instance) -> None:
    """
    Print the time per iteration of ruin and recreate on one, several and all cores.

    Several cores search one plan in regions.
    """
    packing = assess_fleet(instance).packing
    most = len(os.sched_getaffinity(0))
    for cores in sorted({1, most // 4 or 1, most // 2 or 1, most}):
        limit = Deadline(iterations=ITERATIONS * cores)
        task = SearchTask(instance, packing, limit, cores=cores)
        begin = time.perf_counter()
        for _ in ruin_recreate(task, RuinRecreateParameters(large_scale=True)):
            pass
        each = (time.perf_counter() - begin) / ITERATIONS * 1e6
        print(f"{instance.num_customers} customers, {cores} cores: {each:.2f} µs")


def main() -> None:
    """Parse the arguments, run everything and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("instances", nargs="*")
    parser.add_argument("--runs", nargs="+", default=["1x1"])
    parser.add_argument("--limits", nargs="+", type=float, default=[10.0], help="s")
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--rows", type=Path, default=Path("cores.jsonl"))
    parser.add_argument("--budget", type=float, default=3600.0, help="seconds in all")
    parser.add_argument("--speed", action="store_true", help="time iterations, too")
    parser.add_argument("--page", type=Path, help="print the page of these rows only")
    options = parser.parse_args()
    if options.page:
        with lzma.open(options.page, "rt") as file:
            print(page([json.loads(line) for line in file]), end="")
        return
    end = time.monotonic() + options.budget
    processors = sorted(os.sched_getaffinity(0))
    options.rows.parent.mkdir(parents=True, exist_ok=True)
    instances = instances_of(options.instances)
    for instance, _ in instances.values():
        load_search("auto", instance)
    print(f"loaded after {options.budget - (end - time.monotonic()):.0f} s", flush=True)
    runs = []
    for spec in options.runs:
        numbers, _, settings = spec.partition(":")
        numbers, _, own = numbers.partition("@")
        cores, seeds = map(int, numbers.split("x"))
        if cores > len(processors):
            parser.error(f"{spec}: there are only {len(processors)} processors")
        for limit in [float(own)] if own else options.limits:
            for seed in range(options.first_seed, options.first_seed + seeds):
                runs += [Run(name, cores, seed, limit, settings) for name in instances]
    if options.speed:
        for instance, _ in instances.values():
            print_speed(instance)
    print(tables(run_all(runs, instances, processors, options.rows, end)))


if __name__ == "__main__":
    main()
