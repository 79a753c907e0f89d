"""Tables collected and rendered, from rows that are made up unless a test says so."""

from __future__ import annotations

import csv
import io
import itertools
import lzma
import tomllib
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from experiments import collecting, definitions
from experiments.__main__ import NAMES, make
from experiments.cells import Store, measured_cells
from experiments.collecting import collect, row_files
from experiments.deepaco import DeepAco
from experiments.definitions import Line, Options, Table, load_tables
from experiments.kept_plans import is_kept
from fixedfleet.errors import InputError, MissingPackageError
from fixedfleet.evaluate import get_method, origin
from fixedfleet.evaluate.rows import Results, make_header
from fixedfleet.evaluate.starts import NetworkStart
from fixedfleet.version import own_version

TABLES = load_tables()


def make_table(name, *, collecting=True, rendering=True, **options):
    """Make a table with these options."""
    return make(name, Options(**options), collecting, rendering)


@pytest.fixture
def calls(monkeypatch, make_row):
    """Let rows be made up, of the fewest vehicles; return what was asked for."""
    asked = []

    def row(instances, place, method, limit, seed):
        instance = instances.instances[place]
        floor = instance.minimum_vehicles
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
        asked.append((sets[0].name, len(sets[0]), time_limits, len(methods), seeds))
        with results:
            for method, limit, place, seed in itertools.product(
                methods, time_limits or (None,), range(len(sets[0])), seeds
            ):
                made = row(sets[0], place, method, limit, seed)
                if made.key not in known:
                    known.add(made.key)
                    results.append(made)

    machine = "fixedfleet.evaluate.rows.machine_name"
    monkeypatch.setattr(machine, lambda: "a made-up processor")
    monkeypatch.setattr(collecting, "evaluate", evaluate)
    monkeypatch.setattr(origin, "digest", cache(origin.digest))  # of the same networks
    monkeypatch.setattr(NetworkStart, "check", lambda _self: None)  # loads weights
    monkeypatch.setattr(DeepAco, "check", lambda _self: None)  # needs a checkout
    return asked


@pytest.fixture
def folders(tmp_path):
    """Folders of a run."""
    return {"out": tmp_path / "out", "work": tmp_path / "work"}


def read_csv(path: Path) -> list[dict[str, str]]:
    """Read a table's numbers."""
    return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_table_is_collected_and_rendered(name, calls, folders):
    """Each name leaves a page and its numbers, with all its lines."""
    paths = make_table(name, instances=3, **folders)
    page, numbers = paths[0].read_text(encoding="utf-8"), read_csv(paths[1])
    assert paths[0] == folders["out"] / f"{name}.md"
    assert f"python -m experiments {name} --instances 3" in page
    kept = name == "attention-model"
    assert bool(calls) != kept
    if not kept:
        assert "a made-up processor" in page
    labels = {line.label for line in TABLES[name].lines}
    if not TABLES[name].by_version:
        assert {row["label"] for row in numbers} == labels
    assert {row["set"] for row in numbers} == set(TABLES[name].sets)


def test_seeds_and_limits_are_those_asked_for(calls, folders):
    """The README's table can be measured with ten seeds."""
    make_table("anytime", instances=2, seeds=10, rendering=False, **folders)
    limits = (0.01, 0.03, 0.1, 0.3, 1.0)
    sets = ("vrp20", "vrp50", "vrp100")
    assert calls == [(name, 2, limits, 6, range(10)) for name in sets]


def test_lines_of_two_objectives_are_both_run(calls, folders):
    """A method that minimises the length and one that minimises cost are two lines."""
    specs = ("packing+ruin_recreate", "packing+ruin_recreate:objective=cost-v")
    lines = tuple(Line(label=spec, method=spec, limits=(0.1,)) for spec in specs)
    table = Table(name="t", title="t", parts={"": ("vrp20",)}, lines=lines)
    collect(table, Options(instances=2, **folders))
    ((_, _, _, methods, _),) = calls
    assert methods == 2


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
    """Without a package, a line is left out and the page says why."""

    class Broken:
        def __init__(self, spec):
            self.method = get_method(spec)

        def __getattr__(self, name):
            return getattr(self.method, name)

        def check(self):
            if self.method.name == "ortools":
                raise MissingPackageError("no such package as ortools")

    monkeypatch.setattr(collecting, "get_method", Broken)
    said = []
    paths = make_table("targets", instances=2, display=said.append, **folders)
    page = paths[0].read_text(encoding="utf-8")
    assert "- left out: OR-Tools, 10 s: no such package as ortools" in page
    assert "not run here: OR-Tools, 10 s: no such package as ortools" in said
    assert not any(row["method"] == "ortools" for row in read_csv(paths[1]))


