"""
``python -m experiments.violation DEVICE MODEL…``: loads above the capacity (Table 4).

Prints one line of JSON per network: the load of its pseudo-greedy plans above the
capacity on the VRP20 test set, mean over the vehicles, as a share of the capacity.
Pages show the lines of ``trainings/violation.jsonl`` in the folder of ``--work``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from fixedfleet.evaluate import get_set
from fixedfleet.instance import InstanceBatch
from fixedfleet.model import load_once
from fixedfleet.planning import predict
from fixedfleet.planning.greedy import capacity_violation

_SET, _BATCH = "vrp20", 500


def violation(batch: InstanceBatch, model: Path, device: str) -> float:
    """Return the mean violation of a network on some instances."""
    total = 0.0
    for begin in range(0, len(batch), _BATCH):
        part = batch[begin : begin + _BATCH]
        prediction = predict(part, load_once(model, device), precision="fp32")
        total += float(capacity_violation(prediction).sum())
    return total / len(batch)


def main(device: str, *models: str) -> None:
    """Print the violation of each network, named as its training's folder."""
    batch = InstanceBatch.of(get_set(_SET, 10_000).instances)
    for path in map(Path, models):
        found = violation(batch, path, device)
        line = {"network": path.parent.name, "instances": len(batch)}
        print(json.dumps(line | {"violation": round(found, 5)}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
