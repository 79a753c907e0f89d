"""An instance of the capacitated vehicle routing problem with a bounded fleet."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from fixedfleet.distances import Metric, Rounding, measure, round_distances
from fixedfleet.errors import InputError
from fixedfleet.instance.checks import (
    check_capacity,
    check_choice,
    check_degrees,
    check_demands,
    check_matrix,
    check_points,
    check_vehicles,
    same,
    set_field,
    to_units,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Locations = Sequence[int] | NDArray[np.integer[Any]]

__all__ = ["Instance"]


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
        set_field(self, "capacity", check_capacity(self.capacity))
        set_field(self, "vehicles", check_vehicles(self.vehicles))
        set_field(self, "demands", check_demands(self.demands))
        n = len(self.demands)

        if (self.depot is None) != (self.customers is None):
            given = "customers" if self.depot is None else "depot"
            raise InputError(
                f"only {given} has coordinates: give both depot and customers, or "
                "neither and a matrix"
            )
        if self.depot is not None:
            set_field(self, "depot", check_points("depot", [self.depot], 1)[0])
            set_field(self, "customers", check_points("customer", self.customers, n))
        check_choice("metric", self.metric, get_args(Metric))
        check_choice("rounding", self.rounding, get_args(Rounding))
        if self.matrix is not None:
            set_field(self, "matrix", check_matrix(self.matrix, n))
            set_field(self, "metric", "explicit")
        elif self.depot is None:
            raise InputError("neither coordinates nor a distance matrix given")
        elif self.metric == "explicit":
            raise InputError("metric 'explicit' needs a distance matrix")
        if self.metric == "great_circle":
            check_degrees(self.coordinates)

        _ = self.demand_units  # amounts too far apart are refused here
        if self.names is not None:
            set_field(self, "names", tuple(str(name) for name in self.names))
            if len(self.names) != n:
                raise InputError(f"{len(self.names)} names given for {n} customers")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Instance):
            return NotImplemented
        return all(
            same(getattr(self, field), getattr(other, field))
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
        return to_units(self.demands, self.capacity)

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
