"""Table 3: seconds for an epoch of training, and for a whole training."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fixedfleet.errors import InputError
from fixedfleet.evaluate.published import published
from fixedfleet.evaluate.reproduce.provenance import command, installed
from fixedfleet.evaluate.reproduce.rendering import markdown_grid, show_time
from fixedfleet.evaluate.reproduce.trainings import find_labels

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from fixedfleet.evaluate.reproduce.definitions import Options

__all__ = ["NAME", "Measurement", "measure", "read_measurements", "render"]

NAME = "training-times"
_FILE = f"{NAME}.jsonl"
_SIZES = (20, 50, 100)
_EPOCH = 100_000  # labels: as many as the paper has, roughly
_LARGEST_FLEET = 11
_MINUTES = 1.0  # of each preset, where nobody says otherwise


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
        Where and with what it was measured, as far as the line says.
    """

    preset: str
    customers: int
    epoch: float
    epochs: int
    device: str
    versions: str


def measure(options: Options) -> None:
    """Train each preset for some minutes; keep its rate beside the rows."""
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
            line = _measure_one(name, preset.customers, options)
            options.work.mkdir(parents=True, exist_ok=True)
            with (options.work / _FILE).open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")


def read_measurements(options: Options) -> list[Measurement]:
    """Read what was measured, a line of JSON a preset; its last line counts."""
    from fixedfleet.training import list_presets

    presets = list_presets()
    found = {}
    for folder in (options.out, options.work):
        for line in _lines(folder / _FILE):
            name, epoch = line.get("preset"), line.get("epoch_s")
            if name not in presets or not isinstance(epoch, int | float):
                continue
            if line.get("M", 0) > _LARGEST_FLEET:  # a measurement of another fleet
                continue
            found[name] = Measurement(
                preset=name,
                customers=presets[name].customers,
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
        body += _shipped(size) + _published(size)
        headings = ("method", "an epoch", "epochs", "in all", "on")
        parts.append(f"## VRP{size}\n\n{markdown_grid(headings, body)}")
    source = published(NAME)
    parts.append(
        f"An epoch: {_EPOCH:,} labels, whole steps with data, assignment and update; "
        "compilation and validation are not counted. In all: the preset's epochs. The "
        "shipped networks: what their training took, from their cards. Italics: "
        f"published, {source.source}, on {source.instances}; > where it says more "
        "than that.\n"
    )
    versions = "; or ".join(dict.fromkeys(one.versions for one in found))
    parts.append(f"Versions: {versions}.\n\n    {command(NAME, options)}\n")
    return "\n".join(parts), _csv(found)


def _measure_one(name: str, customers: int, options: Options) -> dict[str, Any]:
    from fixedfleet.training import find_checkpoint, get_preset, train

    folder = options.work / "speed" / name
    if options.labels is None:
        raise InputError(f"{NAME} needs labels to train on")
    settings = {
        "training.minutes": options.minutes or _MINUTES,
        "training.validate_every": 10_000,
    }
    result = train(
        get_preset(name).with_settings(settings),
        find_labels(options.labels, customers),
        out=folder,
        resume=find_checkpoint(folder),
        device=options.device,
        seed=options.seed,
        display=options.display,
    )
    losses = [line for line in _lines(folder / "log.jsonl") if "rate" in line]
    if not losses:
        raise InputError(f"{name}: {options.minutes} minutes are too short to measure")
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

    from fixedfleet.evaluate.job import machine_name

    on_gpu = torch.cuda.is_available() if name is None else name.startswith("cuda")
    return machine_name(on_gpu)


def _shipped(size: int) -> list[list[str]]:
    """A line from the card of the shipped network of a size."""
    from fixedfleet.model import list_models

    lines = []
    for model in list_models():
        card = model.card
        if model.name == f"vrp{size}" and {"minutes", "epochs"} <= card.keys():
            total, epochs = 60 * float(card["minutes"]), float(card["epochs"])
            # Their epochs have more labels than those of the table.
            each = total / epochs * _EPOCH / float(card.get("labels", _EPOCH))
            lines.append(
                [
                    f"shipped network `{model.name}`{_continued(card)}",
                    show_time(each),
                    f"{epochs:.0f}, of all labels",
                    show_time(total),
                    str(card.get("GPU", "–")),
                ]
            )
    return lines


def _continued(card: Mapping[str, Any]) -> str:
    """Say of a training that it began with weights whose time is not counted."""
    return ", after an earlier training" if card.get("weights") else ""


def _published(size: int) -> list[list[str]]:
    lines = []
    for row in published(NAME).on(f"vrp{size}"):
        more = "> " if row.bound else ""
        times = [f"{more}{show_time(row.epoch)}", "–", f"{more}{show_time(row.total)}"]
        lines.append([f"*{row.method}*", *times, "published"])
    return lines


def _csv(found: list[Measurement]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        ("table", "set", "source", "method", "epoch_seconds", "total_seconds", "on")
    )
    for one in found:
        what = (NAME, f"vrp{one.customers}", "measured", one.preset)
        writer.writerow((*what, one.epoch, one.epoch * one.epochs, one.device))
    for row in published(NAME).rows:
        writer.writerow(
            (NAME, row.set, "published", row.method, row.epoch, row.total, "")
        )
    return text.getvalue()


def _lines(path: Path) -> list[dict[str, Any]]:
    if not path.is_file():
        return []
    lines = []
    for text in path.read_text(encoding="utf-8").splitlines():
        try:
            line = json.loads(text)
        except ValueError:
            continue  # half a line, from a run that was killed
        if isinstance(line, dict):
            lines.append(line)
    return lines
