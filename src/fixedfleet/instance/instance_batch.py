"""Many instances as arrays, padded to the largest number of customers."""

from __future__ import annotations

import operator
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from fixedfleet.errors import LARGEST_WHOLE, InputError, between, check_array
from fixedfleet.instance.amounts import UNITS_BELOW, read_only
from fixedfleet.instance.instance import COORDINATES, WHOLE, Instance

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    Row = int | np.integer[Any]
    Rows = slice | Sequence[int] | NDArray[Any]

__all__ = ["InstanceBatch"]

_ARRAYS = ("depots", "customers", "demands", "capacity", "vehicles", "sizes")


class InstanceBatch:
    """
    Many instances as arrays, padded to the largest number of customers, N.

    The constructor takes arrays; such instances have unrounded Euclidean distances and
    whole-number demands. :meth:`of` builds a batch from instances with other distances
    and demands.

    An integer index gives an :class:`Instance`; a slice, a mask or an array of indices
    gives a batch. :meth:`concatenate` puts batches together.

    Parameters
    ----------
    depots
        Coordinates of the depots, shape (B, 2).
    customers
        Coordinates of the customers, shape (B, N, 2).
    demands
        Whole-number demands, shape (B, N).
    capacity
        Whole-number capacities, shape (B,), or one number for all instances.
    vehicles
        Numbers of vehicles, shape (B,), or one number for all instances.
    sizes
        Numbers of customers, shape (B,), or one number for all instances. Default: N.
        The entries after the last customer are padding: they have demand 0 and the
        place of the depot.

    Attributes
    ----------
    originals
        The instances that :meth:`of` was given; None if the batch was built from
        arrays. If an instance has decimal demands, the arrays hold its demands and
        capacity in whole units. If it has no coordinates, they hold zeros.
    """

    def __init__(
        self,
        *,
        depots: ArrayLike,
        customers: ArrayLike,
        demands: ArrayLike,
        capacity: ArrayLike,
        vehicles: ArrayLike,
        sizes: ArrayLike | None = None,
    ) -> None:
        self.originals: tuple[Instance, ...] | None = None
        self.depots = check_array("depots", depots, ("B", 2), COORDINATES)
        shape = (len(self.depots), "N", 2)
        self.customers = check_array("customers", customers, shape, COORDINATES)
        count, n, _ = self.customers.shape
        if n < 1:
            raise InputError("customers has N = 0: give at least one customer")
        bounds = between(0, LARGEST_WHOLE)
        whole = check_array("demands", demands, (count, n), bounds, whole=True)
        self.demands = whole.astype(np.int64)
        self.capacity = _per_instance("capacity", capacity, count)
        self.vehicles = _per_instance("vehicles", vehicles, count)
        self.sizes = _per_instance("sizes", n if sizes is None else sizes, count)
        if self.sizes.max(initial=1) > n:
            raise InputError(f"sizes has {self.sizes.max()}, customers has N = {n}")
        if (self.sizes < n).any():
            self._move_padding()
        for name in _ARRAYS:
            read_only(getattr(self, name))

    @classmethod
    def _of_checked(
        cls, arrays: dict[str, NDArray[Any]], originals: tuple[Instance, ...] | None
    ) -> InstanceBatch:
        """
        Return a batch of arrays that are known to be correct, without checking them.

        ``arrays`` has the parameters of the class by name; ``originals`` is its
        attribute.
        """
        batch = object.__new__(cls)
        batch.originals = originals
        for name in _ARRAYS:
            setattr(batch, name, read_only(np.ascontiguousarray(arrays[name])))
        return batch

    @classmethod
    def of(cls, instances: InstanceBatch | Iterable[Instance]) -> InstanceBatch:
        """
        Return a batch of the given instances; they may differ in size and distances.

        ``batch[row]`` is then the instance that was given. If ``instances`` is a batch,
        it is returned unchanged. Raise InputError for an instance with a mixed fleet,
        windows or shifts.
        """
        if isinstance(instances, InstanceBatch):
            return instances
        given = tuple(instances)
        for row, one in enumerate(given):
            if not isinstance(one, Instance):
                raise InputError(
                    f"instance {row} is a {type(one).__name__}, not an Instance"
                )
            one.require_plain("a batch of instances")
        sizes = np.array([one.num_customers for one in given], dtype=np.int64)
        points = np.zeros((len(given), int(sizes.max(initial=1)) + 1, 2))
        demands = np.zeros(points.shape[:2], dtype=np.int64)
        for row, one in enumerate(given):
            demands[row, : len(one.demand_units)] = one.demand_units
            if one.has_coordinates:
                points[row] = one.coordinates[0]
                points[row, : len(one.coordinates)] = one.coordinates
        # A capacity that exceeds all sums of demands may also exceed an int64.
        capacity = [min(one.capacity_units, UNITS_BELOW) for one in given]
        arrays = {
            "depots": points[:, 0],
            "customers": points[:, 1:],
            "demands": demands[:, 1:],
            "capacity": np.array(capacity, dtype=np.int64),
            "vehicles": np.array([one.vehicles for one in given], dtype=np.int64),
            "sizes": sizes,
        }
        return cls._of_checked(arrays, given)

    @classmethod
    def concatenate(cls, batches: Iterable[InstanceBatch]) -> InstanceBatch:
        """Return one batch of the instances of several batches, in their order."""
        parts = [part for part in batches if len(part)]
        if not parts or any(part.originals is not None for part in parts):
            return cls.of(instance for part in parts for instance in part)
        n = max(part.num_customers for part in parts)
        arrays: dict[str, Any] = {}
        for name in _ARRAYS:
            own = [getattr(part, name) for part in parts]
            if name in ("customers", "demands"):
                rest = [(0, 0)] * (own[0].ndim - 2)
                own = [np.pad(a, [(0, 0), (0, n - a.shape[1]), *rest]) for a in own]
            arrays[name] = np.concatenate(own)
        return cls(**arrays)

    def _move_padding(self) -> None:
        """Set the coordinates of the padding to those of the depot."""
        padding = np.arange(self.num_customers) >= self.sizes[:, None]  # (B, N)
        wrong = (self.demands * padding).any(axis=1)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise InputError(
                f"demands[{row}] has a demand behind its {self.sizes[row]} customers, "
                "the number that sizes gives"
            )
        self.customers[padding] = np.repeat(
            self.depots, self.num_customers - self.sizes, axis=0
        )

    def __len__(self) -> int:
        return len(self.depots)

    @overload
    def __getitem__(self, rows: Row) -> Instance: ...
    @overload
    def __getitem__(self, rows: Rows) -> InstanceBatch: ...
    def __getitem__(self, rows: Row | Rows) -> Instance | InstanceBatch:
        row: int | None = None
        with suppress(TypeError):  # rows is a slice or an array
            row = operator.index(rows)  # type: ignore[arg-type]
        if row is None:
            return self._take(rows)  # type: ignore[arg-type]
        if not -len(self) <= row < len(self):
            raise IndexError(f"instance {row} of {len(self)}")
        if self.originals is not None:
            return self.originals[row]
        n = int(self.sizes[row])
        return Instance(
            depot=self.depots[row],
            customers=self.customers[row, :n],
            demands=self.demands[row, :n],
            capacity=int(self.capacity[row]),
            vehicles=int(self.vehicles[row]),
        )

    def _take(self, rows: Rows) -> InstanceBatch:
        if self.originals is not None:
            return InstanceBatch.of(
                self.originals[row] for row in np.arange(len(self))[rows]
            )
        arrays = {name: getattr(self, name)[rows] for name in _ARRAYS}
        n = int(arrays["sizes"].max(initial=0)) or self.num_customers
        for name in ("customers", "demands"):
            arrays[name] = arrays[name][:, :n]
        return InstanceBatch._of_checked(arrays, None)

    def __iter__(self) -> Iterator[Instance]:
        return (self[row] for row in range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, InstanceBatch):
            return NotImplemented
        return list(self) == list(other)

    def __repr__(self) -> str:
        least, most = self.sizes.min(initial=self.num_customers), self.num_customers
        customers = f"{most}" if least == most else f"{least} to {most}"
        return f"InstanceBatch({len(self)} instances, {customers} customers)"

    @property
    def num_customers(self) -> int:
        """N, the number of customers of the largest instance."""
        return int(self.customers.shape[1])

    @cached_property
    def coordinates(self) -> NDArray[np.float64]:
        """Coordinates of depots and customers, shape (B, N + 1, 2)."""
        return np.concatenate((self.depots[:, None, :], self.customers), axis=1)

    @property
    def minimum_vehicles(self) -> NDArray[np.int64]:
        """⌈Σq/Q⌉ per instance, shape (B,), as in :attr:`Instance.minimum_vehicles`."""
        needed = -(-self.demands.sum(axis=1) // self.capacity)
        return np.asarray(np.maximum(1, needed))

    @cached_property
    def euclidean(self) -> NDArray[np.bool_]:
        """Mask of the instances with unrounded Euclidean distances, shape (B,)."""
        if self.originals is None:
            return np.ones(len(self), dtype=bool)
        kinds = [(one.metric, one.rounding) for one in self.originals]
        return np.array([kind == ("euclidean", "none") for kind in kinds], dtype=bool)

    def require_plain(self, what: str) -> None:
        """
        Raise InputError unless the arrays describe the instances completely.

        They do if all instances have N customers, unrounded Euclidean distances and
        whole-number demands. ``what`` is the subject of the message: what needs such
        instances.
        """
        if (self.sizes != self.num_customers).any():
            raise InputError(f"{what} needs instances with equally many customers")
        if not self.euclidean.all():
            row = int(np.argmin(self.euclidean))
            raise InputError(
                f"{what} needs unrounded Euclidean distances; instance {row} has "
                f"{self[row].metric} distances, rounding {self[row].rounding}"
            )
        for row, one in enumerate(self.originals or ()):
            if one.demands.dtype.kind != "i" or one.capacity != self.capacity[row]:
                raise InputError(
                    f"{what} needs whole-number demands and capacities below 2^53; "
                    f"instance {row} has others"
                )

    def with_vehicles(self, vehicles: ArrayLike) -> InstanceBatch:
        """Return the same instances with other numbers of vehicles."""
        if self.originals is None:
            arrays = {name: getattr(self, name) for name in _ARRAYS}
            return InstanceBatch(**arrays | {"vehicles": vehicles})
        fleets = _per_instance("vehicles", vehicles, len(self))
        pairs = zip(self.originals, fleets.tolist(), strict=True)
        return InstanceBatch.of(one.with_vehicles(fleet) for one, fleet in pairs)


def _per_instance(what: str, values: ArrayLike, count: int) -> NDArray[np.int64]:
    """
    Return whole numbers of at least 1 as an array of shape (count,), after a check.

    A single number is repeated for all instances. ``what`` is its name in messages.
    """
    given = np.asarray(values)
    if given.size == 1:
        given = np.broadcast_to(given, (count,))
    return check_array(what, given, (count,), WHOLE, whole=True).astype(np.int64)
