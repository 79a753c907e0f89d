"""What a training learns from: labels from files, sorted into buckets by size."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from fixedfleet.errors import InputError
from fixedfleet.plan import PlanBatch
from fixedfleet.training.dataset import (
    Dataset,
    join_labels,
    labelled_rows,
    load_dataset,
    to_device,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch import Tensor

    from fixedfleet.instance import InstanceBatch
    from fixedfleet.training.presets import Preset, TrainConfig
    from fixedfleet.training.ranks import Ranks

    Labels = str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | Dataset
    Labelled = tuple[InstanceBatch, PlanBatch]

__all__ = [
    "SHAPES",
    "Bucket",
    "TrainingData",
    "fill_buckets",
    "gather_data",
]

# Customers and vehicles that instances are padded to. With the depot, they are a
# multiple of 8 elements, which attention on a GPU needs to be fast.
SHAPES = ((23, 8), (55, 16), (103, 24), (207, 72))
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


@dataclass(frozen=True)
class TrainingData:
    """
    The labels to train on and the labels held out for validation.

    Attributes
    ----------
    buckets
        The labels to train on, sorted by size; a single bucket for the paper's network.
    held_out
        The labels held out.
    fingerprint
        Equal data has equal fingerprints.
    """

    buckets: list[Bucket]
    held_out: Dataset
    fingerprint: str

    def __len__(self) -> int:
        """Return the number of labels to train on."""
        return sum(len(bucket.labels) for bucket in self.buckets)

    @property
    def steps(self) -> list[int]:
        """The number of batches of each bucket in an epoch."""
        return [len(labels) // size for labels, size in self.buckets]

    def batches(
        self, epoch: int, seed: int, ranks: Ranks, first: int
    ) -> Iterator[tuple[int, Tensor, Tensor]]:
        """
        Yield this process's share of each batch of an epoch, in a random order.

        A share consists of the number of the bucket, the numbers of the rows, and codes
        that say how the instances are turned.

        Parameters
        ----------
        epoch, seed
            The epoch, and the seed of the training: they determine the order.
        ranks
            The processes that share the batches.
        first
            The number of batches to skip.
        """
        generator = torch.Generator().manual_seed(_epoch_seed(seed, epoch))
        orders = [
            torch.randperm(len(labels), generator=generator).to(ranks.device)
            for labels, _ in self.buckets
        ]
        codes = torch.randint(2**16, (len(self),), generator=generator)
        codes = codes.to(ranks.device)
        numbers = torch.arange(len(orders)).repeat_interleave(torch.tensor(self.steps))
        mixed = numbers[torch.randperm(len(numbers), generator=generator)].tolist()
        begin = [0] * len(orders)  # where the next batch of each bucket begins
        for step, bucket in enumerate(mixed):
            end = begin[bucket] + self.buckets[bucket].batch_size
            if step >= first:
                share = slice(begin[bucket] + ranks.rank, end, ranks.world)
                yield bucket, orders[bucket][share], codes[share]
            begin[bucket] = end


def gather_data(
    preset: Preset, labels: Labels, device: torch.device, seed: int
) -> TrainingData:
    """
    Read labels, check them, and bring them to the device.

    Parameters
    ----------
    preset
        Says for how many customers, and how many labels are held out.
    labels
        Label files or folders, or a dataset; the last labels are held out.
    device
        Where the tensors are to stay.
    seed
        The seed of the training.

    Raises
    ------
    InputError
        If a file cannot be read, or the labels do not suit the preset.
    """
    config = preset.training
    if preset.universal:
        if isinstance(labels, Dataset):
            raise InputError("a universal network needs label files or folders")
        paths = [labels] if isinstance(labels, str | os.PathLike) else labels
        return _of_all_sizes(paths, device, config, seed)
    dataset = labels if isinstance(labels, Dataset) else load_dataset(labels, device)
    if dataset.num_customers != preset.customers:
        raise InputError(
            f"the labels have {dataset.num_customers} customers, preset "
            f"{preset.name!r} is for {preset.customers}"
        )
    train, held_out = dataset.split(config.validation)
    bucket = Bucket(train, config.batch_size)
    return TrainingData([bucket], held_out, dataset.fingerprint)


def _of_all_sizes(
    paths: Sequence[str | os.PathLike[str]],
    device: torch.device,
    config: TrainConfig,
    seed: int,
) -> TrainingData:
    """Read labels of any sizes; the last ones of each file are held out."""
    train, last = [], []
    count = math.ceil(config.validation / len(paths))
    for path in paths:
        instances, plans = labelled_rows(path)
        if count >= len(plans):
            raise InputError(
                f"{path}: {count} of {len(plans)} labels are to be held out"
            )
        train.append((instances[:-count], plans[:-count]))
        last.append((instances[-count:], plans[-count:]))
    buckets = fill_buckets(
        train, device, batch_size=config.batch_size, parts=config.parts, seed=seed
    )
    fingerprint = " ".join(bucket.labels.fingerprint for bucket in buckets)
    return TrainingData(buckets, to_device(*join_labels(last), device), fingerprint)


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
            from fixedfleet.training.label_groups import tour_groups  # loads Numba

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
            some = instances[rows]
            width = some.num_customers + int(some.vehicles.max())
            bucket.append((some, PlanBatch(plans.routes[rows, :width])))
        waiting &= ~fits
    if waiting.any():
        row = int(np.argmax(waiting))
        customers, vehicles = SHAPES[-1]
        raise InputError(
            f"a label has {instances.sizes[row]} customers and "
            f"{instances.vehicles[row]} vehicles; this training takes at most "
            f"{customers} and {vehicles}"
        )


def _epoch_seed(seed: int, epoch: int) -> int:
    """Combine two seeds, so that trainings with close seeds share no epoch."""
    return (seed * 1_000_003 + epoch * 7_919 + 12_345) % 2**63
