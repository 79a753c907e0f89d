"""Rows as cells, and cells as pages and numbers."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import pytest

from experiments.cells import Store, _counted, measured_cells
from experiments.definitions import Line, Options, Table, customers_of
from experiments.pages import _versions, render_page
from fixedfleet.evaluate import Results, get_method
from fixedfleet.evaluate.origin import made_with

LINE = Line(label="someone", method="hgs", limits=(0.05,))
COLUMNS = ("length", "Cost_v", "vehicles", "within", "gap %", "seconds")
TABLE = Table(
    name="some",
    title="Some",
    parts={"A part": ("vrp20",)},
    lines=(LINE,),
    columns=COLUMNS,
)
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
            "machine": "a made-up processor",
            "made": {"fixedfleet": "0.1.0"},
        }
        return make_row(**(fields | changes))

    return make


@pytest.fixture
def render(tmp_path, monkeypatch):
    """Return a function that writes rows to files and renders a table of them."""

    def make(*files, table=TABLE, instances=4, **given):
        options = Options(instances=instances, work=tmp_path, **given)
        stores = []
        for number, rows in enumerate(files):
            path = tmp_path / f"rows-{number}.jsonl"
            path.unlink(missing_ok=True)
            with Results(path) as results:
                for one in rows:
                    results.append(one)
            stores.append(Store(Results(path)))
        found = [measured_cells(table, name, stores, options) for name in table.sets]
        make.cells = [cell for cells, _ in found for cell in cells]
        make.missing = [line for _, missing in found for line in missing]
        page, numbers = render_page(table, make.cells, ["a note"], options)
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
    """Means are over the plans there are, the share within is of all instances."""
    beyond = row(1, vehicles=6, cost_v=216.0, within=False)
    page = render([row(0, **NOTHING), beyond, row(2), row(3)])
    line = lines_of(page)["someone"]
    assert line["VRP20: length"] == "6.000"
    assert line["Cost_v"] == "169.3"
    assert line["vehicles"] == "4.667"
    assert line["within"] == "50.0 %"
    assert "a note" in page
    assert "vrp20: 4 instances." in page
    (numbers,) = render.numbers
    assert numbers["label"] == "someone"
    assert (numbers["runs"], numbers["served"], numbers["within"]) == ("4", "3", "2")


def test_a_line_without_any_plan_is_shown_all_the_same(render, row):
    """Where nothing was found, dashes stand for the means."""
    line = lines_of(render([row(0, **NOTHING)], instances=1))["someone"]
    assert line["VRP20: length"] == line["Cost_v"] == line["gap %"] == "–"
    assert line["within"] == "0.0 %"


def test_rows_of_another_seed_limit_or_place_are_left_out(render, row):
    """A page shows the seeds asked for, the limit it names, and the first instances."""
    others = [row(0, seed=1), row(0, time_limit=5.0), row(9999), row(0, "pyvrp")]
    render(others, instances=2, seeds=1)
    assert (render.cells, render.missing) == ([], [LINE])
    mine = [row(0), row(1)]
    render(others + mine, instances=2, seeds=1)
    assert list(render.cells[0].rows) == mine
    render(others + mine, instances=2)
    assert list(render.cells[0].rows) == [mine[0], others[0], mine[1]]


def test_rows_of_the_other_objective_are_left_out(render, row):
    """The objective tells lines of one method apart."""
    specs = ("packing+auto", "packing+auto:objective=cost-v")
    lines = [replace(LINE, label=spec, method=spec) for spec in specs]
    rows = [
        row(0, "packing+auto", length=length, objective=objective)
        for length, objective in ((6.0, "length"), (7.0, "cost-v"))
    ]
    render(rows, table=replace(TABLE, lines=tuple(lines)), instances=1)
    assert [cell.rows for cell in render.cells] == [(rows[0],), (rows[1],)]


def test_all_rows_of_a_line_come_from_one_file(render, row):
    """Of a line in two files, that with more instances counts, then more seeds."""
    here, there = [row(0), row(1)], [row(0, length=9.0)]
    render(here, there)
    assert list(render.cells[0].rows) == here
    render(here[:1], [*there, row(1, length=9.0)])
    assert {one.length for one in render.cells[0].rows} == {9.0}
    seeds = [row(0, length=9.0, seed=seed) for seed in range(3)]
    render(here, seeds)
    assert list(render.cells[0].rows) == here
    render(here[:1], seeds)
    assert list(render.cells[0].rows) == seeds


def test_a_table_shows_the_present_network(render, row):
    """Rows of a network that has been replaced are not shown."""
    pytest.importorskip("torch")
    line = Line(label="network", method="network")
    network = made_with(get_method("network"))["network"]
    rows = [
        row(place, "network", time_limit=None, customers=20, made={"network": made})
        for place, made in enumerate(("0" * 8, network))
    ]
    render(rows, table=replace(TABLE, lines=(line,)), instances=2)
    assert list(render.cells[0].rows) == rows[1:]


def test_fewer_instances_are_said(render, row):
    """A line that ran on fewer instances than another says so."""
    other = Line(label="other", method="pyvrp", limits=(0.05,), most=1)
    page = render(
        [row(0), row(1), row(0, "pyvrp"), row(0, "pyvrp", seed=1)],
        table=replace(TABLE, lines=(LINE, other)),
        instances=2,
    )
    assert set(lines_of(page)) == {"someone", "other (first 1)"}


def test_published_figures_stand_above_ours(render, row):
    """They are in italics, in the columns of their sets."""
    line = replace(LINE, method="ortools", limits=(10.0,))
    table = replace(TABLE, name="targets", lines=(line,))
    page = render([row(0, "ortools", time_limit=10.0)], table=table, instances=1)
    found = lines_of(page)
    assert list(found) == ["*guaranteed*", "*OR-Tools, 10 s*", "someone"]
    assert found["*OR-Tools, 10 s*"] == {
        "method": "*OR-Tools, 10 s*",
        "VRP20: length": "6.06",
        "Cost_v": "139.1",
        "vehicles": "–",
        "within": "–",
        "gap %": "–",
        "seconds": "8",
    }
    assert "Italics: published, Table 7" in page


def test_processor_time_is_shown_where_rows_have_it(render, row):
    """Older rows have none, and the paper prints none."""
    table = replace(TABLE, columns=("length", "processor seconds"))
    page = render([row(0, seconds=0.5, cpu_seconds=0.25)], table=table)
    assert lines_of(page)["someone"]["processor seconds"] == "0.25"
    assert "Processor seconds: per instance" in page
    older = lines_of(render([row(0, cpu_seconds=None)], table=table))["someone"]
    assert older["processor seconds"] == "–"


def test_lengths_are_in_the_unit_of_the_paper(render, row):
    """Uchoa's square has a side of 1,000, and the paper prints 19.41."""
    table = replace(TABLE, unit={"vrp20": 1000.0})
    line = lines_of(render([row(0, length=6000.0)], table=table))["someone"]
    assert line["VRP20: length"] == "6.000"


