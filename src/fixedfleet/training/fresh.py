"""Labels made while training: instances are drawn, packed and searched."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np

from fixedfleet.errors import InputError, at_least, check_choice, check_settings
from fixedfleet.generate import default_fleet, uniform
from fixedfleet.labels.teacher import Teacher, get_teacher
from fixedfleet.plan import PlanBatch
from fixedfleet.training.dataset import make_dataset

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fixedfleet.training.dataset import Dataset
    from fixedfleet.training.ranks import Ranks

__all__ = ["Fresh", "FreshLabels"]

_CHUNK = 50_000  # rows that are drawn and labelled at a time, each chunk with its seed
_PER_CUSTOMER = 500  # default iterations of the teacher's search per customer
_HELD_OUT_SEED = 0x6865_6C64  # the same held-out rows for every training


@dataclass(frozen=True, kw_only=True)
class Fresh:
    """
    How labels are made while training.

    Parameters
    ----------
    count
        Number of labels to train on at a time.
    iterations
        Iterations of the teacher's search. Default: 500 per customer.
    renew
        Epochs after which new labels replace the old ones. Default: never.
    teacher
        ``gpu``, ``ruin_recreate`` (on one core), or a teacher object.
    capacity, vehicles
        Capacity and fleet. Default: those of the labels that are also trained on, or
        those that :func:`fixedfleet.generate.uniform` uses for this size.

    Raises
    ------
    InputError
        If a number is not whole or below 1, or the teacher is unknown.
    """

    count: Annotated[int, at_least(1)]
    iterations: Annotated[int, at_least(1)] | None = None
    renew: Annotated[int, at_least(1)] | None = None
    teacher: str | Teacher = "gpu"
    capacity: Annotated[int, at_least(1)] | None = None
    vehicles: Annotated[int, at_least(1)] | None = None

    def __post_init__(self) -> None:
        check_settings(self, "fresh ")
        if isinstance(self.teacher, str):
            check_choice("fresh teacher", self.teacher, ("gpu", "ruin_recreate"))
        elif self.iterations is not None:
            raise InputError(
                "fresh iterations are only for the teachers gpu and ruin_recreate"
            )

    def get_teacher(self, customers: int) -> Teacher:
        """Return the teacher for instances of this size."""
        if not isinstance(self.teacher, str):
            return self.teacher
        iterations = self.iterations or _PER_CUSTOMER * customers
        return get_teacher(self.teacher, iterations=iterations)


class FreshLabels:
    """
    Makes the labels of each round.

    The labels of a round follow from the seed of the training and the number of the
    round, so a resumed training has the same ones.

    Parameters
    ----------
    fresh
        How to make them.
    customers
        The size of the instances.
    ranks
        The processes of this training; each makes its share of the labels.
    seed
        The seed of the training.
    labels
        Labels that are trained on as well, in every round.

    Raises
    ------
    InputError
        If capacity and fleet are neither given nor known.
    MissingPackageError
        If the teacher's package is not installed.
    """

    def __init__(
        self,
        fresh: Fresh,
        customers: int,
        ranks: Ranks,
        seed: int,
        labels: Dataset | None = None,
    ) -> None:
        self.fresh, self.customers = fresh, customers
        self.ranks, self.seed = ranks, seed
        self.capacity, self.vehicles = _sizes(fresh, customers, labels)
        self.teacher = fresh.get_teacher(customers)
        self.fingerprint = self._describe(labels)

    def round_of(self, epoch: int) -> int:
        """Return the number of the round that an epoch belongs to."""
        return epoch // self.fresh.renew if self.fresh.renew else 0

    def held_out(self, count: int) -> Dataset:
        """Make the labels for validation, the same in every training of this size."""
        return self._label(count, np.random.SeedSequence(_HELD_OUT_SEED))

    def write_round(self, number: int, train: Dataset) -> dict[str, float]:
        """
        Write the labels of a round over the last rows of a dataset.

        Returns
        -------
        dict
            Number of the round, labels, seconds it took, and mean length.
        """
        begin, lengths = time.perf_counter(), []
        first = len(train) - self.fresh.count
        for index, start, stop in self._chunks(first):
            if index % self.ranks.world == self.ranks.rank:
                seeds = np.random.SeedSequence((self.seed % 2**64, number, index))
                rows = self._label(stop - start, seeds)
                train.write(start, rows)
                lengths.append(_mean_length(rows))
        for index, start, stop in self._chunks(first):
            for tensor in train.rows(start, stop).tensors().values():
                self.ranks.share(tensor, index % self.ranks.world)
        return {
            "round": number + 1,
            "labels": self.fresh.count,
            "seconds": time.perf_counter() - begin,
            "length": float(np.mean(lengths)) if lengths else float("nan"),
        }

    def _chunks(self, first: int) -> Iterator[tuple[int, int, int]]:
        """Yield number, start and stop of the chunks of rows from ``first`` on."""
        end = first + self.fresh.count
        for index, start in enumerate(range(first, end, _CHUNK)):
            yield index, start, min(start + _CHUNK, end)

    def _label(self, count: int, seeds: np.random.SeedSequence) -> Dataset:
        """Draw and label ``count`` instances; those without a plan are skipped."""
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
        return make_dataset(batch[found], plans, self.ranks.device)

    def _describe(self, labels: Dataset | None) -> str:
        """Name everything that the labels depend on, except the training's seed."""
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
    """Return capacity and fleet of the instances to draw."""
    if labels is not None:
        own = {"capacity": int(labels.capacity[0]), "vehicles": labels.vehicles}
        for name, value in own.items():
            if getattr(fresh, name) not in (None, value):
                raise InputError(
                    f"fresh {name} is {getattr(fresh, name)}, that of the labels "
                    f"{value}: leave it out"
                )
        return own["capacity"], own["vehicles"]
    return default_fleet(customers, fresh.capacity, fresh.vehicles)


def _mean_length(rows: Dataset) -> float:
    if rows.instances is None:
        return float("nan")
    plans = PlanBatch(rows.routes.cpu().numpy())
    return float(plans.lengths(rows.instances).mean())
