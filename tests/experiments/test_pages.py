"""Rows as cells, and cells as pages and numbers."""

from __future__ import annotations

import csv
import io
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from experiments import definitions
from experiments.cells import measured_cells, read_stores
from experiments.definitions import Line, Options, Table, load_tables
from experiments.pages import render_page, show_time
from experiments.published import published, vehicle_floor, whole_names
from experiments.versions import command, recorded
from fixedfleet.errors import InputError
from fixedfleet.evaluate import Results
from fixedfleet.evaluate.origin import made_with

HERE = "a made-up processor"
LINE = Line(label="someone", method="hgs", kind="peer")
CONTROL = Line(label="packing + search", method="packing+auto", kind="control")
TABLE = Table(name="fixed-costs", title="Some", sets=("vrp20",), lines=(LINE,))
NOTHING = {
    "length": None,
    "cost_v": None,
    "vehicles": None,
    "served": False,
    "within": False,
    "fault": "no plan",
}


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
            "machine": HERE,
        }
        return make_row(**(fields | changes))

    return make


@pytest.fixture
def render(tmp_path, monkeypatch):
    """Return a function that writes rows to files and renders a table of them."""

    def make(rows, table=TABLE, instances=4, elsewhere=(), name="vrp20", **given):
        options = Options(instances=instances, work=tmp_path, **given)
        for file, part in (("rows", rows), ("rows-other", elsewhere)):
            machine = HERE if file == "rows" else "another"
            monkeypatch.setattr(
                "fixedfleet.evaluate.rows.machine_name", lambda here=machine: here
            )
            (tmp_path / f"{file}.jsonl").unlink(missing_ok=True)
            with Results(tmp_path / f"{file}.jsonl") as results:
                for one in part:
                    results.append(one)
        cells, missing = measured_cells(table, name, read_stores(options), options)
        make.cells, make.missing = cells, missing
        page, numbers = render_page(table, cells, [], ["a note"], options)
        make.numbers = list(csv.DictReader(io.StringIO(numbers)))
        return page

    return make


def lines_of(page):
    """Return the lines of a page's tables by their first cell, as dictionaries."""
    found = {}
    rows = [line.strip("|").split("|") for line in page.splitlines() if "|" in line]
    for cells in ([cell.strip() for cell in row] for row in rows):
        if cells[0] == "method":
            headings = cells
        elif not set(cells[0]) <= {"-", ":"}:
            found[cells[0]] = dict(zip(headings, cells, strict=True))
    return found


def test_plans_beyond_the_fleet_and_missing_plans_are_counted(render, row):
    """A share within the fleet, instances without a plan, vehicles beyond."""
    page = render(
        [
            row(0, **NOTHING),
            row(1, vehicles=6, cost_v=216.0, within=False),
            row(2),
            row(3),
        ]
    )
    line = lines_of(page)["someone"]
    assert float(line["Cost"]) == 6
    assert float(line["Cost_v"]) == pytest.approx(169.33)
    assert float(line["floor of Cost_v"]) == 146
    assert (line["within the fleet"], line["no plan"]) == ("50.0 %", "1")
    assert (float(line["seconds per instance"]), line["instances"]) == (0.5, "4")
    assert line["gap, %"].endswith("(2 plans)")
    assert line["above the control, %"] == "–"
    assert "a note" in page
    (numbers,) = render.numbers
    assert (numbers["no_plan"], numbers["excess_vehicles"]) == ("1", "2.0")
    assert numbers["share_within"] == "0.5"


def test_a_line_without_any_plan_is_shown_all_the_same(render, row):
    """Where nothing was found, dashes stand for the means."""
    line = lines_of(render([row(0, **NOTHING)], instances=1))["someone"]
    assert line["Cost"] == line["Cost_v"] == line["floor of Cost_v"] == "–"
    assert (line["within the fleet"], line["no plan"]) == ("0.0 %", "1")
    assert [numbers["label"] for numbers in render.numbers] == ["someone"]


