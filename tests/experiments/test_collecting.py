"""Tables collected and rendered, from rows that are made up unless a test says so."""

from __future__ import annotations

import csv
import io
import itertools
import lzma
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from experiments import collecting, definitions
from experiments.__main__ import NAMES, make
from experiments.cells import measured_cells, read_stores
from experiments.collecting import collect, group_runs, row_files
from experiments.definitions import Line, Options, Table, load_tables
from fixedfleet.errors import InputError, MissingPackageError
from fixedfleet.evaluate import origin
from fixedfleet.evaluate.pipeline import Pipeline
from fixedfleet.evaluate.rows import Results, make_header
from fixedfleet.evaluate.starts import NetworkStart
from fixedfleet.version import own_version

TABLES = load_tables(Options())
# Tables that are not in the paper.
OWN = ("fleet-sizes", "reference", "attention-model", "anytime", "starts")
WITHOUT_TRAINING = [name for name, table in TABLES.items() if not table.trainings]


def make_table(name, *, collecting=True, rendering=True, **options):
    """Make a table with these options."""
    return make(name, Options(**options), collecting, rendering)


@pytest.fixture
def calls(monkeypatch, make_row):
    """Let rows be made up, of the fewest vehicles; return what was asked for."""
    asked = []

    def row(instances, place, method, limit, seed):
        instance = instances.instances[place]
        floor = -(-int(instance.demands.sum()) // int(instance.capacity))
        length, cost = 6.0 + place + 1e-10, instances.vehicle_cost
        return make_row(
            set=instances.name,
            instance=instance.name,
            method=method.name,
            objective=method.objective,
            time_limit=limit if "time" in method.limits else None,
            seed=seed,
            fleet=instance.vehicles,
            vehicle_cost=cost,
            length=length,
            cost_v=length + floor * cost,
            vehicles=floor,
            floor=floor,
            within=floor <= instance.vehicles,
            machine="a made-up processor",
            tours=((1, 2),),
            made={"fixedfleet": own_version()},
            details={"start_length": length, "start_vehicles": floor},
        )

    def evaluate(sets, methods, time_limits, results, *, seeds, **_options):
        known = {row.key for row in results.rows()}
        asked.append((sets[0].name, len(sets[0]), time_limits[0], len(methods)))
        with results:
            for method, limit, place in itertools.product(
                methods, time_limits, range(len(sets[0]))
            ):
                made = row(sets[0], place, method, limit, seeds[0])
                if made.key not in known:
                    known.add(made.key)
                    results.append(made)

    machine = "fixedfleet.evaluate.rows.machine_name"
    monkeypatch.setattr(machine, lambda: "a made-up processor")
    monkeypatch.setattr(collecting, "evaluate", evaluate)
    monkeypatch.setattr(origin, "digest", cache(origin.digest))  # of the same networks
    monkeypatch.setattr(NetworkStart, "check", lambda _self: None)  # loads weights
    return asked


@pytest.fixture
def folders(tmp_path):
    """Folders of a run."""
    return {"out": tmp_path / "out", "work": tmp_path / "work"}


def read_csv(path: Path) -> list[dict[str, str]]:
    """Read a table's numbers."""
    return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))


@pytest.mark.slow
@pytest.mark.parametrize("name", WITHOUT_TRAINING)
def test_a_table_is_collected_and_rendered(name, calls, folders):
    """Each name leaves a page and its numbers, with published rows where there are."""
    paths = make_table(name, instances=3, **folders)
    page, numbers = paths[0].read_text(encoding="utf-8"), read_csv(paths[1])
    assert paths[0] == folders["out"] / f"{name}.md"
    assert f"python -m experiments {name} --instances 3" in page
    if name == "attention-model":  # its rows are kept
        assert not calls
    else:
        assert calls
        assert "a made-up processor" in page
        assert "fixedfleet 0." in page
    assert len(numbers) >= 6
    if name not in OWN:
        assert {row["source"] for row in numbers} == {"measured", "published"}


@pytest.mark.slow
def test_rows_there_are_not_run_again(calls, folders):
    """A second call finds everything in the store."""
    make_table("fixed-costs", instances=3, **folders)
    first = list(calls)
    make_table("fixed-costs", instances=3, **folders)
    assert calls == first


