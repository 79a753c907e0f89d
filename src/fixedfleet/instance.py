"""An instance of the capacitated vehicle routing problem with a bounded fleet."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from fixedfleet.distances import Metric, Rounding, measure, round_distances
from fixedfleet.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    Locations = Sequence[int] | NDArray[np.integer[Any]]

__all__ = ["Instance", "InstanceBatch"]


# Amounts finer than this share of the capacity are rounded away, so that sums of
# amounts stay whole numbers that fit an int64: see `Instance.demand_units`.
_FINEST_SHARE = Decimal("1e-12")
# Farther places and longer distances than this might add up to infinity.
_FARTHEST = 1e300
_WITHIN = f" and within {_FARTHEST:g}"
# Above this a float is not every whole number.
_MOST = 2**53


@dataclass(frozen=True, eq=False, kw_only=True)
class Instance:
    """
    Customers with demands, a depot, and a fleet that cannot grow.

    Locations are numbered with the depot as 0 and the customers as 1 … N.

    Parameters
    ----------
    depot
        The depot's coordinates: ``(x, y)``, or ``(lat, lon)`` in degrees for the
        metrics ``great_circle`` and ``geo``. May be left out if ``matrix`` is given.
    customers
        Coordinates of the customers, shape (N, 2). May be left out with the depot.
    demands
        Demands of the customers, shape (N,): whole or decimal numbers, zero allowed.
    capacity
        What one vehicle carries.
    vehicles
        The number of vehicles there are. No plan may use more.
    matrix
        Explicit distances, shape (N + 1, N + 1), depot first; may be asymmetric.
    names
        Names of the customers, for output. Default: their numbers.
    name
        Name of the instance.
    metric
        How coordinates become distances: ``euclidean``; ``great_circle`` (kilometres
        on the sphere, from degrees); ``geo`` (the same by TSPLIB's formula, from
        TSPLIB's DDD.MM degrees); ``explicit`` where ``matrix`` is given.
    rounding
        What happens to each distance: ``none``, ``round`` (to the nearest whole
        number, as CVRPLIB does), ``ceil`` or ``trunc``.

    Raises
    ------
    InputError
        Where the input is wrong, with the place.
    """

    depot: NDArray[np.float64] | None = None
    customers: NDArray[np.float64] | None = None
    demands: NDArray[Any]
    capacity: float
    vehicles: int
    matrix: NDArray[np.float64] | None = None
    names: tuple[str, ...] | None = None
    name: str = ""
    metric: Metric = "euclidean"
    rounding: Rounding = "none"
    depot_name: str = "depot"

    if TYPE_CHECKING:  # anything array-like may be given

        def __init__(
            self,
            *,
            demands: ArrayLike,
            capacity: float,
            vehicles: int,
            depot: ArrayLike | None = None,
            customers: ArrayLike | None = None,
            matrix: ArrayLike | None = None,
            names: Sequence[str] | None = None,
            name: str = "",
            metric: Metric = "euclidean",
            rounding: Rounding = "none",
            depot_name: str = "depot",
        ) -> None: ...

    def __post_init__(self) -> None:
        _set(self, "capacity", _check_capacity(self.capacity))
        _set(self, "vehicles", _check_vehicles(self.vehicles))
        _set(self, "demands", _check_demands(self.demands))
        n = len(self.demands)

        if (self.depot is None) != (self.customers is None):
            given = "customers" if self.depot is None else "depot"
            raise InputError(
                f"only {given} has coordinates: give both depot and customers, or "
                "neither and a matrix"
            )
        if self.depot is not None:
            _set(self, "depot", _check_points("depot", [self.depot], 1)[0])
            _set(self, "customers", _check_points("customer", self.customers, n))
        _check_choice("metric", self.metric, get_args(Metric))
        _check_choice("rounding", self.rounding, get_args(Rounding))
        if self.matrix is not None:
            _set(self, "matrix", _check_matrix(self.matrix, n))
            _set(self, "metric", "explicit")
        elif self.depot is None:
            raise InputError("neither coordinates nor a distance matrix given")
        elif self.metric == "explicit":
            raise InputError("metric 'explicit' needs a distance matrix")
        if self.metric == "great_circle":
            _check_degrees(self.coordinates)

        _ = self.demand_units  # amounts too far apart are refused here
        if self.names is not None:
            _set(self, "names", tuple(str(name) for name in self.names))
            if len(self.names) != n:
                raise InputError(f"{len(self.names)} names given for {n} customers")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Instance):
            return NotImplemented
        return all(
            _same(getattr(self, field), getattr(other, field))
            for field in self.__dataclass_fields__
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        label = f"{self.name!r}, " if self.name else ""
        return (
            f"Instance({label}{self.num_customers} customers, {self.vehicles} vehicles "
            f"of capacity {self.capacity:g}, {self.metric} distances, "
            f"rounding {self.rounding})"
        )

    @property
    def num_customers(self) -> int:
        """The number of customers, N."""
        return len(self.demands)

    @cached_property
    def coordinates(self) -> NDArray[np.float64]:
        """Coordinates of depot and customers, shape (N + 1, 2)."""
        if self.depot is None or self.customers is None:
            raise InputError(
                f"instance {self.name!r} has a distance matrix and no coordinates"
            )
        return np.vstack((self.depot, self.customers))

    @property
    def has_coordinates(self) -> bool:
        """Whether the locations have coordinates (they need not, with a matrix)."""
        return self.depot is not None

    @cached_property
    def distances(self) -> NDArray[np.float64]:
        """All distances, shape (N + 1, N + 1), rounded as ``rounding`` says."""
        everything = np.arange(self.num_customers + 1)
        distances = self.between(everything[:, None], everything[None, :])
        np.fill_diagonal(distances, 0.0)
        distances.setflags(write=False)
        return distances

    def between(self, start: Locations, end: Locations) -> NDArray[np.float64]:
        """Distances from locations ``start`` to locations ``end``, elementwise."""
        start, end = np.asarray(start), np.asarray(end)
        if self.matrix is not None:
            return round_distances(self.matrix[start, end], self.rounding)
        points = self.coordinates
        return measure(points[start], points[end], self.metric, self.rounding)

    @cached_property
    def _units(self) -> tuple[NDArray[np.int64], int, Decimal]:
        return _to_units(self.demands, self.capacity)

    @property
    def demand_units(self) -> NDArray[np.int64]:
        """
        Demands as whole numbers of one unit, shape (N + 1,), the depot's being 0.

        Loads are summed and compared in these units, so 0.1 + 0.2 fits into 0.3. The
        unit is the power of ten in which every amount is whole, but never finer than
        the capacity's twelfth digit.
        """
        return self._units[0]

    @property
    def capacity_units(self) -> int:
        """The capacity in the unit of :attr:`demand_units`."""
        return self._units[1]

    def amount(self, units: int) -> int | float:
        """Turn a number of units back into an amount as the user gave it."""
        exact = Decimal(int(units)) * self._units[2]
        return int(exact) if exact == exact.to_integral_value() else float(exact)

    @property
    def minimum_vehicles(self) -> int:
        """⌈Σq/Q⌉: fewer vehicles cannot carry the demands, whatever the packing."""
        return max(1, -(-int(self.demand_units.sum()) // self.capacity_units))

    def name_of(self, customer: int) -> str:
        """Name of a location for output: the given name, else its number."""
        if customer == 0:
            return self.depot_name
        return self.names[customer - 1] if self.names else str(customer)

    def with_vehicles(self, vehicles: int) -> Instance:
        """Return the same instance with another number of vehicles."""
        return self._replace(vehicles=vehicles)

    def _replace(self, **changes: Any) -> Instance:
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return Instance(**(fields | changes))


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
            array = _numbers(name, getattr(self, name))
            if array.ndim != ndim or array.shape[-1] != 2:
                raise InputError(
                    f"{name} has shape {array.shape}, not "
                    f"{'(B, 2)' if ndim == 2 else '(B, N, 2)'}"
                )
            bad = np.argwhere(_too_far(array))
            if len(bad):
                raise InputError(f"{name}[{bad[0][0]}] is not finite{_WITHIN}")
            _set(self, name, _frozen(array))
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
        _set(self, "demands", _frozen(demands))
        for name in ("capacity", "vehicles"):
            whole = self._whole(name, getattr(self, name), least=1)
            if whole.shape not in ((), (1,), (size,)):
                raise InputError(f"{name} has shape {whole.shape}, not ({size},)")
            _set(self, name, _frozen(np.broadcast_to(whole, (size,))))

    @staticmethod
    def _whole(name: str, values: ArrayLike, least: int) -> NDArray[np.int64]:
        array = _numbers(name, values)
        inside = (least <= array) & (array < _MOST)
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
            _same(getattr(self, field), getattr(other, field))
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


def _set(instance: object, name: str, value: object) -> None:
    object.__setattr__(instance, name, value)


def _same(left: object, right: object) -> bool:
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        return bool(np.array_equal(left, right))
    return type(left) is type(right) and bool(left == right)


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array = array.copy()
    array.setflags(write=False)
    return array


def _numbers(what: str, values: ArrayLike) -> NDArray[np.float64]:
    try:
        array = np.asarray(values)
        if array.dtype.kind in "biufO":  # neither texts nor dates, though they convert
            return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    raise InputError(f"{what}: not numbers in the shape of a table without gaps")


def _too_far(array: NDArray[np.float64]) -> NDArray[np.bool_]:
    return ~(np.abs(array) <= _FARTHEST)  # also where it is not a number


def _check_choice(what: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        raise InputError(f"unknown {what} {value!r}: choose from {', '.join(choices)}")


def _check_capacity(capacity: Any) -> int | float:
    number = _numbers("capacity", capacity)
    if number.ndim or not np.isfinite(number) or number <= 0:
        raise InputError(f"capacity is {capacity!r}, not a number above 0")
    value = float(number)
    return int(value) if value.is_integer() else value


def _check_vehicles(vehicles: Any) -> int:
    number = _numbers("vehicles", vehicles)
    if number.ndim or not 1 <= number < _MOST or number % 1:
        raise InputError(
            f"vehicles is {vehicles!r}, not a whole number of at least 1 and below 2^53"
        )
    return int(number)


def _check_demands(demands: ArrayLike) -> NDArray[Any]:
    array = _numbers("demands", demands)
    if array.ndim != 1 or not len(array):
        raise InputError(
            f"demands has shape {array.shape}, not (N,) with one customer at least"
        )
    bad = np.flatnonzero(~np.isfinite(array) | (array < 0))
    if len(bad):
        raise InputError(
            f"customer {bad[0] + 1} has demand {array[bad[0]]:g}, not a number of at "
            "least 0"
        )
    if np.array_equal(array, np.floor(array)) and array.max() < _MOST:
        array = array.astype(np.int64)
    return _frozen(array)


def _check_points(what: str, points: Any, count: int) -> NDArray[np.float64]:
    array = _numbers(f"coordinates of {what}", points)
    if array.shape != (count, 2):
        found = array.shape[1:] if what == "depot" else array.shape
        wanted = "(2,)" if what == "depot" else f"({count}, 2), as there are demands"
        raise InputError(f"coordinates of {what} have shape {found}, not {wanted}")
    bad = np.argwhere(_too_far(array))
    if len(bad):
        number = "" if what == "depot" else f" {bad[0][0] + 1}"
        x, y = array[bad[0][0]]
        raise InputError(
            f"{what}{number} lies at ({x:g}, {y:g}), which is not finite{_WITHIN}"
        )
    return _frozen(array)


def _check_degrees(points: NDArray[np.float64]) -> None:
    for column, (what, limit) in enumerate((("latitude", 90), ("longitude", 180))):
        bad = np.flatnonzero(np.abs(points[:, column]) > limit)
        if len(bad):
            raise InputError(
                f"location {bad[0]} (0 is the depot) has {what} "
                f"{points[bad[0], column]:g}, not within ±{limit} degrees"
            )


def _check_matrix(matrix: ArrayLike, n: int) -> NDArray[np.float64]:
    array = _numbers("matrix", matrix)
    if array.shape != (n + 1, n + 1):
        raise InputError(
            f"matrix has shape {array.shape}, not ({n + 1}, {n + 1}): the depot and "
            f"{n} customers"
        )
    bad = np.argwhere(_too_far(array) | (array < 0))
    if len(bad):
        i, j = bad[0]
        raise InputError(
            f"matrix[{i}, {j}] is {array[i, j]:g}, not a distance of at least 0"
            f"{_WITHIN}"
        )
    return _frozen(array)


def _to_units(
    demands: NDArray[Any], capacity: float
) -> tuple[NDArray[np.int64], int, Decimal]:
    """Scale amounts to whole numbers: demands with the depot's, capacity, unit."""
    whole = demands.dtype.kind == "i" and isinstance(capacity, int)
    if whole and float(demands.sum(dtype=float)) < 2**62:
        return (
            _frozen(np.append(0, demands).astype(np.int64)),
            int(capacity),
            Decimal(1),
        )
    exact = [Decimal(repr(float(q))) for q in demands]
    bound = Decimal(repr(float(capacity)))
    finest = (bound * _FINEST_SHARE).adjusted()
    exponents = [int(q.normalize().as_tuple().exponent) for q in (*exact, bound)]
    unit = Decimal(1).scaleb(max(min(*exponents, 0), finest))  # 1, 0.1, 0.01, …
    units = [0, *(int((q / unit).to_integral_value()) for q in exact)]
    if sum(units) >= 2**62:
        raise InputError(
            f"the largest demand, {max(exact)}, and the capacity, {bound}, are too far "
            "apart to be summed exactly"
        )
    return (
        _frozen(np.array(units, dtype=np.int64)),
        int((bound / unit).to_integral_value()),
        unit,
    )
