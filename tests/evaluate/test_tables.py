"""Tables of summaries, for people and for programs."""

from __future__ import annotations

import csv
import io

import pytest

from fixedfleet.evaluate import summaries
from fixedfleet.evaluate.tables import to_csv, to_latex, to_markdown


def cells(text):
    """Rows of a Markdown table as dictionaries by its headings."""
    head, line, *body = (
        [cell.strip() for cell in row.strip("|").split("|")]
        for row in text.splitlines()
    )
    assert all(set(cell) <= {"-", ":"} for cell in line)
    return [dict(zip(head, row, strict=True)) for row in body]


def test_markdown_shows_means_with_intervals(fakes, make_row):
    """Means come with ± half of their interval, shares in per cent."""
    letters = fakes.make_set(reference={"a": 8.0, "b": 8.0})
    rows = [
        make_row(instance="a", length=8.0, cost_v=28.0),
        make_row(instance="b", length=10.0, cost_v=50.0, vehicles=4, within=False),
    ]
    (row,) = cells(to_markdown(summaries(rows, letters)))
    assert row["set"] == "letters"
    assert row["limit"] == "1 s"
    assert row["within the fleet"] == "50.0%"
    assert row["beyond the fleet"] == "50.0%, by 2.00 vehicles"
    assert row["length"] == "9.0000 ± 12.7062"
    assert row["Cost_v"].startswith("39.000 ± ")
    assert row["floor of Cost_v"] == "29.000"
    assert row["gap %"] == "0.000"
    assert row["seconds per instance"] == "0.500"


def test_columns_that_say_nothing_are_left_out(fakes, make_row):
    """Without references, limits, vehicle costs or faults there are no such columns."""
    plain = fakes.make_set(vehicle_cost=0.0)
    rows = [make_row(time_limit=None, vehicle_cost=0.0, cost_v=8.0)]
    (row,) = cells(to_markdown(summaries(rows, plain)))
    assert row["limit"] == "none"
    assert not {"Cost_v", "floor of Cost_v", "gap %", "WRAP", "not served"} & set(row)
    assert to_markdown([]) == ""


def test_failures_are_shown(fakes, make_row):
    """A method without any plan is a line of the table all the same."""
    nothing = make_row(
        length=None, cost_v=None, vehicles=None, served=False, within=False, fault="…"
    )
    good = make_row(method="other")
    row, _ = cells(to_markdown(summaries([nothing, good], fakes.make_set())))
    assert (row["not served"], row["length"], row["within the fleet"]) == (
        "1",
        "–",
        "0.0%",
    )


def test_csv_has_every_number_in_full(fakes, make_row):
    """The CSV has a column for each figure and its interval, empty for none."""
    letters = fakes.make_set(reference={"a": 7.0})
    rows = [
        make_row(length=8.0 + 1 / 3, machine="one"),
        make_row(length=8.0, machine="two, other", seed=1),
        make_row(method="start", time_limit=None),
    ]
    found = list(csv.DictReader(io.StringIO(to_csv(summaries(rows, letters)))))
    assert [row["method"] for row in found] == ["fake", "start"]
    assert float(found[0]["length"]) == pytest.approx(8.0 + 1 / 6, abs=1e-14)
    assert found[0]["length_half"] == ""
    assert found[0]["machines"] == "one; two, other"
    assert found[1]["time_limit"] == found[1]["primal_integral"] == ""
    assert float(found[1]["cost_v_floor"]) == 28.0


def test_the_objective_is_a_column_where_it_matters(fakes, make_row):
    """Methods that minimise Cost_v are told apart from those that minimise length."""
    rows = [make_row(), make_row(objective="cost-v")]
    first, second = cells(to_markdown(summaries(rows, fakes.make_set())))
    assert {first["method"], second["method"]} == {"fake"}
    assert {first["minimises"], second["minimises"]} == {"–", "Cost_v"}


def test_latex_has_the_columns_of_markdown(fakes, make_row):
    """Every cell is there, with what is special in LaTeX escaped."""
    letters = fakes.make_set(2)
    rows = [make_row(method="a_b & 5%"), make_row(method="a_b & 5%", instance="b")]
    found = summaries(rows, letters)
    lines = to_latex(found).splitlines()
    (cell,) = cells(to_markdown(found))
    assert lines[0] == f"\\begin{{tabular}}{{ll{'r' * (len(cell) - 2)}}}"
    assert lines[2].startswith("set & method & limit & runs & within the fleet & ")
    assert "Cost\\_v" in lines[2]
    assert lines[4].startswith("letters & a\\_b \\& 5\\% & 1 s & 2 & 100.0\\% & ")
    assert "$\\pm$" in lines[4]
    assert lines[4].count(" & ") == len(cell) - 1
    assert lines[-1] == "\\end{tabular}"
    assert to_latex([]) == ""
