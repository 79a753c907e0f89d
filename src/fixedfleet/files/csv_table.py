"""Tables in CSV: reading comments, header and rows, and writing rows."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from fixedfleet.errors import InputError
from fixedfleet.files.text import check_storable, shorten

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["Table", "escape_formula", "format_row", "read_table", "unescape_formula"]

_DELIMITERS = ",;\t"
# Spreadsheets take a cell that begins like this for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
_COMMENT = re.compile(r"#\s*([A-Za-z_]+)\s*:(.*)", re.DOTALL)


@dataclass(frozen=True)
class Table:
    """
    The parts of a CSV file.

    Attributes
    ----------
    comments
        The lines ``# key: value`` before the header, by lower-case key.
    columns
        Position of each known column, by its name.
    ignored
        Headers of unknown columns.
    rows
        The line and the cells of each row; all rows are as long as the header.
    """

    comments: dict[str, str]
    columns: dict[str, int]
    ignored: list[str]
    rows: list[tuple[int, list[str]]]


def read_table(
    text: str, names: Mapping[str, str], *, max_rows: int | None = None
) -> Table:
    """
    Read a table; its delimiter is a comma, a semicolon or a tab.

    Parameters
    ----------
    text
        The file.
    names
        The name of the column for every known header, in lower case.
    max_rows
        Stop after one row more than this, so that the caller sees that the table is
        too long without reading all of it.
    """
    delimiter = max(_DELIMITERS, key=lambda d: _count_known(text, d, names))
    try:
        lines = _rows(text, delimiter)
        comments, header = _read_header(lines)
        columns, ignored = _columns(header, names)
        full = (row for row in lines if any(cell.strip() for cell in row[1]))
        most = None if max_rows is None else max_rows + 1
        rows = [
            (line, _trim(cells, len(header), line))
            for line, cells in islice(full, most)
        ]
    except csv.Error as error:
        raise InputError(f"not a CSV file: {error}") from None
    # Spreadsheets leave empty columns behind. A column without a name is only worth a
    # note if it holds something.
    nameless = [i for i, cell in enumerate(header) if not cell.strip()]
    if any(cells[i].strip() for _, cells in rows for i in nameless):
        ignored.append("")
    return Table(comments, columns, ignored, rows)


def _rows(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Return the line and the cells of each row."""
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=delimiter,
        skipinitialspace=delimiter != "\t",
        strict=True,
    )
    return ((reader.line_num, cells) for cells in reader)


def _count_known(text: str, delimiter: str, names: Mapping[str, str]) -> int:
    """Return how many headers are known if this is the delimiter."""
    try:
        _, header = _read_header(_rows(text, delimiter))
    except csv.Error:
        return 0
    return sum(cell.strip().lower() in names for cell in header)


def _read_header(
    lines: Iterator[tuple[int, list[str]]],
) -> tuple[dict[str, str], list[str]]:
    """Consume the lines up to the header; return the comments and its cells."""
    comments: dict[str, str] = {}
    for line, cells in lines:
        if not any(cell.strip() for cell in cells):
            continue
        if not cells[0].startswith("#"):
            return comments, cells
        # A comment without quotes is split into cells at its delimiters.
        if match := _COMMENT.fullmatch(", ".join(filter(None, cells))):
            key = match[1].lower()
            if key in comments:
                raise InputError(f"line {line}: a second '# {key}:'")
            # One blank belongs to the notation, further ones to the value.
            comments[key] = match[2].removeprefix(" ")
    return comments, []


def _columns(
    header: list[str], names: Mapping[str, str]
) -> tuple[dict[str, int], list[str]]:
    columns: dict[str, int] = {}
    ignored = []
    for position, cell in enumerate(header):
        column = names.get(cell.strip().lower())
        if column is None:
            if cell.strip():
                ignored.append(cell.strip())
        elif column in columns:
            raise InputError(
                f"two columns for {column}: {shorten(header[columns[column]])} and "
                f"{shorten(cell)}"
            )
        else:
            columns[column] = position
    return columns, ignored


def _trim(cells: list[str], width: int, line: int) -> list[str]:
    """Return as many cells as the header has; those behind them must be empty."""
    if len(cells) < width or any(cell.strip() for cell in cells[width:]):
        raise InputError(f"line {line}: {len(cells)} cells, the header has {width}")
    return cells[:width]


def escape_formula(text: str) -> str:
    """
    Put an apostrophe before a text that a spreadsheet would take for a formula.

    A text that already has one gets another, so that
    :func:`unescape_formula` returns the original text.
    """
    stripped = text.lstrip("'")
    return f"'{text}" if stripped.startswith(_FORMULA) else text


def unescape_formula(cell: str) -> str:
    """Undo :func:`escape_formula`."""
    escaped = cell.startswith("'") and escape_formula(cell[1:]) == cell
    return cell[1:] if escaped else cell


def format_row(cells: Iterable[str]) -> str:
    """Join cells, quoted where they need it, into a line."""
    return ",".join(map(_quoted, cells)) + "\n"


def _quoted(cell: str) -> str:
    check_storable("the text", cell)
    if re.search(r'[",;\t\r\n]', cell) or cell != cell.strip():
        return '"' + cell.replace('"', '""') + '"'
    return cell
