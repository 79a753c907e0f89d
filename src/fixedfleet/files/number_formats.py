"""
The texts that Excel shows for cells with a number format.

Examples are postcodes, dates, times, percentages and money.
"""

from __future__ import annotations

import datetime
import re
from typing import Any

from fixedfleet.files.text import format_number

__all__ = ["shown_text"]

# Parts of a number format other than digits. Some are shown: "kg", \- and the currency
# in [$€-407]. Others are not: [Red], _) and *x.
_QUOTED = re.compile(r'"([^"]*)"|\\(.)|\[\$([^\]-]*)[^\]]*\]|\[[^\]]*\]|_.|\*.')
_NUMBER = re.compile(r"[#0?,]*[#0?](\.[#0?]+)?")
# These formats do not state how to write a date. Excel shows mm-dd-yy as the short date
# of the user's country.
_NO_PATTERN = {"mm-dd-yy", "general"}
_PARTS = re.compile(r"y+|m+|d+|h+|s+|am/pm|a/p", re.IGNORECASE)


def shown_text(value: Any, number_format: str) -> str:
    """
    Return the text that Excel shows for a value in a number format.

    Supported are formats with leading zeros, decimals, percent signs and units, and
    formats of dates and times. The decimal sign is a point. For other formats, the text
    is the plain value: 5, 0.1, 2026-03-12, 08:30.
    """
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return _shown_date(value, number_format)
    if isinstance(value, (int, float)):
        return _shown_number(value, number_format)
    return str(value)


def _shown_number(value: float, number_format: str) -> str:
    plain = format_number(value)
    pattern = number_format.split(";")[0]
    words: list[str] = []

    def keep(match: re.Match[str]) -> str:
        words.append(next(filter(None, match.groups()), ""))
        return "\0"

    digits = _QUOTED.sub(keep, pattern)
    place = _NUMBER.search(digits)
    if pattern.lower() == "general" or place is None or "e" in digits.lower():
        return plain
    scale = 100 if "%" in digits else 1
    decimals = len(place[1]) - 1 if place[1] else 0
    whole = place[0].partition(".")[0].replace(",", "")
    if place[0] == digits.strip() and not decimals and "00" not in whole:
        return plain  # Excel would round the value in the format "0"
    text = f"{value * scale:.{decimals}f}"
    sign, text = ("-", text[1:]) if text.startswith("-") else ("", text)
    before, point, after = text.partition(".")
    text = before.zfill(whole.count("0")) + point + after
    said = digits[: place.start()] + sign + text + digits[place.end() :]
    for word in words:
        said = said.replace("\0", word, 1)
    return " ".join(said.split())


def _shown_date(
    value: datetime.datetime | datetime.date | datetime.time, number_format: str
) -> str:
    pattern = _QUOTED.sub(lambda match: match[1] or match[2] or "", number_format)
    pattern = pattern.split(";")[0].strip()
    if isinstance(value, datetime.time):
        value, usual = datetime.datetime.combine(datetime.date.min, value), "hh:mm"
    else:
        # openpyxl returns a date without a time of day as midnight.
        value = datetime.datetime.fromisoformat(value.isoformat())
        midnight = value.time() == datetime.time()
        usual = "yyyy-mm-dd" if midnight else "yyyy-mm-dd hh:mm"
    if pattern.lower() in _NO_PATTERN or not _PARTS.search(pattern):
        pattern = usual
    return _format_moment(value, pattern)


def _format_moment(moment: datetime.datetime, pattern: str) -> str:
    """Return a date and time as text in a pattern such as dd.mm.yyyy hh:mm."""
    half_day = re.search(r"am/pm|a/p", pattern, re.IGNORECASE) is not None
    before = ""  # the letter of the previous part: "m" after "h" means minutes

    def write(match: re.Match[str]) -> str:
        nonlocal before
        part = match[0].lower()
        kind, last = part[0], before
        before = kind
        if kind == "a":
            return f"{moment:%p}"
        if kind == "y":
            return f"{moment:%Y}" if len(part) > 2 else f"{moment:%y}"
        rest = pattern[match.end() :].lower().lstrip(":. ")
        is_minute = kind == "m" and (last == "h" or rest.startswith("s"))
        if kind in "md" and not is_minute and len(part) > 2:
            names = {"m": ("%b", "%B"), "d": ("%a", "%A")}[kind]
            return moment.strftime(names[len(part) > 3])
        hour = (moment.hour + 11) % 12 + 1 if half_day else moment.hour
        number = {"m": moment.month, "d": moment.day, "h": hour, "s": moment.second}
        shown = moment.minute if is_minute else number[kind]
        return str(shown).zfill(min(len(part), 2))

    return _PARTS.sub(write, pattern)
