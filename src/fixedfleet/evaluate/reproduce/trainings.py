"""Networks that a table compares: trained once into the working folder, then reused."""

from __future__ import annotations

import json
import math
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fixedfleet.errors import InputError
from fixedfleet.evaluate.made import digest
from fixedfleet.files.atomic import replacing, write_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fixedfleet.evaluate.reproduce.definitions import Options

__all__ = ["Curve", "Training", "read_curve", "train_missing"]

_FOLDER = "trainings"
_LOG = "log.jsonl"
_STAMPED = re.compile(r"[:,]model=([a-z0-9-]+-[0-9a-f]{8})\b")
_DONE = "finished.json"


@dataclass(frozen=True)
class Training:
    """
    A preset with some settings changed.

    Parameters
    ----------
    label
        What it is called in a table.
    preset
        The preset it changes.
    change
        A word for the change, the end of its folder's name; empty for none.
    settings
        What differs from the preset, by dotted name.
    """

    label: str
    preset: str
    change: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def name(self) -> str:
        """Name of its folder: the preset and the change."""
        return f"{self.preset}-{self.change}" if self.change else self.preset

    @property
    def customers(self) -> int:
        """The number of customers it is for, which ends the preset's name."""
        return int(self.preset.lstrip("abcdefghijklmnopqrstuvwxyz"))

    def folder(self, work: Path) -> Path:
        """Where it leaves its files."""
        return work / _FOLDER / self.name

    def command(self, work: Path) -> str:
        """What to type to train it by hand."""
        changed = "".join(f" --set {k}={v}" for k, v in self._all_settings().items())
        return (
            f"fixedfleet train {self.preset} --labels FILE --out {self.folder(work)}"
            f"{changed}"
        )

    def finished(self, work: Path) -> bool:
        """Whether its network and its log are there and it is not half done."""
        folder = self.folder(work)
        whole = all((folder / name).is_file() for name in ("model.safetensors", _LOG))
        # A checkpoint without the mark is a training that was cut short; a network
        # copied from another machine comes without its checkpoint.
        halfway = (folder / "checkpoint.safetensors").exists()
        return whole and ((folder / _DONE).exists() or not halfway)

    def model(self, work: Path) -> Path | None:
        """
        Return its network as a file whose name tells it from any other training's.

        Rows carry the name of a network's file: with a part of the file's hash in it,
        rows of a network that was trained again are not taken for the new one's. Where
        rows came without the network, it is the file that they tell of.
        """
        source = self.folder(work) / "model.safetensors"
        if not self.finished(work):
            stem = _stems(work).get(self.name)
            return None if stem is None else work / "models" / f"{stem}.safetensors"
        stamp = digest(source)
        target = work / "models" / f"{self.name}-{stamp}.safetensors"
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            with source.open("rb") as old, replacing(target) as new:
                shutil.copyfileobj(old, new)
        return target

    def train(self, labels: Path, options: Options) -> None:
        """Train it, or go on where it was cut short."""
        from fixedfleet.training import find_checkpoint, get_preset, train

        folder = self.folder(options.work)
        settings = self._all_settings()
        for name in ("minutes", "epochs"):
            if getattr(options, name) is not None:
                settings[f"training.{name}"] = getattr(options, name)
        result = train(
            get_preset(self.preset).with_settings(settings),
            find_labels(labels, self.customers),
            out=folder,
            resume=find_checkpoint(folder),
            device=options.device,
            seed=options.seed,
            display=options.display,
        )
        if result.finished:
            done = {"steps": result.steps, "seconds": round(result.seconds, 3)}
            done |= self._asked(options)
            write_text(folder / _DONE, json.dumps(done) + "\n")

    def check_same(self, options: Options) -> None:
        """
        Refuse to take a finished training for another.

        What its mark does not tell, as that of an older version, is not compared.

        Raises
        ------
        InputError
            If it was trained with another seed, for another time, or with other
            settings.
        """
        path = self.folder(options.work) / _DONE
        found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        for name, wanted in self._asked(options).items():
            if name in found and found[name] != wanted:
                raise InputError(
                    f"{path} tells of a training with {name} {found[name]}, here it "
                    f"is {wanted}: choose another folder for work, or remove "
                    f"{path.parent}"
                )

    def _asked(self, options: Options) -> dict[str, Any]:
        """What tells a training from others; no budget is the preset's epochs."""
        asked = {name: getattr(options, name) for name in ("seed", "minutes", "epochs")}
        return asked | {"settings": self._all_settings()}

    def _all_settings(self) -> dict[str, Any]:
        # Figure 3 has a point an epoch.
        return {**self.settings, "training.validate_every": 1}