def test_rows_of_another_seed_limit_or_place_are_left_out(render, row):
    """A table shows one seed, the limit it names, and the first instances."""
    others = [row(0, seed=1), row(0, time_limit=5.0), row(9999), row(0, "pyvrp")]
    render(others, instances=2)
    assert (render.cells, render.missing) == ([], [LINE])
    mine = [row(0), row(1)]
    render(others + mine, instances=2)
    assert list(render.cells[0].rows) == mine


def test_rows_of_the_other_objective_are_left_out(render, row):
    """The objective tells lines of one method apart."""
    other = Line(label="for Cost_v", method="packing+auto:objective=cost-v")
    table = replace(TABLE, lines=(CONTROL, other))
    rows = [
        row(0, "packing+auto", length=length, objective=objective)
        for length, objective in ((6.0, "length"), (7.0, "cost-v"))
    ]
    render(rows, table, instances=1)
    assert [cell.rows for cell in render.cells] == [(rows[0],), (rows[1],)]


def test_rows_made_on_a_gpu_are_found_without_one(render, row):
    """A line shows the rows of its GPU's method, if there are more of them."""
    line = Line(label="network", method="network", gpu="bf16")
    table = replace(TABLE, lines=(line,))
    on_gpu = [row(place, "network:device=cuda", time_limit=None) for place in (0, 1)]
    here = [row(0, "network", time_limit=None)]
    for rows in (on_gpu, here + on_gpu):
        render(rows, table, instances=3)
        assert list(render.cells[0].rows) == on_gpu


def test_lines_of_another_machine_are_marked(render, row):
    """A line from another file than those of its set is marked, with its machine."""
    other = Line(label="other", method="pyvrp", kind="peer")
    table = replace(TABLE, lines=(LINE, other))
    rows = [row(place) for place in range(3)]
    theirs = [row(place, "pyvrp", machine="another") for place in range(2)]
    page = render(rows + [replace(r, machine=HERE) for r in theirs], table, 3)
    assert "‡" not in page
    page = render(rows, table, 3, elsewhere=theirs)
    assert {"someone", "other ‡"} == set(lines_of(page))
    assert "other (on another)" in page
    assert f"Not on {HERE}" in page


def test_all_rows_of_a_line_come_from_one_file(render, row):
    """Of a line in two files, the rows of the one with more of them are shown."""
    here = [row(0), row(1)]
    there = [row(0, machine="another", length=9.0)]
    render(here, instances=3, elsewhere=there)
    assert list(render.cells[0].rows) == here
    assert not render.cells[0].elsewhere
    render(here[:1], instances=3, elsewhere=[*there, row(1, machine="another")])
    assert {r.machine for r in render.cells[0].rows} == {"another"}


def test_gaps_are_of_plans_within_the_fleet(render, row):
    """Plans beyond the fleet are not in the gap, and its count is said."""
    reference = Line(label="reference", method="vroom")
    table = replace(TABLE, reference={"vrp20": reference})
    rows = [row(place, "vroom", length=5.0) for place in range(3)]
    rows += [row(0), row(1), row(2, length=3.0, vehicles=6, within=False)]
    gap = lines_of(render(rows, table, 3))["someone"]["gap, %"]
    assert gap.startswith("20.000")
    assert gap.endswith("(2 plans)")
    (numbers,) = render.numbers
    assert float(numbers["gap_percent"]) == pytest.approx(20)
    assert numbers["gap_instances"] == "2"


def test_a_line_for_cost_v_has_a_gap_of_the_length(render, row):
    """The reference line of a table has lengths, so Cost_v is not compared with it."""
    costly = Line(label="for Cost_v", method="packing+auto:objective=cost-v")
    reference = Line(label="reference", method="vroom")
    table = replace(TABLE, lines=(costly,), reference={"vrp20": reference})
    rows = [row(0, "vroom", length=5.0), row(0, "packing+auto", objective="cost-v")]
    gap = lines_of(render(rows, table, 1))["**for Cost_v**"]["gap, %"]
    assert gap == "20.000"


