"""
Read tables of text cells from CSV or Excel, and write CSV.

A table has comments ``# key: value``, then a row of headings, then rows of cells.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from fixedfleet.errors import InputError
from fixedfleet.files.excel import NumberText, excel_sheets, is_excel
from fixedfleet.files.text import (
    check_storable,
    decode,
    format_number,
    is_number,
    shorten,
    to_number,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from fixedfleet.files.excel import Rows, Sheet

__all__ = [
    "Dialect",
    "Quantity",
    "Table",
    "TableError",
    "bare_heading",
    "format_csv",
    "list_headings",
    "read_table",
    "split_heading",
]

_DELIMITERS = ",;\t"
# Spreadsheets take a cell that begins like this for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
# Excel reads a first line "sep=;" as a setting and does not show it as a row.
_SEPARATOR = re.compile(r"\A\ufeff?(sep=.\r?\n)?")
_COMMENT = re.compile(r"#\s*([A-Za-z_]+)\s*:(.*)", re.DOTALL)
# A heading and its unit: "Menge (kg)", "Menge [kg]" or "Menge in kg".
# The pattern allows no brackets within brackets and does not begin with blanks;
# otherwise a search would take quadratic time.
_UNIT = re.compile(r"(?:[(\[]([^()\[\]]*)[)\]]|\sin\s+(\S+))\s*$")
_MOST_LISTED = 20  # the largest number of headings in a message
# 1.250 or 1,250: this may mean 1.25 or 1250.
_DOUBTFUL = re.compile(r"[+-]?[1-9]\d{0,2}([.,])\d{3}")
_DECIMAL = re.compile(r"[+-]?\d*([.,])\d+")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}([.,])\d{3}(?:\1\d{3})*(?!\1)[.,]\d+")
# Removes no-break spaces, which some people write between thousands.
_BLANKS = str.maketrans("", "", "\u00a0\u202f")
# A number, perhaps with a unit after it and a word such as "ca." before it.
_QUANTITY = re.compile(
    r"(?:(ca\.?|circa|etwa|approx\.?|about|~|≈)\s*)?([+-]?[\d.,]*\d)"
    r"(?:\s*([^\W\d_][\w/²³]*)\.?)?",
    re.IGNORECASE,
)
# Degrees such as 51,013° N or 51° 2' 15" N.
_DEGREES = re.compile(
    r"([NSEWO]?)\s*([+-]?\d+(?:[.,]\d+)?)\s*°?\s*"
    r"(?:(\d+(?:[.,]\d+)?)\s*['′]\s*)?(?:(\d+(?:[.,]\d+)?)\s*(?:\"|″|'')\s*)?"
    r"([NSEWO]?)",
    re.IGNORECASE,
)
# A cell that says that the numbers beside it are sums, and one with such a number.
_SUM = re.compile(
    r"(zwischen|gesamt)?summen?|(ins)?gesamt|(sub|grand )?totals?|sum", re.IGNORECASE
)
_NUMBER_OF_SUM = re.compile(r"=|[\d.,\s]*\d\D{0,10}")
_LONGEST = 60  # a longer cell is not searched for a number with a unit
_HEAD_ROWS = 15  # the headings are sought in this many rows that are not empty


@dataclass(frozen=True)
class Dialect:
    """The delimiter between the cells of a CSV file, and its decimal sign."""

    delimiter: str = ","
    decimal: str = "."


_PLAIN = Dialect()


class TableError(InputError):
    """
    A table that cannot be read until the caller says which sheet or columns to use.

    Attributes
    ----------
    headings
        The headings of the table; empty if its sheet is not known.
    columns
        The heading of each recognised column, by the name of the column.
    sheets
        The visible sheets, if there are several.
    depots
        Names of the rows that can be the depot, if the caller must choose one.
    """

    def __init__(
        self,
        message: str,
        headings: Sequence[str] = (),
        places: Mapping[str, int] | None = None,
        sheets: Sequence[str] = (),
        depots: Sequence[str] = (),
        field: str | None = None,
    ) -> None:
        wrong = "columns" if headings else "depot" if depots else "sheet"
        super().__init__(message, field or wrong)
        self.headings = list(dict.fromkeys(filter(None, headings)))
        self.columns = {n: headings[place] for n, place in (places or {}).items()}
        self.sheets, self.depots = list(sheets), list(depots)


class Column(NamedTuple):
    """
    A column: its heading, its cells, and the texts that Excel shows for the cells.
    """

    heading: str
    cells: list[str]
    shown: list[str]


class Quantity(NamedTuple):
    """
    A number read from a cell, its unit if any, and whether it is a guess ("ca. 40").
    """

    number: float
    unit: str
    is_guess: bool


@dataclass(frozen=True)
class Table:
    """A table, some of whose columns are recognised by their headings."""

    comments: dict[str, str]  # ``# key: value`` above the headings; keys in lower case
    rows: list[int]  # the number of each row, as a spreadsheet shows it
    columns: list[Column]  # all columns; each has a cell for every row
    places: dict[str, int]  # position of each recognised column, by its name
    dialect: Dialect
    decimals: set[str]  # the decimal signs that certainly occur in the table
    # The decimal signs of amounts, which may also have a sign between thousands.
    amount_decimals: set[str]
    notes: list[str]  # on how the file was read
    sheets: list[str] = field(default_factory=list)  # visible sheets, if several
    by_commas: bool = False  # whether commas separate cells; decimals have a point then

    def column(self, name: str) -> Column:
        """Return a column by name, with empty cells if the table lacks it."""
        if name in self.places:
            return self.columns[self.places[name]]
        empty = [""] * len(self.rows)
        return Column(name, empty, empty)

    def only(self, places: Sequence[int]) -> Table:
        """Return the table with the rows at these positions only, in this order."""
        columns = [
            Column(heading, [cells[i] for i in places], [shown[i] for i in places])
            for heading, cells, shown in self.columns
        ]
        return replace(self, rows=[self.rows[i] for i in places], columns=columns)

    def is_sum(self, place: int) -> bool:
        """Return whether a row has the word sum, or total, and otherwise numbers."""
        cells = [c.cells[place].strip()[:_LONGEST] for c in self.columns]
        texts = [c.rstrip(":") for c in cells if c and not _NUMBER_OF_SUM.fullmatch(c)]
        return bool(texts) and all(map(_SUM.fullmatch, texts))

    def quantity(self, text: str, what: str) -> Quantity:
        """
        Return the number in a cell, with its unit; ``what`` starts the error message.

        1.250 may mean 1.25 or 1250. It is refused if other numbers have a decimal
        comma, and if no other amount tells the decimal sign of a table that may be
        German.
        """
        if isinstance(text, NumberText):
            return Quantity(to_number(text, what), "", False)
        plain = text.strip().translate(_BLANKS)
        found = _QUANTITY.fullmatch(plain) if len(plain) <= _LONGEST else None
        digits = plain if found is None else found[2]
        doubtful = _DOUBTFUL.fullmatch(digits)
        if doubtful and (
            self.decimals - {doubtful[1]}
            or not (self.by_commas or self.amount_decimals)
        ):
            raise InputError(
                f"{what} is {shorten(plain)}, which could be a decimal number or a "
                "thousand and more: write it without a sign between thousands"
            )
        number = _plain_number(digits)
        if found is None or not is_number(number):
            return Quantity(
                to_number(number if is_number(number) else text, what), "", False
            )
        return Quantity(to_number(number, what), found[3] or "", found[1] is not None)

    def number(self, text: str, what: str) -> float:
        """Return the number in a cell, without its unit; ``what`` starts the error."""
        return self.quantity(text, what).number

    def degrees(self, text: str, what: str, letters: str) -> float:
        """
        Return the coordinate that a cell states, in degrees.

        ``letters`` are the letters of directions that may stand beside the degrees,
        such as NS. The first letter means a positive coordinate, the last one a
        negative coordinate. ``what`` starts the error message.
        """
        plain = text.strip().translate(_BLANKS)
        number = _plain_number(plain)
        found = _DEGREES.fullmatch(plain) if len(plain) <= _LONGEST else None
        if is_number(number) or found is None:
            return to_number(number if is_number(number) else text, what)
        before, *parts, behind = found.groups()
        letter = (before or behind).upper()
        if (before and behind) or (letter and letter not in letters):
            raise InputError(f"{what} is {shorten(plain)}, not degrees {letters[0]}")
        whole, minutes, seconds = (_plain_number(part or "0") for part in parts)
        size = float(minutes) / 60 + float(seconds) / 3600
        value = float(whole)
        value += -size if whole.startswith("-") else size
        return -value if letter and letter == letters[-1] else value


def _plain_number(text: str) -> str:
    """Rewrite a number without thousands separators and with a decimal point."""
    if grouped := _THOUSANDS.fullmatch(text):
        text = text.replace(grouped[1], "")
    return text.replace(",", ".")


def read_table(
    content: str | bytes,
    names: Mapping[str, str],
    *,
    numbers: Collection[str],
    amounts: Collection[str] = (),
    needed: Sequence[Collection[str]] = (),
    chosen: Mapping[str, str] | None = None,
    sheet: str | None = None,
    max_rows: int | None = None,
) -> Table:
    """
    Read a table from an Excel file or from text with commas, semicolons or tabs.

    The headings are sought among the first rows. In an Excel file, they are sought in
    all visible sheets.

    Parameters
    ----------
    content
        The file, or its text.
    names
        The headings to recognise, in lower case, each with the name of its column.
    numbers
        Names of the columns that hold numbers.
    amounts
        Those of them that may have a sign between thousands.
    needed
        Sets of columns. The sheet to read is the one that has all columns of one of
        these sets.
    chosen
        Headings that the caller chose, by the name of the column.
    sheet
        The sheet of an Excel file. Default: the only one that has what is needed.
    max_rows
        Stop after this many rows, without reading the rest.
    """
    notes: list[str] = []
    chosen = chosen or {}
    own = {heading.strip().casefold(): column for column, heading in chosen.items()}
    known = {**names, **own}
    delimiter, sheets = None, []
    try:
        if isinstance(content, bytes) and is_excel(content):
            visible, rows, head = _choose_sheet(
                excel_sheets(content), known, needed, sheet, notes
            )
            sheets = visible if len(visible) > 1 else []
        elif sheet is not None:
            raise InputError(
                "only an Excel file has sheets: leave {field} out", "sheet"
            )
        else:
            text = decode(content, "cp1252", notes)
            heads = {d: _find_head_of(text, d, known) for d in _DELIMITERS}
            delimiter = max(_DELIMITERS, key=lambda d: heads[d].score)
            head = heads[delimiter]
            rows = lambda: _csv_rows(text, delimiter)  # noqa: E731
            if head.score[0] < 0:  # not CSV with any delimiter: raise the error again
                head = _find_head(rows(), known)
        if head.above:
            notes.append(f"rows above the headings ignored: {', '.join(head.above)}")
        places = _places(head.headings, names, chosen, numbers, sheets)
        body = (row for row in rows() if row[0] > head.row)
        full = (row for row in body if any(cell.strip() for cell in row[1]))
        width, taken = len(head.headings), list(islice(full, max_rows))
        table = [(_trim(c, width, n), _trim(s, width, n)) for n, c, s in taken]
    except csv.Error as error:
        raise InputError(f"not a CSV file: {error}") from None
    columns = [
        Column(heading, [c[place] for c, _ in table], [s[place] for _, s in table])
        for place, heading in enumerate(head.headings)
    ]
    of_numbers = [columns[places[name]] for name in numbers if name in places]
    decimals = _decimals(cell for column in of_numbers for cell in column.cells)
    of_amounts = [columns[places[name]] for name in amounts if name in places]
    return Table(
        head.comments,
        [number for number, _, _ in taken],
        columns,
        places,
        Dialect() if delimiter is None else _dialect(delimiter, decimals),
        decimals,
        _decimals(cell for column in of_amounts for cell in column.cells),
        notes,
        sheets,
        by_commas=delimiter == ",",
    )


def _csv_rows(text: str, delimiter: str) -> Rows:
    text = _SEPARATOR.sub("", text, count=1)
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=delimiter,
        skipinitialspace=delimiter != "\t",
        strict=True,
    )
    for number, row in enumerate(reader, 1):
        cells = [_unescape_formula(cell) for cell in row]
        yield number, cells, cells


class _Head(NamedTuple):
    """The headings of a table, and the rows above them."""

    row: int  # the number of the row with the headings
    headings: list[str]
    comments: dict[str, str]  # ``# key: value`` above the headings; keys in lower case
    above: list[str]  # the first text of each other row above the headings
    columns: set[str]  # the names of the recognised columns
    score: tuple[int, int]  # the larger, the more likely this row has the headings


def _find_head_of(text: str, delimiter: str, known: Mapping[str, str]) -> _Head:
    """
    Return the headings of a CSV text whose cells are separated by ``delimiter``.

    ``known`` has the headings to recognise, each with the name of its column.
    """
    try:
        head = _find_head(_csv_rows(text, delimiter), known)
    except csv.Error:
        return _Head(0, [], {}, [], set(), (-1, 0))
    return head._replace(score=(len(head.columns), len(head.headings)))


def _find_head(rows: Rows, known: Mapping[str, str]) -> _Head:
    """
    Return the headings of a table, which are in one of its first rows.

    It is the row with the most recognised columns; on a tie, the row with the most
    filled cells. ``known`` has the headings to recognise, each with the name of its
    column.
    """
    best = _Head(0, [], {}, [], set(), (-1, 0))
    comments: dict[str, str] = {}
    above: list[str] = []
    seen = 0
    for number, cells, _ in rows:
        filled = [cell.strip() for cell in cells if cell.strip()]
        if not filled:
            continue
        if _is_comment(cells):
            # A comment without quotes is split into cells at its delimiters.
            if match := _COMMENT.fullmatch(", ".join(filter(None, cells))):
                key = match[1].lower()
                if key in comments and best.row == 0:
                    raise InputError(f"row {number}: a second '# {key}:'")
                # One blank belongs to the notation, further ones to the value.
                comments.setdefault(key, match[2].removeprefix(" "))
            continue
        columns = {known[bare] for bare in map(bare_heading, filled) if bare in known}
        # Headings are texts. So a row with numbers cannot have the headings, unless it
        # is the first row.
        numeric = any(is_number(_plain_number(cell[:_LONGEST])) for cell in filled)
        score = (-1, 0) if numeric and seen else (len(columns), len(filled))
        if not seen or score > best.score:
            headings = [cell.strip() for cell in cells]
            best = _Head(number, headings, dict(comments), list(above), columns, score)
        above.append(shorten(filled[0]))
        seen += 1
        if seen == _HEAD_ROWS:
            break
    return best if seen else best._replace(comments=comments)


def _is_comment(cells: Sequence[str]) -> bool:
    filled = [cell for cell in cells if cell]
    return cells[0].startswith("#") and not (cells[0] == "#" and len(filled) > 1)


def _choose_sheet(
    sheets: Sequence[Sheet],
    known: Mapping[str, str],
    needed: Sequence[Collection[str]],
    wanted: str | None,
    notes: list[str],
) -> tuple[list[str], Callable[[], Rows], _Head]:
    """
    Choose the sheet to read.

    Return (titles of the visible sheets, function that returns the rows of the chosen
    sheet, its headings). ``known``, ``needed`` and ``wanted`` are the arguments names,
    needed and sheet of :func:`read_table`. A note on the choice is added to ``notes``.
    """
    visible = [sheet for sheet in sheets if sheet.visible] or list(sheets)
    titles = [sheet.title for sheet in visible]
    listed = ", ".join(map(shorten, titles))
    if wanted is not None:
        same = [s for s in sheets if s.title.casefold() == wanted.strip().casefold()]
        if not same:
            message = f"no sheet {shorten(wanted)}: the sheets are {listed}"
            raise TableError(message, sheets=titles)
        return titles, same[0].rows, _find_head(same[0].rows(), known)
    heads = [_find_head(sheet.rows(), known) for sheet in visible]
    whole = [
        place
        for place, head in enumerate(heads)
        if any(head.columns >= {*columns} for columns in needed)
    ]
    if len(whole) > 1:
        several = ", ".join(shorten(titles[place]) for place in whole)
        message = f"the sheets {several} look alike: choose one with {{field}}"
        raise TableError(message, sheets=titles)
    place = (
        whole[0]
        if whole
        else max(range(len(heads)), key=lambda place: heads[place].score)
    )
    if len(visible) > 1:
        notes.append(f"sheet {shorten(titles[place])} was read, of {listed}")
    return titles, visible[place].rows, heads[place]


def bare_heading(heading: str) -> str:
    """Return a heading in lower case, without its unit."""
    return split_heading(heading)[0]


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
    sheets: Sequence[str],
) -> dict[str, int]:
    """
    Return {name of the column: position} for each recognised column.

    A heading that the caller chose takes precedence over all others. ``names``,
    ``chosen`` and ``numbers`` are as for :func:`read_table`. ``sheets`` are the titles
    of the sheets, for errors.
    """
    columns = {
        column: _place(chosen[column], headings, column, sheets) for column in chosen
    }
    if len(set(columns.values())) < len(columns):
        raise InputError(f"one heading for two columns: {', '.join(chosen.values())}")
    bare = [split_heading(heading)[0] for heading in headings]
    free = [i for i in range(len(headings)) if i not in columns.values()]
    for column in dict.fromkeys(names.values()):
        found = [i for i in free if names.get(bare[i]) == column]
        # A heading that equals the name of the column takes precedence over others.
        found = [i for i in found if bare[i] == column] or found
        if column in columns or not found:
            continue
        if len(found) > 1 and column in numbers:
            two = " and ".join(shorten(headings[i]) for i in found[:2])
            message = f"two columns for {column}: {two}; choose one with {{field}}"
            raise TableError(message, headings, columns, sheets)
        columns[column] = found[0]
    return columns


def list_headings(headings: Sequence[str]) -> str:
    """Return a clause that lists the headings of a table, for a message."""
    # A column with both coordinates has been made two columns of the same heading.
    different = list(dict.fromkeys(headings))
    more = ["…"] if len(different) > _MOST_LISTED else []
    listed = [*map(shorten, different[:_MOST_LISTED]), *more]
    return f"the headings are {', '.join(listed)}"


def _place(
    wanted: str, headings: Sequence[str], column: str, sheets: Sequence[str]
) -> int:
    """
    Return the position of the heading ``wanted``, which the caller chose for a column.

    ``sheets`` are the titles of the sheets, for errors.
    """
    wanted = wanted.strip()
    same = [i for i, h in enumerate(headings) if h.casefold() == wanted.casefold()]
    if len(same) != 1:
        said = f"{len(same)} columns" if same else "no column"
        message = f"{said} {shorten(wanted)} for {column}: {list_headings(headings)}"
        raise TableError(message, headings, {}, sheets)
    return same[0]


def _trim(cells: list[str], width: int, row: int) -> list[str]:
    """
    Return as many cells of a row as there are headings, which is ``width``.

    Missing cells are empty. Raise InputError if further cells are not empty. ``row`` is
    the row's number, for the message.
    """
    if any(cell.strip() for cell in cells[width:]):
        raise InputError(f"row {row}: {len(cells)} cells, but {width} headings")
    return [*cells[:width], *[""] * (width - len(cells))]


def _decimals(cells: Iterable[str]) -> set[str]:
    """
    Return the decimal signs that occur in the cells.

    Numbers such as 1.250 do not count, because the point may separate thousands.
    """
    found = set()
    for cell in cells:
        if isinstance(cell, NumberText):  # its point is not the sign of the writer
            continue
        plain = cell.strip().translate(_BLANKS)
        if len(plain) <= _LONGEST and (quantity := _QUANTITY.fullmatch(plain)):
            plain = quantity[2]
        if grouped := _THOUSANDS.fullmatch(plain):
            found.add("," if grouped[1] == "." else ".")
        elif (match := _DECIMAL.fullmatch(plain)) and not _DOUBTFUL.fullmatch(plain):
            found.add(match[1])
    return found


def _dialect(delimiter: str, decimals: set[str]) -> Dialect:
    comma = "," in decimals or (delimiter == ";" and not decimals)
    return Dialect(delimiter, "," if comma and "." not in decimals else ".")


def format_csv(rows: Iterable[Sequence[str | float]], dialect: Dialect = _PLAIN) -> str:
    """
    Return rows as CSV text that begins with a byte-order mark.

    The mark tells Excel that the file is UTF-8.
    """
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
    Return a text with an apostrophe before it if a spreadsheet would see a formula.

    If apostrophes already precede the formula, one more is added, so that
    :func:`_unescape_formula` returns the original text.
    """
    stripped = text.lstrip("'")
    return f"'{text}" if stripped.startswith(_FORMULA) else text


def _unescape_formula(cell: str) -> str:
    """Undo :func:`_escape_formula`."""
    escaped = cell.startswith("'") and _escape_formula(cell[1:]) == cell
    return cell[1:] if escaped else cell
