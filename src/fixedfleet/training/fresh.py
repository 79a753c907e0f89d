"""Labels made while training: instances drawn, packed and searched on the device."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from fixedfleet.errors import InputError, check_whole
from fixedfleet.generate import PRESETS, uniform
from fixedfleet.plan import PlanBatch
from fixedfleet.training.dataset import make_dataset

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fixedfleet.labels.teacher import Teacher
    from fixedfleet.training.dataset import Dataset
    from fixedfleet.training.processes import Processes

__all__ = ["Fresh", "FreshData"]

_CHUNK = 50_000  # rows that are drawn and labelled at a time, each from a seed
_PER_CUSTOMER = 500  # iterations, unless told
_HELD_OUT = 0x6865_6C64  # seed of the rows held out, whatever the training's seed


@dataclass(frozen=True, kw_only=True)
class Fresh:
    """
    The recipe of labels that are made while training.

    Parameters
    ----------
    count
        Labels to train on at a time.
    iterations
        Iterations of the teacher's search; 500 a customer if left out.
    renew
        Epochs after which new labels take the place of the old; None for never.
    teacher
        ``gpu``, ``ruin_recreate`` (on one core), or a teacher of yours.
    capacity, vehicles
        Capacity and fleet; if left out, those of the labels trained on besides, or
        those that :func:`fixedfleet.generate.uniform` knows.

    Raises
    ------
    InputError
        If a number is not whole or below 1, or there is no such teacher.
    """

    count: int
    iterations: int | None = None
    renew: int | None = None
    teacher: str | Teacher = "gpu"
    capacity: int | None = None
    vehicles: int | None = None

    def __post_init__(self) -> None:
        for name in ("count", "iterations", "renew", "capacity", "vehicles"):
            value = getattr(self, name)
            if value is not None or name == "count":
                check_whole(f"fresh {name}", value, least=1)
        if isinstance(self.teacher, str):
            if self.teacher not in ("gpu", "ruin_recreate"):
                raise InputError(
                    f"fresh teacher is {self.teacher!r}: choose from gpu, ruin_recreate"
                )
        elif self.iterations is not None:
            raise InputError("fresh iterations are for a teacher that is named")

    def get_teacher(self, customers: int) -> Teacher:
        """Return the teacher for instances of this size."""
        if not isinstance(self.teacher, str):
            return self.teacher
        from fixedfleet.labels.teacher import get_teacher

        iterations = self.iterations or _PER_CUSTOMER * customers
        return get_teacher(self.teacher, iterations=iterations)


class FreshData:
    """
    Rows that new ones replace, round by round; a :class:`TrainingData`.

    A round's rows depend on the training's seed and the round's number alone, so that
    a training that is resumed has them again. Those held out stay the same.

    Parameters
    ----------
    fresh
        The recipe.
    customers
        The size of the instances.
    validation
        Rows to be held out.
    processes
        Where to train; each process makes its share of the rows.
    seed
        The training's seed.
    labels
        Rows to train on besides, in every round; the last of them are held out.

    Raises
    ------
    InputError
        If capacity and fleet are not known, or too few instances are packed.
    MissingPackageError
        If the teacher's package is not installed.
    """

    def __init__(
        self,
        fresh: Fresh,
        customers: int,
        validation: int,
        processes: Processes,
        seed: int,
        labels: Dataset | None = None,
    ) -> None:
        self.fresh, self.customers, self.seed = fresh, customers, seed
        self.processes = processes
        self.capacity, self.vehicles = _sizes(fresh, customers, labels)
        self.teacher = fresh.get_teacher(customers)
        self.fingerprint = self._recipe(labels)
        if labels is not None:
            kept, self.held_out = labels.split(validation)
        else:
            self.held_out = self._label(validation, np.random.SeedSequence(_HELD_OUT))
            kept = self.held_out.rows(0, 0)
        self.first, self.round = len(kept), -1
        try:
            self.train = kept.with_room(fresh.count, self.fingerprint)
        except torch.cuda.OutOfMemoryError as error:
            raise InputError(
                f"{fresh.count} fresh labels do not fit into the memory of "
                f"{processes.device}: ask for fewer"
            ) from error

    def renew(self, epoch: int) -> dict[str, float] | None:
        """Make the rows of an epoch's round, unless they are there."""
        number = epoch // self.fresh.renew if self.fresh.renew else 0
        if number == self.round:
            return None
        begin, lengths = time.perf_counter(), []
        for index, start, stop in self._chunks():
            if index % self.processes.world == self.processes.rank:
                seeds = np.random.SeedSequence((self.seed % 2**64, number, index))
                rows = self._label(stop - start, seeds)
                self.train.write(start, rows)
                lengths.append(_mean_length(rows))
        for index, start, stop in self._chunks():
            for tensor in self.train.rows(start, stop).tensors().values():
                self.processes.share(tensor, index % self.processes.world)
        self.round = number
        return {
            "round": number + 1,
            "labels": self.fresh.count,
            "seconds": time.perf_counter() - begin,
            "length": float(np.mean(lengths)) if lengths else float("nan"),
        }

    def _chunks(self) -> Iterator[tuple[int, int, int]]:
        """Number, first and last row of each part that has a seed of its own."""
        end = self.first + self.fresh.count
        for index, start in enumerate(range(self.first, end, _CHUNK)):
            yield index, start, min(start + _CHUNK, end)

    def _label(self, count: int, seeds: np.random.SeedSequence) -> Dataset:
        """Draw and label so many instances; those without a plan are passed over."""
        for_instances, for_teacher = seeds.generate_state(2)
        batch = uniform(
            self.customers,
            count + count // 50 + 32,
            seed=int(for_instances),
            capacity=self.capacity,
            vehicles=self.vehicles,
        )
        rng = np.random.default_rng(int(for_teacher))
        of_rows = rng.integers(2**31, size=len(batch))
        routes, labelled = self.teacher.label_many(batch, of_rows)
        found = np.flatnonzero(labelled)[:count]
        if len(found) < count:
            raise InputError(
                f"{self.teacher.name} found plans for {len(found)} of {len(batch)} "
                f"instances, {count} are wanted: give more than {self.vehicles} "
                f"vehicles or a capacity above {self.capacity}"
            )
        plans = PlanBatch(routes[found].astype(np.int64))
        return make_dataset(batch.take(found), plans, self.processes.device)

    def _recipe(self, labels: Dataset | None) -> str:
        """Everything the rows depend on, but for the training's seed."""
        parts = [
            f"{self.fresh.count} fresh of {self.customers} customers",
            f"Q={self.capacity}",
            f"M={self.vehicles}",
            f"by {self.teacher.name} {json.dumps(dict(self.teacher.settings()))}",
        ]
        if self.fresh.renew:
            parts.append(f"new every {self.fresh.renew} epochs")
        if labels is not None:
            parts.append(f"besides {labels.fingerprint}")
        return ", ".join(parts)


def _sizes(fresh: Fresh, customers: int, labels: Dataset | None) -> tuple[int, int]:
    """Capacity and fleet of the instances to draw."""
    if labels is not None:
        own = {"capacity": int(labels.capacity[0]), "vehicles": labels.vehicles}
        for name, value in own.items():
            if getattr(fresh, name) not in (None, value):
                raise InputError(
                    f"fresh {name} is {getattr(fresh, name)}, that of the labels "
                    f"{value}: leave it out"
                )
        return own["capacity"], own["vehicles"]
    known = PRESETS.get(customers)
    if known is not None:
        return fresh.capacity or known.capacity, fresh.vehicles or known.vehicles
    if fresh.capacity is None or fresh.vehicles is None:
        raise InputError(
            f"no capacity and fleet are known for {customers} customers: give both "
            "for the fresh labels"
        )
    return fresh.capacity, fresh.vehicles


def _mean_length(rows: Dataset) -> float:
    if rows.instances is None:
        return float("nan")
    plans = PlanBatch(rows.routes.cpu().numpy())
    return float(plans.lengths(rows.instances).mean())
