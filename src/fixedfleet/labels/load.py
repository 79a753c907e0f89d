"""The one reader of labels: from a folder of shards, or from a single npz file."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fixedfleet import files
from fixedfleet.errors import InputError
from fixedfleet.generate import uniform
from fixedfleet.labels.folder import LABELLED, LabelFolder
from fixedfleet.plan import PlanBatch

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from fixedfleet.instance import InstanceBatch

    Labels = tuple[InstanceBatch, PlanBatch, NDArray[np.bool_]]

__all__ = ["has_labels", "load_labels"]

_CHECKED_AT_ONCE = 20_000


def has_labels(path: Path) -> bool:
    """Return whether :func:`load_labels` is the reader of a folder or a file."""
    if path.is_dir():
        return (path / "manifest.json").is_file()
    if path.suffix.lower() != ".npz" or not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return "routes.npy" in archive.namelist()


def load_labels(path: str | os.PathLike[str]) -> Labels:
    """
    Read labels, and check every one of them against its instance.

    Parameters
    ----------
    path
        A folder that :func:`label` wrote, finished or not; or an npz file of routes
        with the seed of their instances.

    Returns
    -------
    batch
        The instances.
    plans
        One plan per instance, empty where there is no label.
    labelled
        Which instances have a label, shape (B,).

    Raises
    ------
    InputError
        If there are no labels at ``path``, or a label is infeasible for its instance.
    """
    path = Path(path)
    batch, plans, labelled = _read_folder(path) if path.is_dir() else _read_file(path)
    _check(path, batch, plans, labelled)
    return batch, plans, labelled


def _read_folder(path: Path) -> Labels:
    folder = LabelFolder.read(path)
    batch = folder.read_instances()
    labelled = np.zeros(len(batch), dtype=bool)
    parts = []
    for index in folder.finished():
        rows, (routes, status) = folder.rows(index), folder.read_shard(index)
        parts.append((rows, routes))
        labelled[rows] = status == LABELLED
    return batch, PlanBatch.gather(len(batch), parts), labelled


def _read_file(path: Path) -> Labels:
    file = files.read_labels(path)
    # Checked first, because a wrong n could draw instances larger than the memory.
    if file.routes.shape[1] < file.n:
        raise InputError(
            f"{path}: routes has shape {file.routes.shape}, too short a row for "
            f"{file.n} customers"
        )
    batch = uniform(
        file.n,
        len(file.routes),
        seed=file.seed,
        capacity=file.capacity,
        vehicles=file.fleet,
    )
    routes = np.where(file.labelled[:, None], file.routes, 0)
    return batch, PlanBatch(routes), file.labelled


def _check(
    path: Path, batch: InstanceBatch, plans: PlanBatch, labelled: NDArray[np.bool_]
) -> None:
    """Raise InputError if a label is infeasible for its instance."""
    for start in range(0, len(batch), _CHECKED_AT_ONCE):  # bounds the memory
        rows = np.arange(start, min(start + _CHECKED_AT_ONCE, len(batch)))
        rows = rows[labelled[rows]]
        feasible = plans[rows].feasible(batch[rows])
        if not feasible.all():
            row = int(rows[~feasible][0])
            fault = plans[row].check(batch[row])[0]
            raise InputError(f"{path}: the label of row {row} is infeasible: {fault}")
