"""Read and write VRPLIB instances (.vrp), with PyVRP's sections on fleet and times."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from fixedfleet.distances import Rounding
from fixedfleet.errors import InputError
from fixedfleet.files.reading import build_reading
from fixedfleet.files.text import (
    check_storable,
    decode,
    format_number,
    shorten,
    split_lines,
    to_number,
    to_whole,
)
from fixedfleet.instance import VehicleType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from fixedfleet.distances import Metric
    from fixedfleet.files.reading import Reading, ReadOptions
    from fixedfleet.instance import Instance

__all__ = ["VrplibFile", "format_instance", "parse_instance", "split_sections"]

_SECTION = re.compile(r"([A-Z][A-Z0-9_]*)_SECTION\s*:?", re.IGNORECASE)
_HEADER = re.compile(r"([A-Z][A-Z0-9_]*)\s*:(.*)", re.IGNORECASE)
# The names of the values in each row of a section. They are empty if the section is one
# list of values, which may be broken into lines anywhere.
_COLUMNS: dict[str, tuple[str, ...]] = {
    "NODE_COORD": ("node", "x", "y"),
    "DISPLAY_DATA": ("node", "x", "y"),
    "DEMAND": ("node", "demand"),
    "DEPOT": (),
    "EDGE_WEIGHT": (),
    "CAPACITY": ("vehicle", "capacity"),
    "VEHICLES_FIXED_COST": ("vehicle", "cost"),
    "VEHICLES_UNIT_DISTANCE_COST": ("vehicle", "cost"),
    "SERVICE_TIME": ("node", "service time"),
    "TIME_WINDOW": ("node", "from", "to"),
}
_NODE_LISTS = ["NODE_COORD", "DISPLAY_DATA", "DEMAND"]
_PROBLEMS = ("CVRP", "ACVRP", "VRP", "HFVRP", "HVRP", "VRPTW", "CVRPTW")
_HEADERS = {
    "NAME", "COMMENT", "TYPE", "DIMENSION", "CAPACITY", "VEHICLES",
    "EDGE_WEIGHT_TYPE", "EDGE_WEIGHT_FORMAT", "NODE_COORD_TYPE", "DISPLAY_DATA_TYPE",
    "DISTANCE", "SERVICE_TIME",
}  # fmt: skip
# What EDGE_WEIGHT_TYPE means: the metric and the rounding that goes with it.
_TYPES: dict[str, tuple[Metric, Rounding]] = {
    "EUC_2D": ("euclidean", "round"),
    "CEIL_2D": ("euclidean", "ceil"),
    "FLOOR_2D": ("euclidean", "trunc"),
    "GEO": ("geo", "round"),
    "EXPLICIT": ("explicit", "none"),
}
_LAYOUTS = (
    "FULL_MATRIX",
    *(f"{half}_{way}" for half in ("LOWER", "UPPER") for way in ("ROW", "COL")),
    *(f"{half}_DIAG_{way}" for half in ("LOWER", "UPPER") for way in ("ROW", "COL")),
)
_NO_LIMIT = 999_999  # how files state that the length of a tour is not limited

_FLEET_IN_NAME = re.compile(r"-k(\d{1,9})(?!\d)", re.IGNORECASE | re.ASCII)
_FLEET_IN_COMMENT = re.compile(
    r"no\.? of (?:trucks|vehicles)\s*:\s*(\d{1,9})(?!\d)", re.IGNORECASE | re.ASCII
)
_ROUNDING_IN_COMMENT = re.compile(rf"\brounding: ({'|'.join(get_args(Rounding))})\b")


@dataclass(frozen=True)
class VrplibFile:
    """
    The headers and sections of a file, by their names in upper case.

    Each row of a section has its line number and its values. ``lines`` has the line
    number of each header and section.
    """

    headers: dict[str, str] = field(default_factory=dict)
    sections: dict[str, list[tuple[int, list[str]]]] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)

    def add(self, name: str, line: int) -> None:
        """Record the line of a header or section, which may occur only once."""
        if name in self.lines:
            raise InputError(
                f"line {line}: a second {name}, the first is on line {self.lines[name]}"
            )
        self.lines[name] = line

    def place(self, name: str) -> str:
        """Return the line and name of a header or section, for a message."""
        return f"line {self.lines[name]}: {name}"

    def number(self, name: str) -> float | None:
        """Return the value of a header as a number; None if it is missing or empty."""
        value = self.headers.get(name)
        return to_number(value, self.place(name)) if value else None

    def whole(self, name: str) -> int | None:
        """Return the value of a header as a whole number, like :meth:`number`."""
        value = self.headers.get(name)
        return to_whole(value, self.place(name)) if value else None


def split_sections(text: str) -> VrplibFile:
    """
    Split a VRPLIB file into headers and sections.

    Sections of other problems, such as release times, are refused.
    """
    file = VrplibFile()
    comments: list[str] = []
    section: str | None = None
    for number, raw in enumerate(split_lines(text), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        if line.upper() == "EOF":
            break
        if match := _SECTION.fullmatch(line):
            section = match[1].upper()
            file.add(f"{section}_SECTION", number)
            if section not in _COLUMNS:
                raise InputError(
                    f"line {number}: {section}_SECTION is not supported: plans would "
                    f"not respect it; supported are {', '.join(_COLUMNS)}"
                )
            file.sections[section] = []
        elif (match := _HEADER.fullmatch(line)) and match[1].upper() == "COMMENT":
            comments.append(match[2].strip())  # may continue on several lines
        elif match:
            file.add(match[1].upper(), number)
            file.headers[match[1].upper()] = match[2].strip()
        elif section is not None:
            _add_row(file, section, line, number)
        else:
            raise InputError(
                f"line {number}: {shorten(line)} is neither 'KEYWORD : value' nor the "
                "name of a section, so this is not a VRPLIB file"
            )
    file.headers["COMMENT"] = " ".join(comments)
    return file


def _add_row(file: VrplibFile, section: str, text: str, line: int) -> None:
    values, columns = text.split(), _COLUMNS[section]
    if columns and len(values) != len(columns):
        raise InputError(
            f"line {line}: {len(values)} values in {section}_SECTION, not "
            f"{len(columns)} ({', '.join(columns)})"
        )
    file.sections[section].append((line, values))


def parse_instance(content: str | bytes, options: ReadOptions) -> Reading:
    """
    Read an instance from a text in UTF-8, or in Latin-1 as in old files.

    If the nodes are numbered 1 … n, they are sorted by number. Otherwise they keep the
    order of the file. If they are numbered 1 … n and the depot is node 1, customer i is
    node i + 1, as usual in VRPLIB. Otherwise each customer has the number of its node
    as its name.
    """
    options.refuse_table_options()
    file = split_sections(decode(content, "latin-1"))
    for section in _NODE_LISTS:
        options.check_size(len(file.sections.get(section, ())) - 1)
    notes = _check_problem(file)
    kind = _edge_weight_type(file, notes)
    metric, rounding = _TYPES[kind]
    listing = next(name for name in _NODE_LISTS if name in file.sections)
    places = _by_node(file, listing)
    nodes = _sorted_nodes(file, listing, list(places))
    depot = _depot(file, options, nodes)
    order = [depot, *(node for node in nodes if node != depot)]
    standard = depot == 1 and nodes == list(range(1, len(nodes) + 1))
    fields: dict[str, Any] = {
        "demands": _demands(file, order),
        "name": file.headers.get("NAME", ""),
        "metric": metric,
        "rounding": rounding,
        "capacity": file.number("CAPACITY"),
    }
    sources = {
        "rounding": "CVRPLIB's convention"
        if kind == "EUC_2D"
        else f"{kind} in the file",
        "capacity": f"line {file.lines['CAPACITY']}"
        if "CAPACITY" in file.lines
        else "the header CAPACITY",
    }
    if comment := _ROUNDING_IN_COMMENT.search(file.headers["COMMENT"]):
        fields["rounding"], sources["rounding"] = comment[1], "the file's comment"
    fields["vehicles"], sources["vehicles"] = _vehicles(file)
    fields |= _times(file, order)
    fields |= _vehicle_types(file, fields, options)
    if listing != "DEMAND":
        fields["depot"], *fields["customers"] = [places[node][1] for node in order]
    if kind == "EXPLICIT":
        fields["matrix"] = _matrix(file, nodes, order)
    if not standard:
        fields["depot_name"], *fields["names"] = map(str, order)
    return build_reading(fields, sources, options, notes)


def _check_problem(file: VrplibFile) -> list[str]:
    """
    Raise InputError if the file has constraints that plans would not respect.

    Return notes on the headers that are ignored.
    """
    notes = []
    problem = file.headers.get("TYPE") or "CVRP"
    if problem.upper() not in _PROBLEMS:
        raise InputError(
            f"{file.place('TYPE')} is {shorten(problem)}, not one of "
            f"{', '.join(_PROBLEMS)}"
        )
    limit = file.number("DISTANCE")
    if limit is not None and 0 < limit < _NO_LIMIT:
        raise InputError(
            f"{file.place('DISTANCE')} limits the length of tours to {limit:g}, which "
            "is not supported: plans would not respect it"
        )
    if limit is not None:
        notes.append(f"DISTANCE {limit:g} read as no limit on the length of tours")
    if ignored := sorted(file.headers.keys() - _HEADERS):
        notes.append(f"headers ignored: {', '.join(ignored)}")
    return notes


def _edge_weight_type(file: VrplibFile, notes: list[str]) -> str:
    """Return the EDGE_WEIGHT_TYPE; raise InputError if a section for it is missing."""
    kind = file.headers.get("EDGE_WEIGHT_TYPE", "").upper()
    if not kind:
        kind = "EXPLICIT" if "EDGE_WEIGHT" in file.sections else "EUC_2D"
        notes.append(f"no EDGE_WEIGHT_TYPE in the file: {kind} is assumed")
    if kind not in _TYPES:
        raise InputError(
            f"{file.place('EDGE_WEIGHT_TYPE')} is {shorten(kind)}, not one of "
            f"{', '.join(_TYPES)}"
        )
    if "DEMAND" not in file.sections:
        raise InputError("no DEMAND_SECTION: every node needs its demand")
    if kind != "EXPLICIT" and "NODE_COORD" not in file.sections:
        raise InputError(f"no NODE_COORD_SECTION, which {kind} distances need")
    if (kind == "EXPLICIT") != ("EDGE_WEIGHT" in file.sections):
        raise InputError(
            f"EDGE_WEIGHT_TYPE is {kind}, and there is "
            f"{'no' if kind == 'EXPLICIT' else 'an'} EDGE_WEIGHT_SECTION: the type "
            "EXPLICIT and the section go together"
        )
    return kind


def _by_node(file: VrplibFile, section: str) -> dict[int, tuple[int, list[float]]]:
    """Return {node: (line, values)} for the rows of a section."""
    nodes: dict[int, tuple[int, list[float]]] = {}
    for line, (number, *texts) in file.sections[section]:
        node = to_whole(number, f"line {line}: the node's number")
        if node in nodes:
            raise InputError(
                f"line {line}: a second node {node}, the first is on line "
                f"{nodes[node][0]}"
            )
        columns = zip(texts, _COLUMNS[section][1:], strict=True)
        values = [
            to_number(text, f"line {line}: {column} of node {node}")
            for text, column in columns
        ]
        nodes[node] = line, values
    return nodes


def _sorted_nodes(file: VrplibFile, section: str, nodes: list[int]) -> list[int]:
    """
    Return the numbers of the nodes, sorted if they are 1 … n, otherwise unchanged.

    ``section`` is the section that lists the nodes, for error messages.
    """
    dimension = file.whole("DIMENSION")
    if dimension is not None and dimension != len(nodes):
        raise InputError(
            f"{file.place('DIMENSION')} is {dimension}, but {section}_SECTION lists "
            f"{len(nodes)} nodes"
        )
    if len(nodes) < 2:
        raise InputError(
            f"{section}_SECTION lists {len(nodes)} nodes, not a depot and at least one "
            "customer"
        )
    return sorted(nodes) if set(nodes) == set(range(1, len(nodes) + 1)) else nodes


def _depot(file: VrplibFile, options: ReadOptions, nodes: list[int]) -> int:
    if options.depot is not None:
        place, depots = "the depot asked for", [str(options.depot)]
    elif "DEPOT" not in file.sections:
        raise InputError(
            "no DEPOT_SECTION: add one, or give {field} a node's number", "depot"
        )
    else:
        place = file.place("DEPOT_SECTION")
        depots = [value for _, values in file.sections["DEPOT"] for value in values]
        if "-1" in depots:
            depots = depots[: depots.index("-1")]
    if len(depots) != 1:
        raise InputError(f"{place} lists {len(depots)} depots, not one")
    depot = to_number(depots[0], place)
    if depot not in nodes:
        raise InputError(f"{place} is {depots[0]}, which is not a node")
    return int(depot)


def _demands(file: VrplibFile, order: list[int]) -> list[float]:
    """Return the demands of the customers; ``order`` begins with the depot."""
    demands = {order[0]: 0.0}
    known = set(order)
    for node, (line, (demand,)) in _by_node(file, "DEMAND").items():
        what = f"line {line}: demand of node {node}"
        if node not in known:
            raise InputError(f"line {line}: a demand for node {node}, not listed")
        if demand < 0:
            raise InputError(f"{what} is {demand:g}, not at least 0")
        if node == order[0] and demand:
            raise InputError(f"{what} is {demand:g}, but this is the depot: write 0")
        demands[node] = demand
    for node in order:
        if node not in demands:
            raise InputError(f"{file.place('DEMAND_SECTION')} has no node {node}")
    return [demands[node] for node in order[1:]]


def _matrix(
    file: VrplibFile, nodes: list[int], order: list[int]
) -> NDArray[np.float64]:
    """
    Return the distance matrix with its rows and columns in the given order of nodes.

    ``nodes`` is the order of the file, which may have any of TSPLIB's layouts.
    """
    size = len(nodes)
    layout = file.headers.get("EDGE_WEIGHT_FORMAT", "").upper() or "FULL_MATRIX"
    if layout not in _LAYOUTS:
        raise InputError(
            f"EDGE_WEIGHT_FORMAT is {shorten(layout)}, not one of {', '.join(_LAYOUTS)}"
        )
    numbers = [
        to_number(value, f"line {line}: a distance")
        for line, values in file.sections["EDGE_WEIGHT"]
        for value in values
    ]
    offset = 0 if "_DIAG_" in layout else 1
    where: Any = np.tril_indices(size, -offset)
    if layout == "FULL_MATRIX":
        where = np.indices((size, size)).reshape(2, -1)
    # An upper triangle listed by columns has the same order of distances as a lower
    # triangle listed by rows, and the other way round.
    elif layout.startswith("LOWER") != layout.endswith("ROW"):
        where = np.triu_indices(size, offset)
    if len(numbers) != len(where[0]):
        raise InputError(
            f"{file.place('EDGE_WEIGHT_SECTION')} holds {len(numbers)} distances, not "
            f"{len(where[0])} ({layout} of {size} nodes)"
        )
    matrix = np.zeros((size, size))
    matrix[tuple(where)] = numbers
    if layout != "FULL_MATRIX":
        matrix += matrix.T - np.diag(matrix.diagonal())
    places = [nodes.index(node) for node in order]
    return matrix[np.ix_(places, places)]


def _vehicles(file: VrplibFile) -> tuple[int | None, str]:
    """
    Return the number of vehicles, and the place in the file that states it.

    If the file states none, the number is None, and the place is where to write it.
    """
    name, comment = file.headers.get("NAME", ""), file.headers["COMMENT"]
    if (vehicles := file.whole("VEHICLES")) is not None:
        return vehicles, f"VEHICLES (line {file.lines['VEHICLES']})"
    if match := _FLEET_IN_NAME.search(name):
        return int(match[1]), f"the name {name}"
    if match := _FLEET_IN_COMMENT.search(comment):
        return int(match[1]), f"the comment {match[0]!r}"
    return None, "the header VEHICLES"


def _vehicle_types(
    file: VrplibFile, fields: dict[str, Any], options: ReadOptions
) -> dict[str, Any]:
    """
    Return the arguments of :class:`Instance` for vehicle types and shift.

    There are vehicle types if the file has a section with the capacity or a cost of
    each vehicle. Identical vehicles that follow each other are one type. The depot's
    time window is the shift of all vehicles. ``fields`` has the arguments read so far;
    the depot's time window is removed from it.
    """
    shift = fields.pop("depot_hours", None)
    sections = {
        "CAPACITY": "capacity",
        "VEHICLES_FIXED_COST": "fixed_cost",
        "VEHICLES_UNIT_DISTANCE_COST": "cost_per_distance",
    }
    given = {
        name: _by_node(file, section)
        for section, name in sections.items()
        if section in file.sections
    }
    if not given:
        return {} if shift is None else {"depot_hours": shift}
    why = "the file states what each vehicle carries or costs"
    options.refuse(why, "vehicles", "capacity")
    vehicles = fields["vehicles"] or len(next(iter(given.values())))
    for section, name in sections.items():
        if name in given and {*given[name]} != {*range(1, vehicles + 1)}:
            raise InputError(
                f"{file.place(f'{section}_SECTION')} lists {len(given[name])} "
                f"vehicles, not 1 to {vehicles}"
            )
    if ("capacity" in given) == (fields["capacity"] is not None):
        raise InputError("give either the header CAPACITY or the CAPACITY_SECTION")
    types: list[VehicleType] = []
    for vehicle in range(1, vehicles + 1):
        said = {name: rows[vehicle][1][0] for name, rows in given.items()}
        one = VehicleType(**{"capacity": fields["capacity"], **said, "shift": shift})
        if types and types[-1].kind == one.kind:
            types[-1] = replace(types[-1], count=types[-1].count + 1)
        else:
            types.append(one)
    return {"vehicle_types": types, "vehicles": None, "capacity": None}


def _times(file: VrplibFile, order: list[int]) -> dict[str, Any]:
    """
    Return the arguments of :class:`Instance` for service times and time windows.

    If the file has such times, travel times are equal to the distances. Otherwise the
    result is empty.
    """
    times: dict[str, Any] = {}
    if "SERVICE_TIME" in file.sections:
        if "SERVICE_TIME" in file.headers:
            raise InputError("a SERVICE_TIME and a SERVICE_TIME_SECTION: leave one out")
        rows = _of_every_node(file, "SERVICE_TIME", order)
        times["service_times"] = [rows[node][0] for node in order[1:]]
    elif (service := file.number("SERVICE_TIME")) is not None:
        times["service_times"] = [service] * (len(order) - 1)
    if "TIME_WINDOW" in file.sections:
        windows = _of_every_node(file, "TIME_WINDOW", order)
        times["depot_hours"] = tuple(windows[order[0]])
        times["windows"] = [windows[node] for node in order[1:]]
    return {**times, "speed": 1.0} if times else {}


def _of_every_node(
    file: VrplibFile, section: str, order: list[int]
) -> dict[int, list[float]]:
    """Return {node: values} for the rows of a section, which must list every node."""
    rows = {node: values for node, (_, values) in _by_node(file, section).items()}
    if {*rows} != {*order}:
        wrong = sorted({*rows} ^ {*order})[0]
        said = "no" if wrong in order else "an unknown"
        raise InputError(f"{file.place(f'{section}_SECTION')} has {said} node {wrong}")
    return rows


def format_instance(instance: Instance, *, plain: bool = False) -> str:
    """
    Return an instance in VRPLIB's format.

    Raise InputError if the format cannot hold the instance.

    With ``plain``, a comment states the number of vehicles instead of the header
    VEHICLES. Some programs refuse this header, and some refuse a file without a
    comment.
    """
    if instance.metric in ("great_circle", "road"):
        raise InputError(
            "VRPLIB has no distances between latitudes and longitudes: write .csv or "
            ".json"
        )
    if instance.names is not None or instance.depot_name != "depot":
        raise InputError(
            "VRPLIB cannot hold the names of depot and customers: write .csv or .json"
        )
    if instance.unit or instance.length_unit or instance.columns:
        raise InputError(
            "VRPLIB cannot hold units or further columns: write .csv or .json"
        )
    _check_day(instance)
    name = instance.name
    check_storable("the name", name)
    if name != name.strip() or "\n" in name or "\r" in name:
        raise InputError(
            f"VRPLIB cannot hold the name {shorten(name)}, with blanks at an end or a "
            "line break: write .json"
        )
    kinds = [kind for kind, (metric, _) in _TYPES.items() if metric == instance.metric]
    exact = [kind for kind in kinds if _TYPES[kind][1] == instance.rounding]
    kind = (exact or kinds)[0]
    comments = [] if exact else [f"rounding: {instance.rounding}"]
    if plain:
        comments.insert(0, f"No of vehicles: {instance.vehicles}")
    lines = [
        f"NAME : {name}",
        *([f"COMMENT : {', '.join(comments)}"] if comments else []),
        f"TYPE : {_problem(instance)}",
        f"DIMENSION : {instance.num_customers + 1}",
        *([] if plain else [f"VEHICLES : {instance.vehicles}"]),
        f"EDGE_WEIGHT_TYPE : {kind}",
        *(["EDGE_WEIGHT_FORMAT : FULL_MATRIX"] if kind == "EXPLICIT" else []),
        *(
            []
            if instance.has_mixed_fleet
            else [f"CAPACITY : {format_number(instance.capacity)}"]
        ),
        *_format_sections(instance),
        *_format_day(instance),
        "EOF",
    ]
    return "\n".join(lines) + "\n"


def _format_sections(instance: Instance) -> Iterator[str]:
    if instance.has_coordinates:
        yield "NODE_COORD_SECTION"
        for node, (x, y) in enumerate(instance.coordinates, 1):
            yield f"{node} {format_number(x)} {format_number(y)}"
    if instance.matrix is not None:
        yield "EDGE_WEIGHT_SECTION"
        for row in instance.matrix:
            yield " ".join(map(format_number, row))
    yield "DEMAND_SECTION"
    for node, demand in enumerate((0, *instance.demands), 1):
        yield f"{node} {format_number(demand)}"
    yield from ("DEPOT_SECTION", "1", "-1")


def _problem(instance: Instance) -> str:
    """Return the value of the header TYPE for an instance."""
    if instance.has_mixed_fleet:
        return "HFVRP"
    return "VRPTW" if instance.is_timed else "CVRP"


def _check_day(instance: Instance) -> None:
    """Raise InputError if VRPLIB cannot hold the fleet or the times."""
    shifts = {one.shift for one in instance.fleet}
    wrong = {
        "names of vehicle types": any(one.name for one in instance.fleet),
        "priorities": instance.priorities is not None,
        "units of time": instance.time_unit != "",
        "a speed other than 1, or travel times": instance.time_matrix is not None
        or instance.speed not in (None, 1.0),
        "several shifts": len(shifts) > 1,
        "travel times without windows or service times": instance.speed is not None
        and instance.service_times is None
        and not instance.is_timed,
        "open windows": instance.is_timed
        and (
            None in shifts
            or instance.windows is None
            or bool(np.isinf(instance.windows).any())
        ),
    }
    for what, is_wrong in wrong.items():
        if is_wrong:
            raise InputError(f"VRPLIB cannot hold {what}: write .json")


def _format_day(instance: Instance) -> Iterator[str]:
    """Yield the lines of the sections on vehicles and times."""
    if instance.has_mixed_fleet:
        vehicles = [one for one in instance.fleet for _ in range(one.count)]
        for section, field_name in (
            ("CAPACITY", "capacity"),
            ("VEHICLES_FIXED_COST", "fixed_cost"),
            ("VEHICLES_UNIT_DISTANCE_COST", "cost_per_distance"),
        ):
            yield f"{section}_SECTION"
            for number, one in enumerate(vehicles, 1):
                yield f"{number} {format_number(getattr(one, field_name))}"
    if instance.service_times is not None:
        yield "SERVICE_TIME_SECTION"
        for node, time in enumerate((0, *instance.service_times), 1):
            yield f"{node} {format_number(time)}"
    if instance.windows is not None:
        yield "TIME_WINDOW_SECTION"
        hours = instance.fleet[0].shift or (0.0, 0.0)  # `_check_day` refuses None
        pairs = (hours, *instance.windows.tolist())
        for node, (begin, end) in enumerate(pairs, 1):
            yield f"{node} {format_number(begin)} {format_number(end)}"