def test_lines_are_compared_with_the_control_in_pairs(render, row):
    """Shown is the mean difference, on what both solve, in the same time and place."""
    table = replace(TABLE, lines=(LINE, CONTROL))
    control = [row(place, "packing+auto", length=place + 4.0) for place in range(3)]
    mine = [row(0, length=4.4), row(1, length=5.0)]
    beyond = row(2, length=3.0, vehicles=6, within=False)
    page = render([*control, *mine, beyond], table, 3)
    found, own = (cell.against for cell in render.cells)
    assert own is None
    assert (found.value, found.count) == (pytest.approx(5), 2)
    assert lines_of(page)["someone"]["above the control, %"].startswith("5.000 ±")
    assert float(render.numbers[0]["control_percent"]) == pytest.approx(5)
    elsewhere = [replace(r, machine="another") for r in mine]
    render(control, table, 3, elsewhere=elsewhere)
    assert render.cells[0].against is None
    costly = Line(label="for Cost_v", method="packing+auto:objective=cost-v")
    rows = [replace(r, method="packing+auto", objective="cost-v") for r in mine]
    render([*control, *rows], replace(TABLE, lines=(costly, CONTROL)), 3)
    assert render.cells[0].against is None


def test_a_page_says_what_its_means_leave_out(render, row):
    """Easier instances, shared times and rounding to nothing do not mislead."""
    batched = Line(label="AM, in batches", method="savings", kind="peer")
    table = replace(TABLE, lines=(LINE, batched), reference={"vrp20": LINE})
    rows = [row(0), row(1, length=6.0)]
    tiny = {"time_limit": None, "seconds": 0.0004, "length": 5.9999999}
    rows += [row(place, "savings", **tiny) for place in range(2)]
    page = render(rows, table, 2)
    line = lines_of(page)["AM, in batches"]
    assert line["gap, %"].startswith("0.000")
    assert line["seconds per instance"] == "0.0004"
    assert "their time shared equally" in page
    assert "which are easier" not in page
    rows[1] = row(1, **NOTHING)
    assert "which are easier" in render(rows, table, 2)


def test_lines_that_often_run_late_are_named(render, row):
    """A line with more than 5 % of its runs beyond their limit is named."""
    for seconds, late in ((0.054, False), (0.06, True)):
        page = render([row(0, seconds=0.05), row(1, seconds=seconds)], instances=2)
        assert ("1.1 times their limit: someone (50 %)" in page) == late


def test_a_line_shows_its_gap_at_each_time_limit(render, row, tmp_path):
    """Where a table has several limits, each is a column; what differs is said."""
    start = Line(label="savings", method="savings", kind="control")
    ours = Line(label="ours", method="hgs")
    table = Table(
        name="anytime",
        title="Some",
        picture="gaps",
        sets=("vrp20",),
        lines=(ours, CONTROL, start),
        limits=(0.01, 0.03),
    )
    rows = []
    for place in range(2):
        for limit, length in ((0.01, 8.0), (0.03, 6.0)):
            rows.append(row(place, time_limit=limit, length=length))
            rows.append(row(place, "packing+auto", time_limit=limit, length=4.0))
        rows.append(row(place, "savings", time_limit=None, length=9.0))
    rows[-1] = replace(rows[-1], **NOTHING)
    rows = [replace(row, seconds=row.time_limit or 0.07) for row in rows]
    rows = [replace(row, seconds=0.5) if row.length == 6 else row for row in rows]
    with Results(tmp_path / "reference.jsonl") as results:
        for place in range(2):
            results.append(row(place, length=4.0))
    page = render(rows, table, 2, reference=results.path)
    assert "| time limit | no limit | 10 ms | 30 ms |" in page
    ours = "| **ours** | – | 100.00 ± 0.00 | 50.00 ± 0.00 (500 ms) |"
    assert ours in page
    assert "| savings | 125.00, 50.0 % solved (70 ms) | – | – |" in page
    found = [
        (n["label"], n["time_limit"], n["control_percent"]) for n in render.numbers
    ]
    assert found[:2] == [("ours", "0.01", "100.0"), ("ours", "0.03", "50.0")]
    assert len(found) == 5


