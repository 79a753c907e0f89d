"""
Measure fine-tuning: a shipped network is trained further on another distribution.

    python benchmarks/fine_tuning.py --rows results/fine-tuning.jsonl
    python benchmarks/fine_tuning.py --rows gpu.jsonl --studies streets clusters
    python benchmarks/fine_tuning.py --rows results/fine-tuning.jsonl \
        --page results/fine-tuning.md

The first command takes some minutes on a CPU, the second about four minutes on a GPU.
Both generate instances, label them by ruin and recreate, and train each variant. On a
CPU, training has a number of epochs; on a GPU, it has a number of seconds. Every row
has the lengths of the network's plans, without a search, for the same held-out
instances. The last command writes the page of results.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np

from fixedfleet.evaluate.metrics import Mean
from fixedfleet.evaluate.origin import machine_name
from fixedfleet.evaluate.tables import markdown_table, show_mean
from fixedfleet.generate import clustered, draw
from fixedfleet.instance import InstanceBatch

HELD_OUT = {"cuda": 500, "cpu": 300}  # number of instances that are not trained on


def streets(n: int, count: int, *, seed: int, vehicles: int | None = None):
    """Draw customers along seven parallel streets, with two spare vehicles."""
    rs = np.random.RandomState(seed)
    points = rs.uniform(size=(count, n, 2))
    points[..., 0] = np.rint(points[..., 0] * 6) / 6
    demands = rs.randint(1, 10, size=(count, n))
    return InstanceBatch(
        depots=rs.uniform(size=(count, 2)),
        customers=points,
        demands=demands.astype(np.int64),
        capacity=np.full(count, 100),
        vehicles=vehicles or np.ceil(demands.sum(1) / 100).astype(np.int64) + 2,
    )


def towns(n: int, count: int, *, seed: int):
    """Draw customers in two towns, with the depot between them."""
    rng = np.random.default_rng(seed)
    centres = rng.choice([0.2, 0.8], size=(count, n, 1))
    return InstanceBatch(
        depots=np.full((count, 2), 0.5),
        customers=centres + 0.1 * rng.normal(size=(count, n, 2)),
        demands=rng.integers(1, 10, size=(count, n)),
        capacity=30,
        vehicles=n // 4,
    )


# For each study: the network, the distribution, the number of customers, the number of
# labels, and the iterations of the search that makes a label.
STUDIES = {
    "towns": ("universal", towns, 20, 1_500, 2_000),
    "towns20": ("paper20", towns, 20, 1_500, 2_000),
    "streets": ("universal", streets, 100, 20_000, 20_000),
    "clusters": ("paper20", clustered, 20, 60_000, 10_000),
}
# The setting ``training.batch_size`` on a CPU.
CPU_BATCH = {"universal": 8, "paper20": 4}
ON_CPU = ("fine-tuned",)  # the variants that are measured on a CPU
# The preset and the settings of each variant. All variants begin with the weights of
# the network, except "random weights".
VARIANTS = {
    "universal": {
        "fine-tuned": ("finetune", {}),
        "rate 3e-4": ("finetune", {"training.learning_rate": 3e-4}),
        "rate 3e-5": ("finetune", {"training.learning_rate": 3e-5}),
        "embeddings frozen": ("finetune", {"training.freeze": "embed"}),
        "as from scratch": ("universal", {"training.parts": 0}),
    },
    "paper20": {
        "fine-tuned": ("finetune20", {}),
        "rate 1e-4": ("finetune20", {"training.learning_rate": 1e-4}),
        "embeddings frozen": ("finetune20", {"training.freeze": "embed"}),
        "random weights": ("paper20", {}),
    },
}


def main() -> None:
    """Measure all variants, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=Path, required=True)
    parser.add_argument("--studies", nargs="+", default=["towns", "towns20"])
    parser.add_argument("--epochs", type=int, default=5, help="of each, on a CPU")
    parser.add_argument("--seconds", type=float, default=16.0, help="of each, on a GPU")
    parser.add_argument("--page", type=Path, help="write the page from the rows")
    arguments = parser.parse_args()
    if arguments.page:
        arguments.page.write_text(make_page(arguments.rows), encoding="utf-8")
        return
    for name in arguments.studies:
        for row in run(STUDIES[name], arguments.seconds, arguments.epochs):
            with arguments.rows.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
            print(row["network"], row["variant"], _gap(row), flush=True)


