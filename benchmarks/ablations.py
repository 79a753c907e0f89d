"""
Which settings help: short trainings, one setting changed at a time, as a table.

    python benchmarks/ablations.py --labels vrp20….npz --out FOLDER --epochs 8 --jobs 4
    python benchmarks/ablations.py --out FOLDER --table

Each row trains the preset with the named settings for the same epochs, or minutes, the
learning rate following that budget, and is judged on 1,000 instances of a fresh seed,
decoded and repaired but not searched. With ``--jobs`` several rows run at a time, so
that one compiles while others train. They share the GPU then: compare at equal epochs.

A row that is done leaves ``results/ROW.json`` and is not run again; one that was killed
goes on from its last checkpoint. ``--time`` bounds the minutes in which rows are begun,
the most interesting first. ``table.md`` is written anew after each row.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import re
import signal
import sys
import time
from multiprocessing import connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from fixedfleet.errors import InputError
from fixedfleet.files.atomic import write_text
from fixedfleet.generate import uniform
from fixedfleet.model import Network, load_model
from fixedfleet.training import (
    Dataset,
    NonFiniteLossError,
    get_preset,
    load_dataset,
    train,
)
from fixedfleet.training.validation import decode_raw

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from fixedfleet.planning import Method

FRESH_SEED = 4321  # the test set is for reporting

# What the paper's network and loss are, where the preset has others.
PAPER: dict[str, Any] = {
    "model.pooling": "max",
    "model.normalisation": "vehicle",
    "model.numbering": "linear",
    "model.polar": False,
    "model.edge_features": False,
    "model.edge_heads": 0,
    "model.membership": False,
    "model.decoder_width": None,
    "loss.loads": "hard",
    "loss.cluster_weight": 0.0,
    "training.learning_rate": 2e-4,
}
# Soft loads and the cluster term need a normalisation that says who serves whom.
WITHOUT_MEMBERS = {"loss.loads": "none", "loss.cluster_weight": 0.0}

ROWS: dict[str, dict[str, Any]] = {  # the most interesting first
    "best": {},
    "paper's network and loss": PAPER,
    "no load terms": {"loss.loads": "none"},
    "no cluster term": {"loss.cluster_weight": 0.0},
    "vehicle softmax": {"model.normalisation": "vehicle", **WITHOUT_MEMBERS},
    "numbering linear": {"model.numbering": "linear"},
    "max pooling": {"model.pooling": "max", "training.learning_rate": 2e-4},
    "no augmentation": {"training.augment": False},
    "matching sweep": {"loss.matching": "sweep"},
    "paper's network, no load terms": {**PAPER, "loss.loads": "none"},
    "paper's network, overload alone": {**PAPER, "loss.load_weight": 0.0},
    "row softmax": {"model.normalisation": "row", **WITHOUT_MEMBERS},
    "softassign": {"model.normalisation": "softassign"},
    "no edge features": {"model.edge_features": False},
    "no membership score": {"model.membership": False},
    "no edge score": {"model.edge_heads": 0},
    "no polar features": {"model.polar": False},
    "hard loads": {"loss.loads": "hard"},
    "no average": {"training.ema": 0.0},
    "constant rate": {"training.schedule": "constant"},
    "rate 4e-4": {"training.learning_rate": 4e-4},
    "rate 1.6e-3": {"training.learning_rate": 1.6e-3},
    "4 layers": {"model.layers": 4},
    "depot share 0.2": {"loss.depot_share": 0.2},
    "paper's network, softassign": {**PAPER, "model.normalisation": "softassign"},
}

WAYS: dict[str, tuple[Method, int]] = {  # column: how to decode
    "greedy": ("greedy", 1),
    "membership": ("membership", 1),
    "membership, 8 symmetries": ("membership", 8),
}


def judge(network: Network, data: Dataset, count: int) -> dict[str, float]:
    """Mean length and share solved of raw plans by each way, and the violation."""
    instances = uniform(
        data.num_customers,
        count,
        seed=FRESH_SEED,
        capacity=int(data.capacity[0]),
        vehicles=data.vehicles,
    )
    found: dict[str, float] = {}
    for name, (method, symmetries) in WAYS.items():
        plans = decode_raw(network, instances, method=method, symmetries=symmetries)
        solved = np.isfinite(plans.length)
        found[name] = float(plans.length[solved].mean()) if solved.any() else math.inf
        found[f"{name}, solved"] = float(solved.mean())
        found["violation"] = float(plans.violation.mean())
    return found


def run_row(name: str, options: argparse.Namespace, data: Dataset) -> None:
    """Train and judge one row, and leave its result."""
    folder = options.out / slug(name)
    result: dict[str, Any] = {"row": name, "settings": ROWS[name], "jobs": options.jobs}
    result["run"] = _describe(options, data)
    try:
        done = train(
            options.preset,
            data,
            out=folder,
            minutes=options.minutes,
            epochs=options.epochs,
            # One validation, at the end, for its loss.
            settings={"training.validate_every": 10**6, **ROWS[name]},
            resume=(folder / "checkpoint.safetensors").exists(),
            display=lambda line: print(f"{name}: {line}", flush=True),
        )
    except NonFiniteLossError as error:
        result["error"] = str(error).partition(":")[0]
    else:
        result |= {"steps": done.steps, "epoch_seconds": done.epoch_seconds}
        result["peak_GiB"] = done.peak_bytes / 2**30
        if done.validation is not None:
            result["validation"] = done.validation.to_dict()
        # In the file's half precision, as it would be used.
        network = load_model(folder / "model.safetensors", options.device)
        result |= judge(network, data, options.count)
    write_text(_result(options.out, name), json.dumps(result, indent=1) + "\n")


def work(names: connection.Connection, options: argparse.Namespace) -> None:
    """Load labels, then wait to be told which row to run."""
    torch.set_num_threads(_threads(options.jobs))
    data = load_dataset(list(options.labels), options.device)
    run_row(names.recv(), options, data)


class Worker:
    """A process for one row, that is warm by the time the row is chosen."""

    def __init__(self, options: argparse.Namespace) -> None:
        # Not forked: a GPU may have been asked for by now. Nor used again: a network
        # that is compiled after others, or after an error on the GPU, is another test.
        context = multiprocessing.get_context("spawn")
        theirs, self.names = context.Pipe(duplex=False)
        self.process = context.Process(target=work, args=(theirs, options))
        self.process.start()
        theirs.close()

    def run(self, name: str) -> None:
        """Let it run a row."""
        self.names.send(name)

    def end(self) -> None:
        """End it, whatever it does."""
        self.process.terminate()
        self.process.join()


def run_rows(options: argparse.Namespace) -> int:
    """Run the rows that are not done yet; return how many failed."""
    data = load_dataset(list(options.labels), "cpu")
    done = read_results(options.out, _describe(options, data))
    waiting = [name for name in options.rows if name not in done]
    end = time.monotonic() + 60 * (math.inf if options.time is None else options.time)
    running: dict[str, Worker] = {}
    spare: list[Worker] = []
    failed = 0
    try:
        while running or (waiting and time.monotonic() < end):
            while waiting and len(running) < options.jobs and time.monotonic() < end:
                name = choose(waiting, list(running), options)
                waiting.remove(name)
                if spare and not spare[0].process.is_alive():
                    spare.pop()
                running[name] = spare.pop() if spare else Worker(options)
                running[name].run(name)
            if options.jobs > 1 and waiting and not spare and time.monotonic() < end:
                spare.append(Worker(options))
            failed += _wait(running)
            write_text(options.out / "table.md", table(read_results(options.out)))
    finally:
        for worker in (*running.values(), *spare):
            worker.end()
    if waiting:
        print(f"out of time, not begun: {', '.join(waiting)}")
    return failed


def _wait(running: dict[str, Worker]) -> int:
    """Wait until a row has ended, take it out, and return how many failed."""
    connection.wait([worker.process.sentinel for worker in running.values()])
    ended = [n for n, worker in running.items() if worker.process.exitcode is not None]
    failed = [name for name in ended if running.pop(name).process.exitcode != 0]
    for name in failed:
        print(f"{name}: failed, see above", file=sys.stderr)
    return len(failed)


def choose(
    waiting: Sequence[str], running: Sequence[str], options: argparse.Namespace
) -> str:
    """
    Return the first row whose network no other row is compiling just now.

    The compiler keeps what it made: a row begun later finds it.
    """
    compiling = {
        _network(name, options.preset)
        for name in running
        if not (options.out / slug(name) / "log.jsonl").exists()
    }
    others = (n for n in waiting if _network(n, options.preset) not in compiling)
    return next(others, waiting[0])


def read_results(
    out: Path, run: dict[str, Any] | None = None
) -> dict[str, dict[str, Any]]:
    """Read the rows that are done; all must be of one run."""
    results: dict[str, dict[str, Any]] = {}
    for path in sorted((out / "results").glob("*.json")):
        row = json.loads(path.read_text(encoding="utf-8"))
        run = row["run"] if run is None else run
        if row["run"] != run:
            raise InputError(
                f"{path} is of another run, {row['run']}, this one is {run}: give "
                "another --out"
            )
        results[row["row"]] = row
    return results


def table(results: dict[str, dict[str, Any]]) -> str:
    """Render the results as Markdown, the shortest plans first."""
    columns = [*WAYS, "against best", "violated", "steps", "s an epoch"]
    lines = [f"| setting | {' | '.join(columns)} |"]
    lines.append("| --- |" + " ---: |" * len(columns))
    best = results.get("best", {}).get("membership", math.nan)

    def length(row: dict[str, Any]) -> float:
        return float(row.get("membership", math.inf))

    for row in sorted(results.values(), key=length):
        if "error" in row:
            lines.append(f"| {row['row']} | {row['error']} |" + " |" * len(columns[1:]))
            continue
        cells = [f"{row[way]:.4f}, {row[f'{way}, solved']:.1%}" for way in WAYS]
        cells.append(f"{100 * (length(row) / best - 1):+.2f} %")
        cells += [f"{row['violation']:.2%}", f"{row['steps']:,}"]
        cells.append(f"{row['epoch_seconds']:.2f}")
        lines.append(f"| {row['row']} | {' | '.join(cells)} |")
    first = next(iter(results.values()), None)
    return "\n".join(lines) + "\n\n" + ("" if first is None else _note(results, first))


def _note(results: dict[str, dict[str, Any]], first: dict[str, Any]) -> str:
    run, jobs = first["run"], max(row["jobs"] for row in results.values())
    budget = f"{run['epochs']} epochs" if run["epochs"] else f"{run['minutes']} minutes"
    shared = ""
    if jobs > 1:
        shared = (
            f" Up to {jobs} rows shared the GPU at a time: the seconds an epoch are no "
            "measure of speed."
        )
    return (
        f"`{run['preset']}`, {budget} a row on {run['labels']:,} labels; mean length "
        f"and share solved of {run['count']:,} fresh instances, decoded and repaired, "
        "not searched; violated: what the pseudo-greedy plan loads above the capacity, "
        f"a vehicle.{shared}\n"
    )


def slug(name: str) -> str:
    """Return a row's name as a file's."""
    return re.sub(r"[^a-z0-9.]+", "_", name.lower())


def _result(out: Path, name: str) -> Path:
    return out / "results" / f"{slug(name)}.json"


def _describe(options: argparse.Namespace, data: Dataset) -> dict[str, Any]:
    """What all rows of a table must have in common."""
    return {
        "preset": options.preset,
        "epochs": options.epochs,
        "minutes": options.minutes,
        "count": options.count,
        "labels": len(data),
        "fingerprint": data.fingerprint,
    }


def _network(name: str, preset: str) -> Hashable:
    """What a compiled network depends on."""
    changed = get_preset(preset).with_settings(ROWS[name])
    training = changed.training
    return changed.model, training.batch_size, training.precision, training.compile


def _threads(jobs: int) -> int:
    return max(1, (os.cpu_count() or 1) // jobs)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--labels", type=Path, nargs="+", help="label files")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--preset", default="best20")
    budget = parser.add_mutually_exclusive_group()
    budget.add_argument("--epochs", type=int, help="budget of a row")
    budget.add_argument("--minutes", type=float, help="budget of a row, one at a time")
    parser.add_argument("--jobs", type=int, default=1, help="rows at a time")
    parser.add_argument("--time", type=float, help="minutes in which to begin rows")
    parser.add_argument("--rows", nargs="+", default=list(ROWS), choices=list(ROWS))
    parser.add_argument("--count", type=int, default=1000, help="instances to judge by")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--table", action="store_true", help="print the table only")
    return parser


def _check(options: argparse.Namespace) -> None:
    if options.labels is None:
        raise InputError("give --labels, or --table to see what is done")
    if (options.epochs is None) == (options.minutes is None):
        raise InputError("give --epochs or --minutes, the budget of a row")
    if options.jobs < 1:
        raise InputError(f"--jobs is {options.jobs}, not 1 or more")
    if options.jobs > 1 and options.minutes is not None:
        raise InputError(
            "rows that share a GPU get unequal parts of a minute: give --epochs, or "
            "--jobs 1"
        )
    for name in options.rows:
        get_preset(options.preset).with_settings(ROWS[name])


def main(argv: Sequence[str] | None = None) -> int:
    """Run the rows, or print the table; 0 if all went well."""
    options = _parser().parse_args(argv)
    try:
        if not options.table:
            _check(options)
            (options.out / "results").mkdir(parents=True, exist_ok=True)
            threads = str(_threads(options.jobs))
            os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", threads)
            failed = run_rows(options)
        results = read_results(options.out)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(table(results))
    return 0 if options.table or not failed else 1


if __name__ == "__main__":
    # So that the rows end with this process where it is told to end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main())
