"""
Which settings help: short trainings, one setting changed at a time, as a table.

    python benchmarks/ablations.py --labels vrp20….npz --out runs/ablations --minutes 2

Each row trains for the same minutes from the preset with the named settings, and is
judged on 1,000 instances of a fresh seed, decoded and repaired but not searched. Rows
that are done are kept; the table is written anew after each.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from fixedfleet.errors import InputError
from fixedfleet.files.atomic import write_text
from fixedfleet.generate import uniform
from fixedfleet.model import Network, load_model
from fixedfleet.training import NonFiniteLossError, get_preset, load_dataset, train
from fixedfleet.training.validation import decode_raw

FRESH_SEED = 4321

ROWS: dict[str, dict[str, Any]] = {
    "best": {},
    "numbering linear": {"model.numbering": "linear"},
    "numbering fourier": {"model.numbering": "fourier"},
    "matching sweep": {"loss.matching": "sweep"},
    "no cluster term": {"loss.cluster_weight": 0.0},
    "cluster term 2": {"loss.cluster_weight": 2.0},
    "no membership score": {"model.membership": False},
    "no edge score": {"model.edge_heads": 0},
    "no edge features": {"model.edge_features": False},
    "no polar features": {"model.polar": False},
    "row softmax": {
        "model.normalisation": "row",
        "loss.loads": "none",
        "loss.cluster_weight": 0.0,
    },
    "vehicle softmax": {
        "model.normalisation": "vehicle",
        "loss.loads": "none",
        "loss.cluster_weight": 0.0,
    },
    "softassign": {"model.normalisation": "softassign"},
    "no load terms": {"loss.loads": "none"},
    "hard loads": {"loss.loads": "hard"},
    "max pooling": {"model.pooling": "max", "training.learning_rate": 2e-4},
    "no augmentation": {"training.augment": False},
    "no average": {"training.ema": 0.0},
    "depot share 0.2": {"loss.depot_share": 0.2},
    "batch 512": {"training.batch_size": 512},
    "rate 4e-4": {"training.learning_rate": 4e-4},
    "rate 1.6e-3": {"training.learning_rate": 1.6e-3},
    "12 layers": {"model.layers": 12},
    "width 128, 12 layers": {
        "model.width": 128,
        "model.hidden": 512,
        "model.layers": 12,
    },
    "16 heads": {"model.heads": 16},
}


def judge(network: Network, n: int, count: int = 1000) -> dict[str, float]:
    """Mean length and share solved of raw plans, by decoding."""
    instances = uniform(n, count, seed=FRESH_SEED)  # the test set is for reporting
    found: dict[str, float] = {}
    for method in ("greedy", "membership"):
        for symmetries in (1, 8):
            plans = decode_raw(network, instances, method=method, symmetries=symmetries)
            solved = np.isfinite(plans.length)
            name = f"{method} ×{symmetries}"
            mean = plans.length[solved].mean() if solved.any() else math.inf
            found[name] = float(mean)
            found[f"{name} solved"] = float(solved.mean())
            if symmetries == 1:
                found["violation"] = float(plans.violation.mean())
    return found


def table(results: dict[str, dict[str, Any]]) -> str:
    """Render the results as Markdown, best first."""
    columns = [f"{m} ×{s}" for m in ("greedy", "membership") for s in (1, 8)]
    lines = [
        "| setting | " + " | ".join(columns) + " | epochs | instances/s |",
        "| --- |" + " ---: |" * (len(columns) + 2),
    ]
    key = "membership ×1"
    ranked = sorted(results.items(), key=lambda item: item[1].get(key, math.inf))
    for name, row in ranked:
        if "error" in row:
            lines.append(f"| {name} | {row['error']} |" + " |" * (len(columns) + 1))
            continue
        cells = [f"{row[c]:.3f}, {row[f'{c} solved']:.1%}" for c in columns]
        cells += [f"{row['epochs']:.1f}", f"{row['rate']:,.0f}"]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run the rows that are not done yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--labels", type=Path, nargs="+", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--preset", default="best20")
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--rows", nargs="+", default=list(ROWS), choices=list(ROWS))
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    store = options.out / "results.json"
    results = json.loads(store.read_text()) if store.exists() else {}
    data = load_dataset(list(options.labels), options.device)
    for name in options.rows:
        if name in results:
            continue
        results[name] = _row(name, options, data)
        write_text(store, json.dumps(results, indent=1))
        write_text(options.out / "table.md", table(results))
        print(name, json.dumps(results[name]), flush=True)


def _row(name: str, options: argparse.Namespace, data: Any) -> dict[str, Any]:
    preset = get_preset(options.preset)
    folder = options.out / name.replace(" ", "_")
    try:
        done = train(
            preset,
            data,
            out=folder,
            minutes=options.minutes,
            settings={"training.validate_every": 10**6, **ROWS[name]},
            resume=(folder / "checkpoint.safetensors").exists(),
        )
    except (InputError, NonFiniteLossError) as error:
        return {"error": str(error)}
    # In the file's half precision, as it would be used.
    network = load_model(folder / "model.safetensors", options.device)
    size = preset.with_settings(ROWS[name]).training.batch_size
    per_epoch = len(data) // size * size
    return judge(network, preset.customers) | {
        "epochs": done.steps * size / per_epoch,
        "rate": done.steps * size / done.seconds,
        "seconds": done.seconds,
    }


if __name__ == "__main__":
    main()