@dataclass(frozen=True)
class Curve:
    """
    How a training went, by epochs.

    Attributes
    ----------
    loss, validation, violation
        Points (epoch, value) of the loss on the training labels, of the loss on those
        held out, and of the load above the capacity, a vehicle, as its share; empty
        where the log has none.
    seconds
        Time spent in steps, all in all.
    """

    loss: tuple[tuple[float, float], ...]
    validation: tuple[tuple[float, float], ...]
    violation: tuple[tuple[float, float], ...]
    seconds: float


def find_labels(folder: Path, customers: int) -> list[Path]:
    """Return the label files of a size in a folder."""
    files = sorted(Path(folder).glob(f"vrp{customers}_*.npz"))
    if not files:
        raise InputError(f"no labels vrp{customers}_….npz in {folder}")
    return files


def train_missing(trainings: Sequence[Training], options: Options) -> list[str]:
    """
    Train what is not finished yet.

    Returns
    -------
    list
        A note for each training whose loss became no number.

    Raises
    ------
    InputError
        If no training is there and no labels are given, or if a finished one is not
        the one asked for. Without labels, those that are there are taken.
    """
    work, labels = options.work, options.labels
    missing = [training for training in trainings if not training.finished(work)]
    if labels is None:
        if missing and len(missing) == len(trainings):
            raise InputError(
                "this table compares trainings: give labels, a folder with "
                f"vrp{missing[0].customers}_….npz, or finished trainings such as "
                f"{missing[0].folder(work)} with model.safetensors and {_LOG}"
            )
        return []
    for training in trainings:
        if training not in missing:
            training.check_same(options)
    notes = []
    for training in missing:
        from fixedfleet.training import NonFiniteLossError

        try:
            training.train(labels, options)
        except NonFiniteLossError as error:
            notes.append(f"{training.name} was not trained to the end: {error}")
    return notes


def read_curve(training: Training, work: Path) -> Curve | None:
    """Read a training's log; None where it has none, or no loss in it."""
    path = training.folder(work) / _LOG
    lines = _read_lines(path) if path.is_file() else []
    losses = [line for line in lines if "loss/total" in line]
    if not losses:
        return None
    epoch = _steps_per_epoch(lines, losses[0]["step"])

    def points(key: str) -> tuple[tuple[float, float], ...]:
        return tuple(
            (line["step"] / epoch, float(line[key]))
            for line in lines
            if isinstance(line.get(key), int | float) and math.isfinite(line[key])
        )

    return Curve(
        loss=points("loss/total"),
        validation=points("validation/loss"),
        violation=points("validation/violation"),
        seconds=max(float(line.get("seconds", 0.0)) for line in lines),
    )


def _steps_per_epoch(lines: Sequence[dict[str, Any]], first: int) -> float:
    """Return the steps of an epoch, by a log's last words or by its first report."""
    for line in lines:
        if line.get("epoch_seconds") and line.get("seconds"):
            return float(line["step"] * line["epoch_seconds"] / line["seconds"])
    return first  # reported at the end of the first epoch


def _stems(work: Path) -> dict[str, str]:
    """Names of networks' files in the rows, the last of each training."""
    path = work / "rows.jsonl"
    if not path.is_file():
        return {}
    with path.open(encoding="utf-8") as file:
        found = [match for line in file for match in _STAMPED.findall(line)]
    return {stem.rpartition("-")[0]: stem for stem in found}


def _read_lines(path: Path) -> list[dict[str, Any]]:
    lines = []
    for text in path.read_text(encoding="utf-8").splitlines():
        try:
            line = json.loads(text)
        except ValueError:
            continue  # half a line, from a training that was killed
        if isinstance(line, dict) and isinstance(line.get("step"), int):
            lines.append(line)
    return lines
