"""
Labels as tensors, sorted by size into buckets.

The labels of a bucket are padded to one shape, so that they can be batched.
"""

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

# The shapes of the buckets: numbers of customers and vehicles that instances are padded
# to. Depot, customers and vehicles together are a multiple of 8, because attention is
# then fast on a GPU.
SHAPES = ((23, 8), (55, 16), (103, 24), (207, 72))
# ``training.batch_size`` is meant for (103, 24): with the depot, this many elements.
_REFERENCE = 128


class TrainingBatch(NamedTuple):
    """
    Instances and their labels as tensors: one batch, or all labels of a bucket.

    Attributes
    ----------
    features
        The input of the network.
    routes
        The labels: the customers of each plan with a 0 after each tour, then zeros,
        shape (B, N + M).
    units, capacity
        Demands and capacities as whole numbers, shapes (B, N') and (B,).
    """

    features: Features
    routes: Tensor
    units: Tensor
    capacity: Tensor

    def take(self, rows: Tensor) -> TrainingBatch:
        """Return the rows with these numbers as a batch."""
        features = Features(*(part[rows] for part in self.features))
        return TrainingBatch(
            features, self.routes[rows], self.units[rows], self.capacity[rows]
        )


class Bucket(NamedTuple):
    """
    Labels of similar size that are padded to the same shape.

    Attributes
    ----------
    labels
        The instances and their labels.
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
        """The number of whole batches in an epoch."""
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
        The instances held out for validation, and their labels.
    labels
        The number of labels to train on. The buckets may also have smaller instances,
        each made from a group of tours of one of these labels.
    """

    buckets: list[Bucket]
    held_out: Labelled
    labels: int

    def __len__(self) -> int:
        """
        Return the number of instances to train on.

        Each group of tours that is used as an additional label counts as one instance.
        """
        return sum(bucket.size for bucket in self.buckets)

    @property
    def groups(self) -> int:
        """
        The number of instances to train on that are made from groups of tours.

        The tours of a group are tours of one label; see
        :func:`fixedfleet.training.label_groups.tour_groups`.
        """
        return len(self) - self.labels

    @property
    def fingerprint(self) -> str:
        """A hash of the labels to train on: equal data has equal fingerprints."""
        return " ".join(bucket.fingerprint for bucket in self.buckets)

    def batches(
        self, epoch: int, seed: int, ranks: Ranks, first: int
    ) -> Iterator[tuple[int, Tensor, Tensor]]:
        """
        Yield this process's share of each batch of an epoch, in a random order.

        This generator yields tuples: the number of the bucket, the rows of the labels
        in this bucket, and for each row a random code by which the instance is rotated
        or mirrored.

        Parameters
        ----------
        epoch, seed
            The number of the epoch, and the seed of the training. Together they
            determine the order.
        ranks
            The processes that share the batches.
        first
            How many batches to skip at the beginning, when a training is resumed.
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
    Read and check labels, and return them as tensors on the device.

    The last labels are held out for validation. If the preset is for instances of all
    sizes, the last labels of each file are held out.

    Raises
    ------
    InputError
        If a file cannot be read, or the labels do not suit the preset.
    """
    config = preset.training
    if config.parts and preset.customers is not None:
        raise InputError(
            "training.parts needs labels of all sizes: set customers=any, or "
            "training.parts=0"
        )
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
    """
    Return the labelled instances and their plans, one pair per file.

    Instances without a label are skipped. InputError is raised if a label is not valid.
    """
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
        # Joining arrays below would lose distance matrices and other extra data.
        instances.require_plain("training")
    return parts


def _read_file(path: LabelPath) -> Labelled:
    instances, plans, labelled = load_labels(path)
    rows = np.flatnonzero(labelled)
    if not len(rows):
        raise InputError(f"{path} holds no label")
    return instances[rows], plans[rows]


def _check_size(instances: InstanceBatch, preset: Preset) -> None:
    """
    Raise InputError unless all instances have the preset's number of customers.

    All instances must also have the same capacity and the same number of vehicles.
    """
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
    """
    Return the labels to train on, and the last ``count`` labels for validation.

    InputError is raised if no label is left to train on.
    """
    instances, plans = labelled
    if count >= len(plans):
        raise InputError(
            f"{count} of {len(plans)} labels are to be held out for validation: leave "
            "at least one to train on"
        )
    return (instances[:-count], plans[:-count]), (instances[-count:], plans[-count:])


def _join(parts: Sequence[Labelled]) -> Labelled:
    """Return several batches of labelled instances as one batch, in the given order."""
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
    Return labelled instances as tensors on a device.

    They are padded to ``shape``, a pair of the number of customers and the number of
    vehicles. By default, these are the largest numbers among the instances.
    """
    features, units, capacity = collate(instances, shape=shape)
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
    """
    Return the routes of plans, padded with zeros to N + M entries.

    So each unused vehicle has a 0 at the end. ``shape`` is as in :func:`to_tensors`.
    InputError is raised if a plan has more entries.
    """
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
    Return labels as buckets: each bucket holds labels of similar size.

    With ``parts``, groups of tours of the labels are added as labels of their own. If a
    bucket has fewer labels than a batch should have, its batches are smaller.

    Parameters
    ----------
    labelled
        Pairs of instances and plans. Sizes and fleets may differ.
    device
        The device of the tensors.
    batch_size, parts
        As in :class:`TrainConfig`.
    seed
        Seed of the choice of groups of tours.

    Raises
    ------
    InputError
        If an instance is too large for the last bucket.
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
        # A multiple of 8 can be shared evenly by 2, 4 or 8 processes.
        most = count - count % 8 or count
        size = min(step_size(batch_size, shape), most)
        labels, printed = to_tensors(*whole, device, shape), _fingerprint(*whole, shape)
        buckets.append(Bucket(labels, size, printed))
    return buckets


def step_size(batch_size: int, shape: tuple[int, int]) -> int:
    """
    Return the number of instances per step for instances of this shape.

    It is a multiple of 8. A step takes about as long as a step with ``batch_size``
    instances of 100 customers. ``shape`` is a pair of the number of customers and the
    number of vehicles.
    """
    elements = 1 + sum(shape)
    size: float = batch_size * (_REFERENCE / elements) ** 1.5
    return max(8, 8 * round(size / 8))


def _sort(
    instances: InstanceBatch, plans: PlanBatch, buckets: Sequence[list[Labelled]]
) -> None:
    """
    Append each labelled instance to the first bucket that it fits into.

    InputError is raised if an instance fits into no bucket.
    """
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
    """
    Return the seed of the random numbers of an epoch.

    It is computed such that trainings with similar seeds have no epoch seed in common.
    """
    return (seed * 1_000_003 + epoch * 7_919 + 12_345) % 2**63
