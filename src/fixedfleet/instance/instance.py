"""One instance of the capacitated vehicle routing problem with a bounded fleet."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from fixedfleet.distances import (
    LengthUnit,
    Metric,
    Rounding,
    measure,
    round_distances,
)
from fixedfleet.errors import (
    LARGEST_WHOLE,
    InputError,
    above,
    at_least,
    between,
    check_array,
    check_choice,
    check_number,
    check_whole,
)
from fixedfleet.instance.amounts import read_only, to_units

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from fractions import Fraction

    from numpy.typing import ArrayLike, NDArray

    Locations = Sequence[int] | NDArray[np.integer[Any]]

__all__ = ["COORDINATES", "WHOLE", "Instance"]

# The sum of larger coordinates or distances could be infinite.
COORDINATES = between(-1e300, 1e300)
_DISTANCES = between(0, 1e300)
WHOLE = between(1, LARGEST_WHOLE)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Instance:
    """
    Customers with demands, a depot, and a fleet that cannot grow.

    Locations are numbered: the depot is 0, the customers are 1 … N.

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
        The largest load of one vehicle.
    vehicles
        The number of vehicles. No plan may use more.
    matrix
        Explicit distances, shape (N + 1, N + 1), depot first; may be asymmetric.
    names
        Names of the customers, for output. Default: their numbers.
    name
        Name of the instance.
    metric
        How coordinates become distances: ``euclidean``; ``great_circle`` (kilometres
        on the sphere, from degrees); ``geo`` (the same by TSPLIB's formula, from
        TSPLIB's DDD.MM degrees); ``explicit`` if ``matrix`` is given.
    rounding
        What happens to each distance: ``none``, ``round`` (to the nearest whole
        number, as CVRPLIB does), ``ceil`` or ``trunc``.
    depot_name
        Name of the depot, for output.
    unit
        Name of the unit of demands and capacity, such as "kg", for output.
    length_unit
        ``km`` or ``mi``. Great-circle distances are measured in it (default: km).
        Other distances stay as they are; there it is a name for output.
    columns
        Further columns of the customers' table, such as phone numbers, for output: the
        texts of depot and customers, N + 1, by the heading of the column.

    Raises
    ------
    InputError
        If the input is wrong; the message says what and where.
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
    unit: str = ""
    length_unit: LengthUnit = ""
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    if TYPE_CHECKING:  # the arguments may be anything array-like

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
            unit: str = "",
            length_unit: LengthUnit = "",
            columns: Mapping[str, Sequence[str]] | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        capacity = check_number("capacity", self.capacity, above(0))
        _set_field(
            self, "capacity", int(capacity) if capacity.is_integer() else capacity
        )
        _set_field(self, "vehicles", check_whole("vehicles", self.vehicles, WHOLE))
        _set_field(self, "demands", _check_demands(self.demands))
        check_choice("metric", self.metric, get_args(Metric))
        check_choice("rounding", self.rounding, get_args(Rounding))
        check_choice("length unit", self.length_unit, get_args(LengthUnit))
        self._check_locations()
        _ = self._units  # raises if the demands cannot be summed exactly
        if self.names is not None:
            _set_field(self, "names", tuple(str(name) for name in self.names))
            if len(self.names) != self.num_customers:
                raise InputError(
                    f"{len(self.names)} names given for {self.num_customers} customers"
                )
        _set_field(
            self, "columns", _check_columns(self.columns, self.num_customers + 1)
        )

    def _check_locations(self) -> None:
        n = self.num_customers
        if (self.depot is None) != (self.customers is None):
            given = "customers" if self.depot is None else "depot"
            raise InputError(
                f"only {given} has coordinates: give both depot and customers, or "
                "neither and a matrix"
            )
        if self.depot is not None:
            depot = check_array("depot", self.depot, (2,), COORDINATES)
            customers = check_array("customers", self.customers, (n, 2), COORDINATES)
            _set_field(self, "depot", read_only(depot))
            _set_field(self, "customers", read_only(customers))
        if self.matrix is not None:
            size = (n + 1, n + 1)
            matrix = check_array("matrix", self.matrix, size, _DISTANCES)
            _set_field(self, "matrix", read_only(matrix))
            _set_field(self, "metric", "explicit")
        elif self.depot is None:
            raise InputError("neither coordinates nor a distance matrix given")
        elif self.metric == "explicit":
            raise InputError("metric 'explicit' needs a distance matrix")
        elif self.metric == "great_circle":
            _check_degrees(self.coordinates)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Instance):
            return NotImplemented
        names = [known.name for known in fields(self)]
        return all(_same(getattr(self, name), getattr(other, name)) for name in names)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        label = f"{self.name!r}, " if self.name else ""
        return (
            f"Instance({label}{self.num_customers} customers, {self.vehicles} vehicles "
            f"of capacity {self.capacity:g}, {self.metric} distances, "
            f"rounding {self.rounding})"
        )

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the facts, and a map if there is one."""
        from fixedfleet.notebook import draw_map, make_table

        facts = {
            "customers": self.num_customers,
            "vehicles": self.vehicles,
            "capacity": self.capacity,
            "demand": self.amount(int(self.demand_units.sum())),
            "distances": f"{self.metric}, rounding {self.rounding}",
        }
        table = make_table(["instance", self.name], facts.items())
        if not self.has_coordinates:
            return table
        return table + draw_map(self.coordinates, self.metric)

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
        return read_only(np.vstack((self.depot, self.customers)))

    @property
    def has_coordinates(self) -> bool:
        """Whether the locations have coordinates; optional if there is a matrix."""
        return self.depot is not None

    @property
    def geographic(self) -> bool:
        """Whether coordinates are (latitude, longitude), in degrees."""
        return self.metric in ("great_circle", "geo")

    @cached_property
    def distances(self) -> NDArray[np.float64]:
        """All distances, shape (N + 1, N + 1), rounded by the ``rounding``."""
        everything = np.arange(self.num_customers + 1)
        distances = self.between(everything[:, None], everything[None, :])
        np.fill_diagonal(distances, 0.0)
        return read_only(distances)

    def between(self, start: Locations, end: Locations) -> NDArray[np.float64]:
        """Return the distances from locations to other locations, elementwise."""
        start, end = np.asarray(start), np.asarray(end)
        if self.matrix is not None:
            return round_distances(self.matrix[start, end], self.rounding)
        points, unit = self.coordinates, self.length_unit
        return measure(points[start], points[end], self.metric, self.rounding, unit)

    @cached_property
    def _units(self) -> tuple[NDArray[np.int64], int, Fraction]:
        return to_units(self.demands, self.capacity)

    @property
    def demand_units(self) -> NDArray[np.int64]:
        """
        Demands as whole numbers of one unit, shape (N + 1,); the depot's is 0.

        Loads are summed and compared in these units, so that demands of 0.1 and 0.2 fit
        into a capacity of 0.3. The unit is 1 for whole numbers, otherwise the power of
        ten in which every amount is whole, but not finer than the capacity's twelfth
        digit (the seventh, if all demands are numbers of 32 bits). Demands that were
        divided by their capacity, such as 1/3 of 1, are recognised: then the unit is
        the capacity divided by a whole number.
        """
        return self._units[0]

    @property
    def capacity_units(self) -> int:
        """The capacity in the unit of :attr:`demand_units`."""
        return self._units[1]

    def amount(self, units: int) -> int | float:
        """Return the amount, as the user would write it, of a number of units."""
        exact = int(units) * self._units[2]
        return int(exact) if exact.denominator == 1 else float(exact)

    @property
    def minimum_vehicles(self) -> int:
        """⌈Σq/Q⌉: a fleet with fewer vehicles cannot carry all demands."""
        return max(1, -(-int(self.demand_units.sum()) // self.capacity_units))

    def name_of(self, customer: int) -> str:
        """Return the name of a location for output: the given name, or its number."""
        if customer == 0:
            return self.depot_name
        return self.names[customer - 1] if self.names else str(customer)

    def label_of(self, customer: int) -> str:
        """Return the name of a location, with its number if others share the name."""
        name = self.name_of(customer)
        return f"{name} ({customer})" if (self.names or ()).count(name) > 1 else name

    def with_vehicles(self, vehicles: int) -> Instance:
        """Return the same instance with another number of vehicles."""
        return replace(self, vehicles=vehicles)

    def with_customers(self, customers: Sequence[int]) -> Instance:
        """Return the instance with these customers only, numbered in this order."""
        places, rows = [0, *customers], np.array(customers) - 1
        names, matrix = self.names, self.matrix
        return replace(
            self,
            customers=None if self.customers is None else self.customers[rows],
            demands=self.demands[rows],
            matrix=None if matrix is None else matrix[np.ix_(places, places)],
            names=None if names is None else tuple(names[row] for row in rows),
            columns={
                heading: tuple(texts[place] for place in places)
                for heading, texts in self.columns.items()
            },
        )

    def without(self, customers: Iterable[int]) -> Instance:
        """
        Return the instance without some customers; the others are renumbered.

        Raises
        ------
        InputError
            If a customer does not exist, or if no customer is left.
        """
        unwanted, everybody = set(customers), range(1, self.num_customers + 1)
        if unknown := sorted(unwanted - set(everybody)):
            raise InputError(
                f"there is no customer {unknown[0]}, only 1 to {self.num_customers}"
            )
        if not (kept := [c for c in everybody if c not in unwanted]):
            raise InputError("all customers are left out: keep at least one")
        return self.with_customers(kept)


def _same(left: Any, right: Any) -> bool:
    arrays = isinstance(left, np.ndarray) or isinstance(right, np.ndarray)
    return bool(np.array_equal(left, right) if arrays else left == right)


def _set_field(instance: object, name: str, value: object) -> None:
    """Set a field of a frozen dataclass."""
    object.__setattr__(instance, name, value)


def _check_demands(demands: ArrayLike) -> NDArray[Any]:
    """Return demands of at least 0, as integers if all are whole."""
    array = check_array("demands", demands, ("N",), at_least(0))
    if not len(array):
        raise InputError("demands is empty: give at least one customer")
    if np.array_equal(array, np.floor(array)) and array.max() <= LARGEST_WHOLE:
        array = array.astype(np.int64)
    return read_only(array)


def _check_degrees(points: NDArray[np.float64]) -> None:
    """Raise InputError if a location, shape (N + 1, 2), is not on the globe."""
    for column, (what, limit) in enumerate((("latitude", 90), ("longitude", 180))):
        outside = np.flatnonzero(np.abs(points[:, column]) > limit)
        if len(outside):
            raise InputError(
                f"location {outside[0]} (0 is the depot) has {what} "
                f"{points[outside[0], column]:g}, not within ±{limit} degrees"
            )


def _check_columns(columns: Any, size: int) -> dict[str, tuple[str, ...]]:
    """Return further columns of a table; each has a text for every location."""
    checked = {
        str(heading): tuple(str(text) for text in texts)
        for heading, texts in (columns or {}).items()
    }
    for heading, texts in checked.items():
        if len(texts) != size:
            raise InputError(
                f"column {heading!r} has {len(texts)} texts for {size} locations "
                "(the depot counts)"
            )
    return checked