@pytest.mark.slow
def test_tables_share_rows_of_instances_in_two_sets(calls, folders):
    """The benchmark set runs only what the rejection-sampled one has not."""
    make_table("fixed-costs", instances=40, **folders)
    make_table("benchmark", instances=40, rendering=False, **folders)
    keys = [row.key for row in Results(folders["work"] / "rows.jsonl").rows()]
    assert len(keys) == len(set(keys))
    sampled = [key for key in keys if key[:3] == ("test20/0", "network+auto", "length")]
    assert len(sampled) == 1


@pytest.mark.slow
def test_time_limits_are_the_papers(calls, folders):
    """VRP20, 50 and 100 get 0.05, 0.16 and 0.84 s."""
    make_table("fixed-costs", instances=2, rendering=False, **folders)
    assert {(name, limit) for name, _, limit, _ in calls} == {
        ("vrp20", 0.05),
        ("vrp50", 0.16),
        ("vrp100", 0.84),
    }


@pytest.mark.slow
def test_collecting_renders_nothing_and_rendering_collects_nothing(calls, folders):
    """The two halves can be done on two machines."""
    with pytest.raises(InputError, match="no rows of targets"):
        make_table("targets", instances=2, collecting=False, **folders)
    assert make_table("targets", instances=2, rendering=False, **folders) == []
    assert not folders["out"].exists()
    done = len(calls)
    paths = make_table("targets", instances=2, collecting=False, **folders)
    assert [path.suffix for path in paths] == [".md", ".csv", ".xz"]
    assert len(calls) == done


def test_a_method_that_is_missing_is_a_note(calls, folders, monkeypatch):
    """Without weights or a package, a line is left out and the page says why."""
    real = definitions.get_method

    class Broken:
        def __init__(self, spec):
            self.method = real(spec)

        def __getattr__(self, name):
            return getattr(self.method, name)

        def check(self):
            if self.method.name == "vroom":
                raise MissingPackageError("no such package as vroom")
            self.method.check()

    monkeypatch.setattr(definitions, "get_method", Broken)
    said = []
    paths = make_table("fixed-costs", instances=2, display=said.append, **folders)
    page = paths[0].read_text(encoding="utf-8")
    assert "- left out: VROOM: no such package as vroom" in page
    assert "not run here: VROOM: no such package as vroom" in said
    assert not any(row["method"] == "vroom" for row in read_csv(paths[1]))


def test_the_forecast_is_said_before_anything_runs(calls, folders):
    """The number of runs and the seconds they take stand first."""
    said = []
    table = Table(
        name="fixed-costs",
        title="Some",
        sets=("vrp20",),
        lines=(Line(label="one", method="hgs"), Line(label="two", method="pyvrp")),
    )
    options = Options(instances=200, processes=2, display=said.append, **folders)
    collect(table, options)
    assert said[0] == "fixed-costs: 400 runs to do, about 10 s on 2 cores"
    collect(table, options)
    assert said[-1] == "fixed-costs: all its rows are there"


@pytest.mark.slow
def test_slow_methods_take_a_share_and_the_page_says_so(calls, folders):
    """Ten seconds of OR-Tools are spent on a tenth of the instances."""
    paths = make_table("targets", instances=30, **folders)
    rows = [row for row in read_csv(paths[1]) if row["method"] == "ortools"]
    assert [row["instances"] for row in rows] == ["3", "3", "3"]
    assert "compare their gaps" in paths[0].read_text(encoding="utf-8")


@pytest.mark.parametrize("name", TABLES)
def test_every_line_is_a_method(name, tmp_path):
    """Specs of all tables are understood, whatever is installed."""
    for device in (None, "cuda"):
        options = Options(work=tmp_path, device=device)
        for line in load_tables(options)[name].lines:
            assert line.build(options).name


