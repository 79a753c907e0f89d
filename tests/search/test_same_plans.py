"""Ruin and recreate gives the same plan for the same seed and iterations, for ever."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fixedfleet.fleet import assess_fleet
from fixedfleet.generate import uchoa, uniform
from fixedfleet.search import improve

if TYPE_CHECKING:
    from fixedfleet.instance import Instance
    from fixedfleet.plan import Plan

CASES = json.loads((Path(__file__).parent / "same_plans.json").read_text())


def instance_of(case: dict) -> Instance:
    """Draw the instance that a case was recorded on."""
    if case["distribution"] == "uchoa":
        return uchoa(case["n"], seed=case["instance_seed"])
    return uniform(case["n"], 1, seed=case["instance_seed"])[0]


def start_of(case: dict, instance: Instance) -> Plan | None:
    """Return the start of a case: the fleet's packing, or no start at all."""
    return assess_fleet(instance).packing if case["from_packing"] else None


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_the_same_seed_and_iterations_give_the_recorded_plan(case):
    """The tours are those that were recorded before the package was rebuilt."""
    instance = instance_of(case)
    found = improve(
        instance,
        start_of(case, instance),
        search="ruin_recreate",
        iterations=case["iterations"],
        seed=case["seed"],
        vehicle_cost=case["vehicle_cost"],
    )
    assert [list(tour) for tour in found.plan.tours] == case["tours"]
    assert found.cost == pytest.approx(case["cost"], rel=1e-12)