def run(study, seconds: float, epochs: int):
    """Yield a row for the network without fine-tuning, and one for each variant."""
    import torch

    import fixedfleet as ff
    from fixedfleet.model import load_model
    from fixedfleet.training import get_preset, train

    name, distribution, customers, count, iterations = study
    device = "cuda" if torch.cuda.is_available() else "cpu"
    kept = HELD_OUT[device]
    count += kept
    instances = draw(distribution, customers, count, seed=17)
    search = "gpu" if device == "cuda" else "ruin_recreate"
    found = ff.solve_batch(instances, iterations=iterations, search=search, seed=1)
    rows = np.flatnonzero(found.feasible)
    instances, plans = instances[rows], found.plans[rows]
    facts = {
        "network": name,
        "distribution": distribution.__name__,
        "customers": customers,
        "labels": len(rows) - kept,
        "iterations": iterations,
        "machine": machine_name(device == "cuda"),
        "label_lengths": _lengths(plans[-kept:], instances[-kept:]),
    }

    def measure(network, variant, **more):
        held_out = instances[-kept:]
        planned = ff.predict(held_out, network).decode("membership")
        solved = planned.feasible(held_out).tolist()
        return (
            facts
            | more
            | {
                "variant": variant,
                "lengths": _lengths(planned, held_out),
                "solved": solved,
            }
        )

    yield measure(load_model(name, device), "as it is", seconds=0.0, steps=0)
    for variant, (preset, settings) in VARIANTS[name].items():
        settings = settings | {
            "training.validation": kept,
            "training.validate_every": 10_000,
            "training.compile": False,
        }
        if device == "cpu":
            if variant not in ON_CPU:
                continue
            settings |= {
                "training.epochs": epochs,
                "training.batch_size": CPU_BATCH[name],
            }
        else:
            settings["training.minutes"] = seconds / 60
        weights = None if variant == "random weights" else name
        with tempfile.TemporaryDirectory() as out:
            done = train(
                get_preset(preset).with_settings(settings),
                (instances, plans),
                out=out,
                weights=weights,
                device=device,
            )
        spent = round(done.seconds, 2)
        yield measure(
            done.network, variant, seconds=spent, steps=done.steps, settings=settings
        )


def _lengths(plans, instances) -> list[float]:
    return [round(length, 5) for length in plans.lengths(instances).tolist()]


def _gap(row: dict, other: dict | None = None) -> Mean | None:
    """
    Return the mean gap of a row's plans to the labels, in per cent.

    With ``other``, return the mean difference from the gaps of the other row.
    """
    gaps = _gaps(row)
    if other is not None:
        gaps = gaps - _gaps(other)
    return Mean.of(gaps[np.isfinite(gaps)].tolist())


def _gaps(row: dict) -> np.ndarray:
    """Return each plan's gap to its label in per cent; NaN if it is not feasible."""
    gaps = 100 * (np.array(row["lengths"]) / np.array(row["label_lengths"]) - 1)
    return np.where(row["solved"], gaps, np.nan)


def make_page(path: Path) -> str:
    """Return the page of results for a file of rows."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    before = {
        (row["network"], row["distribution"]): row for row in rows if not row["steps"]
    }
    cells = [
        (
            row["network"],
            f"{row['distribution']}, N = {row['customers']}",
            row["variant"],
            f"{row['labels']:,}" if row["steps"] else "–",
            f"{row['steps']:,}",
            f"{len(row['lengths']):,}",
            show_mean(_gap(row), 2),
            show_mean(_gap(row, before[row["network"], row["distribution"]]), 2)
            if row["steps"]
            else "–",
        )
        for row in rows
    ]
    headings = (
        "network", "distribution", "weights", "labels", "steps", "held out", "gap %",
        "change",
    )  # fmt: skip
    machines = dict.fromkeys(row["machine"] for row in rows)
    return (
        "# Fine-tuning\n\n"
        "A shipped network, trained further on labels of another distribution. The gap "
        "is that of plans without a search (membership decoding, one view) to labels "
        "of ruin and recreate, over held-out instances, all of them planned within the "
        "fleet. The change is that of the gap against the shipped weights, in points, "
        "instance by instance. Both have 95 % intervals. Machines: "
        f"{', '.join(machines)}.\n\n"
        f"{markdown_table(headings, cells, headings[:3])}\n"
        '`finetune` and `finetune20` are the presets; "as from scratch" has the '
        "settings of the preset `universal`, which begins with random weights. "
        "`benchmarks/fine_tuning.py` measures the rows and writes this page: `python "
        "benchmarks/fine_tuning.py --rows results/fine-tuning.jsonl --page "
        "results/fine-tuning.md`.\n"
    )


if __name__ == "__main__":
    main()