@pytest.mark.parametrize("name", TABLES)
def test_every_table_has_the_control(name, tmp_path):
    """Our search without the network is in every table that has our search."""
    lines = load_tables(Options(work=tmp_path))[name].lines
    methods = {line.method for line in lines}
    if any(method.endswith("+auto") for method in methods):
        assert "packing+auto" in methods
        assert name in OWN[:4] or "savings+auto" in methods
    else:
        assert name in ("paper", "generalisation", *OWN[:3])


@pytest.mark.parametrize("name", WITHOUT_TRAINING)
def test_a_table_takes_no_more_than_an_hour_on_two_cores(name, tmp_path, monkeypatch):
    """The default is forecast to end within the hour."""
    monkeypatch.setattr(NetworkStart, "check", lambda _self: None)
    options = Options(work=tmp_path, instances=40)
    table = load_tables(options)[name]
    groups, _ = group_runs(table, options)
    seconds = 0.0
    for group in groups:
        for method in group.methods:
            if method.name.startswith(("am-", "paper")):
                continue  # their rows are kept
            cores = 1 if method.batch > 1 else 2
            seconds += group.seconds(method) * len(group.keys(method, 0)) / cores
    assert table.instances / options.instances * seconds < 3600


def test_the_floor_stands_beside_cost_v(calls, folders):
    """Cost_v with the fewest vehicles is its floor; the paper's VRP20 is below it."""
    paths = make_table("fixed-costs", instances=3, **folders)
    for row in read_csv(paths[1]):
        if row["machine"] == "a made-up processor":
            assert float(row["cost_v"]) == pytest.approx(float(row["cost_v_floor"]))
    page = paths[0].read_text(encoding="utf-8")
    assert "135.5 †" in page
    assert "† lies below the floor" in page
    assert "346.1 †" not in page


@pytest.mark.slow
def test_gaps_are_to_the_reference_of_the_same_instances(calls, folders):
    """A gap is a mean over instances and has an interval."""
    paths = make_table("post-processing", instances=4, **folders)
    rows = [row for row in read_csv(paths[1]) if row["set"] == "vrp20"]
    measured = [row for row in rows if row["machine"] == "a made-up processor"]
    assert measured
    for row in measured:
        assert row["gap_instances"] == "4"
        assert float(row["gap_half"]) > 0


def test_gaps_of_uchoa_are_to_our_own_reference(calls, folders):
    """The long run on the same instances has a gap of nothing to itself."""
    paths = make_table("uchoa", instances=8, **folders)
    rows = read_csv(paths[1])
    (own,) = [row for row in rows if "the reference" in row["label"]]
    assert float(own["gap_percent"]) == 0
    assert all(row["gap_instances"] == "2" for row in rows if row["gap_percent"])
    assert "not the published ones" in paths[0].read_text(encoding="utf-8")


def test_a_table_of_gaps_is_refused_before_it_runs_if_they_have_no_reference(
    calls, folders, make_row
):
    """Nothing runs for a page that could not be written in the end."""
    with Results(folders["work"] / "reference.jsonl") as results:
        results.append(make_row(instance="test20/0"))
    reference = results.path
    with pytest.raises(InputError, match="no plan for an instance of 'vrp50'"):
        make_table("anytime", instances=2, reference=reference, **folders)
    assert not calls


def test_a_page_of_more_instances_is_not_overwritten(calls, folders):
    """A quick try is refused, before anything runs, if a larger page is there."""
    first = make_table("uchoa", instances=8, **folders)
    page, done = first[0].read_text(encoding="utf-8"), len(calls)
    with pytest.raises(InputError, match=r"uchoa\.csv is about 4 instances.*--out"):
        make_table("uchoa", instances=2, **folders)
    assert first[0].read_text(encoding="utf-8") == page
    assert len(calls) == done
    make_table("uchoa", instances=10, **folders)


def test_a_table_can_keep_its_plans(calls, folders):
    """The reference plans are kept with their tours, for whoever needs them."""
    kept = make_table("reference", instances=2, **folders)[2]
    rows = Results(kept).rows()
    assert {row.set for row in rows} == set(TABLES["reference"].sets)
    assert {row.tours for row in rows} == {((1, 2),)}
    others = make_table("uchoa", instances=2, **folders)[2]
    assert {row.tours for row in Results(others).rows()} == {None}


