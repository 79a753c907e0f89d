"""What a training learns from: labels from files, labels made on the way, or both."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from fixedfleet.errors import InputError
from fixedfleet.training.buckets import Bucket, load_buckets
from fixedfleet.training.dataset import Dataset, load_dataset
from fixedfleet.training.fresh import FreshLabels

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch import Tensor

    from fixedfleet.training.fresh import Fresh
    from fixedfleet.training.presets import Preset, TrainConfig
    from fixedfleet.training.ranks import Ranks

    Labels = str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | Dataset

__all__ = ["TrainingData", "gather_data"]


@dataclass
class TrainingData:
    """
    The rows to train on and the rows held out for validation.

    Attributes
    ----------
    buckets
        The rows to train on, sorted by size. Their tensors stay where they are.
    held_out
        The rows held out. They stay the same.
    fingerprint
        Equal data has equal fingerprints, in every epoch.
    fresh
        Makes the last rows of the only bucket round by round; None if nothing changes.
    round
        The number of the round whose rows the bucket has; -1 before the first.
    """

    buckets: list[Bucket]
    held_out: Dataset
    fingerprint: str
    fresh: FreshLabels | None = None
    round: int = -1

    def __len__(self) -> int:
        """Return the number of rows to train on."""
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

    def renew(self, epoch: int) -> dict[str, float] | None:
        """Put the rows of an epoch in place; return facts about new ones, or None."""
        if self.fresh is None or self.fresh.round_of(epoch) == self.round:
            return None
        self.round = self.fresh.round_of(epoch)
        return self.fresh.write_round(self.round, self.buckets[0].labels)


def gather_data(
    preset: Preset,
    labels: Labels | None,
    fresh: Fresh | None,
    ranks: Ranks,
    seed: int,
) -> TrainingData:
    """
    Bring labels to the device, and make room for fresh ones.

    Parameters
    ----------
    preset
        Says for how many customers, and how many labels are held out.
    labels
        Label files or folders, or a dataset; the last rows of it are held out.
    fresh
        How to make labels while training.
    ranks
        The processes of this training, and the device.
    seed
        The seed of the training.

    Raises
    ------
    InputError
        If there is nothing to train on, the labels have another size, or they do not
        fit into memory.
    """
    if preset.universal:
        return _of_all_sizes(preset, labels, fresh, ranks, seed)
    if labels is None or isinstance(labels, Dataset):
        dataset = labels
    else:
        dataset = load_dataset(labels, ranks.device)
    if dataset is not None and dataset.num_customers != preset.customers:
        raise InputError(
            f"the labels have {dataset.num_customers} customers, preset "
            f"{preset.name!r} is for {preset.customers}"
        )
    validation = preset.training.validation
    if fresh is not None:
        assert preset.customers is not None  # only a universal network has none
        made = FreshLabels(fresh, preset.customers, ranks, seed, dataset)
        return _with_fresh(made, dataset, preset.training)
    if dataset is None:
        raise InputError("nothing to train on: give labels, fresh ones, or both")
    train, held_out = dataset.split(validation)
    bucket = Bucket(train, preset.training.batch_size)
    return TrainingData([bucket], held_out, dataset.fingerprint)


def _of_all_sizes(
    preset: Preset,
    labels: Labels | None,
    fresh: Fresh | None,
    ranks: Ranks,
    seed: int,
) -> TrainingData:
    """Bring labels of different sizes to the device."""
    if fresh is not None:
        raise InputError(
            "fresh labels have one size: give a universal network label files"
        )
    if labels is None or isinstance(labels, Dataset):
        raise InputError("a universal network needs label files or folders")
    paths = [labels] if isinstance(labels, str | os.PathLike) else labels
    buckets, held_out = load_buckets(
        paths,
        ranks.device,
        batch_size=preset.training.batch_size,
        parts=preset.training.parts,
        held_out=preset.training.validation,
        seed=seed,
    )
    prints = " ".join(bucket.labels.fingerprint for bucket in buckets)
    return TrainingData(buckets, held_out, prints)


def _with_fresh(
    fresh: FreshLabels, labels: Dataset | None, config: TrainConfig
) -> TrainingData:
    """Append room for fresh labels to the given ones."""
    validation = config.validation
    if labels is not None:
        kept, held_out = labels.split(validation)
    else:
        held_out = fresh.held_out(validation)
        kept = held_out.rows(0, 0)
    try:
        train = kept.with_room(fresh.fresh.count)
    except torch.cuda.OutOfMemoryError as error:
        raise InputError(
            f"{fresh.fresh.count} fresh labels do not fit into the memory of "
            f"{fresh.ranks.device}: ask for fewer"
        ) from error
    bucket = Bucket(train, config.batch_size)
    return TrainingData([bucket], held_out, fresh.fingerprint, fresh)


def _epoch_seed(seed: int, epoch: int) -> int:
    """Combine two seeds, so that trainings with close seeds share no epoch."""
    return (seed * 1_000_003 + epoch * 7_919 + 12_345) % 2**63
