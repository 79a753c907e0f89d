"""Networks that a table compares: trained once into the working folder, then reused."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from fixedfleet.errors import InputError
from fixedfleet.files.atomic import write_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from experiments.definitions import Options

__all__ = [
    "Curve",
    "Training",
    "find_labels",
    "mean_curve",
    "read_curve",
    "read_json_lines",
    "train_missing",
]

_MODEL, _LOG, _DONE = "model.safetensors", "log.jsonl", "finished.json"
_CHECKPOINT = "checkpoint.safetensors"


@dataclass(frozen=True)
class Training:
    """
    A preset with some settings changed.

    Parameters
    ----------
    name
        Name of the training and of its folder.
    preset
        The preset that it changes.
    settings
        What differs from the preset, by dotted name.
    seed
        Its seed, instead of that of ``python -m experiments``.
    """

    name: str
    preset: str
    settings: Mapping[str, Any] = field(default_factory=dict, hash=False)
    seed: int | None = None

    @property
    def customers(self) -> int:
        """The number of customers, with which the preset's name ends."""
        return int(self.preset.lstrip("abcdefghijklmnopqrstuvwxyz"))

    def folder(self, work: Path) -> Path:
        """Return the folder of its files."""
        return work / "trainings" / self.name

    def model(self, work: Path) -> Path:
        """Return the file of its network, which need not exist yet."""
        return self.folder(work) / _MODEL

    def command(self, work: Path) -> str:
        """Return the command that trains it."""
        changed = "".join(f" --set {k}={v}" for k, v in self._all_settings().items())
        return (
            f"fixedfleet train {self.preset} --labels FILE --out {self.folder(work)}"
            f"{'' if self.seed is None else f' --seed {self.seed}'}{changed}"
        )

    def finished(self, work: Path) -> bool:
        """Return whether its network and its log exist and it is not interrupted."""
        folder = self.folder(work)
        whole = all((folder / name).is_file() for name in (_MODEL, _LOG))
        # A checkpoint without the mark is an interrupted training; a network copied
        # from another machine comes without its checkpoint.
        halfway = (folder / _CHECKPOINT).exists()
        return whole and ((folder / _DONE).exists() or not halfway)

    def train(self, labels: Path, options: Options) -> None:
        """Train it, or resume it."""
        from fixedfleet.training import get_preset, train

        folder = self.folder(options.work)
        settings = self._all_settings()
        if options.epochs is not None:
            settings["training.epochs"] = options.epochs
        result = train(
            get_preset(self.preset).with_settings(settings),
            find_labels(labels, self.customers),
            out=folder,
            resume=(folder / _CHECKPOINT).exists(),
            device=options.device,
            seed=options.seed if self.seed is None else self.seed,
            display=options.display,
        )
        if result.finished:
            done = {"steps": result.steps, "seconds": round(result.seconds, 3)}
            done |= self._asked(options)
            write_text(folder / _DONE, json.dumps(done) + "\n")

    def check_same(self, options: Options) -> None:
        """
        Raise InputError if the finished training is not the one asked for.

        It may have been trained with another seed, budget or setting. What its mark
        does not record is not compared.
        """
        path = self.folder(options.work) / _DONE
        found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        for name, wanted in self._asked(options).items():
            if name in found and found[name] != wanted:
                raise InputError(
                    f"{path} records a training with {name} {found[name]}, here it "
                    f"is {wanted}: choose another folder for --work, or remove "
                    f"{path.parent}"
                )

    def _asked(self, options: Options) -> dict[str, Any]:
        """Return what identifies a training."""
        return {
            "seed": options.seed if self.seed is None else self.seed,
            "epochs": options.epochs,
            "settings": self._all_settings(),
        }

    def _all_settings(self) -> dict[str, Any]:
        # Figure 3 has one point per epoch.
        return {**self.settings, "training.validate_every": 1}


@dataclass(frozen=True)
class Curve:
    """
    The course of a training, by epochs.

    Attributes
    ----------
    loss, validation, violation
        Points (epoch, value) of the loss on the training labels, of the loss on the
        labels held out, and of the load above the capacity, mean over the vehicles, as
        a share of the capacity; empty if the log has none.
    seconds
        Total time spent in training steps.
    """

    loss: tuple[tuple[float, float], ...]
    validation: tuple[tuple[float, float], ...]
    violation: tuple[tuple[float, float], ...]
    seconds: float


def find_labels(folder: Path, customers: int) -> list[Path]:
    """Return the labels of a size: files vrpN_….npz, or the folder vrpN."""
    files = sorted(Path(folder).glob(f"vrp{customers}_*.npz"))
    files = files or sorted(Path(folder).glob(f"vrp{customers}"))
    if not files:
        raise InputError(
            f"no labels vrp{customers}_….npz and no folder vrp{customers} in {folder}"
        )
    return files


def train_missing(trainings: Iterable[Training], options: Options) -> list[str]:
    """
    Train what is not finished yet.

    Returns
    -------
    list
        A note per training whose loss became infinite or not a number.

    Raises
    ------
    InputError
        If no training is finished and no labels are given, or if a finished one is
        not the one asked for. Without labels, the finished trainings are used.
    """
    trainings = list(trainings)
    work, labels = options.work, options.labels
    missing = [training for training in trainings if not training.finished(work)]
    if labels is None:
        if missing and len(missing) == len(trainings):
            raise InputError(
                "this table compares trainings: give --labels, a folder with "
                f"vrp{missing[0].customers}_….npz, or finished trainings such as "
                f"{missing[0].folder(work)} with {_MODEL} and {_LOG}"
            )
        return []
    for training in trainings:
        if training not in missing:
            training.check_same(options)
    from fixedfleet.training import NonFiniteLossError

    notes = []
    for training in missing:
        try:
            training.train(labels, options)
        except NonFiniteLossError as error:
            notes.append(f"{training.name} was not trained to the end: {error}")
    return notes


def read_curve(training: Training, work: Path) -> Curve | None:
    """Read a training's log; None if there is no log, or no loss in it."""
    log = read_json_lines(training.folder(work) / _LOG)
    lines = [line for line in log if isinstance(line.get("step"), int)]
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


def mean_curve(curves: Sequence[Curve]) -> Curve:
    """Return the mean of several trainings at the epochs that all of them report."""

    def mean(kind: str) -> tuple[tuple[float, float], ...]:
        courses = [dict(getattr(curve, kind)) for curve in curves]
        shared = sorted(set.intersection(*map(set, courses)))
        return tuple((x, fmean(course[x] for course in courses)) for x in shared)

    return Curve(
        loss=mean("loss"),
        validation=mean("validation"),
        violation=mean("violation"),
        seconds=fmean(curve.seconds for curve in curves),
    )


def _steps_per_epoch(lines: Sequence[dict[str, Any]], first: int) -> int:
    """Return the steps per epoch, from a log's last line or from its first report."""
    for line in lines:
        if line.get("epoch_seconds") and line.get("seconds"):
            steps: float = line["step"] * line["epoch_seconds"] / line["seconds"]
            return round(steps)
    return first  # reported at the end of the first epoch


def read_json_lines(path: Path) -> list[dict[str, Any]]:
    """Read the objects of a JSON Lines file; no file is no lines."""
    lines = []
    for text in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            line = json.loads(text)
        except ValueError:
            continue  # a line that was being written when its process was killed
        if isinstance(line, dict):
            lines.append(line)
    return lines
