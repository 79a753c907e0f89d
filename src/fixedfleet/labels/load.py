"""Labels read back: from a folder of shards, or from one file with a seed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fixedfleet import files
from fixedfleet.errors import InputError
from fixedfleet.generate import labelled_stream
from fixedfleet.labels.shards import LabelFolder
from fixedfleet.plan import PlanBatch

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from fixedfleet.instance import InstanceBatch

__all__ = ["load_labels"]

_CHECKED_AT_ONCE = 20_000


def load_labels(
    path: str | os.PathLike[str],
) -> tuple[InstanceBatch, PlanBatch, NDArray[np.bool_]]:
    """
    Read labels, and check every one of them against its instance.

    Parameters
    ----------
    path
        A folder that :func:`label` wrote, also one that is not finished; or an npz
        file of routes whose instances come back from the seed in it.

    Returns
    -------
    batch
        The instances.
    plans
        A plan for each; empty where there is no label.
    labelled
        Which instances have a label, shape (B,).

    Raises
    ------
    InputError
        If there are no labels at ``path``, or not such as it says.
    """
    path = Path(path)
    batch, plans, labelled = _load_folder(path) if path.is_dir() else _load_file(path)
    _check(path, batch, plans, labelled)
    return batch, plans, labelled


def _load_folder(
    path: Path,
) -> tuple[InstanceBatch, PlanBatch, NDArray[np.bool_]]:
    folder = LabelFolder.read(path)
    batch = folder.read_instances()
    shards = [s for s in range(folder.manifest.num_shards) if folder.has_shard(s)]
    labelled = np.zeros(len(batch), dtype=bool)
    parts = []
    for shard in shards:
        part, rows = folder.read_shard(shard), folder.manifest.rows(shard)
        parts.append((slice(rows.start, rows.stop), part.routes))
        labelled[rows.start : rows.stop] = part.labelled
    return batch, PlanBatch.gather(len(batch), parts), labelled


def _load_file(path: Path) -> tuple[InstanceBatch, PlanBatch, NDArray[np.bool_]]:
    file = files.read_labels(path)
    # Instances are drawn only for what the arrays bear out, whatever the file claims.
    if file.routes.shape[1] < file.n:
        raise InputError(
            f"{path}: routes has shape {file.routes.shape}, too short a row for "
            f"{file.n} customers"
        )
    batch = labelled_stream(file.n, file.count, file.seed, file.capacity, file.fleet)
    routes = np.where(file.labelled[:, None], file.routes, 0)
    return batch, PlanBatch(routes), file.labelled


def _check(
    path: Path, batch: InstanceBatch, plans: PlanBatch, labelled: NDArray[np.bool_]
) -> None:
    """Labels are believed no more than a solver is."""
    for start in range(0, len(batch), _CHECKED_AT_ONCE):  # bounds the memory
        rows = np.arange(start, min(start + _CHECKED_AT_ONCE, len(batch)))
        rows = rows[labelled[rows]]
        feasible = plans[rows].feasible(batch[rows])
        if not feasible.all():
            row = int(rows[~feasible][0])
            fault = plans[row].check(batch[row])[0]
            raise InputError(f"{path}: the label of row {row} is no plan: {fault}")
