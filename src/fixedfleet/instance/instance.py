"""One instance of the capacitated vehicle routing problem with a bounded fleet."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

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
from fixedfleet.instance.amounts import read_only, to_units, whole_units
from fixedfleet.instance.vehicle_type import VehicleType, check_vehicle_types

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from fractions import Fraction

    from numpy.typing import ArrayLike, NDArray

    Locations = Sequence[int] | NDArray[np.integer[Any]]

__all__ = ["COORDINATES", "WHOLE", "Instance", "TimeUnit"]

TimeUnit = Literal["", "min"]  # "" if it is not known

# The sum of larger coordinates or distances could be infinite.
COORDINATES = between(-1e300, 1e300)
_DISTANCES = between(0, 1e300)
WHOLE = between(1, LARGEST_WHOLE)
_DETOURS = between(1, 10)
_PER_CUSTOMER = ("customers", "demands", "service_times", "windows", "priorities")


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Instance:
    """
    Customers with demands, a depot, and a fleet that cannot grow.

    Locations are numbered: the depot is 0, the customers are 1 … N.

    Parameters
    ----------
    depot
        The depot's coordinates: ``(x, y)``, or ``(lat, lon)`` in degrees for the
        metrics ``great_circle``, ``geo`` and ``road``. May be left out if ``matrix`` is
        given.
    customers
        Coordinates of the customers, shape (N, 2). May be left out if ``depot`` is.
    demands
        Demands of the customers, shape (N,): whole or decimal numbers, zero allowed.
    capacity
        The largest load of one vehicle. With ``vehicle_types``, it is the capacity of
        the largest vehicle.
    vehicles
        The number of vehicles. No plan may use more. With ``vehicle_types``, it is the
        sum of their counts.
    vehicle_types
        The fleet, if its vehicles differ or have names, costs or shifts; then
        ``capacity`` and ``vehicles`` may be left out.
    matrix
        Explicit distances, shape (N + 1, N + 1), depot first; may be asymmetric.
    names
        Names of the customers, for output. Default: their numbers.
    name
        Name of the instance.
    metric
        How coordinates become distances: ``euclidean``; ``great_circle`` (kilometres
        on the sphere, from degrees); ``geo`` (the same by TSPLIB's formula, from
        TSPLIB's DDD.MM degrees). If ``matrix`` is given, the distances are taken from
        it, and the metric becomes ``explicit``. Give ``road`` if the matrix has
        distances by road and the coordinates are degrees.
    rounding
        What happens to each distance: ``none``, ``round`` (to the nearest whole
        number, as CVRPLIB does), ``ceil`` or ``trunc``.
    detour
        Great-circle distances are multiplied by this, as roads are longer than straight
        lines.
    depot_name
        Name of the depot, for output.
    unit
        Name of the unit of demands and capacity, such as "kg", for output.
    length_unit
        ``km`` or ``mi``. Great-circle distances are measured in it (default: km).
        For other distances, it is only a name for output.
    columns
        Further columns of the customers' table, such as phone numbers, for output: a
        dict from the heading of a column to its N + 1 texts, depot first.
    speed
        Distance per unit of time, from which travel times follow.
    time_matrix
        Explicit travel times instead of a speed, shape (N + 1, N + 1), depot first.
    service_times
        How long a vehicle stays at each customer, shape (N,). Default: no time.
    windows
        When the service of each customer may begin, shape (N, 2): (from, to). A vehicle
        that arrives earlier waits. None instead of "from" or "to", or instead of the
        pair, means that there is no such limit. Default: any time from 0.
    time_unit
        ``min`` if times are minutes since midnight, which are then written as 08:30.
        Otherwise all times are in one unit of your choice.
    priorities
        A number per customer, shape (N,). If the fleet is too small, customers with
        larger numbers are served first. Default: all customers have the same priority.

    Raises
    ------
    InputError
        If the input is wrong; the message says what and where.
    """

    depot: NDArray[np.float64] | None = None
    customers: NDArray[np.float64] | None = None
    demands: NDArray[Any]
    capacity: float = None  # type: ignore[assignment]  # follows from the types
    vehicles: int = None  # type: ignore[assignment]
    vehicle_types: tuple[VehicleType, ...] | None = None
    matrix: NDArray[np.float64] | None = None
    names: tuple[str, ...] | None = None
    name: str = ""
    metric: Metric = "euclidean"
    rounding: Rounding = "none"
    detour: float = 1.0
    depot_name: str = "depot"
    unit: str = ""
    length_unit: LengthUnit = ""
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    speed: float | None = None
    time_matrix: NDArray[np.float64] | None = None
    service_times: NDArray[np.float64] | None = None
    windows: NDArray[np.float64] | None = None
    time_unit: TimeUnit = ""
    priorities: NDArray[np.float64] | None = None

    if TYPE_CHECKING:  # the arguments may be anything array-like

        def __init__(
            self,
            *,
            demands: ArrayLike,
            capacity: float | None = None,
            vehicles: int | None = None,
            vehicle_types: Iterable[VehicleType] | None = None,
            depot: ArrayLike | None = None,
            customers: ArrayLike | None = None,
            matrix: ArrayLike | None = None,
            names: Sequence[str] | None = None,
            name: str = "",
            metric: Metric = "euclidean",
            rounding: Rounding = "none",
            detour: float = 1.0,
            depot_name: str = "depot",
            unit: str = "",
            length_unit: LengthUnit = "",
            columns: Mapping[str, Sequence[str]] | None = None,
            speed: float | None = None,
            time_matrix: ArrayLike | None = None,
            service_times: ArrayLike | None = None,
            windows: ArrayLike | Sequence[Sequence[float | None] | None] | None = None,
            time_unit: TimeUnit = "",
            priorities: ArrayLike | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        self._check_fleet()
        _set_field(self, "demands", _check_demands(self.demands))
        check_choice("metric", self.metric, get_args(Metric))
        check_choice("rounding", self.rounding, get_args(Rounding))
        check_choice("length unit", self.length_unit, get_args(LengthUnit))
        self._check_locations()
        self._check_times()
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

    def _check_fleet(self) -> None:
        if self.vehicle_types is not None:
            types = check_vehicle_types(self.vehicle_types)
            _set_field(self, "vehicle_types", types)
            follows = {
                "capacity": max(one.capacity for one in types),
                "vehicles": sum(one.count for one in types),
            }
            for name, value in follows.items():
                given = getattr(self, name)
                if given is not None and given != value:
                    raise InputError(
                        f"{name} is {given!r}, but the vehicle types give {value}: "
                        f"leave {name} out",
                        name,
                    )
                _set_field(self, name, value)
        elif self.capacity is None or self.vehicles is None:
            raise InputError("no fleet: give vehicles and capacity, or vehicle types")
        capacity = check_number("capacity", self.capacity, above(0))
        _set_field(
            self, "capacity", int(capacity) if capacity.is_integer() else capacity
        )
        _set_field(self, "vehicles", check_whole("vehicles", self.vehicles, WHOLE))

    def _check_times(self) -> None:
        n = self.num_customers
        check_choice("time unit", self.time_unit, get_args(TimeUnit))
        if self.speed is not None:
            _set_field(self, "speed", check_number("speed", self.speed, above(0)))
        arrays = {
            "time_matrix": (n + 1, n + 1),
            "service_times": (n,),
            "priorities": (n,),
        }
        for name, shape in arrays.items():
            if (given := getattr(self, name)) is not None:
                bounds = COORDINATES if name == "priorities" else _DISTANCES
                checked = check_array(name, given, shape, bounds)
                _set_field(self, name, read_only(checked))
        if self.windows is not None:
            _set_field(self, "windows", _check_windows(self.windows, n))
        if self.speed is not None and self.time_matrix is not None:
            raise InputError("both speed and time_matrix are given: leave one out")
        if not self.has_travel_times:
            for what, given in {
                "windows": self.windows is not None,
                "service times": self.service_times is not None,
                "shifts": self.is_timed,
            }.items():
                if given:
                    raise InputError(
                        f"{what} are given, but no travel times: give a speed, or a "
                        "matrix of travel times"
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
            if self.metric != "road":
                _set_field(self, "metric", "explicit")
            elif self.depot is None:
                raise InputError("metric 'road' needs coordinates, in degrees")
        elif self.depot is None:
            raise InputError("neither coordinates nor a distance matrix given")
        elif self.metric in ("explicit", "road"):
            raise InputError(f"metric {self.metric!r} needs a distance matrix")
        if self.metric in ("great_circle", "road"):
            _check_degrees(self.coordinates)
        _set_field(self, "detour", check_number("detour", self.detour, _DETOURS))
        if self.detour != 1 and self.metric != "great_circle":
            raise InputError(
                f"detour is {self.detour:g}, but the distances are not straight lines "
                "between latitudes and longitudes: leave it out",
                "detour",
            )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Instance):
            return NotImplemented
        names = [known.name for known in fields(self)]
        return all(_same(getattr(self, name), getattr(other, name)) for name in names)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        label = f"{self.name!r}, " if self.name else ""
        carry = f"of capacity {self.capacity:g}"
        if self.has_mixed_fleet:
            carry = f"of {len(self.fleet)} types"
        return (
            f"Instance({label}{self.num_customers} customers, {self.vehicles} vehicles "
            f"{carry}, {self.metric} distances, rounding {self.rounding}"
            f"{', with times' if self.is_timed else ''})"
        )

    def _repr_html_(self) -> str:
        """Return HTML for a notebook: a table, and a map if there are coordinates."""
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
    def fleet(self) -> tuple[VehicleType, ...]:
        """
        The vehicle types.

        If ``vehicle_types`` is not given, this is a single type without a name.
        """
        if self.vehicle_types is not None:
            return self.vehicle_types
        return (VehicleType(count=self.vehicles, capacity=self.capacity),)

    @cached_property
    def has_mixed_fleet(self) -> bool:
        """Whether vehicles differ, or the cost of a plan is not just its length."""
        types = self.vehicle_types
        if types is None:
            return False
        first, *others = types
        costs = first.fixed_cost, first.cost_per_distance
        return costs != (0, 1) or any(one.kind != first.kind for one in others)

    @cached_property
    def is_timed(self) -> bool:
        """Whether the times of tours are limited, by windows or shifts."""
        shifts = (one.shift for one in self.vehicle_types or ())
        return self.windows is not None or any(shift is not None for shift in shifts)

    @property
    def is_plain(self) -> bool:
        """
        Whether vehicles are equal, cost is length, and there are no windows and shifts.
        """
        return not (self.has_mixed_fleet or self.is_timed)

    @property
    def has_travel_times(self) -> bool:
        """Whether travel times are known."""
        return self.speed is not None or self.time_matrix is not None

    def require_plain(self, what: str) -> None:
        """
        Raise InputError unless :attr:`is_plain`.

        ``what`` is the subject of the message: what cannot handle other instances.
        """
        if not self.is_plain:
            reasons = {
                "vehicles of several types or costs": self.has_mixed_fleet,
                "windows or shifts": self.is_timed,
            }
            has = " and ".join(reason for reason, true in reasons.items() if true)
            raise InputError(f"{what} cannot handle {has}, which the instance has")

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
        """Whether the locations have coordinates. With a matrix, they may have none."""
        return self.depot is not None

    @property
    def geographic(self) -> bool:
        """Whether coordinates are (latitude, longitude), in degrees."""
        return self.metric in ("great_circle", "geo", "road")

    @cached_property
    def distances(self) -> NDArray[np.float64]:
        """All distances, shape (N + 1, N + 1), rounded as ``rounding`` says."""
        everything = np.arange(self.num_customers + 1)
        distances = self.between(everything[:, None], everything[None, :])
        np.fill_diagonal(distances, 0.0)
        return read_only(distances)

    def between(self, start: Locations, end: Locations) -> NDArray[np.float64]:
        """
        Return the distance from each location in ``start`` to that in ``end``.

        The two arrays are broadcast.
        """
        start, end = np.asarray(start), np.asarray(end)
        if self.matrix is not None:
            return round_distances(self.matrix[start, end], self.rounding)
        points, unit = self.coordinates, self.length_unit
        places = points[start], points[end]
        if self.detour == 1:
            return measure(*places, self.metric, self.rounding, unit)
        straight = measure(*places, self.metric, "none", unit)
        return round_distances(self.detour * straight, self.rounding)

    @cached_property
    def travel_times(self) -> NDArray[np.float64]:
        """
        All travel times, shape (N + 1, N + 1), in the unit of the instance's times.
        """
        everything = np.arange(self.num_customers + 1)
        times = self.time_between(everything[:, None], everything[None, :])
        np.fill_diagonal(times, 0.0)
        return read_only(times)

    def time_between(self, start: Locations, end: Locations) -> NDArray[np.float64]:
        """
        Return the travel time from each location in ``start`` to that in ``end``.

        The two arrays are broadcast. Raise InputError if travel times are not known.
        """
        if self.time_matrix is not None:
            return np.asarray(self.time_matrix[np.asarray(start), np.asarray(end)])
        if self.speed is None:
            raise InputError(
                "travel times are not known: give a speed, or a matrix of travel times"
            )
        return self.between(start, end) / self.speed

    def clock(self, time: float) -> str:
        """Return a time as text: "08:30" if times are minutes, otherwise "510"."""
        if self.time_unit != "min" or not math.isfinite(time):
            return f"{time:.6g}"
        hours, minutes = divmod(round(time), 60)
        return f"{hours:02d}:{minutes:02d}"

    @cached_property
    def _units(self) -> tuple[NDArray[np.int64], int, Fraction]:
        return to_units(self.demands, self.capacity)

    @property
    def demand_units(self) -> NDArray[np.int64]:
        """
        Demands as whole numbers of one unit, shape (N + 1,); 0 for the depot.

        Loads are summed and compared in these units, so that demands of 0.1 and 0.2 fit
        into a capacity of 0.3. The unit is 1 if all demands and the capacity are whole.
        Otherwise it is the largest power of ten of which all of them are multiples, but
        not less than about 1e-12 of the capacity (1e-7, if the demands are 32-bit
        numbers with many digits); demands are then rounded. Demands that were divided
        by their capacity, such as 1/3 with capacity 1, are recognised: then the unit is
        the capacity divided by a whole number.
        """
        return self._units[0]

    @property
    def capacity_units(self) -> int:
        """The capacity of the largest vehicle, in the unit of :attr:`demand_units`."""
        return self._units[1]

    @cached_property
    def type_capacity_units(self) -> tuple[int, ...]:
        """The capacity of each vehicle type in the unit of :attr:`demand_units`."""
        unit = self._units[2]
        return tuple(
            self.capacity_units
            if one.capacity == self.capacity
            else whole_units(one.capacity, unit)
            for one in self.fleet
        )

    def amount(self, units: int) -> int | float:
        """Convert an amount in the unit of :attr:`demand_units` to the user's unit."""
        exact = int(units) * self._units[2]
        return int(exact) if exact.denominator == 1 else float(exact)

    @property
    def minimum_vehicles(self) -> int:
        """
        ⌈Σq/Q⌉, the total demand divided by the largest capacity, rounded up.

        A fleet with fewer vehicles cannot carry all demands.
        """
        return max(1, -(-int(self.demand_units.sum()) // self.capacity_units))

    def name_of(self, customer: int) -> str:
        """Return the name of a location for output: the given name, or its number."""
        if customer == 0:
            return self.depot_name
        return self.names[customer - 1] if self.names else str(customer)

    def label_of(self, customer: int) -> str:
        """
        Return the name of a location, followed by its number if the name is not unique.
        """
        name = self.name_of(customer)
        return f"{name} ({customer})" if (self.names or ()).count(name) > 1 else name

    def with_vehicles(self, vehicles: int) -> Instance:
        """
        Return the same instance with another number of vehicles.

        Raises
        ------
        InputError
            If vehicles differ: then :meth:`with_vehicle_types` says which ones to use.
        """
        if self.vehicle_types is None:
            return replace(self, vehicles=vehicles)
        vehicles = check_whole("vehicles", vehicles, WHOLE)
        if vehicles == self.vehicles:
            return self
        types = [one for one in self.vehicle_types if one.kind == self.fleet[0].kind]
        if len(types) < len(self.vehicle_types):
            raise InputError(
                "the fleet has vehicles of several types: say which vehicles there "
                "are, with with_vehicle_types"
            )
        left = vehicles - sum(one.count for one in types[:-1])
        if left > 0:
            return self.with_vehicle_types(
                [*types[:-1], replace(types[-1], count=left)]
            )
        return self.with_vehicle_types(types[:-1]).with_vehicles(vehicles)

    def with_vehicle_types(self, types: Iterable[VehicleType]) -> Instance:
        """Return the same instance with another fleet."""
        return replace(
            self,
            vehicle_types=tuple(types),
            capacity=None,  # type: ignore[arg-type]  # both follow from the types
            vehicles=None,  # type: ignore[arg-type]
        )

    def with_customers(self, customers: Sequence[int]) -> Instance:
        """Return the instance with these customers only, numbered in this order."""
        places, rows = [0, *customers], np.array(customers) - 1
        names = self.names
        arrays: dict[str, Any] = {
            name: given[rows]
            for name in _PER_CUSTOMER
            if (given := getattr(self, name)) is not None
        }
        for name in ("matrix", "time_matrix"):
            if (given := getattr(self, name)) is not None:
                arrays[name] = given[np.ix_(places, places)]
        return replace(
            self,
            **arrays,
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
    """Check that demands are at least 0; return them as integers if all are whole."""
    array = check_array("demands", demands, ("N",), at_least(0))
    if not len(array):
        raise InputError("demands is empty: give at least one customer")
    if np.array_equal(array, np.floor(array)) and array.max() <= LARGEST_WHOLE:
        array = array.astype(np.int64)
    return read_only(array)


def _check_windows(windows: Any, size: int) -> NDArray[np.float64]:
    """
    Check windows and return them as an array of shape (size, 2).

    None becomes 0 at the start of a window, and infinity at its end.
    """
    try:
        pairs = [(None, None) if pair is None else pair for pair in windows]
        ends = [
            (0 if begin is None else begin, math.inf if end is None else end)
            for begin, end in pairs
        ]
    except (TypeError, ValueError):
        raise InputError("windows must have (from, to) for each customer") from None
    times = np.array(ends)
    if times.dtype.kind == "f":
        times[np.isposinf(times)] = _DISTANCES.most
    checked = check_array("windows", times, (size, 2), _DISTANCES)
    wrong = np.flatnonzero(checked[:, 0] > checked[:, 1])
    if len(wrong):
        begin, end = checked[wrong[0]]
        raise InputError(
            f"the window of customer {wrong[0] + 1} ends at {end:g}, before its "
            f"begin, {begin:g}"
        )
    checked[checked == _DISTANCES.most] = math.inf
    return read_only(checked)


def _check_degrees(points: NDArray[np.float64]) -> None:
    """Raise InputError unless all points are (latitude, longitude) on the globe."""
    for column, (what, limit) in enumerate((("latitude", 90), ("longitude", 180))):
        outside = np.flatnonzero(np.abs(points[:, column]) > limit)
        if len(outside):
            raise InputError(
                f"location {outside[0]} (0 is the depot) has {what} "
                f"{points[outside[0], column]:g}, not within ±{limit} degrees"
            )


def _check_columns(columns: Any, size: int) -> dict[str, tuple[str, ...]]:
    """
    Return the texts of each column by its heading.

    Raise InputError unless each column has ``size`` texts.
    """
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
