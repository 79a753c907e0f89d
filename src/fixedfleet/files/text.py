"""Convert the bytes of files to text, text to numbers, and numbers to text."""

from __future__ import annotations

import math
import os
import re
from pathlib import Path

from fixedfleet.errors import InputError

__all__ = [
    "MOST_BYTES",
    "check_storable",
    "decode",
    "format_number",
    "is_number",
    "read_bytes",
    "shorten",
    "split_lines",
    "to_number",
    "to_whole",
]

# The largest text file that is read: ten times the largest instance known to us.
MOST_BYTES = 256 * 10**6

# Tabs, line ends and form feeds are text; the other control characters are not.
_BINARY = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_WITH_UNIT = re.compile(r"([+-]?\d+([.,]\d+)?)\s*[^\W\d]+\.?")
_WHOLE = re.compile(r"\d{1,18}", re.ASCII)
_LINE_END = re.compile(r"\r\n|\r|\n")


def read_bytes(path: str | os.PathLike[str], most: int = MOST_BYTES) -> bytes:
    """
    Return the content of a file.

    Raise InputError if the file is empty or has more than ``most`` bytes.
    """
    size = os.path.getsize(path)
    if size > most:
        raise InputError(
            f"the file has {size / 1e6:,.0f} MB, and at most {most / 1e6:,.0f} MB are "
            "read: is this the right file?"
        )
    data = Path(path).read_bytes()
    if not data.strip():
        raise InputError("the file is empty")
    return data


def decode(
    data: str | bytes, legacy: str | None = None, notes: list[str] | None = None
) -> str:
    """
    Return the text of bytes in UTF-8, or in UTF-16 with a byte-order mark.

    If ``data`` is already a text, it is returned unchanged. Bytes in neither encoding
    are read in the ``legacy`` encoding, such as "cp1252", which Excel writes in western
    Europe, and a note is added to ``notes``. Without ``legacy``, InputError is raised.
    """
    if isinstance(data, str):
        return data
    is_utf16 = data[:2] in (b"\xff\xfe", b"\xfe\xff")
    for encoding in filter(None, ("utf-16" if is_utf16 else "utf-8-sig", legacy)):
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError as error:
            start = error.start
            continue
        if encoding == legacy and notes is not None:
            notes.append(
                f"the file is not UTF-8: it was read as Windows text ({legacy})"
            )
        text = text.rstrip("\x1a")  # the end-of-file mark of DOS
        if (junk := _BINARY.search(text)) is not None:
            place = f"character {junk.start()} is {ord(junk.group()):#04x}"
            raise InputError(f"not a text file: {place}")
        return text
    raise InputError(
        f"byte {start} is {data[start]:#04x}, which is not UTF-8: save the file as "
        "UTF-8 text"
    )


def split_lines(text: str) -> list[str]:
    """Split text at the line ends of Unix, Windows and old Macs, and nowhere else."""
    return _LINE_END.split(text)


def check_storable(what: str, text: str, *, field: str | None = None) -> None:
    """
    Raise InputError if a text has control characters, which a file cannot hold.

    ``what`` says what the text is, for the message. ``field`` is the argument that
    gives the text, if its name is known.
    """
    if (junk := _BINARY.search(text)) is not None:
        raise InputError(
            f"{what} {shorten(text)} holds the control character "
            f"{ord(junk.group()):#04x}, which a text file cannot hold: write .json",
            field,
        )


def shorten(value: object, limit: int = 40) -> str:
    """Quote a value for a message, on one line, in at most ``limit`` characters."""
    quoted = repr(value)
    return quoted if len(quoted) <= limit else f"{quoted[: limit - 1]}…"


def is_number(text: str) -> bool:
    """Return whether a text is a number with a decimal point."""
    return _NUMBER.fullmatch(text) is not None


def to_number(text: str, what: str) -> float:
    """Return the finite number in a text; ``what`` starts the error message."""
    text = text.strip()
    value = float(text) if is_number(text) else math.nan
    if not math.isfinite(value):
        hint = ""
        if re.fullmatch(r"[+-]?\d*,\d+", text):
            hint = ": write decimals with a point"
        elif with_unit := _WITH_UNIT.fullmatch(text):
            hint = f": write {with_unit[1]}"
        raise InputError(f"{what} is {shorten(text)}, not a finite number{hint}")
    return value


def to_whole(text: str, what: str, least: int = 0) -> int:
    """
    Return the whole number in a text; raise InputError if it is below ``least``.

    ``what`` starts the error message.
    """
    text = text.strip()
    if not _WHOLE.fullmatch(text) or int(text) < least:
        raise InputError(f"{what} is {shorten(text)}, not a whole number from {least}")
    return int(text)


def format_number(value: float) -> str:
    """
    Return a number as text from which exactly this number is read: 5, 0.1, 1e+300.
    """
    value = float(value)
    if value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return repr(value)
