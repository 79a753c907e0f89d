"""Tests of times in cells."""

from __future__ import annotations

import pytest

from fixedfleet.errors import InputError
from fixedfleet.files.times import (
    format_time,
    parse_duration,
    parse_time,
    parse_window,
)


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("08:30", 510),
        ("8.30", 510),
        ("8,30 Uhr", 510),
        ("8:30 Uhr", 510),
        ("8h30", 510),
        ("08:30:00", 510),
        ("1899-12-30 08:30:00", 510),
        ("8:30 pm", 1230),
        ("12:10 a.m.", 10),
        ("8 Uhr", 480),
        ("8", 480),
        ("8.5", 510),
        ("8:30:30", 510.5),
        ("8:05", 485),
        ("12 pm", 720),
        ("0", 0),
        ("1", 60),
        ("24", 1440),
        ("25", 25),
        ("24:00", 1440),
        ("24.250", 24.25),
        ("48:00", 2880),
        ("510", 510),
        ("8" + 56 * " " + "Uhr", 480),
        ("0.3541666666666667", 510),  # Excel counts days
    ],
)
def test_a_time_of_day_is_read_as_people_write_it(text, minutes):
    """Clocks, hours, minutes and Excel's shares of a day give minutes."""
    assert parse_time(text, "from") == pytest.approx(minutes)


@pytest.mark.parametrize(
    "text",
    ["", "soon", "8:60", "8:30:60", "-3", "48:01", "x" * 100, "8" + 57 * " " + "Uhr"],
)
def test_what_is_not_a_time_is_said(text):
    """The message has the heading, the cell and an example."""
    with pytest.raises(InputError, match=r"from is .*not a time of day: write 08:30"):
        parse_time(text, "from")


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("08:00-12:00", (480, 720)),
        ("8 – 12 Uhr", (480, 720)),
        ("8 bis 12:30", (480, 750)),
        ("ab 9 Uhr", (540, None)),
        ("bis 12 Uhr", (None, 720)),
        ("until 12:00", (None, 720)),
        ("8-8", (480, 480)),
        ("8:00" + 51 * " " + "-9:00", (480, 540)),
    ],
)
def test_a_window_may_be_open_at_one_end(text, window):
    """A window is two times, or one with a word before it."""
    assert parse_window(text, "window") == window


@pytest.mark.parametrize(
    "text", ["8-12, 14-18", "noon", "12-8", "8-", "-8", "8:00" + 52 * " " + "-9:00"]
)
def test_what_is_not_one_window_is_said(text):
    """Two windows of one customer are not supported, and not taken for one."""
    with pytest.raises(InputError, match="window is"):
        parse_window(text, "window")


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("5", 5),
        ("5 min", 5),
        ("7,5", 7.5),
        ("0:05", 5),
        ("0:05:30", 5.5),
        ("1:30", 90),
        ("2:05:30", 125.5),
        ("0,5 h", 30),
        ("1 Std.", 60),
        ("5" + 56 * " " + "min", 5),
    ],
)
def test_durations_are_minutes(text, minutes):
    """A number is minutes; hours are said."""
    assert parse_duration(text, "minutes") == minutes


def test_what_is_no_duration_is_said():
    """The message has an example."""
    for text in ("quick", "5" + 57 * " " + "min"):
        with pytest.raises(InputError, match="not minutes: write 5"):
            parse_duration(text, "minutes")


@pytest.mark.parametrize(
    "minutes", [0, 8, 24, 24.25, 48.5, 59.75, 510, 510.25, 1440, 5000.5]
)
def test_a_written_time_is_read_again(minutes):
    """Whole minutes are written as a clock shows them; 24.25 is no 24:25."""
    assert parse_time(format_time(minutes), "to") == minutes


@pytest.mark.parametrize(
    ("minutes", "text"), [(1500, "25:00"), (2880, "48:00"), (2881, "2881.0")]
)
def test_clocks_go_on_for_two_days(minutes, text):
    """A time after midnight is still written as on a clock, up to 48:00."""
    assert format_time(minutes) == text


def test_a_time_that_would_be_read_as_an_hour_is_not_written():
    """7.5 minutes after midnight has no clock time, and 7.5 is an hour."""
    with pytest.raises(InputError, match=r"cannot hold the time 7\.5"):
        format_time(7.5)