def test_a_slow_method_takes_fewer_instances_and_the_page_says_so(calls, folders):
    """Ten seconds of OR-Tools are spent on the first instances only."""
    paths = make_table("targets", instances=40, **folders)
    rows = {row["label"]: row["runs"] for row in read_csv(paths[1])}
    assert rows == {"ours, guaranteed": "40", "OR-Tools, 10 s": "10"}
    page = paths[0].read_text(encoding="utf-8")
    assert "| OR-Tools, 10 s (first 10) |" in page
    assert "vrp20: 40 instances; vrp50: 40 instances; vrp100: 40 instances." in page


@pytest.mark.parametrize("name", NAMES)
def test_every_line_is_a_method(name):
    """Specs of all tables are understood, and lines have what they need."""
    table = TABLES[name]
    for chosen in table.sets:
        for line in table.lines_of(chosen):
            method = get_method(line.spec(chosen))
            assert bool(line.limits) == ("time" in method.limits), line
            if line.reading != "all":
                assert method.search == "ortools_descent"


def test_a_page_of_more_instances_is_not_overwritten(calls, folders):
    """A quick try is refused, before anything runs, if a larger page is there."""
    first = make_table("fleet-sizes", instances=8, **folders)
    page, done = first[0].read_text(encoding="utf-8"), len(calls)
    with pytest.raises(InputError, match=r"sizes\.csv is about 8 runs.*--out"):
        make_table("fleet-sizes", instances=2, **folders)
    assert first[0].read_text(encoding="utf-8") == page
    assert len(calls) == done
    make_table("fleet-sizes", instances=10, **folders)


def test_a_table_can_keep_its_plans(calls, folders):
    """The reference plans are kept with their tours, those of other tables without."""
    kept = make_table("reference", instances=2, **folders)[2]
    rows = Results(kept).rows()
    assert {row.set for row in rows} == set(TABLES["reference"].sets)
    assert {row.tours for row in rows} == {((1, 2),)}
    others = make_table("targets", instances=2, **folders)[2]
    assert {row.tours for row in Results(others).rows()} == {None}


def test_rows_are_kept_once(calls, folders):
    """A table leaves out what another table keeps."""
    make_table("targets", instances=2, **folders)
    kept = make_table("generalisation", instances=2, **folders)[2]
    keys = [(row.method, row.customers) for row in Results(kept).rows()]
    assert keys
    machines = {row.machine for row in Results(kept).rows()}
    assert Results(kept).machine == machines.pop()
    sets = {row.set for row in Results(kept).rows() if row.method == "paper20"}
    assert sets == {"vrp50", "vrp100", "uchoa100"}


def test_rows_without_plans_are_kept_once_too(calls, folders):
    """A table that keeps plans repeats no row of another table that has none."""
    make_table("anytime", instances=2, **folders)
    work = Results(folders["work"] / "rows.jsonl")
    rows = [replace(row, trace=(), tours=None) for row in work.rows()]
    lines = [make_header(rows[0].machine), *(row.to_json() for row in rows), ""]
    work.path.write_text("\n".join(lines), encoding="utf-8")
    kept = make_table("deepaco", instances=2, **folders)[2]
    methods = {row.method for row in Results(kept).rows()}
    assert "DeepAco" in methods
    assert "packing+auto" not in methods


def test_a_page_is_made_again_from_the_rows_kept_beside_it(calls, folders):
    """The rows of a page are kept, compressed, and give the same page and figures."""
    paths = make_table("targets", instances=8, **folders)
    before = [path.read_text(encoding="utf-8") for path in paths[:2]]
    assert paths[2].name == "rows-targets.jsonl.xz"
    # Another table keeps other runs of the same methods, perhaps of another machine.
    rows = [replace(row, length=99.0) for row in Results(paths[2]).rows()]
    lines = [make_header("elsewhere"), *(row.to_json() for row in rows), ""]
    other = folders["out"] / "rows-a.jsonl.xz"
    other.write_bytes(lzma.compress("\n".join(lines).encode()))
    folders["work"] = folders["out"]
    again = make_table("targets", instances=8, collecting=False, **folders)
    assert [path.read_text(encoding="utf-8") for path in again[:2]] == before


