"""Exact packing by OR-Tools CP-SAT; the one file of this room that imports it."""

from __future__ import annotations

import time
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fixedfleet.fleet.heuristics import Packing

__all__ = ["load", "pack_exactly"]

Answer = Literal["impossible", "undecided"]

# A larger model is not solved within seconds, nor even built within the limit.
_MOST_VARIABLES = 40_000

# CP-SAT wants sums of products within an int64; this leaves it room.
_MOST_BITS = 60


def load() -> Any:
    """Import CP-SAT, which takes part of a second the first time."""
    from ortools.sat.python import cp_model

    return cp_model


def pack_exactly(
    sizes: Sequence[int], capacity: int, vehicles: int, seconds: float
) -> Packing | Answer:
    """
    Pack the demands into so many vehicles, or rule every packing out.

    Parameters
    ----------
    sizes
        Demands from 1 to the capacity.
    capacity
        What one vehicle carries.
    vehicles
        The number of vehicles there are, at least 1.
    seconds
        Wall time after which the answer is ``"undecided"``.
    """
    end = time.perf_counter() + seconds
    counts = dict(sorted(Counter(sizes).items(), reverse=True))
    if arcs := _arcs(counts, capacity):
        return _ArcFlow(counts, arcs, vehicles).solve(end)
    if len(counts) * vehicles <= _MOST_VARIABLES:
        return _Counts(counts, capacity, vehicles).solve(end)
    return "undecided"


def _arcs(counts: dict[int, int], capacity: int) -> list[tuple[int, int]] | None:
    """
    Every step (load before, load after) of loading a vehicle, largest demands first.

    A node is a load that can come about; a vehicle is a path from 0. None where there
    are too many of them.
    """
    loads = {0}
    arcs: list[tuple[int, int]] = []
    for size, count in counts.items():
        reached = set()
        for start in loads:
            load = start
            for _ in range(count):
                if load + size > capacity:
                    break
                arcs.append((load, load + size))
                load += size
                if load in loads:  # that start goes on from here with all of count
                    break
                reached.add(load)
            if len(arcs) > _MOST_VARIABLES:
                return None
        loads |= reached
    return sorted(arcs)


def _solve(model: Any, end: float) -> tuple[Any, Answer | None]:
    """Run CP-SAT: the solver with its values, and None where there is a packing."""
    cp = load()
    seconds = end - time.perf_counter()
    if seconds <= 0:
        return None, "undecided"
    solver = cp.CpSolver()
    solver.parameters.num_workers = 1  # with more, the packing found is up to chance
    solver.parameters.random_seed = 0
    solver.parameters.max_time_in_seconds = seconds
    status = solver.solve(model)
    if status in (cp.OPTIMAL, cp.FEASIBLE):
        return solver, None
    if status == cp.INFEASIBLE:
        return solver, "impossible"
    if status == cp.MODEL_INVALID:
        raise RuntimeError(f"CP-SAT refuses the packing model: {model.validate()}")
    return solver, "undecided"


class _ArcFlow:
    """
    Vehicles as paths through the loads that can come about (Valério de Carvalho).

    Equal demands and equal vehicles are one and the same here, so nothing is searched
    twice, and the relaxation is far tighter than with a variable a demand and vehicle.
    Waste is an arc to the next load, down to the last one.
    """

    def __init__(
        self, counts: dict[int, int], arcs: list[tuple[int, int]], vehicles: int
    ) -> None:
        cp = load()
        self.model = cp.CpModel()
        nodes = sorted({0} | {head for _, head in arcs})
        # From 0 no waste: a vehicle that stays at the depot has no path.
        waste = pairwise(nodes[1:])
        self.flows: dict[tuple[int, int, bool], Any] = {}
        into: dict[int, list[Any]] = {node: [] for node in nodes}
        out: dict[int, list[Any]] = {node: [] for node in nodes}
        by_size: dict[int, list[Any]] = {size: [] for size in counts}
        for tail, head in arcs:
            most = min(counts[head - tail], vehicles)
            flow = self.model.new_int_var(0, most, "")
            self.flows[tail, head, True] = flow
            by_size[head - tail].append(flow)
        for tail, head in waste:
            self.flows[tail, head, False] = self.model.new_int_var(0, vehicles, "")
        for (tail, head, _), flow in self.flows.items():
            out[tail].append(flow)
            into[head].append(flow)
        for size, flows in by_size.items():
            self.model.add(sum(flows) == counts[size])
        self.model.add(sum(out[0]) <= vehicles)
        for node in nodes[1:-1]:
            self.model.add(sum(into[node]) == sum(out[node]))

    def solve(self, end: float) -> Packing | Answer:
        solver, answer = _solve(self.model, end)
        if answer:
            return answer
        onward: dict[int, list[tuple[int, bool]]] = {}
        for (tail, head, loaded), flow in self.flows.items():
            steps = [(head, loaded)] * solver.value(flow)
            onward.setdefault(tail, []).extend(steps)
        packing = []
        while onward[0]:
            vehicle, node = [], 0
            while onward.get(node):
                head, loaded = onward[node].pop()
                if loaded:
                    vehicle.append(head - node)
                node = head
            packing.append(vehicle)
        return packing


class _Counts:
    """
    How many demands of each size each vehicle carries.

    For amounts so fine that hardly two sums of demands are equal. Where the numbers
    are too large for an int64 they are rounded down: a relaxation, in which
    "impossible" still holds and a packing is checked before it is believed.
    """

    def __init__(self, counts: dict[int, int], capacity: int, vehicles: int) -> None:
        cp = load()
        self.capacity = capacity
        self.model = cp.CpModel()
        shift = max(0, (capacity * len(counts)).bit_length() - _MOST_BITS)
        self.carried = {
            size: [
                self.model.new_int_var(0, min(count, capacity // size), "")
                for _ in range(vehicles)
            ]
            for size, count in counts.items()
        }
        for size, row in self.carried.items():
            self.model.add(sum(row) == counts[size])
        weights = [size >> shift for size in self.carried]
        for column in zip(*self.carried.values(), strict=True):
            load_of = cp.LinearExpr.weighted_sum(column, weights)
            self.model.add(load_of <= capacity >> shift)
        largest = next(iter(self.carried.values()))
        for left, right in pairwise(largest):
            self.model.add(left >= right)  # vehicles are alike: order them

    def solve(self, end: float) -> Packing | Answer:
        solver, answer = _solve(self.model, end)
        if answer:
            return answer
        vehicles = len(next(iter(self.carried.values())))
        packing: Packing = [[] for _ in range(vehicles)]
        for size, row in self.carried.items():
            for vehicle, count in zip(packing, row, strict=True):
                vehicle.extend([size] * solver.value(count))
        if any(sum(vehicle) > self.capacity for vehicle in packing):
            return "undecided"
        return [vehicle for vehicle in packing if vehicle]
