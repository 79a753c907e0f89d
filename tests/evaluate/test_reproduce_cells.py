"""Rows of the store as cells, and cells as text."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import pytest

from fixedfleet.evaluate.reproduce.cells import Stock, published_cells, whole_floor
from fixedfleet.evaluate.reproduce.definitions import TENTH, Line, Options, Table
from fixedfleet.evaluate.reproduce.lines import CONTROLS
from fixedfleet.evaluate.reproduce.main_tables import fixed_costs
from fixedfleet.evaluate.reproduce.pictures import sizes_pages
from fixedfleet.evaluate.reproduce.provenance import command, recorded
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
    wanted = "| someone | 6.0000 | 169.33 | 146.00 | 50.0 % | 1 | – | – | 0.500 | 4 |"
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
    assert "| someone | – | – | – | 0.0 % | 1 | – | – | 0.500 | 1 |" in page
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


def test_lines_of_another_machine_are_marked(tmp_path, row):
    """A line with rows from elsewhere than most of its set says so, and how many."""
    options = Options(instances=3, work=tmp_path)
    other = Line(label="other", method="pyvrp", kind="peer")
    table = replace(TABLE, lines=(LINE, other))
    rows = [row(place) for place in range(3)]
    rows += [row(place, "pyvrp") for place in range(2)]
    cells, _ = Stock(rows, options).cells(table, "vrp20")
    assert "‡" not in render_markdown(table, cells, [], options)
    rows += [row(2, "pyvrp", machine="another")]
    cells, _ = Stock(rows, options).cells(table, "vrp20")
    page = render_markdown(table, cells, [], options)
    assert "| other ‡ |" in page
    assert "| someone |" in page
    assert "other (2 on a made-up processor, 1 on another)" in page


def test_of_a_run_on_two_machines_the_set_s_counts(tmp_path, row):
    """Where a run is there twice, the one of the machine of the set is shown."""
    options = Options(instances=2, work=tmp_path)
    here = [row(0), row(1)]
    there = [row(0, machine="another", length=9.0)]
    for rows in (here + there, there + here):
        (cell,) = Stock(rows, options).cells(TABLE, "vrp20")[0]
        assert [r.machine for r in cell.rows] == ["a made-up processor"] * 2
        assert not cell.elsewhere


def test_gaps_are_of_plans_within_the_fleet(tmp_path, row):
    """Plans beyond the fleet are not in the gap, and its count is said."""
    reference = Line(label="reference", method="lkh")
    table = replace(TABLE, reference={"vrp20": reference})
    options = Options(instances=3, work=tmp_path)
    rows = [row(place, "lkh", length=5.0) for place in range(3)]
    rows += [row(0), row(1), row(2, length=3.0, vehicles=6, within=False)]
    cells, _ = Stock(rows, options).cells(table, "vrp20")
    page = render_markdown(table, cells, [], options)
    assert "| 20.000 ± 0.000 (2 plans) |" in page
    (numbers,) = csv.DictReader(io.StringIO(render_csv(table, cells, options)))
    assert float(numbers["gap_percent"]) == pytest.approx(20)
    assert numbers["gap_instances"] == "2"


def test_lines_are_compared_with_the_control_in_pairs(tmp_path, row):
    """Shown is the mean difference, on what both solve, in the same time and place."""
    table = replace(TABLE, lines=(LINE, CONTROLS[0]))
    options = Options(instances=3, work=tmp_path)
    control = [row(place, "packing+auto", length=place + 4.0) for place in range(3)]
    mine = [row(0, length=4.4), row(1, length=5.0)]
    beyond = row(2, length=3.0, vehicles=6, within=False)
    cells, _ = Stock([*control, *mine, beyond], options).cells(table, "vrp20")
    found, own = (cell.against for cell in cells)
    assert own is None
    assert (found.value, found.count) == (pytest.approx(5), 2)
    assert "| 5.000 ± 63.531 |" in render_markdown(table, cells, [], options)
    (numbers, _) = csv.DictReader(io.StringIO(render_csv(table, cells, options)))
    assert float(numbers["control_percent"]) == pytest.approx(5)
    for other in ({"machine": "another"}, {"objective": "cost-v"}):
        rows = [replace(r, **other) for r in mine]
        cells, _ = Stock([*control, *rows], options).cells(table, "vrp20")
        assert cells[0].against is None


def test_a_page_says_what_its_means_leave_out(tmp_path, row):
    """Easier instances, shared times and rounding to nothing do not mislead."""
    batched = Line(label="AM, in batches", method="am-greedy:batch=100", kind="peer")
    table = replace(TABLE, lines=(LINE, batched), reference={"vrp20": LINE})
    options = Options(instances=2, work=tmp_path)
    rows = [row(0), row(1, length=6.0)]
    tiny = {"time_limit": None, "seconds": 0.0004}
    rows += [row(place, "am-greedy", length=5.9999999, **tiny) for place in range(2)]
    cells, _ = Stock(rows, options).cells(table, "vrp20")
    page = render_markdown(table, cells, [], options)
    assert "| 0.000 ± 0.000 | – | 0.0004 |" in page
    assert "their time shared equally" in page
    assert "which are easier" not in page
    rows[1] = row(1, **NOTHING, within=False, fault="no plan")
    cells, _ = Stock(rows, options).cells(table, "vrp20")
    assert "which are easier" in render_markdown(table, cells, [], options)


def test_lines_that_often_run_late_are_named(tmp_path, row):
    """A line with more than 5 % of its runs beyond their limit is named."""
    options = Options(instances=2, work=tmp_path)
    for seconds, late in ((0.054, False), (0.06, True)):
        rows = [row(0, seconds=0.05), row(1, seconds=seconds)]
        cells, _ = Stock(rows, options).cells(TABLE, "vrp20")
        page = render_markdown(TABLE, cells, [], options)
        assert ("in so many runs: someone (50 %)" in page) == late


def test_versions_are_those_of_the_rows_where_they_tell(tmp_path, row):
    """Versions that no row was made with are left out, unless a row does not tell."""
    for number in ("0.1", "0.2"):
        with (tmp_path / "versions.jsonl").open("a") as file:
            file.write(json.dumps({"versions": {"fixedfleet": number}}) + "\n")
    options = Options(work=tmp_path)
    new = row(0, made={"fixedfleet": "0.2"})
    assert recorded(options, [new]) == ["fixedfleet 0.2"]
    assert recorded(options, [new, row(1)]) == ["fixedfleet 0.1", "fixedfleet 0.2"]


def test_fleet_sizes_are_of_the_same_instances(tmp_path, row):
    """Lines with more instances than others are restricted to the common ones."""
    other = Line(label="other", method="pyvrp", kind="peer")
    table = replace(TABLE, lines=(LINE, other))
    options = Options(instances=4, work=tmp_path)
    rows = [row(place, vehicles=4 - place, floor=4 - place) for place in range(3)]
    rows += [row(1, "pyvrp", floor=3), row(3, "pyvrp"), row(2, "pyvrp", **NOTHING)]
    cells, _ = Stock(rows, options).cells(table, "vrp20")
    numbers = sizes_pages(table, cells, [], options)[1]
    assert [line.split(",")[-2:] for line in numbers.splitlines()[1:]] == [
        ["3", "1"],  # the floor of the only instance that both have plans of
        ["3", "1"],
        ["4", "1"],
    ]


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
