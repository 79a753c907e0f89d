"""Labels of all sizes for one training, sorted into buckets of similar size."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fixedfleet.errors import InputError
from fixedfleet.instance import InstanceBatch
from fixedfleet.plan import PlanBatch
from fixedfleet.planning.tour_groups import take_groups
from fixedfleet.training.dataset import (
    Dataset,
    join_labels,
    labelled_rows,
    to_device,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    import torch

    Labelled = tuple[InstanceBatch, PlanBatch]

__all__ = ["SHAPES", "Bucket", "fill_buckets", "load_buckets", "tour_groups"]

# Customers and vehicles that instances are padded to. With the depot, they are a
# multiple of 8 elements, which attention on a GPU needs to be fast.
SHAPES = ((23, 8), (55, 16), (103, 24), (207, 72))
# How many customers a group of tours has on average, and how often.
_CUSTOMERS, _CHANCES = (16, 36, 65), (0.45, 0.4, 0.15)
_REFERENCE = 128  # elements of the shape that ``training.batch_size`` is meant for


class Bucket(NamedTuple):
    """
    Labels that are padded to the same shape.

    Attributes
    ----------
    labels
        The labels.
    batch_size
        Instances of a step.
    """

    labels: Dataset
    batch_size: int


def load_buckets(
    paths: Sequence[str | os.PathLike[str]],
    device: torch.device | str,
    *,
    batch_size: int,
    parts: int,
    held_out: int,
    seed: int,
) -> tuple[list[Bucket], Dataset]:
    """
    Read label files or folders of any sizes.

    Parameters
    ----------
    paths
        Label files or folders.
    device
        Where the tensors are to stay.
    batch_size, parts, seed
        As in :func:`fill_buckets`.
    held_out
        The number of labels that are held out, the last ones of each file.

    Returns
    -------
    buckets
        The labels to train on.
    held_out
        The labels that are held out, as they are.

    Raises
    ------
    InputError
        If a file cannot be read, has too few labels, or an instance is too large.
    """
    train, last = [], []
    for path in paths:
        instances, plans = labelled_rows(path)
        count = math.ceil(held_out / len(paths))
        if count >= len(plans):
            raise InputError(
                f"{path}: {count} of {len(plans)} labels are to be held out"
            )
        train.append((instances[:-count], plans[:-count]))
        last.append((instances[-count:], plans[-count:]))
    buckets = fill_buckets(train, device, batch_size=batch_size, parts=parts, seed=seed)
    return buckets, to_device(*join_labels(last), device)


def fill_buckets(
    labelled: Sequence[Labelled],
    device: torch.device | str,
    *,
    batch_size: int,
    parts: int,
    seed: int,
) -> list[Bucket]:
    """
    Sort labels into buckets by their size.

    Parameters
    ----------
    labelled
        Instances and labels; each entry may have sizes and fleets of its own.
    device
        Where the tensors are to stay.
    batch_size
        Instances of a step in the bucket of 100 customers. Batches of smaller instances
        are larger, so that all steps take about the same time.
    parts
        Groups of neighbouring tours that are taken from each label as instances of
        their own.
    seed
        Seed of the choice of these groups.

    Raises
    ------
    InputError
        If an instance is larger than the last bucket, or no bucket has a whole batch.
    """
    sorted_rows: list[list[Labelled]] = [[] for _ in SHAPES]
    for number, (instances, plans) in enumerate(labelled):
        pieces = [(instances, plans)]
        if parts:
            pieces.append(tour_groups(instances, plans, parts, seed + number))
        for piece in pieces:
            _sort(*piece, sorted_rows)
    buckets = []
    for shape, rows in zip(SHAPES, sorted_rows, strict=True):
        if not rows:
            continue
        size = _batch_size(batch_size, shape)
        labels = to_device(*join_labels(rows), device, shape)
        if len(labels) >= size:
            buckets.append(Bucket(replace(labels, instances=None), size))
    if not buckets:
        raise InputError("there are fewer labels of each size than a batch has")
    return buckets


def _batch_size(batch_size: int, shape: tuple[int, int]) -> int:
    """Return how many instances of a shape cost as much as a batch."""
    elements = 1 + sum(shape)
    size: float = batch_size * (_REFERENCE / elements) ** 1.5
    return max(8, 8 * round(size / 8))


def _sort(
    instances: InstanceBatch, plans: PlanBatch, buckets: Sequence[list[Labelled]]
) -> None:
    """Append labelled instances to the first bucket that each fits into."""
    waiting = np.ones(len(instances), dtype=bool)
    for (customers, vehicles), bucket in zip(SHAPES, buckets, strict=True):
        fits = waiting & (instances.sizes <= customers)
        fits &= instances.vehicles <= vehicles
        rows = np.flatnonzero(fits)
        if len(rows):
            bucket.append(_cut(instances[rows], plans[rows]))
        waiting &= ~fits
    if waiting.any():
        row = int(np.argmax(waiting))
        customers, vehicles = SHAPES[-1]
        raise InputError(
            f"a label has {instances.sizes[row]} customers and "
            f"{instances.vehicles[row]} vehicles; this training takes at most "
            f"{customers} and {vehicles}"
        )


def _cut(instances: InstanceBatch, plans: PlanBatch) -> Labelled:
    """Cut off padding that none of the instances needs."""
    size = int(instances.sizes.max())
    width = size + int(instances.vehicles.max())
    cut = InstanceBatch(
        depots=instances.depots,
        customers=instances.customers[:, :size],
        demands=instances.demands[:, :size],
        capacity=instances.capacity,
        vehicles=instances.vehicles,
        sizes=instances.sizes,
    )
    return cut, PlanBatch(plans.routes[:, :width])


def tour_groups(
    instances: InstanceBatch, plans: PlanBatch, count: int, seed: int
) -> Labelled:
    """
    Make instances of their own of neighbouring tours.

    The tours of a group are a label for their customers: in a good plan, they are a
    good plan for them. A group has about 8 to 100 customers. Its tours are close to
    each other, lie in the same direction, or are chosen at random.

    Parameters
    ----------
    instances, plans
        Instances and labels.
    count
        Groups per label; labels with fewer than three tours give none.
    seed
        Seed of the choice.
    """
    from fixedfleet.training.group_kernel import choose_groups  # Numba is slow to load

    rng = np.random.default_rng(seed)
    shape = len(plans) * count, 1 + int((plans.routes == 0).sum(axis=1).max())
    groups = np.zeros(shape, dtype=np.bool_)
    choose_groups(
        np.ascontiguousarray(instances.coordinates),
        np.ascontiguousarray(plans.routes, dtype=np.int64),
        rng.choice(_CUSTOMERS, size=shape[0], p=_CHANCES)
        * rng.uniform(0.5, 1.5, shape[0]),
        rng.uniform(size=(shape[0], 2)),
        rng.uniform(size=shape),
        groups,
    )
    found = np.flatnonzero(groups.any(axis=1))
    if not len(found):
        return instances[:0], plans[:0]
    some, labels, _ = take_groups(instances, plans, found // count, groups[found])
    # Half of the groups also get the vehicles that the label leaves unused.
    spare = (instances.vehicles - plans.vehicles())[found // count]
    spare[::2] = 0
    return some.with_vehicles(some.vehicles + spare), labels
