"""
Measure the bounds of VRPSolverEasy, for comparison, on exported instances.

Install VRPSolverEasy 0.1.3 into a separate environment; it is not a dependency. Its
upper bound is the length of the exported plan. The rows have the same fields as those
of benchmarks/lower_bounds.py.

    python benchmarks/lower_bounds.py --sizes 100 --count 3 --seed 5 --export 100.json
    python benchmarks/vrpsolver_bounds.py 100.json --seconds 60 --rows peer.jsonl
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import VRPSolverEasy as peer


def bound(task, seconds):
    """
    Return the gap of the lower bound in per cent, and whether it proves the plan.

    The gap is to the exported plan, or to the solver's own plan if that is shorter.
    """
    model = peer.Model()
    model.add_vehicle_type(
        1, 0, 0, capacity=task["capacity"], max_number=task["vehicles"], var_cost_dist=1
    )
    model.add_depot(0)
    for customer, demand in enumerate(task["demands"], 1):
        model.add_customer(customer, demand=demand)
    distances = task["distances"]
    for start in range(len(distances)):
        for end in range(start + 1, len(distances)):
            model.add_link(start, end, distance=distances[start][end])
    model.set_parameters(
        time_limit=seconds, upper_bound=task["length"] * (1 + 1e-6), solver_name="CLP"
    )
    model.solve()
    length = task["length"]
    if model.solution.is_defined():
        length = min(length, model.solution.value)
    gap = 100 * max(0.0, length / model.statistics.best_lb - 1)
    return round(gap, 4), gap < 1e-3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("tasks", type=Path)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rows", type=Path, required=True)
    arguments = parser.parse_args()
    for task in json.loads(arguments.tasks.read_text()):
        begin = time.process_time()
        gap, proven = bound(task, arguments.seconds)
        spent = time.process_time() - begin
        row = {
            "group": f"{task['group']}, VRPSolverEasy",
            "name": task["name"],
            "length": task["length"],
            "seconds": [arguments.seconds],
            "gaps": [gap],
            "proven": spent if proven else None,
        }
        print(json.dumps(row), flush=True)
        with arguments.rows.open("a") as file:
            file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
