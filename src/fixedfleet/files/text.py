"""What the readers of text share: bytes to text, text to numbers, the caller's say."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from fixedfleet.distances import Rounding
from fixedfleet.errors import InputError

if TYPE_CHECKING:
    import os

__all__ = [
    "Caller",
    "check_storable",
    "describe_rounding",
    "read_text",
    "shorten",
    "to_number",
    "to_whole",
    "written",
]

# Tabs, line ends and form feeds are text; the other control characters are not.
_BINARY = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_WHOLE = re.compile(r"\d{1,18}", re.ASCII)

_ROUNDING = {
    "none": "distances not rounded",
    "round": "distances rounded to the nearest whole number",
    "ceil": "distances rounded up to whole numbers",
    "trunc": "distances rounded down to whole numbers",
}


@dataclass(frozen=True)
class Caller:
    """
    What the caller says beside the file; it wins over what the file says.

    Parameters
    ----------
    vehicles
        The number of vehicles.
    capacity
        What one vehicle carries.
    rounding
        What happens to each distance.
    depot
        The depot: a row's name in CSV, a node's number in VRPLIB.
    """

    vehicles: int | None = None
    capacity: float | None = None
    rounding: Rounding | None = None
    depot: str | int | None = None

    def __post_init__(self) -> None:
        if self.rounding is not None and self.rounding not in get_args(Rounding):
            raise InputError(
                f"unknown rounding {self.rounding!r}: choose from "
                f"{', '.join(get_args(Rounding))}"
            )

    def fleet(
        self, found: int | None, source: str, remedy: str, notes: list[str]
    ) -> int:
        """
        Settle the fleet: the caller's, else the file's; note which.

        Parameters
        ----------
        found
            What the file says, or None.
        source
            Where the file says it.
        remedy
            Where the file could have said it, for the message.
        notes
            Receives one sentence.
        """
        if self.vehicles is not None:
            notes.append(f"fleet of {_vehicles(self.vehicles)} given by the caller")
            return self.vehicles
        if found is None:
            raise InputError(
                f"the file does not say how many vehicles there are: give vehicles=, "
                f"or {remedy}"
            )
        if found < 1:
            raise InputError(
                f"fleet of {_vehicles(found)} taken from {source}, not at least 1"
            )
        notes.append(f"fleet of {_vehicles(found)} taken from {source}")
        return found

    def load(self, found: float | None, remedy: str, notes: list[str]) -> float:
        """Settle the capacity: the caller's, else the file's; note if they differ."""
        if self.capacity is None:
            if found is None:
                raise InputError(
                    f"the file does not say what a vehicle carries: give capacity=, "
                    f"or {remedy}"
                )
            return found
        if found is not None and found != self.capacity:
            notes.append(
                f"capacity {self.capacity:g} given by the caller, the file says "
                f"{found:g}"
            )
        return self.capacity


def _vehicles(count: int) -> str:
    return f"{count} vehicle" if count == 1 else f"{count} vehicles"


def describe_rounding(rounding: Rounding, why: str = "") -> str:
    """Say in words what happens to the distances, and why."""
    return _ROUNDING[rounding] + (f" ({why})" if why else "")


def read_text(path: str | os.PathLike[str], *, latin: bool = False) -> str:
    """
    Read a text file in UTF-8, with or without a byte-order mark.

    Parameters
    ----------
    path
        The file.
    latin
        Take a file that is not UTF-8 for Latin-1, as old comments often are.

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


def check_storable(what: str, text: str) -> None:
    """Refuse text with control characters, which the readers take for binary junk."""
    if (junk := _BINARY.search(text)) is not None:
        raise InputError(
            f"{what} {shorten(text)} holds the control character "
            f"{ord(junk.group()):#04x}, which a text file cannot hold: write .json"
        )


def shorten(text: object, limit: int = 40) -> str:
    """Quote something for a message, on one line and not without end."""
    quoted = repr(text)
    return quoted if len(quoted) <= limit else f"{quoted[: limit - 1]}…"


def to_number(text: str, what: str) -> float:
    """Read a finite number as people write them; ``what`` opens the message."""
    text = text.strip()
    value = float(text) if _NUMBER.fullmatch(text) else math.nan
    if not math.isfinite(value):
        hint = ""
        if re.fullmatch(r"[+-]?\d*,\d+", text):
            hint = ": write decimals with a point"
        raise InputError(f"{what} is {shorten(text)}, not a finite number{hint}")
    return value


def to_whole(text: str, what: str) -> int:
    """Read a whole number of at least 0; ``what`` opens the message."""
    text = text.strip()
    if not _WHOLE.fullmatch(text):
        raise InputError(f"{what} is {shorten(text)}, not a whole number from 0")
    return int(text)


def written(value: float) -> str:
    """Write a number so that it reads back the same: 5, 0.1, 1e+300."""
    value = float(value)
    if value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return repr(value)