def test_a_line_shows_its_gap_at_each_time_limit(render, row, tmp_path):
    """Each limit is a column; runs that take longer or are not solved are said."""
    limits = (0.01, 0.03)
    lines = (
        Line(label="fixedfleet", method="hgs", limits=limits),
        Line(label="PyVRP", method="pyvrp", limits=limits[:1]),
    )
    table = replace(TABLE, layout="limits", lines=lines)
    rows = []
    for place, seed in ((0, 0), (0, 1), (1, 0), (1, 1)):
        given = {"seed": seed, "seconds": 0.01}
        rows.append(row(place, time_limit=0.01, length=8.0, **given))
        rows.append(row(place, time_limit=0.03, length=6.0, seed=seed, seconds=0.5))
        rows.append(row(place, "pyvrp", time_limit=0.01, length=9.0, **given))
    rows[-1] = replace(rows[-1], **NOTHING)
    with Results(tmp_path / "reference.jsonl") as results:
        for place in range(2):
            results.append(row(place, length=4.0))
    page = render(rows, table=table, instances=2, reference=results.path)
    assert "| time limit | 10 ms | 30 ms |" in page
    assert "| **fixedfleet** | 100.00 ± 0.00 | 50.00 ± 0.00 (500 ms) |" in page
    assert "| PyVRP | 125.00 ± 0.00, 75.0 % solved | – |" in page
    assert "vrp20: 2 instances, 2 seeds each." in page


@pytest.mark.parametrize(
    ("reading", "lengths"),
    [
        ("all", [5.0, 6.0, 7.0]),
        ("solved", [5.0, None, None]),
        ("raw", [5.5, None, None]),
    ],
)
def test_plans_count_before_or_after_the_search(make_row, reading, lengths):
    """OR-Tools empties the second plan's tour beyond the fleet, not the third's."""
    rows = [
        make_row(
            length=length,
            fleet=4,
            vehicles=vehicles,
            within=vehicles <= 4,
            details={"start_length": length + 0.5, "start_vehicles": start},
        )
        for length, vehicles, start in ((5.0, 4, 4), (6.0, 4, 5), (7.0, 5, 5))
    ]
    found = _counted(Line(label="a", method="paper20", reading=reading), rows)
    assert [row.length for row in found] == lengths
    if reading == "raw":
        assert found[0].cost_v == 5.5 + 4 * found[0].vehicle_cost


def test_versions_are_those_of_the_rows(row):
    """All versions of a package are named, and no hash of a network."""
    made = {"fixedfleet": "0.1", "pyvrp": "0.14.1", "network": "3c84ae8f"}
    rows = [row(0, made=made), row(1, made={"fixedfleet": "0.2"})]
    assert _versions(rows) == "fixedfleet 0.1 and 0.2, pyvrp 0.14.1"
    unknown = row(0, made={"fixedfleet": "unknown"})
    assert _versions([unknown]) == _versions([]) == "not recorded"


def test_a_page_says_which_commits_are_not_in_the_history(render, row):
    """Nobody can check them out, so the page says where their work is."""
    page = render([row(0, made={"commit": "34640a8"}), row(1, made={"commit": "266"})])
    assert (
        "commit 266 and 34640a8. Not in the history, but in 894a8a6: 34640a8." in page
    )
    assert "history" not in render([row(0, made={"commit": "266"})])


def test_the_command_leaves_folders_open(render, row, tmp_path):
    """What to type names no folder of this machine."""
    with Results(tmp_path / "reference.jsonl") as results:
        results.append(row(0, length=4.0))
    page = render([row(0)], instances=50, reference=results.path)
    assert "    python -m experiments some --instances 50 --reference FILE\n" in page


def test_the_command_has_the_seeds_of_the_rows(render, row):
    """By default it would run one seed of each instance."""
    page = render([row(0, seed=seed) for seed in range(3)])
    assert "    python -m experiments some --instances 4 --seeds 3\n" in page


def test_a_method_is_named_by_the_size_of_the_set():
    """{N} stands for the number of customers."""
    line = Line(label="ours", method="paper{N}:model=a{N}")
    assert line.spec("strict50") == "paper50:model=a50"
    assert customers_of("uchoa100") == 100
