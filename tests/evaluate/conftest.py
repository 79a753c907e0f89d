"""Fixtures of the evaluation's tests."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from fixedfleet.evaluate import Row


@pytest.fixture
def fakes(monkeypatch):
    """The module of test methods, importable by worker processes as well."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    return importlib.import_module("fake_methods")


@pytest.fixture
def make_row():
    """Return a maker of rows, all of a plan within the fleet unless told otherwise."""

    def make(**changes) -> Row:
        fields = {
            "set": "some",
            "instance": "a",
            "method": "fake",
            "time_limit": 1.0,
            "iterations": None,
            "seed": 0,
            "customers": 4,
            "fleet": 2,
            "vehicle_cost": 10.0,
            "length": 8.0,
            "cost_v": 28.0,
            "vehicles": 2,
            "floor": 2,
            "served": True,
            "within": True,
            "seconds": 0.5,
        }
        return Row(**(fields | changes))

    return make
