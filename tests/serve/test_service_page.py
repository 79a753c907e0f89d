"""The commands and tables of docs/service.md are right."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from fixedfleet.cli import build_parser
from fixedfleet.documents import ResultDocument
from fixedfleet.files import read_plan
from fixedfleet.serve.schema import JobDocument, PlanRequest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "service.md").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.skipif(
    not (shutil.which("curl") and shutil.which("bash")), reason="needs curl and bash"
)
def test_the_lines_can_be_typed(server, tmp_path):
    """Every shell command runs, and gives what the text says."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    blocks = re.findall(r"^```sh\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 6
    script = "\n".join(blocks).replace("http://127.0.0.1:8000", server.url)
    script = script.replace("time_limit=2", "time_limit=1")  # a search takes it all
    subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=tmp_path,
        env={**os.environ, "FIXEDFLEET_TOKEN": server.token},
        check=True,
        timeout=120,
    )

    def document(name):
        return json.loads((tmp_path / name).read_text(encoding="utf-8"))

    for name in ("plan.json", "small.json", "done.json"):
        plan = TypeAdapter(JobDocument).validate_python(document(name))
        if plan.status in ("queued", "running"):  # a busy machine
            with server.client() as client:
                client.get(f"/plans/{plan.id}/events")
                answer = client.get(f"/plans/{plan.id}")
                plan = TypeAdapter(JobDocument).validate_python(answer.json())
        assert plan.status == "done" and plan.result.feasible
    assert document("job.json")["status"] in ("queued", "running")
    assert document("cancelled.json")["status"] in ("cancelled", "running")
    events = (tmp_path / "events.txt").read_text(encoding="utf-8")
    assert "event: improved\n" in events and "event: done\n" in events
    assert read_plan(tmp_path / "plan.csv") == read_plan(tmp_path / "plan.sol")
    assert document("list.json")[0]["id"] == document("cancelled.json")["id"]
    # A worker that did not end in time when its plan was cancelled was killed.
    assert document("health.json")["status"] in ("ok", "starting")
    assert "/plans" in document("openapi.json")["paths"]


def test_every_option_is_documented():
    """The table of options names each option of the command."""
    (commands,) = (
        a.choices for a in build_parser()._actions if isinstance(a.choices, dict)
    )
    options = {
        option
        for action in commands["serve"]._actions
        for option in action.option_strings
        if option.startswith("--") and option != "--help"
    }
    assert [option for option in sorted(options) if f"`{option}" not in TEXT] == []


def test_every_field_is_documented():
    """The tables name each field of requests and plans, formats.md those of results."""
    fields = set(JobDocument.__dataclass_fields__) | set(PlanRequest.model_fields)
    assert fields <= set(re.findall(r"\w+", TEXT))
    formats = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    fields = set(ResultDocument.__dataclass_fields__)
    assert fields <= set(re.findall(r"\w+", formats))
