"""``fixedfleet evaluate``, as a user types it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from fixedfleet.evaluate import Results

from .cli_helpers import PNG, refused

SOURCES = Path(__file__).parents[2] / "src"


@pytest.fixture
def evaluate(run):
    """Run ``evaluate`` in an empty folder; return code, output and errors."""
    return partial(run, "evaluate")


@pytest.mark.slow
def test_starts_are_compared_in_a_table(evaluate, tmp_path):
    """Two starts on a set give a table with a line each, and a file with it."""
    options = ("--set", "uniform20:3", "--count", 3, "--processes", 1)
    methods = ("--method", "savings", "packing")
    code, out, err = evaluate(
        *options, *methods, "--results", "r.jsonl", "--table", "t.md"
    )
    assert code == 0
    lines = out.splitlines()
    assert [line.split("|")[2].strip() for line in lines[2:4]] == ["savings", "packing"]
    assert lines[4].startswith("r.jsonl: 6 new rows, 0 found in the file")
    assert Path("t.md").read_text().splitlines() == lines[:4]
    assert "6 of 6 rows" in err
    code, out, err = evaluate(*options, *methods, "--results", "r.jsonl", "--quiet")
    assert (code, err) == (0, "")
    assert "r.jsonl: 0 new rows, 6 found in the file" in out


@pytest.mark.slow
def test_a_study_ends_with_pairs_a_picture_and_latex(evaluate):
    """All three come from the rows; methods are named by name or spec."""
    pytest.importorskip("matplotlib")
    options = ("--set", "uniform20:3", "--count", 3, "--processes", 1, "--quiet")
    methods = ("--method", "mine=savings", "packing", "--results", "r.jsonl")
    code, out, _ = evaluate(
        *options, *methods, "--table", "t.tex", "--plot", "p.png",
        "--pairs", "mine", "packing", "--pairs", "packing", "mine",
    )  # fmt: skip
    assert code == 0
    assert Path("t.tex").read_text().startswith("\\begin{tabular}")
    assert Path("p.png").read_bytes().startswith(PNG)
    pairs = [line for line in out.splitlines() if "| mine | packing |" in line]
    assert len(pairs) == 1
    assert pairs[0].split("|")[6].strip().startswith("-")  # savings are shorter
    answer = evaluate(*options, *methods, "--pairs", "mine", "sweep")
    assert refused(answer, "--pairs sweep is not one of the methods")


@pytest.mark.slow
def test_own_instances_and_an_own_method_are_evaluated(run, evaluate, tmp_path):
    """What ``generate`` wrote is a set, and file.py:Name a method, without Python."""
    (tmp_path / "own.py").write_text(
        "from fixedfleet.evaluate.starts import PackingStart\n"
        "class Mine(PackingStart):\n"
        "    pass\n"
        "class Wrong(PackingStart):\n"
        "    def plans(self, instances, seed):\n"
        "        return instances.plan\n"
    )
    options = ("--count", 2, "--seed", 4, "--output", "train.npz")
    assert run("generate", "clustered", 20, *options)[0] == 0
    code, out, _ = evaluate(
        "--set", "train.npz", "--method", "own.py:Mine", "own.py:Wrong",
        "--results", "r.jsonl", "--processes", 1, "--quiet",
    )  # fmt: skip
    rows = Results("r.jsonl").rows()
    assert code == 0
    assert {row.instance for row in rows} == {"train/0", "train/1"}
    assert [row.within for row in rows if row.method == "Mine"] == [True, True]
    faults = {row.fault for row in rows if row.method == "Wrong"}
    said = "AttributeError: 'tuple' object has no attribute 'plan' (own.py, line 6)"
    assert faults == {said}
    assert "train" in out.splitlines()[2]


@pytest.mark.slow
def test_cvrplib_files_are_a_set(evaluate, shared):
    """Files that the shell expanded are one set, measured by their best known plans."""
    files = sorted((shared / "cvrplib" / "A").glob("*.vrp"))[:2]
    x = f"{shared}/cvrplib/X/X-n10[16]*.vrp"
    code, out, _ = evaluate(
        "--set", *files, "--set", x, "--method", "savings", "packing+auto",
        "--time-limit", 0.05, "--results", "r.jsonl", "--processes", 1, "--quiet",
    )  # fmt: skip
    assert code == 0
    rows = {(row.instance, row.method): row for row in Results("r.jsonl").rows()}
    assert len(rows) == 8
    row = rows["X-n101-k25", "packing+auto"]
    assert (row.set, row.customers, row.fleet, row.vehicle_cost) == ("X", 100, 26, 0)
    assert row.within
    assert row.length == round(row.length) >= 27591
    assert rows["A-n32-k5", "packing+auto"].length >= 784
    head, *lines = out.splitlines()
    gaps = [line.split("|")[head.split("|").index(" gap % ")] for line in lines[1:5]]
    assert all(float(gap.split("±")[0]) >= 0 for gap in gaps if "–" not in gap)


@pytest.mark.slow
def test_a_table_shows_what_was_asked_for(evaluate):
    """Rows of other methods, limits and seeds in the file are not in the table."""
    common = ("--set", "uniform20:3", "--count", 1, "--processes", 1, "--results", "r")
    evaluate(*common, "--method", "packing", "--seeds", 0, 1)
    code, out, _ = evaluate(*common, "--method", "packing", "--quiet")
    assert code == 0
    assert out.splitlines()[2].split("|")[4].strip() == "1"
    assert len(Results("r").rows()) == 2


@pytest.mark.slow
def test_bad_input_is_one_line(evaluate, shared, tmp_path):
    """Unknown sets and methods, other files, missing limits: code 2 and the reason."""
    evaluate = partial(evaluate, "--count", 1)
    good = ("--set", "uniform20:3", "--method", "packing", "--results", "r")
    assert refused(evaluate(*good[:4]), "--results")
    assert refused(evaluate("--set", "vrp21", *good[2:]), "no set vrp21")
    assert refused(
        evaluate(*good[:2], "--method", "magic", *good[4:]), "unknown method"
    )
    assert refused(
        evaluate(*good, "--table", "t.pdf"), "--table t.pdf", ".md, .csv, .tex"
    )
    assert refused(
        evaluate(*good, "--base", "hgs"),
        "--base hgs is not one of the methods",
        "--method",
    )
    timed = (*good[:2], "--method", "auto", "--time-limit", 0.05, "--results", "r")
    assert refused(evaluate(*timed, "--base", "auto"), "--base needs a reference")
    assert refused(evaluate(*good, "--base", "packing"), "runs with a time limit")
    assert refused(evaluate(*good, "--reference", tmp_path), "no file of reference")
    hgs = (*good[:2], "--method", "hgs", *good[4:])
    assert refused(evaluate(*hgs), "'hgs' needs a time limit")
    assert refused(evaluate(*hgs, "--time-limit", -1), "a time limit is -1.0")
    assert not Path("r").exists()
    Path("r").write_text(json.dumps({"format": "fixedfleet results", "version": 0}))
    assert refused(evaluate(*good), "of version 0")
    Path("r").write_text("a,b\n")
    assert refused(evaluate(*good), "is not a file of results")


def test_an_option_that_a_set_cannot_use_is_refused(run, evaluate, tmp_path):
    """A fleet for a named set and reference plans for files are not ignored."""
    run("generate", "uniform", 5, "--count", 1, "--output", "day.npz")
    options = ("--method", "packing", "--results", "r")
    named = ("--set", "uniform20:3", "--count", 1)
    answer = evaluate(*named, *options, "--vehicles", 9)
    assert refused(answer, "'uniform20:3' has its own fleet")
    answer = evaluate("--set", "day.npz", *options, "--reference", tmp_path)
    assert refused(answer, "is for sets by name, not for day.npz")
    assert not Path("r").exists()


def test_a_missing_package_is_one_line(evaluate, uninstall):
    """A method that is not installed is named, with what to install."""
    uninstall("pyvrp")
    answer = evaluate(
        "--set", "uniform20:3", "--method", "pyvrp", "--time-limit", 1, "--results", "r"
    )
    assert refused(answer, "'pyvrp'", "pip install 'fixedfleet[peers]'")


@pytest.fixture
def bare(tmp_path):
    """An environment as on a machine with few packages, run from the sources."""
    absent = ("ortools", "matplotlib", "ray", "fastapi", "uvicorn", "pyvrp", "vroom")
    (tmp_path / "sitecustomize.py").write_text(
        f"import sys\nsys.modules.update(dict.fromkeys({absent!r}))\n"
    )
    return os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{SOURCES}"}


@pytest.mark.slow
def test_it_runs_with_few_packages(bare, tmp_path):
    """Without OR-Tools, Ray, plots and peers, methods that need none of them run."""
    command = [sys.executable, "-m", "fixedfleet", "evaluate", "--set", "vrp20"]
    options = ["--count", "2", "--processes", "1", "--quiet", "--results", "r.jsonl"]
    methods = ["--method", "packing+auto", "hgs", "--time-limit", "0.05"]
    done = subprocess.run(
        command + options + methods,
        env=bare,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert [row.within for row in Results(tmp_path / "r.jsonl").rows()] == [True] * 4
    done = subprocess.run(
        [*command, *options, "--method", "packing+ortools", "--time-limit", "1"],
        env=bare,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 2
    assert "needs the package 'ortools'" in done.stderr


@pytest.mark.slow
def test_ctrl_c_says_that_the_rows_are_kept(tmp_path):
    """Ctrl-C ends with code 130, a word about the rows, and a file to go on with."""
    command = [sys.executable, "-m", "fixedfleet", "evaluate", "--set", "uniform20:3"]
    command += ["--method", "packing+auto", "--time-limit", "0.3", "--results", "r"]
    process = subprocess.Popen(
        [*command, "--processes", "1", "--quiet"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 100
    path = tmp_path / "r"
    while not path.exists() or path.read_bytes().count(b"\n") < 2:
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline, "no row was ever written"
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    stderr = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert "the same command resumes the evaluation" in stderr
    assert stderr.count("\n") == 1
    assert len(Results(path).rows()) >= 1
