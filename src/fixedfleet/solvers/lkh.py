"""LKH-3, Helsgaun's Lin-Kernighan heuristic, if its program is on the PATH."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fixedfleet.errors import MissingPackageError
from fixedfleet.plan import Plan
from fixedfleet.search.method import LEAST_SECONDS
from fixedfleet.search.whole_numbers import enough, whole_amounts, whole_distances
from fixedfleet.solvers.command import run_program

if TYPE_CHECKING:
    from fixedfleet.instance import Instance
    from fixedfleet.search.method import Stop

__all__ = ["Lkh"]

_PROGRAMS = ("LKH", "LKH-3", "lkh")
# LKH multiplies distances by 100 and adds up demands in 32 bits.
_LONGEST = 2**22
_LARGEST_SUM = 2**30
# Seed 0 would mean the time of day.
_SEEDS = 2**31 - 2


class Lkh:
    """
    The solver ``lkh``.

    Parameters
    ----------
    program
        Path of the program. Default: ``LKH`` on the PATH.
    """

    name: str = "lkh"
    takes_seed: bool = True
    takes_start: bool = True
    counts_iterations: bool = False
    limits: str = (
        "the program is not distributed here; it looks at the clock between trials "
        "only; with an asymmetric matrix it sends out every vehicle; distances that "
        "are not whole, or above 2^22, are rounded to 2^-22 of the longest; amounts "
        "finer than 2^-30 of the sum of demands are rounded up"
    )

    def __init__(self, program: str | None = None) -> None:
        names = _PROGRAMS if program is None else (program,)
        found = next((path for path in map(shutil.which, names) if path), None)
        if found is None:
            raise MissingPackageError(
                f"the solver 'lkh' needs the program {names[0]!r} on the PATH: build "
                "LKH-3 from http://webhotel4.ruc.dk/~keld/research/LKH-3/"
            )
        # It runs in a folder of its own, so the path must not be relative.
        self.program = str(Path(found).absolute())

    def solve(
        self,
        instance: Instance,
        *,
        stop: Stop,
        seed: int = 0,
        start: Plan | None = None,
    ) -> Plan | None:
        """Return the best plan found, an overloaded one if none was feasible."""
        n = instance.num_customers
        vehicles = min(instance.vehicles, n)
        demands, capacity = whole_amounts(instance, largest=_LARGEST_SUM)
        if not enough(demands, capacity, vehicles):
            return None
        if n == 1:  # LKH needs two customers
            return Plan([[1]])
        with tempfile.TemporaryDirectory(prefix="fixedfleet-lkh-") as name:
            folder = Path(name)
            (folder / "problem").write_text(_problem(instance, vehicles))
            seconds = max(stop.left(), LEAST_SECONDS)
            parameters = _parameters(seconds, seed)
            if start is not None:
                (folder / "start").write_text(_tour(start, vehicles, n))
                parameters += "INITIAL_TOUR_FILE = start\n"
            (folder / "parameters").write_text(parameters)
            run_program([self.program, "parameters"], folder, seconds)
            found = folder / "found"
            return _plan(found.read_text(), n) if found.exists() else None


def _parameters(seconds: float, seed: int) -> str:
    return (
        "PROBLEM_FILE = problem\n"
        "OUTPUT_TOUR_FILE = found\n"
        "RUNS = 1\n"
        "MAX_TRIALS = 1000000000\n"  # the clock decides
        f"TIME_LIMIT = {seconds:.6f}\n"
        f"SEED = {1 + seed % _SEEDS}\n"
        "MTSP_MIN_SIZE = 0\n"  # a vehicle may stay at the depot
        "TRACE_LEVEL = 0\n"
    )


def _problem(instance: Instance, vehicles: int) -> str:
    distances = whole_distances(instance, largest=_LONGEST)
    demands, capacity = whole_amounts(instance, largest=_LARGEST_SUM)
    symmetric = np.array_equal(distances, distances.T)
    return _lines(
        "NAME : instance",
        f"TYPE : {'CVRP' if symmetric else 'ACVRP'}",
        f"DIMENSION : {len(demands)}",
        f"VEHICLES : {vehicles}",
        f"CAPACITY : {capacity}",
        "EDGE_WEIGHT_TYPE : EXPLICIT",
        "EDGE_WEIGHT_FORMAT : FULL_MATRIX",
        "EDGE_WEIGHT_SECTION",
        *(" ".join(map(str, row)) for row in distances.tolist()),
        "DEMAND_SECTION",
        *(f"{node} {demand}" for node, demand in enumerate(demands.tolist(), 1)),
        "DEPOT_SECTION",
        "1",
        "-1",
        "EOF",
    )


def _tour(plan: Plan, vehicles: int, n: int) -> str:
    """
    Write a plan as the one tour that LKH makes of it.

    Node 1 is the depot, 2 … n + 1 are the customers, and each further vehicle has a
    copy of the depot, numbered from n + 2; unused vehicles follow at the end.
    """
    depots = [1, *range(n + 2, n + 1 + vehicles)]
    tours = [*plan.tours, *[()] * (vehicles - len(plan))]
    nodes = [
        node
        for depot, tour in zip(depots, tours, strict=True)
        for node in (depot, *(customer + 1 for customer in tour))
    ]
    return _lines(
        "TYPE : TOUR",
        f"DIMENSION : {len(nodes)}",
        "TOUR_SECTION",
        *map(str, nodes),
        "-1",
        "EOF",
    )


def _plan(text: str, n: int) -> Plan | None:
    """Read a tour as :func:`_tour` writes it; it may begin at any node."""
    section = text.partition("TOUR_SECTION")[2].split()
    if "-1" not in section:  # stopped while it wrote
        return None
    nodes = [int(node) for node in section[: section.index("-1")]]
    depot = next(at for at, node in enumerate(nodes) if node == 1 or node > n + 1)
    tours: list[list[int]] = []
    for node in nodes[depot:] + nodes[:depot]:
        if node == 1 or node > n + 1:
            tours.append([])
        else:
            tours[-1].append(node - 1)
    return Plan(tours)


def _lines(*lines: str) -> str:
    return "".join(f"{line}\n" for line in lines)
