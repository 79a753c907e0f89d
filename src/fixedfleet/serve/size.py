"""Whether a text holds more customers than are allowed, before anything is built.

What is built of a customer takes many times the memory and time of its few bytes. The
counts here cost no more than reading the text once, and stop at the limit. They never
refuse what is within it; what they let through is counted again once it is built.
"""

from __future__ import annotations

import io
import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["excess"]

_SECTION = re.compile(r"([A-Z0-9_]+)_SECTION[ \t]*:?", re.IGNORECASE)
_ARRAYS = ("demands", "customers", "names", "matrix")
_LINES_A_ROW = 8  # of a table whose quoted cells may go on over several lines
_HEADERS = 1000  # lines of a VRPLIB file that belong to no section


def excess(text: str, format: str, most: int) -> str | None:
    """
    Say what there is too much of in a text; None if there is not.

    Parameters
    ----------
    text
        The text.
    format
        What it is: ``csv``, ``vrplib`` or ``json``.
    most
        Customers there may be.
    """
    if len(text) <= most:  # a customer takes two characters at least
        return None
    lines = (line.strip() for line in io.StringIO(text, newline=None))
    if format == "vrplib":
        return _excess_of_vrplib(lines, most)
    if format == "json":
        large = _is_large_json(text, most)
    else:
        rows = (most + 2) * (_LINES_A_ROW if '"' in text else 1)  # depot and header
        large = _is_large_table(lines, rows)
    return f"more than {most} customers" if large else None


def _is_large_table(lines: Iterator[str], most_rows: int) -> bool:
    rows = 0
    for line in lines:
        # Spreadsheets leave rows of empty cells behind; comments precede the header.
        if not line.strip(' \t,;"') or (rows == 0 and line.startswith(("#", '"#'))):
            continue
        rows += 1
        if rows > most_rows:
            return True
    return False


def _excess_of_vrplib(lines: Iterator[str], most: int) -> str | None:
    section, rows, headers = "", 0, 0
    for line in lines:
        if not line or line.startswith("#"):
            continue
        if match := _SECTION.fullmatch(line):
            section, rows = match[1].upper(), 0
        elif not section or ":" in line:
            headers += 1
        elif section != "EDGE_WEIGHT":  # whose lines are wrapped at will
            rows += 1
        if rows > most + 1:
            return f"more than {most} customers"
        if headers > _HEADERS:
            return f"more than {_HEADERS} headers"
    return None


def _is_large_json(text: str, most: int) -> bool:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return False  # the reader says what is wrong with it
    arrays = [data.get(key) for key in _ARRAYS] if isinstance(data, dict) else []
    return any(isinstance(array, list) and len(array) > most + 1 for array in arrays)
