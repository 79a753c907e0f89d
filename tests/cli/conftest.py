"""Fixtures of the tests of commands."""

from __future__ import annotations

import logging

import pytest

from fixedfleet.cli import main

SQUARE = "x,y,demand,name\n0,0,,hub\n1,1,1,a\n1,-1,1,b\n-1,-1,1,c\n-1,1,1,d\n"


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """Run a command in an empty folder; return code, output and errors."""
    monkeypatch.chdir(tmp_path)
    # Whether Numba has compiled everything before does not matter here.
    monkeypatch.setattr(logging.getLogger("fixedfleet.compiling"), "disabled", True)

    def call(*argv):
        code = main([str(argument) for argument in argv])
        out, err = capsys.readouterr()
        return code, out, err

    return call


@pytest.fixture
def csv(run, tmp_path):
    """A file with four customers around the depot, its fleet not said."""
    (tmp_path / "square.csv").write_text(SQUARE)
    return "square.csv"
