"""The paper's figures as data."""

from __future__ import annotations

import re

import pytest

from experiments.published import published
from fixedfleet.evaluate.sets import VEHICLE_COSTS
from fixedfleet.generate import FLEETS

TABLES = (
    "paper", "training-times", "losses", "normalisation", "generalisation", "targets",
    "decoding", "vehicle-costs",
)  # fmt: skip


def test_every_table_names_its_place_in_the_paper():
    """Each table says where it stands, on which instances, and has rows."""
    for name in TABLES:
        table = published(name)
        assert re.search(r"Tables? \d+", table.source)
        assert table.instances
        assert table.rows


def test_other_tables_have_no_published_figures():
    """What the paper has no table for has no published figures."""
    assert published("anytime") is None
    assert published("table-99") is None


def test_a_row_stands_once():
    """No table has two rows for a method on a set."""
    for name in TABLES:
        keys = [(row.method, row.set) for row in published(name).rows]
        assert len(keys) == len(set(keys)), name


@pytest.mark.parametrize(
    ("table", "name", "method", "figures"),
    [
        ("paper", "filled20", "then OR-Tools: those solved", (6.16, 135.5, 0.05)),
        ("paper", "filled100", "MDAM (beam 30)", (16.18, 889.1, 16.58)),
        ("paper", "kool50", "NLNS (time limit)", (10.96, None, 2.41)),
        ("normalisation", "strict50", "SoftAssign", (10.85, 346.3, 0.241)),
        ("generalisation", "uchoa100", "trained on VRP100", (19.42, 896.6, None)),
        ("targets", "vrp100", "OR-Tools, 10 s", (16.40, 855.3, 12.0)),
    ],
)
def test_figures_are_as_printed(table, name, method, figures):
    """Length, Cost_v and seconds of some rows are those of the paper."""
    (row,) = [row for row in published(table).on(name) if row.method == method]
    assert (row.cost, row.cost_v, row.seconds) == figures


def test_tables_agree_where_the_paper_prints_a_figure_twice():
    """The decoding table's last line is that of the main table, guaranteed."""
    last = published("decoding").rows[-1]
    (same,) = [
        row
        for row in published("paper").on("filled20")
        if row.method == "then OR-Tools: guaranteed"
    ]
    assert last.cost == same.cost == 6.17
    assert last.solved == 0.99


def test_vehicle_costs_are_those_of_the_sets():
    """Capacity and cost of a vehicle are what the sets are made with."""
    for row in published("vehicle-costs").rows:
        size = int(row.set.removeprefix("vrp"))
        assert row.capacity == FLEETS[size][0]
        assert row.vehicle_cost == VEHICLE_COSTS[size]


def test_no_figure_is_a_slip_of_the_pen():
    """Every figure is above 0, and no share is above 1."""
    for row in (row for name in TABLES for row in published(name).rows):
        for name, value in vars(row).items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                most = 1 if name in ("solved", "violation") else float("inf")
                assert 0 < value <= most, (row, name)
