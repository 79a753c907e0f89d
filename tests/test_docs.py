"""The snippets of the documentation do what they say."""

from __future__ import annotations

import re
import runpy
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder with the examples in it, as a reader would stand in."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_snippets_of_the_api_run(folder):
    """Every Python snippet of docs/api.md runs, one after the other."""
    pytest.importorskip("matplotlib")
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    snippets = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert len(snippets) >= 7
    names: dict[str, object] = {}
    for snippet in snippets:
        exec(compile(snippet, "docs/api.md", "exec"), names)
    assert (folder / "plan.png").read_bytes().startswith(b"\x89PNG")


def test_the_example_of_the_api_runs(folder, capsys):
    """examples/api.py prints the verdict and a line for each of the seven vans."""
    runpy.run_path(str(folder / "examples" / "api.py"))
    out = capsys.readouterr().out
    assert "7 vehicles: feasible" in out
    assert out.count("of 850 kg") == 7


def test_every_command_is_documented():
    """docs/cli.md has a heading for each command there is."""
    from fixedfleet.cli import _parser

    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    (commands,) = (
        action.choices
        for action in _parser()._actions
        if isinstance(action.choices, dict)
    )
    missing = [name for name in commands if f"\n## `{name}`" not in text]
    assert missing == []
