"""The command ``fleet``."""

from __future__ import annotations

import json

import pytest

from .cli_helpers import FLEET, hard, refused


def test_fleet_answers_in_three_ways(run, csv, tmp_path):
    """0, 3 and 4 mean enough, proven too few, and undecided in time."""
    code, out, _ = run("fleet", csv, *FLEET)
    assert (code, "2 vehicles: feasible" in out) == (0, True)
    code, out, _ = run("fleet", csv, "--vehicles", 1, "--capacity", 2)
    assert (code, "smallest fleet that suffices: 2 vehicles" in out) == (3, True)
    four = ("fleet", hard(tmp_path), "--vehicles", 4, "--capacity", 24)
    code, out, _ = run(*four, "--time-limit", 0)
    assert (code, "4 to 5 vehicles, undecided" in out) == (4, True)
    code, out, _ = run(*four, "--time-limit", 30, "--json")
    assert (code, json.loads(out)["smallest"]) == (3, 5)


@pytest.mark.parametrize("command", ["solve", "fleet"])
def test_a_demand_above_the_capacity_is_code_3(run, csv, command):
    """A customer that no vehicle can serve is named: no fleet suffices."""
    code, out, err = run(command, csv, "--vehicles", 9, "--capacity", 0.5)
    assert (code, err) == (3, "")
    assert "customer a alone exceeds a vehicle: it demands 1 of 0.5" in out


def test_what_the_file_does_not_say_is_asked_for_by_option(run, csv):
    """A missing fleet or capacity is asked for by the name of its option."""
    assert refused(run("fleet", csv, "--capacity", 2), "give --vehicles, or")
    assert refused(run("fleet", csv, "--vehicles", 2), "give --capacity, or")
