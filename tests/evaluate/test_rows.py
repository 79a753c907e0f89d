"""The file of rows: read back, torn, of another version, locked."""

from __future__ import annotations

import json
import lzma
import os
import subprocess
import sys

import pytest

import fixedfleet as ff
from fixedfleet.evaluate import Results, Row
from fixedfleet.evaluate.origin import machine_name
from fixedfleet.evaluate.rows import make_header


def test_rows_are_read_back_as_they_were(make_row, tmp_path):
    """Every field of every row survives the file, in order."""
    rows = [
        make_row(trace=((0.1, 9.5), (0.25, 8.0)), machine="Motörhead 9"),
        make_row(seed=1, length=None, cost_v=None, vehicles=None, fault="no plan"),
        make_row(time_limit=None, iterations=7, instance="b/ü"),
        make_row(seed=2, details={"network": 0.1}, tours=((1, 3), (2,))),
    ]
    results = Results(tmp_path / "new" / "rows.jsonl")
    for row in rows:
        results.append(row)
    assert results.rows() == rows
    assert Results(results.path).rows() == rows


def test_compressed_rows_are_read_but_not_appended_to(make_row, tmp_path):
    """A file of rows may be stored compressed; then it is for reading only."""
    plain = Results(tmp_path / "rows.jsonl")
    plain.append(make_row())
    plain.close()
    packed = tmp_path / "rows.jsonl.xz"
    packed.write_bytes(lzma.compress(plain.path.read_bytes()))
    assert Results(packed).rows() == plain.rows()
    with pytest.raises(ff.InputError, match="is compressed: choose another file"):
        Results(packed).append(make_row(seed=1))


def test_a_row_without_results_has_no_plan():
    """Unless it is said, nobody is served, and nothing is within the fleet."""
    limits = {"time_limit": 1.0, "iterations": None, "seed": 0}
    sizes = {"customers": 4, "fleet": 2, "vehicle_cost": 10.0, "floor": 2}
    row = Row(set="some", instance="a", method="fake", **limits, **sizes)
    assert (row.served, row.within, row.length, row.cost) == (False, False, None, None)


def test_the_set_is_no_part_of_the_key(make_row):
    """The same run has one key whatever set it was made for, other runs others."""
    assert make_row(set="one").key == make_row(set="two").key
    keys = {
        make_row(**{name: value}).key
        for name, value in (
            ("instance", "b"),
            ("method", "other"),
            ("time_limit", 2.0),
            ("iterations", 5),
            ("seed", 1),
            ("objective", "cost-v"),
            ("length", 7.0),
        )
    }
    assert len(keys) == 7


def test_no_file_means_no_rows(tmp_path):
    """Results that do not exist yet are empty, and reading does not make them."""
    results = Results(tmp_path / "rows.jsonl")
    assert results.rows() == []
    assert not results.path.exists()


@pytest.mark.parametrize("cut", [1, 20, 200])
def test_a_torn_last_line_is_dropped_and_cut_off(make_row, tmp_path, cut):
    """A line that a kill cut short is no row, and the next append is a whole one."""
    path = tmp_path / "rows.jsonl"
    with Results(path) as results:
        for seed in range(3):
            results.append(make_row(seed=seed))
    path.write_bytes(path.read_bytes()[:-cut])
    results = Results(path)
    assert [row.seed for row in results.rows()] == [0, 1]
    results.append(make_row(seed=7))
    results.close()
    assert [row.seed for row in Results(path).rows()] == [0, 1, 7]
    assert [row.seed for row in results.rows()] == [0, 1, 7]


