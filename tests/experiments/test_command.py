"""``python -m experiments``, as a user types it."""

from __future__ import annotations

import pytest

from experiments import RESULTS
from experiments import __main__ as command
from experiments.definitions import Options
from fixedfleet.errors import InputError


@pytest.fixture
def asked(monkeypatch, tmp_path):
    """Let there be two tables that are made at once; return what was asked for."""
    found = []

    def make(name, options, collecting, rendering):
        if name == "broken":
            raise InputError("no rows of broken")
        found.append((name, options, collecting, rendering))
        options.say("a line of progress")
        return [tmp_path / f"{name}.md"]

    monkeypatch.setattr(command, "make", make)
    monkeypatch.setattr(command, "NAMES", ("broken", "two"))
    return found


def test_options_are_handed_on(asked, capsys, tmp_path):
    """Each table that is named is made with the options given."""
    given = ["--instances", "7", "--out", str(tmp_path), "--render-only"]
    assert command.main(["two", *given]) == 0
    out, err = capsys.readouterr()
    assert out == f"written: {tmp_path}/two.md\n"
    assert err == "a line of progress\n"
    ((name, options, collecting, rendering),) = asked
    assert (name, options.instances, options.out) == ("two", 7, tmp_path)
    assert (collecting, rendering) == (False, True)


def test_a_table_that_cannot_be_made_does_not_stop_the_others(asked, capsys, tmp_path):
    """What is wrong with one table is said, the others are made, and the code is 2."""
    assert command.main(["all", "--quiet"]) == 2
    out, err = capsys.readouterr()
    assert out == f"written: {tmp_path}/two.md\n"
    assert err == "experiments: error: broken: no rows of broken\n"


def test_committed_pages_are_not_the_default_folder(asked):
    """Pages go to build/, and rows to runs/."""
    assert command.main(["two", "anytime", "--quiet"]) == 0
    options = [options for _, options, _, _ in asked]
    assert {one.out.parts[0] for one in options} == {"build"}
    assert {one.work for one in options} == {Options.work}
    assert {one.instances for one in options} == {None}


def test_what_is_kept_is_rendered_in_a_fresh_checkout(asked, monkeypatch, capsys):
    """Without a folder of rows, those in results/ are taken; other tables are named."""
    monkeypatch.setattr(command, "NAMES", ("reference", "not_kept"))
    assert command.main(["all", "--render-only", "--quiet"]) == 0
    assert [name for name, *_ in asked] == ["reference"]
    assert {options.work for _, options, _, _ in asked} == {RESULTS}
    said = "not_kept: no rows are kept, run `python -m experiments not_kept`\n"
    assert capsys.readouterr().err == said


def test_an_unknown_table_is_answered_with_those_there_are(capsys):
    """The message lists the tables."""
    assert command.main(["table-1"]) == 2
    assert "no table 'table-1': choose from paper" in capsys.readouterr().err


def test_help_lists_the_tables(capsys):
    """``--help`` names every table."""
    with pytest.raises(SystemExit):
        command.main(["--help"])
    # Lines end after hyphens, too.
    out = " ".join(capsys.readouterr().out.split()).replace("- ", "-")
    assert all(name in out for name in command.NAMES)
