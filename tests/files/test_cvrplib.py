"""CVRPLIB's sets A and X, where they are at hand."""

from __future__ import annotations

import re

import pytest

from fixedfleet.files import read, read_file, read_plan, read_solution_cost


def test_every_instance_of_set_a_loads(shared):
    """All of set A loads, with the fleet that both the name and the comment state."""
    paths = sorted((shared / "cvrplib" / "A").glob("*.vrp"))
    assert len(paths) == 10
    for path in paths:
        reading = read_file(path)
        instance, notes = reading.instance, reading.notes
        n, k = map(int, re.fullmatch(r"A-n(\d+)-k(\d+)", path.stem).groups())
        assert (instance.num_customers, instance.vehicles) == (n - 1, k)
        assert instance.rounding == "round"
        assert f"fleet of {k} vehicles taken from the name {path.stem}" in notes


@pytest.mark.slow
def test_every_best_known_solution_of_set_x_is_exact(shared):
    """Each best known solution of set X is feasible and costs exactly what it says."""
    paths = sorted((shared / "cvrplib" / "X").glob("*.vrp"))
    assert len(paths) == 100
    for path in paths:
        plan = read_plan(path.with_suffix(".sol"))
        instance = read(path, vehicles=plan.vehicles)
        assert plan.check(instance) == [], path.stem
        stated = read_solution_cost(path.with_suffix(".sol"))
        assert plan.length(instance) == stated, path.stem
