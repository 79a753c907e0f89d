"""The script that makes random changes and shows which of them the tests notice."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

from benchmarks import random_changes

SOURCE = '''"""One 1 and True."""
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Alias = int | None
LIMIT: int | None = 2  # a comment with 3


def judge(ö: float | None = 0.5, *, exact: bool = False) -> bool | None:
    """Return 4 < 5."""
    if not exact and ((ö)  # and 6
        <= LIMIT):
        ö += 0
    said = f"{ö + 7}"
    return said is not None or -ö ** LIMIT == 1e3
'''
CHANGES = {
    ("2", "1"), ("2", "3"), ("0.5", "1.0"), ("0.5", "0.25"), ("False", "True"),
    ("not", ""), ("and", "or"), ("<=", "<"), ("<=", ">"), ("+", "-"), ("0", "1"),
    ("is not", "is"), ("or", "and"), ("-", "+"), ("==", "!="), ("1e3", "2000.0"),
    ("1e3", "500.0"),
}  # fmt: skip


def test_every_change_is_of_one_token_that_is_run():
    """Docstrings, comments, annotations, f-strings and type aliases do not change."""
    source = SOURCE.encode()
    found = random_changes.find_changes(source)
    assert {(old, new) for _, old, new in found} == CHANGES
    assert len(found) == len(CHANGES)
    trees = {ast.dump(ast.parse(source))}
    for place, old, new in found:
        assert source[place:].startswith(old.encode())
        changed = source[:place] + new.encode() + source[place + len(old) :]
        trees.add(ast.dump(ast.parse(changed)))
    assert len(trees) == len(CHANGES) + 1


JUDGE = Path("src/fixedfleet/room/judge.py")
TESTS = Path("tests/room/test_judge.py")
ORIGINAL = "A = 1 < 2\n"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A small project; its tests pass if their text is a part of the source."""
    root = tmp_path / "small"
    for file, text in ((JUDGE, ORIGINAL), (TESTS, "1 <")):
        (root / file).parent.mkdir(parents=True)
        (root / file).write_text(text)
    monkeypatch.setattr(random_changes, "ROOT", root)
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def runs(project, monkeypatch):
    """The changed sources whose tests have run, in order."""
    sources = []

    def tests_pass(copy, tests, time_limit):
        assert copy != project
        source = (copy / JUDGE).read_text()
        if tests == TESTS and source != ORIGINAL:
            sources.append(source)
        return (copy / TESTS).read_text() in source

    monkeypatch.setattr(random_changes, "tests_pass", tests_pass)
    return sources


def test_what_was_noticed_is_not_run_again(project, runs, capsys):
    """An interrupted or repeated command runs what is missing or was not noticed."""
    command = ["src", "--rows", "build/rows.jsonl"]
    first = random_changes.draw(JUDGE, 2, seed=0)
    assert random_changes.main([*command, "--changes", "2"]) in (0, 1)
    assert runs == [source.decode() for _, source in first]
    assert random_changes.main(command) == 1
    assert "room: 3 of 6 noticed (50%)" in capsys.readouterr().out
    missed = {"A = 1 <= 2\n", "A = 1 < 3\n", "A = 1 < 1\n"}
    noticed = {"A = 2 < 2\n", "A = 0 < 2\n", "A = 1 >= 2\n"}
    assert {*runs} == missed | noticed

    (project / TESTS).write_text("1 < 2")
    runs.clear()
    assert random_changes.main(command) == 0
    assert {*runs} == missed
    assert capsys.readouterr().out == "room: 6 of 6 noticed (100%)\n"
    runs.clear()
    assert random_changes.main(command) == 0
    assert runs == []
    assert (project / JUDGE).read_text() == ORIGINAL


def test_a_change_that_is_not_noticed_is_named(project, runs, capsys):
    """The line names file, line, both tokens and the source; a row has them, too."""
    (project / TESTS).write_text("A")
    random_changes.main(
        ["src", "--changes", "1", "--rows", "rows.jsonl", "--seed", "7"]
    )
    row = json.loads((project / "rows.jsonl").read_text())
    assert row["noticed"] is False
    said = f"{JUDGE}:1: {row['old']} → {row['new']}: A = 1 < 2\n"
    assert capsys.readouterr().out.startswith(said)
    assert ORIGINAL[row["column"] - 1 :].startswith(row["old"])


def test_tests_that_fail_anyway_are_an_error(project, runs):
    """Tests that fail without a change would notice every change."""
    (project / TESTS).write_text("2 < 1")
    with pytest.raises(SystemExit, match="fails without any change"):
        random_changes.main(["src"])
    assert runs == []


@pytest.mark.slow
def test_pytest_runs_in_the_copy_within_limits(tmp_path):
    """Failing tests and endless tests are noticed; passing ones are not."""
    (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    for body, passed in (("assert True", True), ("assert False", False)):
        (tmp_path / "test_it.py").write_text(f"def test_it():\n    {body}\n")
        assert random_changes.tests_pass(tmp_path, Path("test_it.py"), 60) is passed
    assert not random_changes.tests_pass(tmp_path, Path("test_it.py"), 0.001)


def test_the_tests_of_a_file_mirror_it(project):
    """The file's own tests come first, then all of its room."""
    assert random_changes.tests_of(JUDGE) == [TESTS, TESTS.parent]
    assert random_changes.tests_of(JUDGE.with_name("other.py")) == [TESTS.parent]
    assert random_changes.tests_of(Path("src/fixedfleet/plan.py")) == []
