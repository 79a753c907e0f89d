"""
Raw quality of a network: plans decoded and repaired, but not searched, as a table.

    python benchmarks/raw_quality.py vrp20 20 [--device cuda] [--precision bf16]

The instances are the first 1,000 of the rejection-sampled test set of that size: for
reporting, never for choosing between networks.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, get_args

import numpy as np
import torch

from fixedfleet.generate import test_set
from fixedfleet.model import Network, load_model
from fixedfleet.training.presets import Precision
from fixedfleet.training.validation import decode_raw

if TYPE_CHECKING:
    from fixedfleet.instance import InstanceBatch

METHODS = ("greedy", "membership")
SYMMETRIES = (1, 8)


def rows(network: Network, instances: InstanceBatch, precision: Precision) -> list[str]:
    """Return a line of the table for each way to decode."""
    lines = []
    for method in METHODS:
        for symmetries in SYMMETRIES:
            plans = decode_raw(
                network,
                instances,
                method=method,
                precision=precision,
                symmetries=symmetries,
            )
            solved = np.isfinite(plans.length)
            if solved.any():
                length = f"{plans.length[solved].mean():.4f}"
                vehicles = f"{plans.vehicles[solved].mean():.3f}"
            else:
                length = vehicles = "–"
            lines.append(
                f"| {method} | {symmetries} | {length} | {vehicles} | "
                f"{solved.mean():.1%} |"
            )
    return lines


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", help="name of a shipped network, or a file")
    parser.add_argument("n", type=int, choices=(20, 50, 100), help="customers")
    parser.add_argument("--count", type=int, default=1000, help="instances")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", default="fp32", choices=get_args(Precision))
    options = parser.parse_args()
    if options.precision == "tf32":
        torch.set_float32_matmul_precision("high")
    instances = test_set(options.n).take(slice(options.count))
    network = load_model(options.model, options.device)
    print("| decoding | symmetries | length | vehicles | solved |")
    print("| --- | ---: | ---: | ---: | ---: |")
    print("\n".join(rows(network, instances, options.precision)))


if __name__ == "__main__":
    main()
