"""Read and write Excel files (.xlsx), by openpyxl from the extra ``excel``."""

from __future__ import annotations

import io
import zipfile
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from fixedfleet.errors import InputError, require
from fixedfleet.files.number_formats import shown_text
from fixedfleet.files.text import check_storable, format_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    # For each row: its number, the texts of its cells, and the texts that Excel shows.
    Rows = Iterator[tuple[int, list[str], list[str]]]

__all__ = [
    "OTHER_TABLES",
    "NumberText",
    "Sheet",
    "excel_sheets",
    "format_excel",
    "is_excel",
]

# The error messages for tables that cannot be read, by extension.
OTHER_TABLES = {
    ".xls": "an old Excel file (.xls): save it as .xlsx or .csv",
    ".ods": "an OpenDocument table (.ods): save it as .xlsx or .csv",
}

_NO_TABLES = {
    b"\xff\xd8\xff": "a picture (JPEG)",
    b"\x89PNG": "a picture (PNG)",
    b"GIF8": "a picture (GIF)",
    b"%PDF": "a PDF file",
}
_ZIP, _OLD_EXCEL = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
_MOST = 64 * 10**6  # the largest size of an unpacked file, in bytes
_WIDEST = 60  # the largest width of a column, in characters


def is_excel(data: bytes) -> bool:
    """
    Return whether a file is an Excel file (.xlsx).

    Raise InputError for pictures, other archives and other kinds of spreadsheets.
    """
    for beginning, what in _NO_TABLES.items():
        if data.startswith(beginning):
            raise InputError(f"{what}, not a table: give an Excel or CSV file")
    if data.startswith(_OLD_EXCEL):
        raise InputError(OTHER_TABLES[".xls"])
    if not data.startswith(_ZIP):
        return False
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            files = {info.filename: info.file_size for info in archive.infolist()}
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError) as error:
        raise InputError(f"not an Excel file, or a broken one: {error}") from None
    if "content.xml" in files:
        raise InputError(OTHER_TABLES[".ods"])
    if "xl/workbook.xml" not in files:
        raise InputError("a zip archive, not an Excel file")
    if sum(files.values()) > _MOST:
        raise InputError(
            f"an Excel file of {sum(files.values()) / 1e6:,.0f} MB when unpacked, and "
            f"at most {_MOST / 1e6:,.0f} MB are read: is this the right file?"
        )
    return True


class NumberText(str):
    """
    The text of a cell that holds a number, with a decimal point.

    A cell that holds the text 1.250 may mean 1250; one that holds a number does not.
    """

    __slots__ = ()


class Sheet(NamedTuple):
    """A sheet of an Excel file. Each call of ``rows`` reads it from the beginning."""

    title: str
    visible: bool
    rows: Callable[[], Rows]


def excel_sheets(data: bytes) -> list[Sheet]:
    """Return the sheets of an Excel file."""
    openpyxl = require("openpyxl", "excel", "an Excel file")
    with _explained():
        book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
        return [
            Sheet(sheet.title, sheet.sheet_state == "visible", partial(_rows, sheet))
            for sheet in book.worksheets
        ]


@contextmanager
def _explained() -> Iterator[None]:
    """Context manager that replaces any error of openpyxl by an InputError."""
    try:
        yield
    except Exception as error:
        said = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise InputError(f"not an Excel file, or a broken one: {said}") from None


def _rows(sheet: Any) -> Rows:
    width = 0
    with _explained():
        for number, row in enumerate(sheet.iter_rows(), 1):
            # A file may leave out empty cells at the end of a row.
            width = max(width, len(row))
            empty = [""] * (width - len(row))
            texts = [_cell_text(cell.value) for cell in row]
            shown = [
                shown_text(c.value, c.number_format) if c.value is not None else ""
                for c in row
            ]
            yield number, texts + empty, shown + empty


def _cell_text(value: Any) -> str:
    if value is None:
        return ""
    is_plain = isinstance(value, (int, float)) and not isinstance(value, bool)
    return NumberText(format_number(value)) if is_plain else str(value)


def format_excel(
    rows: Sequence[Sequence[str | float]],
    further: Mapping[str, Sequence[Sequence[str | float]]] | None = None,
) -> bytes:
    """
    Return the content of an Excel file with these rows.

    Strings become cells with text, never formulas, and numbers become numbers. The
    first row with several cells has the headings. They are bold, stay in view when the
    user scrolls, and have filters. Columns are as wide as their texts. ``further`` has
    the rows of further sheets, by their titles.
    """
    openpyxl = require("openpyxl", "excel", "an Excel file")
    book = openpyxl.Workbook(write_only=True)
    for title, content in {"fixedfleet": rows, **(further or {})}.items():
        _add_sheet(book, title, content)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def _add_sheet(book: Any, title: str, rows: Sequence[Sequence[str | float]]) -> None:
    cell_of = require("openpyxl.cell", "excel", "an Excel file").WriteOnlyCell
    bold = require("openpyxl.styles", "excel", "an Excel file").Font(bold=True)
    letter = require("openpyxl.utils", "excel", "an Excel file").get_column_letter
    sheet = book.create_sheet(title)
    head = next((i for i, row in enumerate(rows) if len(row) > 1), 0)
    width = max(map(len, rows), default=0)
    for place in range(width):
        texts = [row[place] for row in rows[head:] if len(row) > place]
        longest = max((len(_width_text(text)) for text in texts), default=0)
        sheet.column_dimensions[letter(place + 1)].width = min(_WIDEST, longest + 3)
    if width > 1:
        sheet.freeze_panes = f"A{head + 2}"
        sheet.auto_filter.ref = f"A{head + 1}:{letter(width)}{len(rows)}"
    for number, row in enumerate(rows):
        cells = []
        for value in row:
            if isinstance(value, str):  # XML cannot hold vertical tabs and form feeds
                check_storable(
                    "the text", value.replace("\v", "\0").replace("\f", "\0")
                )
            cell = cell_of(sheet, value if isinstance(value, str) else float(value))
            cell.data_type = "s" if isinstance(value, str) else "n"  # never a formula
            if number == head and width > 1:
                cell.font = bold
            cells.append(cell)
        sheet.append(cells)


def _width_text(value: str | float) -> str:
    return value if isinstance(value, str) else format_number(value)
