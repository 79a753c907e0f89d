"""Compiling once, and saying so."""

from __future__ import annotations

import importlib.util
import json
import logging

import pytest

from fixedfleet import compiling
from fixedfleet.cli import main

MODULE = """from fixedfleet.compiling import compiled


@compiled()
def twice(number):
    return 2 * number
"""
SAID = "compiling, once: this can take a minute"


@pytest.fixture
def load(tmp_path):
    """Return how to import a module with a compiled function, as a new process does."""
    path = tmp_path / "kernel.py"
    path.write_text(MODULE)

    def load():
        compiling.say_compiling.cache_clear()  # a new process has said nothing yet
        spec = importlib.util.spec_from_file_location("kernel", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


def test_only_what_is_not_stored_is_announced(load, caplog):
    """The first call compiles and says so, once; afterwards nothing is said."""
    kernel = load()
    assert (kernel.twice(2), kernel.twice(1.5)) == (4, 3)  # two variants
    assert [record.message for record in caplog.records] == [SAID]
    caplog.clear()
    assert (load().twice(2), caplog.records) == (4, [])


def test_a_program_without_logging_shows_it(load, capsys, monkeypatch):
    """A user who has not set up logging sees why the first call takes long."""
    monkeypatch.setattr(logging.getLogger("fixedfleet"), "propagate", False)
    assert load().twice(2) == 4
    assert capsys.readouterr() == ("", f"{SAID}\n")


@pytest.mark.parametrize("quiet", [False, True])
def test_the_command_line_says_it_on_standard_error(
    load, capsys, monkeypatch, tmp_path, quiet
):
    """A command that must compile says so, without touching its output."""
    command = importlib.import_module("fixedfleet.cli.solve_command")
    solve = command.solve

    def compile_and_solve(*values, **options):
        assert load().twice(2) == 4
        return solve(*values, **options)

    monkeypatch.setattr(command, "solve", compile_and_solve)
    table = tmp_path / "two.csv"
    table.write_text("x,y,demand\n0,0,\n1,1,1\n2,1,1\n")
    fleet = ["--vehicles", "1", "--capacity", "2", "--search", "none", "--json"]
    solved = ["solve", str(table), *fleet, *(["--quiet"] if quiet else [])]
    assert main(solved) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["feasible"] is True
    assert err == ("" if quiet else f"fixedfleet: {SAID}\n")
    assert main(solved) == 0
    assert capsys.readouterr().err == ""
