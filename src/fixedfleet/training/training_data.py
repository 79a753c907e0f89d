"""Labels as tensors, sorted by size into buckets that are padded to one shape."""

from __future__ import annotations

import hashlib
import math
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
import torch
from torch import Tensor

from fixedfleet.errors import InputError
from fixedfleet.instance import InstanceBatch
from fixedfleet.labels import check_labels, fingerprint, load_labels
from fixedfleet.model.features import Features, collate
from fixedfleet.plan import PlanBatch, pad_routes
from fixedfleet.training.label_groups import tour_groups

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from fixedfleet.training.presets import Preset
    from fixedfleet.training.ranks import Ranks

    Labelled = tuple[InstanceBatch, PlanBatch]
    LabelPath = str | os.PathLike[str]
    Labels = LabelPath | Sequence[LabelPath] | Labelled

__all__ = [
    "SHAPES",
    "Bucket",
    "TrainingBatch",
    "TrainingData",
    "fill_buckets",
    "gather_data",
    "read_labels",
    "step_size",
    "to_tensors",
]

# Customers and vehicles that instances are padded to. With the depot, they are a
# multiple of 8 elements, which attention on a GPU needs to be fast.
SHAPES = ((23, 8), (55, 16), (103, 24), (207, 72))
_REFERENCE = 128  # elements of the shape that ``training.batch_size`` is meant for


class TrainingBatch(NamedTuple):
    """
    Instances and labels as tensors: those of a step, or all that steps are taken from.

    Attributes
    ----------
    features
        The input of the network.
    routes
        Labels: customers with a 0 after each tour, shape (B, N + M).
    units, capacity
        Whole units of demand and capacity, shapes (B, N') and (B,).
    """

    features: Features
    routes: Tensor
    units: Tensor
    capacity: Tensor

    def take(self, rows: Tensor) -> TrainingBatch:
        """Return the batch of the rows with these numbers."""
        features = Features(*(part[rows] for part in self.features))
        return TrainingBatch(
            features, self.routes[rows], self.units[rows], self.capacity[rows]
        )


class Bucket(NamedTuple):
    """
    Labels that are padded to the same shape.

    Attributes
    ----------
    labels
        The labels.
    batch_size
        The number of instances per step.
    fingerprint
        A hash of the data: equal data has equal fingerprints.
    """

    labels: TrainingBatch
    batch_size: int
    fingerprint: str

    @property
    def size(self) -> int:
        """The number of labels."""
        return len(self.labels.routes)

    @property
    def steps(self) -> int:
        """The number of batches in an epoch."""
        return self.size // self.batch_size


