"""Table 3: the time for an epoch of training, and for a whole training."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from experiments.published import published
from experiments.trainings import find_labels, read_json_lines
from experiments.versions import command, installed
from fixedfleet.errors import InputError
from fixedfleet.evaluate.origin import machine_name
from fixedfleet.evaluate.tables import csv_table, markdown_table, show_time

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from experiments.definitions import Options
    from experiments.published import PublishedRow

__all__ = ["NAME", "Measurement", "measure", "read_measurements", "render"]

NAME = "training-times"
_FILE = f"{NAME}.jsonl"
_SIZES = (20, 50, 100)
_EPOCH = 100_000  # labels: as many as the paper has, roughly
_LARGEST_FLEET = 11
_MINUTES = 1.0  # of each preset, without --minutes


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


def measure(options: Options) -> None:
    """Train each preset for some minutes, and keep its rate beside the rows."""
    if options.labels is None:
        if read_measurements(options):
            return
        raise InputError(
            f"{NAME} needs labels to train on, or measurements in "
            f"{options.out / _FILE} (benchmarks/train_speed.py prints such lines)"
        )
    from fixedfleet.training import list_presets

    done = {found.preset for found in read_measurements(options)}
    for name, preset in list_presets().items():
        if name not in done and preset.customers in _SIZES:
            labels = find_labels(options.labels, preset.customers)
            line = _measure_one(name, labels, options)
            options.work.mkdir(parents=True, exist_ok=True)
            with (options.work / _FILE).open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")


def read_measurements(options: Options) -> list[Measurement]:
    """Read what was measured: one line of JSON per preset, of several the last."""
    from fixedfleet.training import list_presets

    presets = list_presets()
    found = {}
    for folder in (options.out, options.work):
        for line in read_json_lines(folder / _FILE):
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
    found = read_measurements(options)
    if not found:
        raise InputError(f"no measurements in {options.work / _FILE}")
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


def _measure_one(name: str, labels: list[Path], options: Options) -> dict[str, Any]:
    """Train a preset for some minutes; return its rate as a line of the file."""
    from fixedfleet.training import find_checkpoint, get_preset, train

    folder = options.work / "speed" / name
    minutes = options.minutes or _MINUTES
    settings = {
        "training.minutes": minutes,
        "training.validate_every": 10_000,
    }
    result = train(
        get_preset(name).with_settings(settings),
        labels,
        out=folder,
        resume=find_checkpoint(folder),
        device=options.device,
        seed=options.seed,
        display=options.display,
    )
    losses = [line for line in read_json_lines(folder / "log.jsonl") if "rate" in line]
    if not losses:
        raise InputError(f"{name}: {minutes:g} minutes are too short to measure")
    rate = sorted(line["rate"] for line in losses)[len(losses) // 2]
    return {
        "preset": name,
        "epoch_s": round(_EPOCH / rate, 3),
        "steps": result.steps,
        "device": _device(options.device),
        "versions": ", ".join(f"{key} {value}" for key, value in installed().items()),
    }


def _device(name: str | None) -> str:
    import torch

    on_gpu = torch.cuda.is_available() if name is None else name.startswith("cuda")
    return machine_name(on_gpu)


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
