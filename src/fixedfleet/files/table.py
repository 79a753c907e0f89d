"""
Tables of text cells, from CSV or Excel, and to CSV.

A table has comments ``# key: value``, then a row of headings, then rows of cells.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from fixedfleet.errors import InputError
from fixedfleet.files.excel import excel_rows, is_excel
from fixedfleet.files.text import (
    check_storable,
    decode,
    format_number,
    is_number,
    shorten,
    to_number,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from fixedfleet.files.excel import Rows

__all__ = [
    "Dialect",
    "Table",
    "TableError",
    "format_csv",
    "list_headings",
    "read_table",
    "split_heading",
]

_DELIMITERS = ",;\t"
# Spreadsheets take a cell that begins like this for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
# Excel takes a first line "sep=;" for itself and does not show it as a row.
_SEPARATOR = re.compile(r"\A\ufeff?(sep=.\r?\n)?")
_COMMENT = re.compile(r"#\s*([A-Za-z_]+)\s*:(.*)", re.DOTALL)
# A heading and its unit: "Menge (kg)", "Menge [kg]" or "Menge in kg".
# No bracket within brackets, and no blanks before: a search would take quadratic time.
_UNIT = re.compile(r"(?:[(\[]([^()\[\]]*)[)\]]|\sin\s+(\S+))\s*$")
_MOST_LISTED = 20  # headings in a message
# 1.250 or 1,250: this may mean 1.25 or 1250.
_DOUBTFUL = re.compile(r"[+-]?[1-9]\d{0,2}([.,])\d{3}")
_DECIMAL = re.compile(r"[+-]?\d*([.,])\d+")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}([.,])\d{3}(?:\1\d{3})*(?!\1)[.,]\d+")
_BLANKS = str.maketrans("", "", "\u00a0\u202f")  # some separate thousands by these


@dataclass(frozen=True)
class Dialect:
    """How a CSV file separates its cells, and its decimal sign."""

    delimiter: str = ","
    decimal: str = "."


_PLAIN = Dialect()


class TableError(InputError):
    """
    A table whose columns are not all known: the caller must say which is which.

    Attributes
    ----------
    headings
        The headings of the table.
    columns
        The headings of the known columns, by the column's name.
    """

    def __init__(
        self, message: str, headings: Sequence[str], places: Mapping[str, int]
    ) -> None:
        super().__init__(message)
        self.headings = [heading for heading in headings if heading]
        self.columns = {name: headings[place] for name, place in places.items()}


class Column(NamedTuple):
    """The heading of a column, without blanks around it, and its cells."""

    heading: str
    cells: list[str]


@dataclass(frozen=True)
class Table:
    """A table with known columns."""

    comments: dict[
        str, str
    ]  # of ``# key: value`` above the headings, by lower-case key
    rows: list[int]  # the number of each row, as a spreadsheet shows it
    columns: list[Column]  # each as long as the rows
    places: dict[str, int]  # of the known columns, by name
    dialect: Dialect
    decimals: set[str]  # the decimal signs that the numbers surely have
    notes: list[str]  # on how the file was read

    def column(self, name: str) -> Column:
        """Return a column by name, with empty cells if the table lacks it."""
        if name in self.places:
            return self.columns[self.places[name]]
        return Column(name, [""] * len(self.rows))

    def numbers(self, name: str, *, degrees: bool = False) -> list[float | None]:
        """Return the numbers of a column; None for empty cells."""
        heading, cells = self.column(name)
        return [
            self.number(cell, f"row {row}: {heading}", degrees=degrees)
            if cell.strip()
            else None
            for row, cell in zip(self.rows, cells, strict=True)
        ]

    def number(self, text: str, what: str, *, degrees: bool = False) -> float:
        """
        Return the number that a cell states; ``what`` opens the message.

        If other numbers of the table have a decimal comma, 1.250 may mean 1.25 or 1250
        and is refused, unless it is in degrees.
        """
        plain = text.strip().translate(_BLANKS)
        doubtful = _DOUBTFUL.fullmatch(plain)
        if doubtful and not degrees and self.decimals - {doubtful[1]}:
            raise InputError(
                f"{what} is {shorten(plain)}, which could be a decimal number or a "
                "thousand and more: write it without a sign between thousands"
            )
        if grouped := _THOUSANDS.fullmatch(plain):
            plain = plain.replace(grouped[1], "")
        plain = plain.replace(",", ".")
        return to_number(plain if is_number(plain) else text, what)


def read_table(
    content: str | bytes,
    names: Mapping[str, str],
    *,
    numbers: Collection[str],
    chosen: Mapping[str, str] | None = None,
    max_rows: int | None = None,
) -> Table:
    """
    Read a table from an Excel file or from text with commas, semicolons or tabs.

    Parameters
    ----------
    content
        The file, or its text.
    names
        The name of the column for every known heading, in lower case.
    numbers
        Names of the columns that hold numbers.
    chosen
        Headings that the caller chose for columns, by the column's name.
    max_rows
        Stop after so many rows, without reading the rest.
    """
    notes: list[str] = []
    chosen = chosen or {}
    if isinstance(content, bytes) and is_excel(content):
        rows, delimiter = excel_rows(content, notes), None
    else:
        text = decode(content, "cp1252", notes)
        known = names.keys() | {
            heading.strip().casefold() for heading in chosen.values()
        }
        delimiter = max(_DELIMITERS, key=lambda d: _count_known(text, d, known))
        rows = _csv_rows(text, delimiter)
    try:
        comments, headings = _read_header(rows)
        places = _places(headings, names, chosen, numbers)
        full = (row for row in rows if any(cell.strip() for cell in row[1]))
        body = {
            number: _trim(cells, len(headings), number)
            for number, cells in islice(full, max_rows)
        }
    except csv.Error as error:
        raise InputError(f"not a CSV file: {error}") from None
    columns = [
        Column(heading, [cells[place] for cells in body.values()])
        for place, heading in enumerate(headings)
    ]
    of_numbers = [columns[places[name]] for name in numbers if name in places]
    decimals = _decimals(cell for column in of_numbers for cell in column.cells)
    dialect = Dialect() if delimiter is None else _dialect(delimiter, decimals)
    return Table(comments, list(body), columns, places, dialect, decimals, notes)


def _csv_rows(text: str, delimiter: str) -> Rows:
    text = _SEPARATOR.sub("", text, count=1)
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=delimiter,
        skipinitialspace=delimiter != "\t",
        strict=True,
    )
    cells = ([_unescape_formula(cell) for cell in row] for row in reader)
    return enumerate(cells, 1)


def _count_known(text: str, delimiter: str, names: Collection[str]) -> tuple[int, int]:
    """Return how many headings are known, and how many there are, if this delimits."""
    try:
        _, headings = _read_header(_csv_rows(text, delimiter))
    except csv.Error:
        return 0, 0
    known = sum(split_heading(heading)[0] in names for heading in headings)
    return known, len(headings)


def _read_header(rows: Rows) -> tuple[dict[str, str], list[str]]:
    """Consume the rows up to the headings; return the comments and the headings."""
    comments: dict[str, str] = {}
    for number, cells in rows:
        if not any(cell.strip() for cell in cells):
            continue
        filled = [cell for cell in cells if cell]
        if not cells[0].startswith("#") or (cells[0] == "#" and len(filled) > 1):
            return comments, [cell.strip() for cell in cells]
        # A comment without quotes is split into cells at its delimiters.
        if match := _COMMENT.fullmatch(", ".join(filled)):
            key = match[1].lower()
            if key in comments:
                raise InputError(f"row {number}: a second '# {key}:'")
            # One blank belongs to the notation, further ones to the value.
            comments[key] = match[2].removeprefix(" ")
    return comments, []


def split_heading(heading: str) -> tuple[str, str]:
    """Return a heading in lower case without its unit, and the unit."""
    match = _UNIT.search(heading)
    bare = heading[: match.start()] if match else heading
    unit = (match[1] or match[2] or "").strip() if match else ""
    return bare.strip().rstrip(".:").replace("_", " ").casefold(), unit


def _places(
    headings: Sequence[str],
    names: Mapping[str, str],
    chosen: Mapping[str, str],
    numbers: Collection[str],
) -> dict[str, int]:
    """Return the position of each known column; those that the caller chose first."""
    columns = {column: _place(chosen[column], headings, column) for column in chosen}
    if len(set(columns.values())) < len(columns):
        raise InputError(f"one heading for two columns: {', '.join(chosen.values())}")
    bare = [split_heading(heading)[0] for heading in headings]
    free = [i for i in range(len(headings)) if i not in columns.values()]
    for column in dict.fromkeys(names.values()):
        found = [i for i in free if names.get(bare[i]) == column]
        # A column with exactly this name wins over others.
        found = [i for i in found if bare[i] == column] or found
        if column in columns or not found:
            continue
        if len(found) > 1 and column in numbers:
            two = " and ".join(shorten(headings[i]) for i in found[:2])
            message = f"two columns for {column}: {two}; choose one with columns="
            raise TableError(message, headings, columns)
        columns[column] = found[0]
    return columns


def list_headings(headings: Sequence[str]) -> str:
    """Say which headings a table has, for a message."""
    more = ["…"] if len(headings) > _MOST_LISTED else []
    listed = [*map(shorten, headings[:_MOST_LISTED]), *more]
    return f"the headings are {', '.join(listed)}"


def _place(wanted: str, headings: Sequence[str], column: str) -> int:
    """Return where the heading is that the caller chose for a column."""
    wanted = wanted.strip()
    same = [i for i, h in enumerate(headings) if h.casefold() == wanted.casefold()]
    if len(same) != 1:
        said = f"{len(same)} columns" if same else "no column"
        message = f"{said} {shorten(wanted)} for {column}: {list_headings(headings)}"
        raise TableError(message, headings, {})
    return same[0]


def _trim(cells: list[str], width: int, row: int) -> list[str]:
    """Return as many cells as there are headings; further cells must be empty."""
    if len(cells) < width or any(cell.strip() for cell in cells[width:]):
        raise InputError(f"row {row}: {len(cells)} cells, but {width} headings")
    return cells[:width]


def _decimals(cells: Iterable[str]) -> set[str]:
    """Return the decimal signs that numbers surely have."""
    found = set()
    for cell in cells:
        plain = cell.strip().translate(_BLANKS)
        if grouped := _THOUSANDS.fullmatch(plain):
            found.add("," if grouped[1] == "." else ".")
        elif (match := _DECIMAL.fullmatch(plain)) and not _DOUBTFUL.fullmatch(plain):
            found.add(match[1])
    return found


def _dialect(delimiter: str, decimals: set[str]) -> Dialect:
    comma = "," in decimals or (delimiter == ";" and not decimals)
    return Dialect(delimiter, "," if comma and "." not in decimals else ".")


def format_csv(rows: Iterable[Sequence[str | float]], dialect: Dialect = _PLAIN) -> str:
    """Write rows as CSV; a byte-order mark tells Excel that it is UTF-8."""
    lines = (
        dialect.delimiter.join(_csv_cell(cell, dialect) for cell in row) for row in rows
    )
    return "\ufeff" + "".join(f"{line}\n" for line in lines)


def _csv_cell(cell: str | float, dialect: Dialect) -> str:
    if not isinstance(cell, str):
        text = format_number(cell).replace(".", dialect.decimal)
        return f'"{text}"' if dialect.delimiter in text else text
    cell = _escape_formula(cell)
    check_storable("the text", cell)
    if re.search(r'[",;\t\r\n]', cell) or cell != cell.strip():
        return '"' + cell.replace('"', '""') + '"'
    return cell


def _escape_formula(text: str) -> str:
    """
    Put an apostrophe before a text that a spreadsheet would take for a formula.

    A text that already has one gets another, so that
    :func:`_unescape_formula` returns the original text.
    """
    stripped = text.lstrip("'")
    return f"'{text}" if stripped.startswith(_FORMULA) else text


def _unescape_formula(cell: str) -> str:
    """Undo :func:`_escape_formula`."""
    escaped = cell.startswith("'") and _escape_formula(cell[1:]) == cell
    return cell[1:] if escaped else cell
