"""
Exact packing of demands into vehicles by OR-Tools CP-SAT.

No other module in this folder imports OR-Tools.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fixedfleet.deadline import Deadline
    from fixedfleet.fleet.packing import Packing

__all__ = ["load", "pack_exactly", "pack_mixed"]

NoPacking = Literal["impossible", "undecided"]

# A model with more arcs takes longer to build than most time limits.
_MOST_ARCS = 40_000
_LONGEST_LIMIT = 1_000_000  # seconds
_ARC_SECONDS = 1e-5  # time per arc to build the model
_POLL_SECONDS = 0.01  # after which the deadline is looked at again


def load() -> Any:
    """
    Import and return CP-SAT's module, which takes part of a second the first time.
    """
    from ortools.sat.python import cp_model

    return cp_model


def pack_exactly(
    sizes: Sequence[int], capacity: int, vehicles: int, deadline: Deadline
) -> Packing | NoPacking:
    """
    Pack demands into a fleet of equal vehicles, or prove that this is impossible.

    Each demand must be from 1 to the capacity. CP-SAT solves the arc-flow model
    (Valério de Carvalho): a vehicle is a path from load to load. The model does not
    distinguish equal demands or equal vehicles, so the solver does not search through
    packings that differ only in numbering. The linear relaxation of this model is far
    tighter than that of a model with one variable per demand and vehicle.

    Return the list of demands of each vehicle that is used. Return ``"impossible"`` if
    there is no packing. Return ``"undecided"`` if the deadline is over first, or if so
    many different loads are possible that the model would be too large.
    """
    answer = pack_mixed(sizes, {capacity: vehicles}, deadline)
    return answer if isinstance(answer, str) else [sizes for _, sizes in answer]


def pack_mixed(
    sizes: Sequence[int], fleet: dict[int, int], deadline: Deadline
) -> list[tuple[int, list[int]]] | NoPacking:
    """
    Pack demands into vehicles of several capacities, or prove that it is impossible.

    Return (capacity, demands) for each vehicle that is used. Return ``"impossible"`` or
    ``"undecided"`` in the same cases as :func:`pack_exactly`.

    The model is the arc-flow model of :func:`pack_exactly`, with one addition: each
    capacity Q has a sink. The path of a vehicle of capacity Q ends with an arc to this
    sink, which begins at the largest possible load that is at most Q.

    Parameters
    ----------
    sizes
        The demands, each from 1 to the largest capacity.
    fleet
        The number of vehicles of each capacity.
    deadline
        When to give up.
    """
    counts = dict(sorted(Counter(sizes).items(), reverse=True))
    arcs = _arcs(counts, max(fleet))
    if arcs is None or deadline.left() <= _ARC_SECONDS * len(arcs):
        return "undecided"
    model, flows = _flow_model(counts, arcs, fleet)
    seconds = deadline.left()
    if seconds <= 0:
        return "undecided"
    cp = load()
    solver = cp.CpSolver()
    solver.parameters.num_workers = 1  # with more, the packing would be random
    solver.parameters.random_seed = 0
    solver.parameters.max_time_in_seconds = min(seconds, _LONGEST_LIMIT)
    solver.parameters.catch_sigint_signal = False  # Python would lose its own handler
    status = _solve(solver, model, deadline)
    if status in (cp.OPTIMAL, cp.FEASIBLE):
        used = {arc: solver.value(flow) for arc, flow in flows.items()}
        return _paths(used, max(fleet))
    if status == cp.MODEL_INVALID:
        raise RuntimeError(f"CP-SAT refuses the packing model: {model.validate()}")
    return "impossible" if status == cp.INFEASIBLE else "undecided"


def _solve(solver: Any, model: Any, deadline: Deadline) -> Any:
    """Solve the model and return CP-SAT's status, but end early if a user stops it."""
    with ThreadPoolExecutor(1) as thread:
        status = thread.submit(solver.solve, model)
        try:
            while not (wait([status], _POLL_SECONDS).done or deadline.over()):
                pass
        finally:  # also after Ctrl-C
            while not status.done():
                solver.stop_search()
                wait([status], _POLL_SECONDS)
        return status.result()


def _arcs(counts: dict[int, int], capacity: int) -> list[tuple[int, int]] | None:
    """
    Return the arcs (load before, load after) of the arc-flow model.

    ``counts`` has the number of demands of each size, the largest size first. A node of
    the model is a possible load. An arc loads one demand into a vehicle, and a vehicle
    is a path of arcs from load 0. Return None if there are too many arcs.
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
                if load in loads:  # the arcs from it are added from its own start
                    break
                reached.add(load)
            if len(arcs) > _MOST_ARCS:
                return None
        loads |= reached
    return sorted(arcs)


def _flow_model(
    counts: dict[int, int], arcs: list[tuple[int, int]], fleet: dict[int, int]
) -> tuple[Any, dict[tuple[int, int, bool], Any]]:
    """
    Return the arc-flow model, and the flow variable of each arc (tail, head, loaded).

    ``counts`` has the number of demands of each size, ``arcs`` is what :func:`_arcs`
    returns, and ``fleet`` has the number of vehicles of each capacity. An arc with
    ``loaded`` False stands for unused capacity: it leads to the next larger load
    without loading a demand. If there are several capacities, the path of a vehicle of
    capacity Q ends with an arc from the largest load of at most Q to a sink, whose
    number is −Q.
    """
    model = load().CpModel()
    vehicles = sum(fleet.values())
    nodes = sorted({0} | {head for _, head in arcs})
    flows = {
        (tail, head, True): model.new_int_var(0, min(counts[head - tail], vehicles), "")
        for tail, head in arcs
    }
    # An unused vehicle has no path, so no arc for unused capacity starts at load 0.
    for tail, head in pairwise(nodes[1:]):
        flows[tail, head, False] = model.new_int_var(0, vehicles, "")
    for capacity, number in fleet.items() if len(fleet) > 1 else ():
        last = nodes[bisect_right(nodes, capacity) - 1]
        if last > 0:
            flows[last, -capacity, False] = model.new_int_var(0, number, "")
    into: dict[int, list[Any]] = {node: [] for node in nodes}
    out: dict[int, list[Any]] = {node: [] for node in nodes}
    by_size: dict[int, list[Any]] = {size: [] for size in counts}
    for (tail, head, loaded), flow in flows.items():
        out[tail].append(flow)
        if head >= 0:
            into[head].append(flow)
        if loaded:
            by_size[head - tail].append(flow)
    for size, of_size in by_size.items():
        model.add(sum(of_size) == counts[size])
    model.add(sum(out[0]) <= vehicles)
    for node in nodes[1:] if len(fleet) > 1 else nodes[1:-1]:
        model.add(sum(into[node]) == sum(out[node]))
    return model, flows


def _paths(
    flows: dict[tuple[int, int, bool], int], largest: int
) -> list[tuple[int, list[int]]]:
    """
    Split flows into paths; return (capacity, demands) of each vehicle.

    ``flows`` has the number of vehicles on each arc of :func:`_flow_model`. ``largest``
    is the capacity of vehicles whose path does not end at a sink.
    """
    onward: dict[int, list[tuple[int, bool]]] = {}
    for (tail, head, loaded), flow in flows.items():
        onward.setdefault(tail, []).extend([(head, loaded)] * flow)
    packing = []
    while onward[0]:
        vehicle, node = [], 0
        while onward.get(node):
            head, loaded = onward[node].pop()
            if loaded:
                vehicle.append(head - node)
            node = head
        packing.append((-node if node < 0 else largest, vehicle))
    return packing
