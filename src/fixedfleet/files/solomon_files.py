"""Read instances with time windows in the format of Solomon (1987)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fixedfleet.errors import InputError
from fixedfleet.files.reading import build_reading
from fixedfleet.files.text import decode, shorten, split_lines, to_number, to_whole

if TYPE_CHECKING:
    from fixedfleet.files.reading import Reading, ReadOptions

__all__ = ["is_solomon", "parse_instance"]

_HEADINGS = re.compile(r"^\s*NUMBER\s+CAPACITY\s*$", re.MULTILINE | re.IGNORECASE)
_COLUMNS = ("number", "x", "y", "demand", "ready time", "due date", "service time")


def is_solomon(text: str) -> bool:
    """Return whether a text has the headings of Solomon's format."""
    return _HEADINGS.search(text[:10_000]) is not None


def parse_instance(content: str | bytes, options: ReadOptions) -> Reading:
    """
    Read an instance. Its travel times are equal to its distances.

    The depot's time window is the shift of all vehicles. Distances are not rounded
    unless the caller asks for it.
    """
    options.refuse_table_options()
    options.refuse("the first customer of the file is the depot", "depot")
    lines = [
        (number, line.split())
        for number, line in enumerate(split_lines(decode(content)), 1)
        if line.strip()
    ]
    name = " ".join(lines[0][1]) if lines else ""
    numbers = [
        (line, words) for line, words in lines[1:] if re.match(r"[-+.\d]", words[0])
    ]
    if len(numbers) < 3 or len(numbers[0][1]) != 2:
        raise InputError(
            "a .txt file is read in Solomon's format, and this one has no line with "
            "the number of vehicles and the capacity, or no customers"
        )
    options.check_size(len(numbers) - 2)
    (line, (vehicles, capacity)), *rows = numbers
    table = [_parse_row(number, words) for number, words in rows]
    depot, *customers = table
    if depot[3]:
        raise InputError(f"line {rows[0][0]}: the depot has demand {depot[3]:g}, not 0")
    fields = {
        "name": name,
        "depot": depot[1:3],
        "customers": [row[1:3] for row in customers],
        "demands": [row[3] for row in customers],
        "vehicles": to_whole(vehicles, f"line {line}: the number of vehicles", 1),
        "capacity": to_number(capacity, f"line {line}: the capacity"),
        "depot_hours": (depot[4], depot[5]),
        "speed": 1.0,
        "windows": [row[4:6] for row in customers],
        "service_times": [row[6] for row in customers],
    }
    place = f"line {line}"
    return build_reading(fields, {"vehicles": place, "capacity": place}, options)


def _parse_row(line: int, words: list[str]) -> list[float]:
    if len(words) != len(_COLUMNS):
        raise InputError(
            f"line {line}: {len(words)} values ({shorten(' '.join(words))}), not "
            f"{len(_COLUMNS)} ({', '.join(_COLUMNS)})"
        )
    return [
        to_number(word, f"line {line}: {column}")
        for word, column in zip(words, _COLUMNS, strict=True)
    ]
