"""Documents of verdicts and results."""

from __future__ import annotations

import json

import pytest

import fixedfleet as ff
from fixedfleet.describe import (
    as_json,
    describe_fleet,
    describe_result,
    describe_tours,
    finite,
)


def test_a_result_with_a_plan(square):
    """Tours, verdict and stages with what they gained; nobody is left out."""
    result = ff.solve(square, 0.05)
    document = json.loads(as_json(describe_result(result, square, ["a note"])))
    assert document["feasible"] is True
    assert document["length"] == result.length
    assert ff.Plan(t["customers"] for t in document["tours"]) == result.plan
    assert document["partial"] is None
    assert document["unserved"] == []
    assert document["verdict"]["smallest_is_proven"] is True
    assert document["stages"][1]["gain"] == result.stages[1].gain
    assert document["notes"] == ["a note"]


def test_a_result_without_a_plan(square):
    """Infinite numbers are null, and who is left out stands by number and name."""
    asked = square._replace(vehicles=1, names="abcd")
    result = ff.solve(asked, 0.05)
    document = json.loads(as_json(describe_result(result, asked, [])))
    assert document["feasible"] is False
    assert document["tours"] is document["length"] is document["cost"] is None
    partial = document["partial"]
    assert partial["vehicles_used"] == 1
    assert partial["length"] == pytest.approx(2 + 2 * 2**0.5)
    assert document["unserved"] == result.unserved
    assert partial["unserved_names"] == ["abcd"[c - 1] for c in result.unserved]


def test_a_result_for_a_larger_fleet(square):
    """With the guarantee the plan is for another fleet than the partial one."""
    asked = square.with_vehicles(1)
    document = describe_result(ff.solve(asked, 0.05, guarantee=True), asked, [])
    assert document["vehicles"] == 1
    assert document["vehicles_planned_for"] == 2
    assert document["feasible"] is False
    assert len(document["tours"]) == 2
    assert len(document["partial"]["tours"]) == 1


def test_a_verdict_with_its_witness(square):
    """The packing that proves a fleet sufficient is part of its document."""
    document = describe_fleet(square, ff.assess_fleet(square), [])
    assert document["status"] == "feasible"
    assert ff.Plan(document["packing"]).is_feasible(square)


def test_tours_have_names_loads_and_lengths(square):
    """A tour's document says all there is to know of it."""
    named = square._replace(names="abcd")
    (tour,) = describe_tours(ff.Plan([[1, 2]]), named)
    length = pytest.approx(2 + 2 * 2**0.5)
    expected = {"customers": [1, 2], "names": ["a", "b"], "load": 2, "length": length}
    assert tour == expected


def test_what_json_does_not_know_is_none():
    """Infinity and NaN become null."""
    assert [finite(x) for x in (1.5, float("inf"), float("nan"))] == [1.5, None, None]