def test_a_version_adds_its_line(calls, folders, monkeypatch):
    """The page by version keeps the rows of former versions."""
    monkeypatch.setattr(collecting, "RESULTS", folders["out"])
    old = make_table("by-version", instances=2, **folders)[2]
    rows = [replace(row, made={"fixedfleet": "0.0.9"}) for row in Results(old).rows()]
    lines = [make_header("elsewhere"), *(row.to_json() for row in rows), ""]
    old.write_bytes(lzma.compress("\n".join(lines).encode()))
    paths = make_table("by-version", instances=2, **folders)
    labels = [row["label"] for row in read_csv(paths[1])]
    assert labels == ["0.0.9", own_version()] * 15
    assert {row.made["fixedfleet"] for row in Results(paths[2]).rows()} == set(labels)
    page = paths[0].read_text(encoding="utf-8")
    assert page.index("| 0.0.9 |") < page.index(f"| {own_version()} |")


def test_pictures_are_left_out_without_matplotlib(calls, folders, monkeypatch):
    """The text is written all the same, and a line says why there is no picture."""
    monkeypatch.setattr("experiments.figures.importlib.util.find_spec", lambda _n: None)
    said = []
    paths = make_table("fleet-sizes", instances=2, display=said.append, **folders)
    assert [path.suffix for path in paths] == [".md", ".csv", ".xz"]
    assert any("no pictures" in line for line in said)


@pytest.mark.parametrize("name", ["fleet-sizes", "anytime"])
def test_pictures_are_drawn(name, calls, folders):
    """The page shows the picture that is written beside it."""
    pytest.importorskip("matplotlib")
    make_table(name, instances=2, **folders)
    picture = folders["out"] / f"{name}.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    page = picture.with_suffix(".md").read_text(encoding="utf-8")
    assert f"![{name}]({name}.png)" in page


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"instances": 0}, "instances is 0"),
        ({"processes": 0}, "processes is 0"),
        ({"reference": Path("no/such/file")}, "reference: there is no file"),
        ({"collecting": False, "rendering": False}, "nothing to do"),
    ],
)
def test_wrong_arguments_are_refused(wrong, said, tmp_path):
    """What makes no sense is refused before anything is done."""
    work = tmp_path / "work"
    with pytest.raises(InputError, match=said):
        make_table("paper", work=work, **wrong)
    assert not work.exists()


def test_an_unknown_table_is_refused():
    """An unknown name is answered with those there are."""
    with pytest.raises(InputError, match=", ".join(NAMES)):
        make_table("table-1")


@pytest.mark.parametrize("part", ["tables", "lines"])
def test_an_unknown_key_is_an_error(part, monkeypatch):
    """A misspelt key is named, in a table as in a line."""
    whole = tomllib.loads(definitions._FILE.read_text(encoding="utf-8"))
    next(iter(whole[part].values()))["note"] = "something"
    monkeypatch.setattr(definitions.tomllib, "load", lambda _file: whole)
    with pytest.raises(InputError, match="unknown key 'note'"):
        load_tables.__wrapped__()


@pytest.mark.slow
def test_methods_really_run(tmp_path):
    """Two methods on three instances: true rows, within the fleet, none twice."""
    table = Table(
        name="two",
        title="Two methods",
        parts={"Some": ("vrp20",)},
        lines=(
            Line(label="packing + search", method="packing+auto", limits=(0.05,)),
            Line(label="the packing", method="packing"),
        ),
    )
    options = Options(instances=3, processes=1, work=tmp_path)
    assert collect(table, options) == {}
    assert collect(table, options) == {}
    files = row_files(table, options)
    rows = files[0].rows()
    assert len(rows) == 6
    assert all(row.within and row.length and row.machine for row in rows)
    stores = [Store(results) for results in files]
    cells, missing = measured_cells(table, "vrp20", stores, options)
    assert not missing
    searched, packed = (cell.summary.length.value for cell in cells)
    assert searched < packed


def test_kept_plans_are_told_from_a_search_after_them():
    """Only the plans alone need not be run."""
    assert is_kept(get_method("am-greedy"))
    assert not is_kept(get_method("am-greedy+ortools_descent:artificial=yes"))
    assert not is_kept(get_method("packing"))
