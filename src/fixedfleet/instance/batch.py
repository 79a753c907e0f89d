"""Instances of one size, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from fixedfleet.errors import InputError
from fixedfleet.instance.checks import (
    MOST,
    WITHIN,
    frozen,
    numbers,
    same,
    set_field,
    too_far,
)
from fixedfleet.instance.single import Instance

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

__all__ = ["InstanceBatch"]


@dataclass(frozen=True, eq=False, kw_only=True)
class InstanceBatch:
    """
    Equal-sized instances with exact Euclidean distances, as arrays.

    Parameters
    ----------
    depots
        Coordinates of the depots, shape (B, 2).
    customers
        Coordinates of the customers, shape (B, N, 2).
    demands
        Whole-number demands, shape (B, N).
    capacity
        Whole-number capacities, shape (B,), or one for all.
    vehicles
        Fleets, shape (B,), or one for all.
    """

    depots: NDArray[np.float64]
    customers: NDArray[np.float64]
    demands: NDArray[np.int64]
    capacity: NDArray[np.int64]
    vehicles: NDArray[np.int64]

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            depots: ArrayLike,
            customers: ArrayLike,
            demands: ArrayLike,
            capacity: ArrayLike,
            vehicles: ArrayLike,
        ) -> None: ...

    def __post_init__(self) -> None:
        for name, ndim in (("depots", 2), ("customers", 3)):
            array = numbers(name, getattr(self, name))
            if array.ndim != ndim or array.shape[-1] != 2:
                raise InputError(
                    f"{name} has shape {array.shape}, not "
                    f"{'(B, 2)' if ndim == 2 else '(B, N, 2)'}"
                )
            bad = np.argwhere(too_far(array))
            if len(bad):
                raise InputError(f"{name}[{bad[0][0]}] is not finite{WITHIN}")
            set_field(self, name, frozen(array))
        size = len(self.depots)
        if self.customers.shape[0] != size or self.customers.shape[1] < 1:
            raise InputError(
                f"customers has shape {self.customers.shape} for {size} depots"
            )
        demands = self._whole("demands", self.demands, least=0)
        if demands.shape != self.customers.shape[:2]:
            raise InputError(
                f"demands has shape {demands.shape}, customers {self.customers.shape}"
            )
        set_field(self, "demands", frozen(demands))
        for name in ("capacity", "vehicles"):
            whole = self._whole(name, getattr(self, name), least=1)
            if whole.shape not in ((), (1,), (size,)):
                raise InputError(f"{name} has shape {whole.shape}, not ({size},)")
            set_field(self, name, frozen(np.broadcast_to(whole, (size,))))

    @staticmethod
    def _whole(name: str, values: ArrayLike, least: int) -> NDArray[np.int64]:
        array = numbers(name, values)
        inside = (least <= array) & (array < MOST)
        bad = ~inside | (array != np.floor(array))
        if bad.any():
            where = tuple(int(i) for i in np.argwhere(bad)[0])
            place = f"[{', '.join(map(str, where))}]" if where else ""
            raise InputError(
                f"{name}{place} is {array[where]:g}, not a whole number of at least "
                f"{least} and below 2^53"
            )
        return array.astype(np.int64)

    def __len__(self) -> int:
        return len(self.depots)

    def __getitem__(self, index: int) -> Instance:
        if not -len(self) <= index < len(self):
            raise IndexError(f"instance {index} of {len(self)}")
        return Instance(
            depot=self.depots[index],
            customers=self.customers[index],
            demands=self.demands[index],
            capacity=int(self.capacity[index]),
            vehicles=int(self.vehicles[index]),
        )

    def __iter__(self) -> Iterator[Instance]:
        return (self[index] for index in range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, InstanceBatch):
            return NotImplemented
        return all(
            same(getattr(self, field), getattr(other, field))
            for field in self.__dataclass_fields__
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def num_customers(self) -> int:
        """The number of customers of each instance, N."""
        return int(self.customers.shape[1])

    @cached_property
    def coordinates(self) -> NDArray[np.float64]:
        """Coordinates of depots and customers, shape (B, N + 1, 2)."""
        return np.concatenate((self.depots[:, None, :], self.customers), axis=1)

    def take(self, rows: NDArray[Any] | slice) -> InstanceBatch:
        """Return the instances of the given rows (indices, a mask or a slice)."""
        return InstanceBatch(
            depots=self.depots[rows],
            customers=self.customers[rows],
            demands=self.demands[rows],
            capacity=self.capacity[rows],
            vehicles=self.vehicles[rows],
        )

    def with_vehicles(self, vehicles: ArrayLike) -> InstanceBatch:
        """Return the same instances with other fleets."""
        return InstanceBatch(
            depots=self.depots,
            customers=self.customers,
            demands=self.demands,
            capacity=self.capacity,
            vehicles=vehicles,
        )