def test_a_page_is_made_again_from_the_rows_kept_beside_it(calls, folders):
    """The rows of a page are kept, compressed, and give the same page and figures."""
    paths = make_table("uchoa", instances=8, **folders)
    before = [path.read_text(encoding="utf-8") for path in paths[:2]]
    assert paths[2].name == "rows-uchoa.jsonl.xz"
    # Another table keeps other runs of the same methods, perhaps of another machine.
    rows = [replace(row, length=99.0) for row in Results(paths[2]).rows()]
    lines = [make_header("elsewhere"), *(row.to_json() for row in rows), ""]
    other = folders["out"] / "rows-a.jsonl.xz"
    other.write_bytes(lzma.compress("\n".join(lines).encode()))
    make_table("uchoa", instances=8, collecting=False, **folders)
    folders["work"] = folders["out"]
    again = make_table("uchoa", instances=8, collecting=False, **folders)
    assert [path.read_text(encoding="utf-8") for path in again[:2]] == before


@pytest.mark.slow
def test_gaps_are_drawn_by_size(calls, folders):
    """The main table has a picture of the gaps of all sizes."""
    pytest.importorskip("matplotlib")
    make_table("fixed-costs", instances=2, **folders)
    picture = folders["out"] / "fixed-costs.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    page = picture.with_suffix(".md").read_text(encoding="utf-8")
    assert "![fixed-costs](fixed-costs.png)" in page


def test_pictures_are_left_out_without_matplotlib(calls, folders, monkeypatch):
    """The text is written all the same, and a line says why there is no picture."""
    monkeypatch.setattr("experiments.figures.importlib.util.find_spec", lambda _n: None)
    monkeypatch.setattr(Pipeline, "check", lambda _self: None)
    said = []
    paths = make_table("fleet-sizes", instances=2, display=said.append, **folders)
    assert [path.suffix for path in paths] == [".md", ".csv", ".xz"]
    assert any("no pictures" in line for line in said)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"instances": 0}, "instances is 0"),
        ({"processes": 0}, "processes is 0"),
        ({"epochs": 0}, "epochs is 0"),
        ({"reference": Path("no/such/file")}, "reference: there is no file"),
        ({"labels": Path("no/such/folder")}, "labels: there is no folder"),
        ({"collecting": False, "rendering": False}, "nothing to do"),
    ],
)
def test_wrong_arguments_are_refused(wrong, said, tmp_path):
    """What makes no sense is refused before anything is done."""
    work = tmp_path / "work"
    with pytest.raises(InputError, match=said):
        make_table("fixed-costs", work=work, **wrong)
    assert not work.exists()


def test_an_unknown_table_is_refused():
    """An unknown name is answered with those there are."""
    with pytest.raises(InputError, match=", ".join(NAMES)):
        make_table("table-1")


def test_rows_of_other_machines_count(calls, folders):
    """A line with all its rows in a file beside rows.jsonl is not run again."""
    work = folders["work"]
    make_table("uchoa", instances=2, rendering=False, **folders)
    (work / "rows.jsonl").rename(work / "rows-elsewhere.jsonl")
    done = len(calls)
    make_table("uchoa", instances=2, collecting=False, **folders)
    make_table("uchoa", instances=2, rendering=False, **folders)
    assert len(calls) == done
    assert not (work / "rows.jsonl").exists()


@pytest.mark.slow
def test_methods_really_run(tmp_path):
    """Two methods on three instances: true rows, within the fleet, none twice."""
    table = Table(
        name="fixed-costs",
        title="Two methods",
        sets=("vrp20",),
        lines=(
            Line(label="packing + search", method="packing+auto", kind="control"),
            Line(label="the packing", method="packing", kind="control"),
        ),
    )
    options = Options(instances=3, processes=1, work=tmp_path)
    assert collect(table, options) == {}
    assert collect(table, options) == {}
    rows = row_files(options)[0].rows()
    assert len(rows) == 6
    assert all(row.within and row.length and row.machine for row in rows)
    cells, missing = measured_cells(table, "vrp20", read_stores(options), options)
    assert not missing
    searched, packed = (cell.summary.length.value for cell in cells)
    assert searched < packed
