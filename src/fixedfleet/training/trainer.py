"""The call that trains: settings, budget and labels in, a network out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fixedfleet.errors import InputError
from fixedfleet.training.dataset import Dataset, FixedData, load_dataset
from fixedfleet.training.fresh import Fresh, FreshData
from fixedfleet.training.presets import Preset, get_preset
from fixedfleet.training.processes import Processes
from fixedfleet.training.result import NonFiniteLossError, TrainResult
from fixedfleet.training.run import Run

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    import torch

    from fixedfleet.training.dataset import TrainingData

    Labels = str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | Dataset

__all__ = ["NonFiniteLossError", "TrainResult", "train"]


def train(
    preset: str | Preset,
    labels: Labels | None = None,
    *,
    fresh: Fresh | int | None = None,
    out: str | os.PathLike[str],
    minutes: float | None = None,
    epochs: int | None = None,
    steps: int | None = None,
    resume: bool | str | os.PathLike[str] = False,
    weights: str | os.PathLike[str] | None = None,
    device: str | torch.device | None = None,
    seed: int = 0,
    settings: Mapping[str, Any] | None = None,
    display: Callable[[str], None] | None = print,
) -> TrainResult:
    """
    Train a network on labels, on ones made while training, or on both.

    Under ``torchrun``, every process trains on its share of each batch.

    Parameters
    ----------
    preset
        A preset or its name; ``FILE.toml:NAME`` for one of yours.
    labels
        Label files or folders of one size, or a dataset on the device.
    fresh
        Labels to be made while training, by a GPU unless the recipe says otherwise;
        a number for so many by the defaults of :class:`Fresh`.
    out
        Folder for ``checkpoint.safetensors``, ``model.safetensors`` and ``log.jsonl``.
    minutes
        Budget in minutes of training steps; compilation and validation come on top.
    epochs
        Budget in epochs; the preset's if neither is given.
    steps
        Stop after so many steps in all, to be resumed; the budget stays what it is.
    resume
        Go on from the checkpoint in ``out``, or from another one.
    weights
        Begin with the weights of a network of the same configuration, a file or the
        name of a shipped one; optimiser, schedule and budget begin anew.
    device
        Where to train; a GPU if there is one.
    seed
        Seed of weights, order and symmetries.
    settings
        Settings that differ from the preset, by dotted name.
    display
        Takes lines of progress; None for silence.

    Raises
    ------
    InputError
        If anything given is wrong, before any work is lost.
    MissingPackageError
        If fresh labels need a package that is not installed.
    NonFiniteLossError
        If the loss becomes infinite or no number.
    """
    preset = get_preset(preset) if isinstance(preset, str) else preset
    preset = preset.with_settings(settings or {})
    if epochs is not None:
        preset = preset.with_settings({"training.epochs": epochs})
    if minutes is not None and not (minutes > 0 and epochs is None):
        raise InputError(
            f"minutes is {minutes:g} and epochs {epochs}: give one of them, above 0"
        )
    if steps is not None and steps < 1:
        raise InputError(f"steps is {steps}, not 1 or more")
    if weights is not None and resume is not False:
        raise InputError("resume and weights are both given: a checkpoint has weights")
    if isinstance(labels, Dataset) and device is None:
        device = labels.coordinates.device
    if isinstance(fresh, int):
        fresh = Fresh(count=fresh)
    with Processes(device) as processes:
        data = _data(preset, labels, fresh, processes, seed)
        run = Run(preset, data, processes, Path(out), minutes, seed, display)
        run.begin(resume, weights)
        return run.go(steps)


def _data(
    preset: Preset,
    labels: Labels | None,
    fresh: Fresh | None,
    processes: Processes,
    seed: int,
) -> TrainingData:
    """Bring labels to the device, and make room for fresh ones."""
    dataset = labels if isinstance(labels, Dataset) else None
    if labels is not None and not isinstance(labels, Dataset):
        dataset = load_dataset(labels, processes.device)
    if dataset is not None and dataset.num_customers != preset.customers:
        raise InputError(
            f"the labels have {dataset.num_customers} customers, preset "
            f"{preset.name!r} is for {preset.customers}"
        )
    held_out = preset.training.validation
    if fresh is not None:
        return FreshData(fresh, preset.customers, held_out, processes, seed, dataset)
    if dataset is None:
        raise InputError("nothing to train on: give labels, fresh ones, or both")
    return FixedData.from_dataset(dataset, held_out)
