"""Times of day, time windows and durations in the cells of a table."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fixedfleet.errors import InputError
from fixedfleet.files.text import is_number, shorten

if TYPE_CHECKING:
    Window = tuple[float | None, float | None]

__all__ = ["format_time", "parse_duration", "parse_time", "parse_window"]

_LONGEST = 60  # a cell with more characters is not a time
# 08:30, 8.30 Uhr, 8h30, 08:30:00 and 8 Uhr; a date of Excel may stand before it.
_CLOCK = re.compile(
    r"(?:\d{4}-\d\d-\d\d[ T])?(\d{1,2})(?:[:.,h](\d\d)(?::(\d\d)(?:\.\d+)?)?)?"
    r"\s*(uhr|h|am|pm|a\.m\.|p\.m\.)?",
    re.IGNORECASE,
)
_LIKE_CLOCK = re.compile(r"\d{1,2}[.,]\d\d")  # 8.30 is a clock time, and no number
_BETWEEN = re.compile(r"\s*(?:-|–|—|\bbis\b|\bto\b|\buntil\b)\s*", re.IGNORECASE)
_FROM = re.compile(r"(?:ab|from|after|frühestens|nach)\s+(.+)", re.IGNORECASE)
_TO = re.compile(r"(?:bis|until|before|to|spätestens|vor|by)\s+(.+)", re.IGNORECASE)
_DURATION = re.compile(
    r"(\d+(?:[.,]\d+)?)\s*(min|minuten|minutes?|h|std|stunden|hours?)?\.?",
    re.IGNORECASE,
)
_HOURS_UP_TO = 24  # a number up to this is an hour, a larger one minutes
_DAY = 24 * 60


def parse_time(text: str, what: str) -> float:
    """
    Return a time of day in minutes since midnight: 510 for 08:30, 8.30 Uhr and 8:30 am.

    A number below 1 is a share of a day, as Excel stores times. A number from 1 to 24
    is an hour. A larger number is minutes since midnight. ``what`` starts the error
    message.
    """
    plain = text.strip().removeprefix("um ")
    number = plain.replace(",", ".")
    if is_number(number) and not _LIKE_CLOCK.fullmatch(plain):
        value = float(number)
        if 0 < value < 1:
            return round(value * _DAY, 6)
        if 0 <= value <= _HOURS_UP_TO:
            return value * 60
        if value > 0:
            return value
    found = _CLOCK.fullmatch(plain) if len(plain) <= _LONGEST else None
    if found is not None:
        hours, minutes, seconds = (int(part or 0) for part in found.groups()[:3])
        half = (found[4] or "").lower().replace(".", "")
        if half in ("am", "pm"):
            hours = hours % 12 + 12 * (half == "pm")
        if minutes < 60 and seconds < 60 and hours * 60 + minutes <= 2 * _DAY:
            return hours * 60 + minutes + seconds / 60
    raise InputError(f"{what} is {shorten(plain)}, not a time of day: write 08:30")


def parse_window(text: str, what: str) -> Window:
    """
    Return (from, to) of a window such as 08:00-12:00, 8 bis 12 Uhr, ab 9 or bis 12 Uhr.

    Both are minutes since midnight; an open end is None. ``what`` starts the error
    message.
    """
    plain = text.strip()
    if len(plain) > _LONGEST:
        raise InputError(f"{what} is {shorten(plain)}, not a window: write 08:00-12:00")
    if alone := _FROM.fullmatch(plain):
        return parse_time(alone[1], what), None
    if alone := _TO.fullmatch(plain):
        return None, parse_time(alone[1], what)
    ends = _BETWEEN.split(plain)
    if len(ends) != 2 or not all(ends):
        raise InputError(
            f"{what} is {shorten(plain)}, not one window: write 08:00-12:00"
        )
    begin, end = (parse_time(part, what) for part in ends)
    if end < begin:
        raise InputError(f"{what} is {shorten(plain)}, which ends before it begins")
    return begin, end


def parse_duration(text: str, what: str) -> float:
    """
    Return the minutes of a duration such as 5, 5 min, 0:05 (hours:minutes) or 0,5 h.

    A number without a unit is minutes. ``what`` starts the error message.
    """
    plain = text.strip()
    if clock := re.fullmatch(r"(\d{1,2}):(\d\d)(?::(\d\d))?", plain):
        return int(clock[1]) * 60 + int(clock[2]) + int(clock[3] or 0) / 60
    found = _DURATION.fullmatch(plain) if len(plain) <= _LONGEST else None
    if found is None:
        raise InputError(f"{what} is {shorten(plain)}, not minutes: write 5")
    hours = (found[2] or "").lower().startswith(("h", "st"))
    return float(found[1].replace(",", ".")) * (60 if hours else 1)


def format_time(minutes: float) -> str:
    """
    Return minutes since midnight as text for :func:`parse_time`: 08:30, or 510.25.
    """
    if minutes == int(minutes) and 0 <= minutes <= 2 * _DAY:
        return f"{int(minutes) // 60:02d}:{int(minutes) % 60:02d}"
    if 0 <= minutes <= _HOURS_UP_TO:
        raise InputError(f"a table cannot hold the time {minutes:g}: write .json")
    text = repr(float(minutes))
    # 24.25 would be read as 24:25, and 24.250 is read as minutes.
    return f"{text}0" if _LIKE_CLOCK.fullmatch(text) else text
