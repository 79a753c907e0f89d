"""Table 3: the time for an epoch of training, and for a whole training.

The page shows what ``benchmarks/train_speed.py`` has measured, whose lines are in
``training-times.jsonl`` in the working folder; ``results/`` has such a file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from experiments.pages import show_time
from experiments.published import published
from experiments.trainings import read_json_lines
from fixedfleet.errors import InputError
from fixedfleet.evaluate.tables import NOTHING, csv_table, markdown_table

if TYPE_CHECKING:
    from experiments.definitions import Options

__all__ = ["NAME", "render"]

NAME = "training-times"
_FILE = f"{NAME}.jsonl"
_COMMAND = "python benchmarks/train_speed.py --labels FOLDER"
_SIZES = (20, 50, 100)
_EPOCH = 100_000  # labels: as many as the paper has, roughly
_LARGEST_FLEET = 11
_CSV = ("table", "set", "source", "method", "epoch_seconds", "total_seconds", "on")

Fields = dict[str, Any]  # a line, by the names of the CSV and some more


def render(options: Options) -> tuple[str, str]:
    """Return the table as Markdown and as CSV."""
    measured = _measured(options)
    if not measured:
        raise InputError(
            f"no measurements in {options.work / _FILE}: benchmarks/train_speed.py "
            "prints such lines"
        )
    source = published(NAME)
    if source is None:
        raise InputError(f"published.toml has no table {NAME}")
    lines = measured + [
        {
            "set": row.set,
            "source": "published",
            "method": row.method,
            "epoch_seconds": row.epoch,
            "total_seconds": row.total,
            "more": "> " if row.bound else "",
        }
        for row in source.rows
    ]
    parts = ["# Training times\n"]
    for size in _SIZES:
        body = [_shown(line) for line in lines if line["set"] == f"vrp{size}"]
        headings = ("method", "one epoch", "epochs", "in total", "on")
        parts.append(f"## VRP{size}\n\n{markdown_table(headings, body)}")
    parts.append(
        f"One epoch: {_EPOCH:,} labels, whole steps with data, assignment and update; "
        "compilation and validation are not counted. In total: the preset's epochs. "
        f"Italics: published, {source.source}, on {source.instances}; > marks a lower "
        "bound.\n"
    )
    versions = "; or ".join(dict.fromkeys(line["versions"] for line in measured))
    parts.append(f"Versions: {versions}.\n\n    {_COMMAND}\n")
    rows = [[(line | {"table": NAME}).get(name) for name in _CSV] for line in lines]
    return "\n".join(parts), csv_table(_CSV, rows)


def _measured(options: Options) -> list[Fields]:
    """Read what was measured: one line of JSON per preset, of several the last."""
    from fixedfleet.training import list_presets

    presets = list_presets()
    found: dict[str, Fields] = {}
    for line in read_json_lines(options.work / _FILE):
        preset = presets.get(line.get("preset", ""))
        if preset is None or "epoch_s" not in line:
            continue
        # An epoch of all sizes, or of a larger fleet, cannot be compared.
        if preset.customers is None or line.get("M", 0) > _LARGEST_FLEET:
            continue
        found[preset.name] = {
            "set": f"vrp{preset.customers}",
            "source": "measured",
            "method": preset.name,
            "epoch_seconds": line["epoch_s"],
            "epochs": preset.training.epochs,
            "total_seconds": line["epoch_s"] * preset.training.epochs,
            "on": line.get("device", "not named"),
            "versions": line.get("versions", "not recorded"),
        }
    return [found[name] for name in presets if name in found]


def _shown(line: Fields) -> list[str]:
    ours, more = line["source"] == "measured", line.get("more", "")
    return [
        f"**`{line['method']}`**" if ours else f"*{line['method']}*",
        f"{more}{show_time(line['epoch_seconds'])}",
        str(line.get("epochs", NOTHING)),
        f"{more}{show_time(line['total_seconds'])}",
        line["on"] if ours else "published",
    ]