@dataclass(frozen=True)
class TrainingData:
    """
    The labels to train on and the labels held out for validation.

    Attributes
    ----------
    buckets
        The labels to train on, sorted by size; one bucket if the preset has one size.
    held_out
        The instances held out, and their labels.
    labels
        The number of labels to train on. The other instances in the buckets are groups
        of their tours.
    """

    buckets: list[Bucket]
    held_out: Labelled
    labels: int

    def __len__(self) -> int:
        """Return the number of instances to train on: labels and groups of tours."""
        return sum(bucket.size for bucket in self.buckets)

    @property
    def groups(self) -> int:
        """The number of groups of tours to train on."""
        return len(self) - self.labels

    @property
    def fingerprint(self) -> str:
        """A hash: equal data has equal fingerprints."""
        return " ".join(bucket.fingerprint for bucket in self.buckets)

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
            torch.randperm(bucket.size, generator=generator).to(ranks.device)
            for bucket in self.buckets
        ]
        codes = torch.randint(2**16, (len(self),), generator=generator)
        codes = codes.to(ranks.device)
        steps = torch.tensor([bucket.steps for bucket in self.buckets])
        numbers = torch.arange(len(orders)).repeat_interleave(steps)
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

    The last labels are held out; for a preset of all sizes, the last ones of each file.

    Raises
    ------
    InputError
        If a file cannot be read, or the labels do not suit the preset.
    """
    config = preset.training
    parts = read_labels(labels)
    if preset.customers is None:
        count = math.ceil(config.validation / len(parts))
        split = [_split(part, count) for part in parts]
        buckets = fill_buckets(
            [train for train, _ in split],
            device,
            batch_size=config.batch_size,
            parts=config.parts,
            seed=seed,
        )
        held_out = _join([last for _, last in split])
        return TrainingData(buckets, held_out, sum(len(p) for (_, p), _ in split))
    whole = _join(parts)
    _check_size(whole[0], preset)
    train, held_out = _split(whole, config.validation)
    bucket = Bucket(to_tensors(*train, device), config.batch_size, _fingerprint(*whole))
    return TrainingData([bucket], held_out, bucket.size)


def read_labels(labels: Labels) -> list[Labelled]:
    """Read the rows that have a label, file by file, and check all labels."""
    if isinstance(labels, str | os.PathLike):
        labels = [labels]
    if not len(labels):
        raise InputError("no labels given: name at least one file or folder")
    if isinstance(labels[0], InstanceBatch):
        instances, plans = cast("Labelled", labels)
        if len(instances) != len(plans) or not len(plans):
            raise InputError(f"{len(plans)} labels for {len(instances)} instances")
        check_labels("labels", instances, plans, np.ones(len(plans), dtype=bool))
        parts = [(instances, plans)]
    else:
        parts = [_read_file(path) for path in cast("Sequence[LabelPath]", labels)]
    for instances, _ in parts:
        instances.require_plain("training")  # joining the arrays loses everything else
    return parts


def _read_file(path: LabelPath) -> Labelled:
    instances, plans, labelled = load_labels(path)
    rows = np.flatnonzero(labelled)
    if not len(rows):
        raise InputError(f"{path} holds no label")
    return instances[rows], plans[rows]


def _check_size(instances: InstanceBatch, preset: Preset) -> None:
    """Raise InputError unless all instances have the same size, that of the preset."""
    facts = (instances.sizes, instances.capacity, instances.vehicles)
    sizes = np.unique(np.stack(facts, axis=1), axis=0)
    if len(sizes) > 1:
        listed = "; ".join(f"N={n}, Q={q}, M={m}" for n, q, m in sizes[:3])
        raise InputError(
            f"labels of different sizes for preset {preset.name!r}: {listed}; "
            'customers = "any" in the preset, or --set customers=any, takes them all'
        )
    if sizes[0, 0] != preset.customers:
        raise InputError(
            f"the labels have {sizes[0, 0]} customers, preset {preset.name!r} is for "
            f"{preset.customers}"
        )


def _split(labelled: Labelled, count: int) -> tuple[Labelled, Labelled]:
    """Return the labels to train on, and the last ``count`` labels, held out."""
    instances, plans = labelled
    if count >= len(plans):
        raise InputError(
            f"{count} of {len(plans)} labels are to be held out for validation: leave "
            "at least one to train on"
        )
    return (instances[:-count], plans[:-count]), (instances[-count:], plans[-count:])


def _join(parts: Sequence[Labelled]) -> Labelled:
    """Put labelled instances together, in the given order."""
    width = max(plans.routes.shape[1] for _, plans in parts)
    routes = [pad_routes(plans.routes, width) for _, plans in parts]
    instances = InstanceBatch.concatenate([batch for batch, _ in parts])
    return instances, PlanBatch(np.concatenate(routes))


def to_tensors(
    instances: InstanceBatch,
    plans: PlanBatch,
    device: torch.device | str,
    shape: tuple[int, int] | None = None,
) -> TrainingBatch:
    """
    Put labels on a device, padded to a shape of customers and vehicles.

    By default, these are the customers and vehicles of the largest instance.
    """
    features, units, capacity = collate(instances, shape=shape)  # scaled on the CPU
    routes = torch.from_numpy(_fit(instances, plans, shape))
    return TrainingBatch(
        Features(*(part.to(device) for part in features)),
        routes.to(device, torch.int32),
        units.to(device),
        capacity.to(device),
    )


def _fit(
    instances: InstanceBatch, plans: PlanBatch, shape: tuple[int, int] | None
) -> NDArray[np.int64]:
    """Pad routes to N + M entries, so that unused vehicles are zeros at the end."""
    width = sum(shape or (instances.num_customers, int(instances.vehicles.max())))
    padded = pad_routes(plans.routes, width)
    if padded[:, width:].any():  # possible with empty tours between others
        row = int(np.argmax(padded[:, width:].any(axis=1)))
        raise InputError(f"the label of row {row} has more than {width} entries")
    return np.ascontiguousarray(padded[:, :width], dtype=np.int64)


def _fingerprint(
    instances: InstanceBatch, plans: PlanBatch, shape: tuple[int, int] | None = None
) -> str:
    digest = hashlib.sha256(fingerprint(instances).encode())
    digest.update(_fit(instances, plans, shape).tobytes())
    return digest.hexdigest()[:16]


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

    A bucket with fewer labels than a batch has smaller batches.

    Parameters
    ----------
    labelled
        Instances and labels; each entry may have sizes and fleets of its own.
    device
        Where the tensors are to stay.
    batch_size, parts
        As in :class:`TrainConfig`.
    seed
        Seed of the choice of groups of tours.

    Raises
    ------
    InputError
        If an instance is larger than the last bucket.
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
        whole = _join(rows)
        count = len(whole[1])
        most = count - count % 8 or count  # also what several processes can share
        size = min(step_size(batch_size, shape), most)
        labels, printed = to_tensors(*whole, device, shape), _fingerprint(*whole, shape)
        buckets.append(Bucket(labels, size, printed))
    return buckets


def step_size(batch_size: int, shape: tuple[int, int]) -> int:
    """
    Return how many instances of this shape cost as much as a batch of the usual shape.
    """
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
    """Combine two seeds, so that trainings with similar seeds share no epoch."""
    return (seed * 1_000_003 + epoch * 7_919 + 12_345) % 2**63
