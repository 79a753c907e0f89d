"""The command line as a whole: help, versions, errors and pipes."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import importlib.metadata
import logging
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fixedfleet
from fixedfleet.cli import build_parser, list_commands
from fixedfleet.cli.options import option_of
from fixedfleet.files import ReadOptions
from fixedfleet.version import version_of

from .cli_helpers import EXAMPLE, FAST, FLEET, VRP, make, refused


def ff_version():
    """The version that is installed."""
    return importlib.metadata.version("fixedfleet")


def test_version_and_help(run):
    """The version and the list of commands are there for the asking."""
    assert run("--version") == (0, f"fixedfleet {ff_version()}\n", "")
    code, out, _ = run("--help")
    assert code == 0
    commands = ("solve", "fleet", "plot", "generate", "label", "solvers", "train")
    assert all(f"\n    {command} " in out for command in (*commands, "models"))
    assert run("solve", "--help")[0] == 0


@pytest.mark.slow
def test_the_console_script_and_the_module_start():
    """Both ways to type the command print the version."""
    script = shutil.which("fixedfleet", path=Path(sys.executable).parent)
    for command in ([sys.executable, "-m", "fixedfleet"], [script] if script else []):
        if command:
            done = subprocess.run(
                [*command, "--version"], capture_output=True, text=True, check=True
            )
            assert done.stdout == f"fixedfleet {ff_version()}\n"


PICTURE = """
i = ff.Instance(depot=(0, 0), customers=[[1, 1]], demands=[1], capacity=1, vehicles=1)
ff.plotting.save_plan_picture(sys.argv[1], i, ff.Plan([[1]]))
"""
# What one process does, and the packages that are not loaded after each step.
LIGHT = {
    "main(['--version'])": {
        "numba", "torch", "ortools", "matplotlib", "ray", "pyvrp", "scipy"
    },
    "main(['train', '--help'])": {"torch"},
    "import fixedfleet.cli.train_command, fixedfleet.training": {
        "numba", "ortools", "pyvrp", "vrplib", "ray", "hygese"
    },
    "ff.search.SEARCHES.get('hgs')": {
        "numba", "ortools.constraint_solver", "pyvrp", "vroom"
    },
    PICTURE: {"matplotlib.pyplot"},  # or it would choose a backend for the user
}  # fmt: skip


@pytest.mark.slow
def test_packages_are_loaded_when_they_are_needed(tmp_path):
    """No step loads a compiler, a solver, torch or a plot that it does not use."""
    for package in ("torch", "matplotlib"):
        pytest.importorskip(package)
    code = "import sys, fixedfleet as ff\nfrom fixedfleet.cli import main\n"
    for step, unused in LIGHT.items():
        code += f"{step}\nprint('loaded:', *{unused} & {{*sys.modules}})\n"
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "p.png")],
        capture_output=True,
        text=True,
        check=True,
    )
    told = [line for line in done.stdout.splitlines() if line.startswith("loaded:")]
    assert told == ["loaded:"] * len(LIGHT)


BAD = {
    "empty.csv": ("", "empty"),
    "junk.csv": (bytes(range(256)) * 9, "text"),
    "junk.vrp": (b"\x00\x01\x02\xff" * 99, ""),
    "nan.csv": ("x,y,demand\n0,0,\nnan,1,1\n", "row 3: x"),
    "infinite.csv": ("x,y,demand\n0,0,\n1,inf,1\n", "row 3: y"),
    "negative.csv": ("x,y,demand\n0,0,\n1,1,-1\n", "row 3: demand is -1"),
    "missing.csv": (
        "x,y,demand\n0,0,\n1,1,\n",
        "row 3: demand is empty, and only the depot",
    ),
    "column.csv": ("x,y\n0,0\n1,1\n", "'demand'"),
    "ragged.json": ('{"matrix": [[0, 1], [1]], "demands": [1]}', "matrix[1]"),
    "twice.vrp": (VRP.replace("DEPOT_S", "DEMAND_SECTION\n2 2\nDEPOT_S"), "DEMAND"),
    "huge.vrp": (VRP.replace("DIMENSION : 3", "DIMENSION : 10000000"), "10000000"),
    "short.vrp": (VRP.replace("3 2\nDEPOT", "DEPOT"), ""),
    "list.json": ("[]", "not an object"),
    "what.xls": ("", "an old Excel file (.xls): save it as .xlsx or .csv"),
    "what.ods": ("", "an OpenDocument table (.ods): save it as .xlsx or .csv"),
    "old.xlsx": (b"\xd0\xcf\x11\xe0old", "an old Excel file (.xls): save it"),
}


@pytest.mark.parametrize("command", ["solve", "fleet", "plot"])
@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_gets_one_line(run, tmp_path, name, command):
    """A file that is wrong is refused with its name and the place, no traceback."""
    text, word = BAD[name]
    more = ("--output", "p.png") if command == "plot" else ()
    answer = run(command, make(tmp_path, name, text), *FLEET, *more)
    assert refused(answer, name, word)
    assert not Path("p.png").exists()


def fields_in_messages():
    """The fields that messages name for each interface to write, from the sources."""
    for path in Path(fixedfleet.__file__).parent.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if "{field" not in text and ".refuse(" not in text:
            continue
        for call in ast.walk(ast.parse(text)):
            if not isinstance(call, ast.Call) or len(call.args) < 2:
                continue
            name = ast.unparse(call.func).rpartition(".")[2]
            message, *fields = call.args
            names = name == "InputError" and "{field" in ast.unparse(message)
            known = [one.value for one in fields if isinstance(one, ast.Constant)]
            yield from known if names or name == "refuse" else ()


def test_each_field_in_a_message_is_an_option(run):
    """Commands that read an instance have an option for each way to read it."""
    inner = {
        "geocode", "by_road", "max_customers", "allow_missing", "allow_unreadable"
    }  # fmt: skip
    of_reading = {field.name for field in dataclasses.fields(ReadOptions)} - inner
    named = set(fields_in_messages())
    assert {"depot", "vehicles", "capacity"} < named
    _, out, _ = run("fleet", "--help")
    arguments = build_parser().parse_args(["fleet", "x.csv"])
    for field in named | of_reading | {"geocoder"}:
        assert f"  {option_of(field, arguments)} " in out


def test_a_message_names_the_options_of_its_command(run, tmp_path):
    """Also where an option has another name than the argument in Python."""
    path = make(tmp_path, "two.vrp", VRP)
    answer = run("fleet", path, "--correct", "3:demand=2", "--sheet", "Mo")
    assert refused(answer, "columns and rows: leave --sheet and --correct out")
    customers = '"depot": [0, 0], "customers": [[1, 1]], "demands": [1]'
    types = f'{{{customers}, "vehicle_types": [{{"capacity": 5}}]}}'
    answer = run("fleet", make(tmp_path, "types.json", types), "--vehicles", 2)
    assert refused(answer, "leave --vehicles out, or give --capacity as well")
    c101 = "C101\n\nVEHICLE\nNUMBER CAPACITY\n2 9\n\nCUSTOMER\n"
    make(tmp_path, "day.txt", f"{c101}0 0 0 0 0 99 0\n1 3 4 5 0 99 9\n")
    answer = run("fleet", "day.txt", "--minutes-per-stop", 5)
    assert refused(answer, "without a unit: leave --minutes-per-stop out")


def test_what_a_command_cannot_be_told_is_for_python(run, tmp_path):
    """`evaluate` has no option --capacity, so that no message asks for it."""
    points = np.zeros((1, 2, 2))
    arrays = {"depots": points[:, 0], "customers": points, "demands": [[0.1, 0.12345]]}
    np.savez(tmp_path / "day.npz", vehicles=[2], **arrays)
    answer = run(
        "evaluate", "--set", "day.npz", "--method", "packing", "--results", "r"
    )
    assert refused(
        answer, "give capacity= (in Python; this command has no such option)"
    )


def test_a_missing_file_and_a_missing_command(run):
    """A file that is not there and a command left out are said in one line."""
    assert refused(run("solve", "no\nsuch.csv"), "No such file")
    assert refused(run(), "COMMAND")
    assert refused(run("frobnicate"), "frobnicate")


def test_a_missing_package_is_named(run, csv, monkeypatch):
    """A search whose package is missing says what to install."""
    monkeypatch.setitem(sys.modules, "cupy", None)
    gpu = importlib.import_module("fixedfleet.search.gpu_kernel")
    monkeypatch.setattr(gpu, "load_cupy", gpu.load_cupy.__wrapped__)
    assert refused(run("solve", csv, *FAST, "--search", "gpu"), "fixedfleet[gpu]")


@pytest.mark.slow
def test_a_reader_that_goes_away():
    """A pipe that is closed early ends the command without a traceback."""
    process = subprocess.Popen(
        [sys.executable, "-m", "fixedfleet", "fleet", str(EXAMPLE), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdout.close()
    assert process.wait(timeout=60) == 141
    assert process.stderr.read() == ""
    process.stderr.close()


def test_an_uninstalled_package_has_a_command_line(run, monkeypatch):
    """Run from its sources, the command line works without a known version."""

    def unknown(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", unknown)
    version_of.cache_clear()
    try:
        assert run("--version") == (0, "fixedfleet unknown\n", "")
        assert run("evaluate", "--help")[0] == 0
    finally:
        version_of.cache_clear()


def test_what_the_package_logs_is_a_warning_of_the_command(run, monkeypatch):
    """A warning is one line on standard error, and none is left for the next call."""

    def compute(_arguments):
        logging.getLogger("fixedfleet").warning("a name with \x1b[31m and\na line")
        logging.getLogger("fixedfleet").info("nothing to see")
        return 0

    monkeypatch.setattr(list_commands, "_solvers", compute)
    before = list(logging.getLogger("fixedfleet").handlers)
    code, _, err = run("solvers")
    line = "fixedfleet: warning: a name with \ufffd[31m and a line\n"
    assert (code, err) == (0, line)
    assert logging.getLogger("fixedfleet").handlers == before