def test_rows_appended_elsewhere_are_seen(make_row, tmp_path):
    """What another reader of the file appends is read with the next look."""
    mine, other = Results(tmp_path / "rows"), Results(tmp_path / "rows")
    other.append(make_row())
    assert len(mine.rows()) == 1
    other.append(make_row(seed=1))
    assert [row.seed for row in mine.rows()] == [0, 1]
    (tmp_path / "rows").unlink()
    fresh = Results(tmp_path / "rows")
    fresh.append(make_row(seed=5))
    assert [row.seed for row in mine.rows()] == [5]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a", "is not a file of results"),
        ("instance,length\na,1\n", "is not a file of results"),
        ('["fixedfleet results", 1]\n', "is not a file of results"),
        ('{"format": "fixedfleet results", "version": 99}\n', "of version 99"),
        ('{"format": "fixedfleet results"}\n', "of version None"),
        ('{"format": "fixedfleet results", "version": 1}\n', "an unnamed machine"),
    ],
)
def test_other_files_are_refused_and_left_alone(tmp_path, text, said):
    """A file of another format or version is named, and nothing is written to it."""
    path = tmp_path / "rows.jsonl"
    path.write_text(text)
    with pytest.raises(ff.InputError, match=said):
        Results(path)
    assert path.read_text() == text


@pytest.mark.parametrize("length", [0, 10, -1])
def test_a_run_that_was_killed_before_its_header_is_resumed(make_row, tmp_path, length):
    """A file without a whole first line holds nothing yet, and is begun again."""
    path = tmp_path / "rows"
    path.write_bytes(f"{make_header(machine_name())}\n".encode()[:length])
    results = Results(path)
    assert results.rows() == []
    with results:
        results.append(make_row())
    assert Results(path).machine == machine_name()
    assert len(Results(path).rows()) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such lock")
def test_two_first_starts_at_once_lose_nothing(make_row, tmp_path, monkeypatch):
    """A run that starts while another makes the file is refused; no row is lost."""
    path = tmp_path / "rows"
    first, second = Results(path), Results(path)
    opened = os.open

    def open_and_be_overtaken(*arguments):
        monkeypatch.setattr(os, "open", opened)
        second.append(make_row(seed=2))  # between the look for the file and the lock
        return opened(*arguments)

    monkeypatch.setattr(os, "open", open_and_be_overtaken)
    with pytest.raises(ff.InputError, match="another run is writing"):
        first.append(make_row(seed=1))
    second.append(make_row(seed=3))
    second.close()
    assert [row.seed for row in Results(path).rows()] == [2, 3]


@pytest.mark.parametrize("line", ["{", "[]", "{}", '{"trace": []}', '"text"', "7"])
def test_a_line_that_is_no_row_is_named(make_row, tmp_path, line):
    """A broken line in the middle of a file is an error with its number."""
    with Results(tmp_path / "rows") as results:
        results.append(make_row())
    with results.path.open("a") as file:
        file.write(f"{line}\n")
    with pytest.raises(ff.InputError, match="line 3: not a row"):
        Results(results.path).rows()


def test_a_file_belongs_to_one_machine(make_row, tmp_path, monkeypatch):
    """Rows of another machine are read, but this one does not append to them."""
    path = tmp_path / "rows"
    with Results(path) as results:
        results.append(make_row())
    assert Results(path).machine == machine_name()
    monkeypatch.setattr("fixedfleet.evaluate.rows.machine_name", lambda: "another")
    assert len(Results(path).rows()) == 1
    with pytest.raises(ff.InputError, match="holds runs of another machine"):
        Results(path).append(make_row(seed=1))
    assert len(Results(path).rows()) == 1


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no such lock")
def test_two_processes_do_not_append_to_one_file(make_row, tmp_path):
    """While one process appends, another is refused; afterwards it may."""
    path = tmp_path / "rows.jsonl"
    code = (
        "import sys, fixedfleet as ff\n"
        "from fixedfleet.evaluate import Results\n"
        "try:\n"
        "    with Results(sys.argv[1]): pass\n"
        "except ff.InputError as error: print(error)"
    )
    said = []
    results = Results(path)
    results.append(make_row())
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", code, path],
            capture_output=True,
            text=True,
            check=True,
        )
        said.append(done.stdout)
        results.close()
    assert "another run is writing to" in said[0]
    assert said[1] == ""


def test_a_row_is_json_that_any_program_reads(make_row):
    """A line holds the fields by name, lists for traces, null for what is missing."""
    found = json.loads(make_row(trace=((0.5, 8.0),), fault=None).to_json())
    assert found["trace"] == [[0.5, 8.0]]
    assert found["fault"] is None
    assert found["length"] == 8.0
