"""VRPLIB instances (.vrp), through the package ``vrplib``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast, get_args

import numpy as np

from fixedfleet.distances import Rounding
from fixedfleet.errors import InputError
from fixedfleet.files.text import (
    Caller,
    check_storable,
    describe_rounding,
    shorten,
    to_number,
    written,
)
from fixedfleet.files.vrplib_scan import Scan, lay_out_matrix, scan
from fixedfleet.instance import Instance

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from fixedfleet.distances import Metric

__all__ = ["format_vrplib", "parse"]

# What EDGE_WEIGHT_TYPE means: the metric and the rounding that goes with it.
_TYPES: dict[str, tuple[Metric, Rounding]] = {
    "EUC_2D": ("euclidean", "round"),
    "CEIL_2D": ("euclidean", "ceil"),
    "FLOOR_2D": ("euclidean", "trunc"),
    "GEO": ("geo", "round"),
    "EXPLICIT": ("explicit", "none"),
}
_KIND = {"euclidean": "EUC_2D", "geo": "GEO", "explicit": "EXPLICIT"}
_KINDS = {("euclidean", "ceil"): "CEIL_2D", ("euclidean", "trunc"): "FLOOR_2D"}
_UNDERSTOOD = {
    "NAME", "COMMENT", "TYPE", "DIMENSION", "CAPACITY", "VEHICLES",
    "EDGE_WEIGHT_TYPE", "EDGE_WEIGHT_FORMAT", "NODE_COORD_TYPE", "DISPLAY_DATA_TYPE",
    "DISTANCE",
}  # fmt: skip
_NO_LIMIT = 999_999  # what files without a limit on a tour's length write for it

_FLEET_IN_NAME = re.compile(r"-k(\d{1,9})(?!\d)", re.IGNORECASE | re.ASCII)
_FLEET_IN_COMMENT = re.compile(
    r"no\.? of (?:trucks|vehicles)\s*:\s*(\d{1,9})(?!\d)", re.IGNORECASE | re.ASCII
)
_ROUNDING_IN_COMMENT = re.compile(rf"\brounding: ({'|'.join(get_args(Rounding))})\b")


def parse(text: str, caller: Caller) -> tuple[Instance, list[str]]:
    """
    Read an instance and what is to be said about how it was read.

    Nodes are customers in the order of their numbers where these are 1 … n, else in
    the order of the file. Customers are named by their nodes' numbers unless the
    depot is node 1 of 1 … n: then customer i is node i + 1, as everywhere in VRPLIB.
    """
    found = scan(text)
    notes: list[str] = []
    _check_problem(found, notes)
    kind, metric, rounding = _distances(found, caller, notes)
    nodes = _nodes(found, kind)
    depot = _depot(found, caller, nodes)
    _check_demands(found, nodes, depot)

    values = _values(found, kind, nodes)
    order = [nodes.index(depot), *(i for i, node in enumerate(nodes) if node != depot)]
    standard = depot == 1 and nodes == list(range(1, len(nodes) + 1))
    points = values.get("node_coord")
    matrix = values.get("edge_weight")
    instance = Instance(
        depot=None if points is None else points[order[0]],
        customers=None if points is None else points[order[1:]],
        demands=values["demand"][order[1:]],
        capacity=_capacity(found, caller, notes),
        vehicles=_fleet(found, caller, notes),
        matrix=None if matrix is None else matrix[np.ix_(order, order)],
        names=None if standard else [str(nodes[i]) for i in order[1:]],
        depot_name="depot" if standard else str(depot),
        name=found.headers.get("NAME", ""),
        metric=metric,
        rounding=rounding,
    )
    return instance, notes


def _check_problem(found: Scan, notes: list[str]) -> None:
    problem = found.header("TYPE")
    if problem is not None and problem.upper() not in ("CVRP", "ACVRP", "VRP"):
        raise InputError(f"{found.place('TYPE')} is {shorten(problem)}, not CVRP")
    limit = found.number("DISTANCE")
    if limit is not None and 0 < limit < _NO_LIMIT:
        raise InputError(
            f"{found.place('DISTANCE')} limits tours to {limit:g}, and no plan here "
            "would heed it: only capacity and fleet bound a tour"
        )
    if limit is not None:
        notes.append(f"DISTANCE {limit:g} taken for no limit on the length of tours")
    ignored = sorted(found.headers.keys() - _UNDERSTOOD)
    if ignored:
        notes.append(f"headers ignored: {', '.join(ignored)}")


def _distances(
    found: Scan, caller: Caller, notes: list[str]
) -> tuple[str, Metric, Rounding]:
    """The edge-weight type, its metric, and the rounding settled on."""
    kind = found.header("EDGE_WEIGHT_TYPE")
    if kind is None:
        kind = "EXPLICIT" if "EDGE_WEIGHT" in found.sections else "EUC_2D"
        notes.append(f"no EDGE_WEIGHT_TYPE in the file, taken for {kind}")
    kind = kind.upper()
    if kind not in _TYPES:
        raise InputError(
            f"{found.place('EDGE_WEIGHT_TYPE')} is {shorten(kind)}, not one of "
            f"{', '.join(_TYPES)}"
        )
    metric, rounding = _TYPES[kind]
    why = "CVRPLIB's convention" if kind == "EUC_2D" else f"{kind} in the file"
    comment = _ROUNDING_IN_COMMENT.search(found.headers.get("COMMENT", ""))
    if caller.rounding is not None:
        rounding, why = caller.rounding, "given by the caller"
    elif comment is not None:
        rounding, why = cast("Rounding", comment[1]), "the file's comment"
    notes.append(describe_rounding(rounding, why))
    return kind, metric, rounding


def _nodes(found: Scan, kind: str) -> list[int]:
    """Numbers of the nodes: sorted where they are 1 … n, else as listed."""
    if "DEMAND" not in found.sections:
        raise InputError("no DEMAND_SECTION: every node needs its demand")
    listing = next(
        (name for name in ("NODE_COORD", "DISPLAY_DATA") if name in found.sections),
        "DEMAND",
    )
    if kind != "EXPLICIT" and listing != "NODE_COORD":
        raise InputError(f"no NODE_COORD_SECTION, which {kind} distances need")
    if (kind == "EXPLICIT") != ("EDGE_WEIGHT" in found.sections):
        raise InputError(
            f"EDGE_WEIGHT_TYPE is {kind}, and there is "
            f"{'no' if kind == 'EXPLICIT' else 'an'} EDGE_WEIGHT_SECTION: the type "
            "EXPLICIT and the section go together"
        )
    nodes = list(found.sections[listing].by_node())
    dimension = found.whole("DIMENSION")
    if dimension is not None and dimension != len(nodes):
        raise InputError(
            f"{found.place('DIMENSION')} is {dimension}, but {listing}_SECTION (line "
            f"{found.sections[listing].line}) lists {len(nodes)} nodes"
        )
    if len(nodes) < 2:
        raise InputError(
            f"{listing}_SECTION (line {found.sections[listing].line}) lists "
            f"{len(nodes)} nodes, not a depot and one customer at least"
        )
    return sorted(nodes) if set(nodes) == set(range(1, len(nodes) + 1)) else nodes


def _depot(found: Scan, caller: Caller, nodes: list[int]) -> int:
    if caller.depot is not None:
        place, depots = "the depot given by the caller", [str(caller.depot)]
    elif "DEPOT" not in found.sections:
        raise InputError("no DEPOT_SECTION: add one, or give depot= a node's number")
    else:
        section = found.sections["DEPOT"]
        place = f"DEPOT_SECTION (line {section.line})"
        depots = [value for row in section.rows for value in row.values]
        if "-1" in depots:
            depots = depots[: depots.index("-1")]
    if len(depots) != 1:
        raise InputError(f"{place} lists {len(depots)} depots, not one")
    depot = to_number(depots[0], place)
    if depot not in nodes:
        raise InputError(f"{place} is {depots[0]}, which is no node")
    return int(depot)


def _check_demands(found: Scan, nodes: list[int], depot: int) -> None:
    demands = found.sections["DEMAND"].by_node()
    known = set(nodes)
    for node, row in demands.items():
        if node not in known:
            raise InputError(f"line {row.line}: a demand for node {node}, unknown")
        demand = to_number(row.values[1], f"line {row.line}: demand of node {node}")
        if demand < 0:
            raise InputError(
                f"line {row.line}: demand of node {node} is {demand:g}, not at least 0"
            )
        if node == depot and demand:
            raise InputError(
                f"line {row.line}: node {node} is the depot and has demand "
                f"{demand:g}, not 0"
            )
    for node in nodes:
        if node not in demands and node != depot:
            raise InputError(
                f"DEMAND_SECTION (line {found.sections['DEMAND'].line}): node {node} "
                "has no demand"
            )


def _values(found: Scan, kind: str, nodes: list[int]) -> dict[str, NDArray[np.float64]]:
    """Coordinates, demands and distances by ``vrplib``, in the order of ``nodes``."""
    lines = ["EDGE_WEIGHT_TYPE : EXPLICIT", "EDGE_WEIGHT_FORMAT : FULL_MATRIX"]
    listing = "NODE_COORD" if "NODE_COORD" in found.sections else "DISPLAY_DATA"
    if listing in found.sections:
        lines.append("NODE_COORD_SECTION")
        rows = found.sections[listing].by_node()
        for number, node in enumerate(nodes, 1):
            for value, axis in zip(rows[node].values[1:], "xy", strict=True):
                to_number(value, f"line {rows[node].line}: {axis} of node {node}")
            lines.append(f"{number} {' '.join(rows[node].values[1:])}")
    lines.append("DEMAND_SECTION")
    demands = found.sections["DEMAND"].by_node()
    for number, node in enumerate(nodes, 1):
        # Only the depot may be missing here.
        value = demands[node].values[1] if node in demands else "0"
        lines.append(f"{number} {value}")
    if kind == "EXPLICIT":
        layout = (found.header("EDGE_WEIGHT_FORMAT") or "FULL_MATRIX").upper()
        # vrplib knows two of the nine layouts, so it is given the plainest always.
        matrix = lay_out_matrix(found.sections["EDGE_WEIGHT"], layout, len(nodes))
        lines.append("EDGE_WEIGHT_SECTION")
        lines.extend(" ".join(row) for row in matrix)
    from vrplib.parse import parse_vrplib

    values: dict[str, Any] = parse_vrplib("\n".join(lines), compute_edge_weights=False)
    return {
        name: np.asarray(values[name], dtype=np.float64)
        for name in ("node_coord", "demand", "edge_weight")
        if name in values
    }


def _capacity(found: Scan, caller: Caller, notes: list[str]) -> float:
    capacity = found.number("CAPACITY")
    if capacity is not None and capacity <= 0 and caller.capacity is None:
        raise InputError(f"{found.place('CAPACITY')} is {capacity:g}, not above 0")
    return caller.load(capacity, "add the header CAPACITY", notes)


def _fleet(found: Scan, caller: Caller, notes: list[str]) -> int:
    name, comment = found.headers.get("NAME", ""), found.headers.get("COMMENT", "")
    vehicles, source = found.whole("VEHICLES"), "VEHICLES"
    if vehicles is not None:
        source = f"VEHICLES (line {found.header_lines['VEHICLES']})"
    elif match := _FLEET_IN_NAME.search(name):
        vehicles, source = int(match[1]), f"the name {name}"
    elif match := _FLEET_IN_COMMENT.search(comment):
        vehicles, source = int(match[1]), f"the comment {match[0]!r}"
    return caller.fleet(vehicles, source, "add the header VEHICLES", notes)


def format_vrplib(instance: Instance) -> str:
    """
    Write an instance as VRPLIB does.

    Raises
    ------
    InputError
        Where the instance has what VRPLIB cannot hold: names other than numbers of
        nodes, great-circle distances.
    """
    if instance.metric == "great_circle":
        raise InputError("VRPLIB has no great-circle distances: write .csv or .json")
    kind = _KINDS.get((instance.metric, instance.rounding), _KIND[instance.metric])
    _check_name(instance.name)
    lines = [f"NAME : {instance.name}"]
    if _TYPES[kind][1] != instance.rounding:
        lines.append(f"COMMENT : rounding: {instance.rounding}")
    lines += [
        "TYPE : CVRP",
        f"DIMENSION : {instance.num_customers + 1}",
        f"VEHICLES : {instance.vehicles}",
        f"EDGE_WEIGHT_TYPE : {kind}",
        *(["EDGE_WEIGHT_FORMAT : FULL_MATRIX"] if kind == "EXPLICIT" else []),
        f"CAPACITY : {written(instance.capacity)}",
        *_sections(instance, _node_numbers(instance)),
        "EOF",
    ]
    return "\n".join(lines) + "\n"


def _sections(instance: Instance, nodes: list[int]) -> Iterable[str]:
    if instance.has_coordinates:
        yield "NODE_COORD_SECTION"
        for node, (x, y) in zip(nodes, instance.coordinates, strict=True):
            yield f"{node} {written(x)} {written(y)}"
    if instance.matrix is not None:
        yield "EDGE_WEIGHT_SECTION"
        for row in instance.matrix:
            yield " ".join(map(written, row))
    yield "DEMAND_SECTION"
    for node, demand in zip(nodes, (0, *instance.demands), strict=True):
        yield f"{node} {written(demand)}"
    yield "DEPOT_SECTION"
    yield f"{nodes[0]}"
    yield "-1"


def _check_name(name: str) -> None:
    check_storable("the name", name)
    if name != name.strip() or "\n" in name or "\r" in name:
        raise InputError(
            f"VRPLIB cannot hold the name {shorten(name)}, with blanks at an end or a "
            "line break: write .json"
        )


def _node_numbers(instance: Instance) -> list[int]:
    """Numbers of the nodes, depot first, that read back as the instance's names."""
    count = instance.num_customers + 1
    if instance.names is None and instance.depot_name == "depot":
        return list(range(1, count + 1))
    labels = [instance.depot_name, *(instance.names or ())]
    for label in labels:
        if not re.fullmatch(r"0|[1-9]\d{0,17}", label, re.ASCII):
            raise InputError(
                f"VRPLIB cannot hold the name {shorten(label)}, only numbers of nodes: "
                "write .csv or .json"
            )
    nodes = [int(label) for label in labels]
    in_order = nodes[1:] == sorted(nodes[1:]) and nodes[0] != 1
    plain = set(nodes) == set(range(1, count + 1))
    if len(set(nodes)) != count or (plain and not in_order):
        raise InputError(
            "VRPLIB cannot hold these names: as numbers of nodes they repeat or change "
            "the customers' order; write .csv or .json"
        )
    return nodes
