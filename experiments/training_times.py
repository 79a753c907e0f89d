"""Table 3: the time for an epoch of training, and for a whole training.

The page shows what ``benchmarks/train_speed.py`` has measured, whose lines are kept in
``training-times.jsonl`` in the folder of pages.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from experiments.pages import show_time
from experiments.published import published
from experiments.trainings import read_json_lines
from experiments.versions import command
from fixedfleet.errors import InputError
from fixedfleet.evaluate.tables import csv_table, markdown_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from experiments.definitions import Options
    from experiments.published import PublishedRow

__all__ = ["NAME", "Measurement", "render"]

NAME = "training-times"
_FILE = f"{NAME}.jsonl"
_SIZES = (20, 50, 100)
_EPOCH = 100_000  # labels: as many as the paper has, roughly
_LARGEST_FLEET = 11


@dataclass(frozen=True)
class Measurement:
    """
    How fast a preset trains.

    Attributes
    ----------
    preset, customers
        The preset, and the number of customers it is for.
    epoch
        Seconds for 100,000 labels.
    epochs
        Epochs that the preset has by default.
    device, versions
        Where and with what it was measured, if the line says so.
    """

    preset: str
    customers: int
    epoch: float
    epochs: int
    device: str
    versions: str


def _read_measurements(options: Options) -> list[Measurement]:
    """Read what was measured: one line of JSON per preset, of several the last."""
    from fixedfleet.training import list_presets

    presets = list_presets()
    found = {}
    for line in read_json_lines(options.out / _FILE):
        name, epoch = line.get("preset"), line.get("epoch_s")
        if name not in presets or not isinstance(epoch, int | float):
            continue
        customers = presets[name].customers
        if customers is None:  # an epoch of all sizes cannot be compared
            continue
        if line.get("M", 0) > _LARGEST_FLEET:  # a measurement of another fleet
            continue
        found[name] = Measurement(
            preset=name,
            customers=customers,
            epoch=epoch,
            epochs=presets[name].training.epochs,
            device=str(line.get("device", "not named")),
            versions=str(line.get("versions", "not recorded")),
        )
    return [found[name] for name in presets if name in found]


def render(options: Options) -> tuple[str, str]:
    """Return the table as Markdown and as CSV."""
    found = _read_measurements(options)
    if not found:
        raise InputError(
            f"no measurements in {options.out / _FILE}: benchmarks/train_speed.py "
            "prints such lines"
        )
    source = published(NAME)
    if source is None:
        raise InputError(f"published.toml has no table {NAME}")
    parts = ["# Training times\n"]
    for size in _SIZES:
        body = [
            [
                f"**`{one.preset}`**",
                show_time(one.epoch),
                str(one.epochs),
                show_time(one.epoch * one.epochs),
                one.device,
            ]
            for one in found
            if one.customers == size
        ]
        body += [_published(row) for row in source.on(f"vrp{size}")]
        headings = ("method", "one epoch", "epochs", "in total", "on")
        parts.append(f"## VRP{size}\n\n{markdown_table(headings, body)}")
    parts.append(
        f"One epoch: {_EPOCH:,} labels, whole steps with data, assignment and update; "
        "compilation and validation are not counted. In total: the preset's epochs. "
        f"Italics: published, {source.source}, on {source.instances}; > marks a lower "
        "bound.\n"
    )
    versions = "; or ".join(dict.fromkeys(one.versions for one in found))
    parts.append(f"Versions: {versions}.\n\n    {command(NAME, options)}\n")
    return "\n".join(parts), _csv(found, source.rows)


def _published(row: PublishedRow) -> list[str]:
    more = "> " if row.bound else ""
    times = [f"{more}{show_time(row.epoch)}", "–", f"{more}{show_time(row.total)}"]
    return [f"*{row.method}*", *times, "published"]


def _csv(found: Sequence[Measurement], printed: Sequence[PublishedRow]) -> str:
    rows: list[tuple[object, ...]] = []
    for one in found:
        what = (NAME, f"vrp{one.customers}", "measured", one.preset)
        rows.append((*what, one.epoch, one.epoch * one.epochs, one.device))
    rows += [
        (NAME, row.set, "published", row.method, row.epoch, row.total, None)
        for row in printed
    ]
    headings = (
        "table", "set", "source", "method", "epoch_seconds", "total_seconds", "on",
    )  # fmt: skip
    return csv_table(headings, rows)
