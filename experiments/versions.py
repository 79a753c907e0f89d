"""What rows of tables were made with, and the command that makes a table again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from experiments.definitions import Options
from experiments.trainings import read_json_lines
from fixedfleet.files.atomic import write_text
from fixedfleet.version import installed_versions

if TYPE_CHECKING:
    from experiments.definitions import Table

__all__ = ["command", "keep_versions", "note_run", "recorded"]


def command(table: Table, options: Options, on_gpu: bool) -> str:
    """Return the command for a table, without the folders of this machine."""
    parts = [f"python -m experiments {table.name}"]
    if options.instances != table.instances:
        parts.append(f"--instances {options.instances}")
    if options.seed:
        parts.append(f"--seed {options.seed}")
    if on_gpu:
        parts.append("--device cuda")
    if options.epochs is not None:
        parts.append(f"--epochs {options.epochs}")
    if options.labels is not None:
        parts.append("--labels FOLDER")
    if options.reference != Options.reference:
        parts.append("--reference FILE")
    return " ".join(parts)


def note_run(name: str, options: Options) -> None:
    """Record, beside the rows, what a table's rows are made with."""
    options.work.mkdir(parents=True, exist_ok=True)
    line = json.dumps({"table": name, "versions": installed_versions()})
    with (options.work / "versions.jsonl").open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")


def recorded(name: str, options: Options) -> list[str]:
    """Return the versions that a table's runs were made with, each combination once."""
    found = []
    for path in sorted(options.work.glob("versions*.jsonl")):
        for line in read_json_lines(path):
            if line.get("table") == name:
                versions = line.get("versions", {})
                found.append(", ".join(f"{k} {v}" for k, v in versions.items()))
    return list(dict.fromkeys(found))


def keep_versions(name: str, options: Options) -> None:
    """Write what a table's runs were made with beside its page."""
    paths = sorted(options.work.glob("versions*.jsonl"))
    lines = [line for path in paths for line in read_json_lines(path)]
    own = dict.fromkeys(json.dumps(line) for line in lines if line.get("table") == name)
    if own:
        text = "".join(f"{line}\n" for line in own)
        write_text(options.out / f"versions-{name}.jsonl", text)
