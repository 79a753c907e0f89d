"""The JSON shape of instances, plans, verdicts and results."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest

import fixedfleet as ff
from fixedfleet.documents import (
    ResultDocument,
    describe_fleet,
    describe_instance,
    describe_tours,
    finite,
    to_json,
)
from fixedfleet.doubts import find_doubts


def test_a_result_with_a_plan(square):
    """Tours, verdict and stages with what they gained; nobody is left out."""
    result = ff.solve(square, 0.05)
    document = json.loads(to_json(result.document(["a note"])))
    assert document["feasible"] is True
    assert document["length"] == result.length
    assert ff.Plan(t["customers"] for t in document["tours"]) == result.plan
    assert document["partial"] is None
    assert document["unserved"] == []
    assert document["verdict"]["smallest_is_proven"] is True
    assert document["stages"][1]["gain"] == result.stages[1].gain
    assert document["notes"] == ["a note"]


def test_a_result_without_a_plan(square):
    """Infinite numbers are null; unserved customers have their number and name."""
    asked = replace(square, vehicles=1, names="abcd")
    result = ff.solve(asked, 0.05)
    document = json.loads(to_json(result.document()))
    assert document["feasible"] is False
    assert document["tours"] is document["length"] is document["cost"] is None
    partial = document["partial"]
    assert partial["vehicles_used"] == 1
    assert partial["length"] == pytest.approx(2 + 2 * 2**0.5)
    assert document["unserved"] == result.unserved
    assert partial["unserved_names"] == ["abcd"[c - 1] for c in result.unserved]


def test_a_result_for_a_larger_fleet(square):
    """With the guarantee the plan may be for a larger fleet than was asked for."""
    asked = square.with_vehicles(1)
    document = ff.solve(asked, 0.05, guarantee=True).document()
    assert document.vehicles == document.verdict.vehicles == 1
    assert document.vehicles_planned_for == document.vehicles_used == 2
    assert document.feasible is False
    assert document.tours is not None and len(document.tours) == 2
    assert document.partial is not None and len(document.partial.tours) == 1


def test_a_verdict_with_its_witness(square):
    """The packing that proves a fleet sufficient is part of its document."""
    doubts = find_doubts(replace(square, demands=[1, 0, 1, 1]))
    document = describe_fleet(square, ff.assess_fleet(square), [], doubts)
    (doubt,) = json.loads(to_json(document))["doubts"]
    assert (doubt["kind"], doubt["customers"]) == ("demand", [2])
    assert doubt["text"] == "customer 2: the demand is 0"
    assert document["status"] == "feasible"
    assert ff.Plan(document["packing"]).is_feasible(square)


def test_tours_have_names_loads_and_lengths(square):
    """A tour's document has customers, names, load, length and further columns."""
    named = replace(square, names="abcd", columns={"phone": "01234"})
    (tour,) = describe_tours(ff.Plan([[2, 1]]), named)
    assert asdict(tour) == {
        "customers": [2, 1],
        "names": ["b", "a"],
        "load": 2,
        "length": pytest.approx(2 + 2 * 2**0.5),
        "columns": {"phone": ["2", "1"]},
        "vehicle_type": None,
        "cost": pytest.approx(2 + 2 * 2**0.5),
        "times": None,
    }


def test_an_instance_has_the_fields_of_its_file(square):
    """What a JSON file says of an instance; what nobody has given yet is null."""
    document = describe_instance(square, without=["vehicles"])
    assert document.vehicles is None
    assert (document.depot, document.demands) == ([0, 0], [1, 1, 1, 1])
    assert document.customers == [[1, 1], [1, -1], [-1, -1], [-1, 1]]
    assert document.unit is document.length_unit is document.columns is None
    told = replace(square, unit="kg", length_unit="mi", columns={"phone": "01234"})
    document = describe_instance(told)
    assert (document.unit, document.length_unit) == ("kg", "mi")
    assert document.columns == {"phone": ["0", "1", "2", "3", "4"]}


def test_json_has_a_line_per_key_and_per_tour(square):
    """People can read the JSON; on request it is a single line."""
    plan = ff.Plan([[1, 2], [3, 4]])
    document = {"name": "é", "tours": [asdict(t) for t in describe_tours(plan, square)]}
    text = to_json(document)
    assert len(text.splitlines()) == 7 and '"name": "é"' in text
    assert "\n" not in to_json(document, one_line=True)
    assert json.loads(text) == json.loads(to_json(document, one_line=True))


def test_what_json_does_not_know_is_none():
    """Infinity and NaN become null."""
    assert [finite(x) for x in (1.5, float("inf"), float("nan"))] == [1.5, None, None]


def test_every_field_is_described_in_openapi():
    """Pydantic takes the documents as they are, with a description per field."""
    pydantic = pytest.importorskip("pydantic")
    schema = pydantic.TypeAdapter(ResultDocument).json_schema()
    for document in (schema, *schema["$defs"].values()):
        for field in document["properties"].values():
            assert field["description"]


def test_a_day_has_vehicle_types_costs_and_times():
    """The document of a tour says which vehicle it has, and when it is where."""
    instance = ff.Instance(
        depot=(0, 0),
        customers=[(3, 4)],
        demands=[1],
        vehicle_types=[ff.VehicleType(name="van", capacity=5, fixed_cost=7)],
        speed=1,
        service_times=[2],
        windows=[(8, None)],
    )
    (tour,) = describe_tours(ff.Plan([[1]], [0]), instance)
    assert (tour.vehicle_type, tour.cost) == (0, 17)
    assert asdict(tour.times) == {
        "departure": 3,
        "stops": [{"arrival": 8, "begin": 8, "departure": 10, "is_late": False}],
        "end": 15,
        "is_late": False,
    }
    document = describe_instance(instance)
    assert document.vehicle_types[0].name == "van"
    assert document.windows == [[8, None]]
    assert document.vehicles is document.capacity is None