def test_plans_beyond_the_fleet_count_or_not(render, row):
    """One line counts all plans, another with the same rows only those solved."""
    solved = replace(LINE, label="solved", solved=True)
    rows = [row(0), row(1, vehicles=5, length=9.0, within=False)]
    lines = lines_of(render(rows, replace(TABLE, lines=(LINE, solved)), 2))
    assert [float(lines[name]["Cost"]) for name in ("someone", "solved")] == [7.5, 6.0]
    assert {line["within the fleet"] for line in lines.values()} == {"50.0 %"}


def test_trainings_with_one_label_are_one_line(render, row):
    """The line has the mean of the networks, with an interval over them."""
    seeds = [replace(LINE, method=f"network:model={name}") for name in "ab"]
    rows = [
        row(place, f"network:model={name}", time_limit=None, length=length)
        for name, length in (("a", 6.0), ("b", 6.2))
        for place in range(3)
    ]
    line = lines_of(render(rows, replace(TABLE, lines=tuple(seeds)), 3))["someone"]
    assert line["Cost"].startswith("6.1000 ± 1.27")
    assert line["Cost"].endswith("over 2 trainings")
    assert render.cells[0].source == tuple(rows)


def test_parts_and_customers_left_out_are_shown(render, row):
    """The seconds of each part are means, in milliseconds."""
    details = {"network": 0.002, "decoding": 0.001, "left_early": 3, "left_full": 0}
    page = render([row(0, details=details), row(1, details=details)], instances=2)
    assert "| someone | 2 | 1 | – | – | 3.000 | 0.000 |" in page


def test_published_lengths_get_a_gap_to_the_whole_set(row):
    """A published mean is compared with the mean reference of all instances."""
    printed = published("pipeline").on("vrp20")
    options, table = Options(instances=1), replace(TABLE, name="pipeline")
    page, _ = render_page(table, [], printed, [], options, {"vrp20": 6.0})
    assert lines_of(page)["*the paper, guaranteed*"]["gap, %"] == "2.8"


def test_versions_are_those_of_the_rows(row):
    """All versions of a package are named, and no hash of a network."""
    made = {"fixedfleet": "0.1", "pyvrp": "0.14.1", "network": "3c84ae8f"}
    rows = [row(0, made=made), row(1, made={"fixedfleet": "0.2"})]
    assert recorded(rows) == "fixedfleet 0.1 and 0.2, pyvrp 0.14.1"
    unknown = row(0, made={"fixedfleet": "unknown"})
    assert recorded([unknown]) == recorded([]) == "not recorded"
    assert recorded([*rows[1:], unknown]) == "fixedfleet 0.2 and unknown"


def test_fleet_sizes_are_counted(render, row):
    """A table of vehicles shows how many plans use how many."""
    table = replace(TABLE, picture="vehicles")
    page = render([row(0), row(1, vehicles=3), row(2, **NOTHING)], table)
    assert lines_of(page)["someone"]["vehicles used"] == "3: 50.0 %, 4: 50.0 %"
    assert render.numbers[0]["vehicles_used"] == "3:1 4:1"


def test_a_table_shows_the_present_network(render, row):
    """Rows of a network that has been replaced are not shown."""
    pytest.importorskip("torch")
    from fixedfleet.evaluate import get_method

    line = Line(label="network", method="network")
    network = made_with(get_method("network"))["network"]
    rows = [
        row(place, "network", time_limit=None, customers=20, made={"network": made})
        for place, made in enumerate(("0" * 8, network))
    ]
    render(rows, replace(TABLE, lines=(line,)), 2)
    assert list(render.cells[0].rows) == rows[1:]


