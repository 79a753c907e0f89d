"""The parts of planning many instances by a network, as shares of the whole.

    python benchmarks/network_decoding.py --device cuda --customers 100 --count 10000

Also plans one instance on one core. Prints seconds and, since machines differ, the
share of each part.
"""

from __future__ import annotations

import argparse
import time

import torch

from fixedfleet import generate
from fixedfleet.model import DEFAULT_MODEL, collate, load_once
from fixedfleet.planning import membership, plan_by_network, predict, tours


def timed(function, device):
    """Seconds of the second of two runs, and its result."""
    for _ in range(2):
        begin = time.perf_counter()
        result = function()
        if device == "cuda":
            torch.cuda.synchronize()
    return time.perf_counter() - begin, result


def print_parts(title, parts):
    """Print seconds and shares of the parts of a whole."""
    total = sum(parts.values())
    print(f"\n{title}: {total:.4f} s")
    print("| part | seconds | share |\n| --- | ---: | ---: |")
    for name, seconds in parts.items():
        print(f"| {name} | {seconds:.4f} | {seconds / total:.0%} |")


def whole(batch, device):
    """Seconds of the parts from coordinates to checked plans."""
    begin = time.perf_counter()
    found = plan_by_network(batch, device=device)
    planned = time.perf_counter()
    if not (served := found.plans.feasible(batch)).all():
        print(f"{(~served).sum()} plans leave customers out")
    print(f"mean length {found.plans.lengths(batch)[served].mean():.4f}")
    checked = time.perf_counter()
    parts = dict(found.seconds)
    parts["rest"] = planned - begin - sum(parts.values())
    return parts | {"check and lengths": checked - planned}


def decoding(batch, device):
    """Seconds of the parts of decoding, for as many instances as are given."""
    network = load_once(DEFAULT_MODEL, device)
    parts = {}
    parts["features"], _ = timed(lambda: collate(batch, device), device)
    parts["prediction"], p = timed(lambda: predict(batch, network), device)
    parts["prediction"] -= parts["features"]
    parts["scores"], value = timed(lambda: membership.membership_scores(p), device)
    parts["assigning and ordering"], found = timed(
        lambda: membership.plan_members(p, value), device
    )
    parts["plans"], _ = timed(lambda: tours.make_plans(found), device)
    return parts


def main() -> None:
    """Time a batch, its portions, and one instance."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--customers", type=int, default=100)
    parser.add_argument("--count", type=int, default=10_000)
    options = parser.parse_args()
    n, count, device = options.customers, options.count, options.device
    batch = generate.uniform(n, count, seed=77)
    whole(batch[:1000], device)
    print_parts(f"{count} instances on {device}", whole(batch, device))
    print_parts("1000 of them", decoding(batch[:1000], device))
    torch.set_num_threads(1)
    print_parts("one instance on one core", decoding(batch[:1], "cpu"))


if __name__ == "__main__":
    main()
