"""Rows of the store as cells, and cells as text."""

from __future__ import annotations

import csv
import io

import pytest

from fixedfleet.evaluate.reproduce.cells import Stock, published_cells, whole_floor
from fixedfleet.evaluate.reproduce.definitions import TENTH, Line, Options, Table
from fixedfleet.evaluate.reproduce.main_tables import fixed_costs
from fixedfleet.evaluate.reproduce.provenance import command
from fixedfleet.evaluate.reproduce.rendering import (
    render_csv,
    render_markdown,
    show_time,
)

LINE = Line(label="someone", method="hgs", kind="peer")
TABLE = Table(name="fixed-costs", title="Some", sets=("vrp20",), lines=(LINE,))
NOTHING = {"length": None, "cost_v": None, "vehicles": None, "served": False}


@pytest.fixture
def row(make_row):
    """Return a maker of rows of VRP20, by the place in the test set."""

    def make(place, method="hgs", **changes):
        fields = {
            "instance": f"test20/{place}",
            "method": method,
            "time_limit": 0.05,
            "fleet": 4,
            "vehicle_cost": 35.0,
            "length": 6.0,
            "cost_v": 146.0,
            "vehicles": 4,
            "floor": 4,
            "machine": "a made-up processor",
        }
        return make_row(**(fields | changes))

    return make


def test_plans_beyond_the_fleet_and_missing_plans_are_counted(tmp_path, row):
    """A share within the fleet, instances without a plan, vehicles beyond."""
    options = Options(instances=4, work=tmp_path)
    rows = [
        row(0, **NOTHING, within=False, fault="no plan"),
        row(1, vehicles=6, cost_v=216.0, within=False),
        row(2),
        row(3),
    ]
    cells, missing = Stock(rows, options).cells(TABLE, "vrp20")
    assert not missing
    page = render_markdown(TABLE, cells, ["a note"], options)
    wanted = "| someone | 6.0000 | 169.33 | 146.00 | 50.0 % | 1 | – | 0.500 | 4 |"
    assert wanted in page
    assert "- a note" in page
    (numbers,) = csv.DictReader(io.StringIO(render_csv(TABLE, cells, options)))
    assert (numbers["no_plan"], numbers["excess_vehicles"]) == ("1", "2.0")
    assert numbers["share_within"] == "0.5"


def test_a_line_without_any_plan_is_shown_all_the_same(tmp_path, row):
    """Where nothing was found, dashes stand for the means."""
    options = Options(instances=1, work=tmp_path)
    rows = [row(0, **NOTHING, within=False, fault="no plan")]
    cells, _ = Stock(rows, options).cells(TABLE, "vrp20")
    page = render_markdown(TABLE, cells, [], options)
    assert "| someone | – | – | – | 0.0 % | 1 | – | 0.500 | 1 |" in page
    assert "someone" in render_csv(TABLE, cells, options)


def test_rows_of_another_seed_limit_or_place_are_left_out(tmp_path, row):
    """A table shows one seed, the limit it names, and the first instances."""
    options = Options(instances=2, work=tmp_path)
    others = [row(0, seed=1), row(0, time_limit=5.0), row(9999), row(0, "pyvrp")]
    assert Stock(others, options).cells(TABLE, "vrp20") == ([], ["someone"])
    mine = [row(0), row(1)]
    assert Stock(others + mine, options).rows(LINE, "vrp20") == mine


def test_rows_made_on_a_gpu_are_found_without_one(tmp_path, row):
    """Where a method ran is not what it is: its rows are shown all the same."""
    options = Options(instances=3, work=tmp_path)
    line = Line(label="AM", method="am-greedy:batch=100", kind="peer")
    on_gpu = [row(place, "am-greedy:device=cuda", time_limit=None) for place in (0, 1)]
    here = [row(0, "am-greedy:batch=100", time_limit=None)]
    assert Stock(on_gpu, options).rows(line, "vrp20") == on_gpu
    assert Stock(here + on_gpu, options).rows(line, "vrp20") == on_gpu  # the more


def test_a_spec_of_another_version_has_no_rows(tmp_path, row):
    """What this version does not understand is a line without rows, no crash."""
    stock = Stock([row(0)], Options(instances=1, work=tmp_path))
    assert stock.rows(Line(label="new", method="network:art=new"), "vrp20") == []


def test_the_floor_of_a_whole_set_is_known():
    """No plans of the rejection-sampled sets pay less for vehicles than this."""
    floors = [whole_floor(f"vrp{size}") for size in (20, 50, 100)]
    assert floors == pytest.approx([132.6, 334.0, 836.7], abs=0.05)


def test_published_figures_below_the_floor_are_told_apart():
    """The paper's VRP20 cannot be; its rows for VRP100 and those of others can."""
    table = fixed_costs(Options())
    below = {
        (cell.set, cell.label)
        for name in table.sets
        for cell in published_cells(table, name)
        if cell.impossible
    }
    assert {name for name, _ in below} == {"vrp20"}
    assert all(label.startswith("the paper's") for _, label in below)
    assert len(below) == 2


def test_a_figure_has_no_published_rows():
    """Without a table in the paper there is nothing beside ours."""
    table = Table(name="fleet-sizes", title="Some", sets=("vrp20",), lines=())
    assert published_cells(table, "vrp20") == []


def test_the_command_leaves_folders_open(tmp_path):
    """What to type names no folder of this machine."""
    options = Options(instances=50, reference=tmp_path, seed=3, device="cuda")
    assert command("targets", options) == (
        "fixedfleet reproduce targets --instances 50 --seed 3 --device cuda "
        "--reference FOLDER"
    )


def test_a_share_is_at_least_one_instance():
    """A tenth of three instances is one."""
    line = Line(label="slow", method="ortools", shares=TENTH)
    assert [line.count("vrp20", n) for n in (3, 30, 1000)] == [1, 3, 100]


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.05, "0.05 s"),
        (324, "5.4 min"),
        (16200, "4.5 h"),
        (518400, "6 d"),
        (None, "–"),
    ],
)
def test_times_are_in_a_unit_that_suits(seconds, said):
    """The paper's times read as it prints them."""
    assert show_time(seconds) == said
