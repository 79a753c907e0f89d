"""Excel files (.xlsx), by openpyxl, which the extra ``excel`` installs."""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING, Any

from fixedfleet.errors import InputError, require
from fixedfleet.files.text import check_storable, format_number, shorten

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    Rows = Iterator[tuple[int, list[str]]]  # the number of each row, and its cells

__all__ = ["OTHER_TABLES", "excel_rows", "format_excel", "is_excel"]

# What to say about tables that are not read, by extension.
OTHER_TABLES = {
    ".xls": "an old Excel file (.xls): save it as .xlsx or .csv",
    ".ods": "an OpenDocument table (.ods): save it as .xlsx or .csv",
}

_ZIP, _OLD_EXCEL = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
_MOST = 64 * 10**6  # bytes of a file when it is unpacked


def is_excel(data: bytes) -> bool:
    """Return whether a file is an Excel file; refuse other archives."""
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


def excel_rows(data: bytes, notes: list[str]) -> Rows:
    """Return the rows of the first sheet as texts; note if there are other sheets."""
    openpyxl = require("openpyxl", "excel", "an Excel file")
    try:  # a broken file makes openpyxl raise errors of many kinds
        book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
        sheet, *others = book.worksheets
        if others:
            notes.append(f"only the first sheet, {shorten(sheet.title)}, was read")
        width = 0
        for number, values in enumerate(sheet.iter_rows(values_only=True), 1):
            width = max(width, len(values))  # empty cells at the end may be left out
            cells = [_cell_text(value) for value in values]
            yield number, cells + [""] * (width - len(cells))
    except Exception as error:
        said = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise InputError(f"not an Excel file, or a broken one: {said}") from None


def _cell_text(value: Any) -> str:
    if value is None:
        return ""
    is_plain = isinstance(value, (int, float)) and not isinstance(value, bool)
    return format_number(value) if is_plain else str(value)


def format_excel(rows: Iterable[Sequence[str | float]]) -> bytes:
    """Write rows as an Excel file: texts as texts, numbers as numbers."""
    openpyxl = require("openpyxl", "excel", "an Excel file")
    cell_of = require("openpyxl.cell", "excel", "an Excel file").WriteOnlyCell
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("fixedfleet")
    for row in rows:
        cells = []
        for value in row:
            if isinstance(value, str):  # XML has no vertical tabs and form feeds
                check_storable(
                    "the text", value.replace("\v", "\0").replace("\f", "\0")
                )
            cell = cell_of(sheet, value if isinstance(value, str) else float(value))
            cell.data_type = "s" if isinstance(value, str) else "n"  # never a formula
            cells.append(cell)
        sheet.append(cells)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()