def test_the_whole_sets_are_known():
    """The rejection-sampled sets have as many instances as the design says."""
    counts = [len(whole_names(f"vrp{size}")) for size in (20, 50, 100)]
    assert counts == [9646, 9525, 9772]
    assert len(whole_names("kool20")) == 10_000


def test_the_floor_of_a_whole_set_is_known():
    """No plans of the rejection-sampled sets pay less for vehicles than this."""
    floors = [vehicle_floor(f"vrp{size}") for size in (20, 50, 100)]
    assert floors == pytest.approx([132.6, 334.0, 836.7], abs=0.05)


def test_published_figures_below_the_floor_are_told_apart():
    """The paper's VRP20 cannot be; its rows for VRP100 and those of others can."""
    rows = published("fixed-costs").rows
    below = {(row.set, row.method) for row in rows if row.impossible}
    assert {name for name, _ in below} == {"vrp20"}
    assert all(label.startswith("the paper's") for _, label in below)
    assert len(below) == 2


def test_a_figure_has_no_published_rows():
    """Without a table in the paper there is nothing beside ours."""
    assert published("fleet-sizes") is None


def test_the_command_leaves_folders_open(tmp_path):
    """What to type names no folder of this machine."""
    (tmp_path / "rows.jsonl").touch()
    reference = tmp_path / "rows.jsonl"
    options = Options(instances=50, reference=reference, labels=tmp_path, seed=3)
    assert command(TABLE, options, on_gpu=True) == (
        "python -m experiments fixed-costs --instances 50 --seed 3 --device cuda "
        "--labels FOLDER --reference FILE"
    )
    usual = Options(instances=TABLE.instances)
    assert command(TABLE, usual, on_gpu=False) == "python -m experiments fixed-costs"


def test_a_share_is_at_least_one_instance():
    """A tenth of three instances is one."""
    line = Line(label="slow", method="ortools", share="tenth")
    counts = [line.count("vrp20", Options(instances=n)) for n in (3, 30, 1000)]
    assert counts == [1, 3, 100]


def test_no_more_instances_are_taken_than_have_kept_plans():
    """The Attention Model's plans are kept for the first instances only."""
    line = Line(label="AM", method="am-greedy", most=20)
    counts = [line.count("vrp20", Options(instances=n)) for n in (5, 20, 30)]
    assert counts == [5, 20, 20]


@pytest.mark.parametrize(
    ("method", "gpu", "there"),
    [
        ("network", "", "network"),
        ("network", "bf16", "network:device=cuda"),
        ("network:passes=4", "fp32", "network:passes=4,device=cuda,precision=fp32"),
    ],
)
def test_a_network_predicts_on_a_gpu_if_there_is_one(method, gpu, there):
    """The spec for a GPU follows from the one for a CPU."""
    line = Line(label="network", method=method, gpu=gpu)
    assert line.spec(Options(device="cuda")) == there
    assert line.spec(Options()) == method


def test_an_unknown_key_of_a_table_is_an_error(monkeypatch):
    """A misspelt key is named, in a table as in a line."""
    whole = tomllib.loads(
        Path(definitions.__file__).with_name("tables.toml").read_text()
    )
    for place, key in (
        (whole["tables"]["uchoa"], "note"),
        (whole["lines"]["hgs"], "x"),
    ):
        place[key] = "something"
        monkeypatch.setattr(definitions, "_definitions", lambda: whole)
        with pytest.raises(InputError, match=f"unknown key '{key}'"):
            load_tables(Options())
        del place[key]


def test_every_set_of_every_table_has_a_heading():
    """A page can name all its sets."""
    for table in load_tables(Options()).values():
        for name in table.sets:
            assert str(definitions.customers_of(name)) in definitions.title_of(name)


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
