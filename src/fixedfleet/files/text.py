"""Text of files: from bytes to text, from text to numbers, and back."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING

from fixedfleet.errors import InputError

if TYPE_CHECKING:
    import os

__all__ = [
    "check_storable",
    "format_number",
    "read_text",
    "shorten",
    "split_lines",
    "to_number",
    "to_whole",
]

# Tabs, line ends and form feeds are text; the other control characters are not.
_BINARY = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_WHOLE = re.compile(r"\d{1,18}", re.ASCII)
_LINE_END = re.compile(r"\r\n|\r|\n")


def read_text(path: str | os.PathLike[str], *, latin: bool = False) -> str:
    """
    Read a text file in UTF-8, with or without a byte-order mark.

    Parameters
    ----------
    path
        The file.
    latin
        Read a file that is not UTF-8 as Latin-1: comments in old files often are.

    Raises
    ------
    InputError
        If the file is empty or not text.
    """
    data = Path(path).read_bytes()
    if not data.strip():
        raise InputError("the file is empty")
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise InputError("the file is UTF-16: save it as UTF-8")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if not latin:
            raise InputError(
                f"byte {error.start} is {data[error.start]:#04x}, which is not UTF-8: "
                "save the file as UTF-8 text"
            ) from None
        text = data.decode("latin-1")
    text = text.rstrip("\x1a")  # the end-of-file mark of DOS
    if (junk := _BINARY.search(text)) is not None:
        raise InputError(
            f"not a text file: character {junk.start()} is {ord(junk.group()):#04x}"
        )
    return text


def split_lines(text: str) -> list[str]:
    """Split text at the line ends of Unix, Windows and old Macs, and nowhere else."""
    return _LINE_END.split(text)


def check_storable(what: str, text: str) -> None:
    """Raise InputError for control characters: readers would refuse such a file."""
    if (junk := _BINARY.search(text)) is not None:
        raise InputError(
            f"{what} {shorten(text)} holds the control character "
            f"{ord(junk.group()):#04x}, which a text file cannot hold: write .json"
        )


def shorten(value: object, limit: int = 40) -> str:
    """Quote a value for a message, on one line and with at most ``limit`` letters."""
    quoted = repr(value)
    return quoted if len(quoted) <= limit else f"{quoted[: limit - 1]}…"


def to_number(text: str, what: str) -> float:
    """Return the finite number that a text states; ``what`` opens the message."""
    text = text.strip()
    value = float(text) if _NUMBER.fullmatch(text) else math.nan
    if not math.isfinite(value):
        hint = ""
        if re.fullmatch(r"[+-]?\d*,\d+", text):
            hint = ": write decimals with a point"
        raise InputError(f"{what} is {shorten(text)}, not a finite number{hint}")
    return value


def to_whole(text: str, what: str) -> int:
    """Return the whole number of at least 0 that a text states."""
    text = text.strip()
    if not _WHOLE.fullmatch(text):
        raise InputError(f"{what} is {shorten(text)}, not a whole number from 0")
    return int(text)


def format_number(value: float) -> str:
    """Write a number so that it reads back the same: 5, 0.1, 1e+300."""
    value = float(value)
    if value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return repr(value)
