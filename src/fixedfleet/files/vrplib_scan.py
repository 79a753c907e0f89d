"""The shape of a VRPLIB file, checked line by line before anything is made of it.

The package that reads the values accepts nonsense or fails with errors of its own;
what is wrong is therefore found here, where the line is still known.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

from fixedfleet.errors import InputError
from fixedfleet.files.text import shorten, to_number, to_whole

__all__ = ["Row", "Scan", "Section", "lay_out_matrix", "scan"]

_SECTION = re.compile(r"([A-Z][A-Z0-9_]*)_SECTION\s*:?", re.IGNORECASE)
_HEADER = re.compile(r"([A-Z][A-Z0-9_]*)\s*:(.*)", re.IGNORECASE)

# Values on each row of a section; None where rows may be wrapped anyhow.
_COLUMNS: dict[str, tuple[str, ...] | None] = {
    "NODE_COORD": ("node", "x", "y"),
    "DISPLAY_DATA": ("node", "x", "y"),
    "DEMAND": ("node", "demand"),
    "DEPOT": None,
    "EDGE_WEIGHT": None,
}
_LAYOUTS = (
    "FULL_MATRIX",
    *(f"{half}_{way}" for half in ("LOWER", "UPPER") for way in ("ROW", "COL")),
    *(f"{half}_DIAG_{way}" for half in ("LOWER", "UPPER") for way in ("ROW", "COL")),
)


@dataclass(frozen=True)
class Row:
    """The values of one line of a section."""

    line: int
    values: tuple[str, ...]


@dataclass
class Section:
    """One section: where it begins, and its rows."""

    line: int
    rows: list[Row] = field(default_factory=list)

    def by_node(self) -> dict[int, Row]:
        """Rows by the number of their node, which opens each of them."""
        rows: dict[int, Row] = {}
        for row in self.rows:
            node = to_whole(row.values[0], f"line {row.line}: the node's number")
            if node in rows:
                raise InputError(
                    f"line {row.line}: node {node} again, first on line "
                    f"{rows[node].line}"
                )
            rows[node] = row
        return rows


@dataclass(frozen=True)
class Scan:
    """Headers and sections by their upper-case names, with their lines."""

    headers: dict[str, str]
    header_lines: dict[str, int]
    sections: dict[str, Section]

    def header(self, name: str) -> str | None:
        """Value of a header; None where it is missing or empty."""
        return self.headers.get(name) or None

    def place(self, name: str) -> str:
        """Where a header stands, for a message."""
        return f"line {self.header_lines[name]}: {name}"

    def number(self, name: str) -> float | None:
        """A header's value as a number, if there is such a header."""
        value = self.header(name)
        return None if value is None else to_number(value, self.place(name))

    def whole(self, name: str) -> int | None:
        """A header's value as a whole number, if there is such a header."""
        value = self.header(name)
        return None if value is None else to_whole(value, self.place(name))


def scan(text: str) -> Scan:
    """
    Split a VRPLIB file into headers and sections.

    Raises
    ------
    InputError
        With the line, if it is neither; or is a header or a section for the second
        time, or a section that no plan here could honour, or a row too long or short.
    """
    found = Scan({}, {}, {})
    current: str | None = None
    for number, raw in enumerate(re.split(r"\r\n|\r|\n", text), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        if line.upper() == "EOF":
            break
        if match := _SECTION.fullmatch(line):
            current = _open_section(found, match[1].upper(), number)
        elif match := _HEADER.fullmatch(line):
            _add_header(found, match[1].upper(), match[2].strip(), number)
        elif current is not None:
            _add_row(found, current, line, number)
        else:
            raise InputError(
                f"line {number}: {shorten(line)} is neither 'KEYWORD : value' nor a "
                "section's name, so this is no VRPLIB file"
            )
    return found


def _open_section(found: Scan, name: str, line: int) -> str:
    if name in found.sections:
        raise InputError(
            f"line {line}: {name}_SECTION again, first on line "
            f"{found.sections[name].line}"
        )
    if name not in _COLUMNS:
        raise InputError(
            f"line {line}: {name}_SECTION is not of the capacitated problem, and no "
            f"plan would heed it; known are {', '.join(_COLUMNS)}"
        )
    found.sections[name] = Section(line)
    return name


def _add_header(found: Scan, name: str, value: str, line: int) -> None:
    if name == "COMMENT" and name in found.headers:  # may go on over several lines
        found.headers[name] += f" {value}"
        return
    if name in found.headers:
        raise InputError(
            f"line {line}: {name} again, first on line {found.header_lines[name]}"
        )
    found.headers[name] = value
    found.header_lines[name] = line


def _add_row(found: Scan, section: str, text: str, line: int) -> None:
    values = tuple(text.split())
    columns = _COLUMNS[section]
    if columns is not None and len(values) != len(columns):
        raise InputError(
            f"line {line}: {len(values)} values in {section}_SECTION, not "
            f"{len(columns)} ({', '.join(columns)})"
        )
    found.sections[section].rows.append(Row(line, values))


def lay_out_matrix(section: Section, layout: str, size: int) -> list[list[str]]:
    """
    Turn EDGE_WEIGHT_SECTION, in any of TSPLIB's layouts, into rows of a full matrix.

    Parameters
    ----------
    section
        The section; its values may be wrapped over lines at will.
    layout
        EDGE_WEIGHT_FORMAT.
    size
        The number of nodes.
    """
    if layout not in _LAYOUTS:
        raise InputError(
            f"EDGE_WEIGHT_FORMAT is {shorten(layout)}, not one of {', '.join(_LAYOUTS)}"
        )
    values = [value for row in section.rows for value in row.values]
    wanted = _count(layout, size)
    if len(values) != wanted:
        raise InputError(
            f"EDGE_WEIGHT_SECTION (line {section.line}) holds {len(values)} distances, "
            f"not {wanted} ({layout} of {size} nodes)"
        )
    for row in section.rows:
        what = f"line {row.line}: a distance"
        for value in row.values:
            if to_number(value, what) < 0:
                raise InputError(f"{what} is {value}, not at least 0")
    if layout == "FULL_MATRIX":
        return [values[i * size : (i + 1) * size] for i in range(size)]
    matrix = [["0"] * size for _ in range(size)]
    for value, (i, j) in zip(values, _triangle(layout, size), strict=True):
        matrix[i][j] = matrix[j][i] = value
    return matrix


def _count(layout: str, size: int) -> int:
    """The number of values that a layout takes."""
    if layout == "FULL_MATRIX":
        return size * size
    return math.comb(size + ("_DIAG_" in layout), 2)


def _triangle(layout: str, size: int) -> list[tuple[int, int]]:
    """Places of the values of a triangular layout, in the file's order."""
    gap = 0 if "_DIAG_" in layout else 1
    # A lower triangle by rows is an upper one by columns, mirrored, and so on.
    if layout in ("LOWER_ROW", "LOWER_DIAG_ROW", "UPPER_COL", "UPPER_DIAG_COL"):
        return [(i, j) for i in range(size) for j in range(i + 1 - gap)]
    return [(i, j) for i in range(size) for j in range(i + gap, size)]
