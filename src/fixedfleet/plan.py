"""
Plans, with their lengths, costs, loads, times and feasibility.

No other module computes these.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from fixedfleet.errors import InputError
from fixedfleet.timetable import time_tour

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from fixedfleet.instance import Instance, InstanceBatch, VehicleType
    from fixedfleet.instance.instance_batch import Row, Rows
    from fixedfleet.timetable import TourTimes

__all__ = ["Plan", "PlanBatch", "pad_routes"]


@dataclass(frozen=True)
class Plan:
    """
    A plan: tours that start and end at the depot and visit customers (1 … N).

    Empty tours are dropped: a vehicle that stays at the depot is not used. A plan does
    not know its instance and may be infeasible for it; :meth:`check` names the faults.

    Parameters
    ----------
    tours
        The customers of each tour in visiting order.
    vehicle_types
        The vehicle type of each tour: its index in :attr:`Instance.fleet`. Default: the
        first tour has the first vehicle of the fleet, the second the second, and so on.
    """

    tours: tuple[tuple[int, ...], ...]
    vehicle_types: tuple[int, ...] | None

    def __init__(
        self,
        tours: Iterable[Iterable[int]],
        vehicle_types: Iterable[int] | None = None,
    ) -> None:
        clean = tuple(tuple(_customer(customer) for customer in tour) for tour in tours)
        if vehicle_types is not None:
            vehicle_types = tuple(_type_index(index) for index in vehicle_types)
            if len(vehicle_types) != len(clean):
                raise InputError(
                    f"{len(vehicle_types)} vehicle types given for {len(clean)} tours"
                )
            pairs = zip(vehicle_types, clean, strict=True)
            # A plan without tours has no types, so that all such plans are equal.
            vehicle_types = tuple(index for index, tour in pairs if tour) or None
        object.__setattr__(self, "tours", tuple(tour for tour in clean if tour))
        object.__setattr__(self, "vehicle_types", vehicle_types)

    @classmethod
    def from_routes(cls, routes: ArrayLike) -> Plan:
        """Return the plan that a row of customers describes; a 0 ends each tour."""
        tours: list[list[int]] = [[]]
        for customer in np.asarray(routes).tolist():
            if customer == 0:
                tours.append([])
            else:
                tours[-1].append(customer)
        return cls(tours)

    def to_routes(self, size: int | None = None) -> NDArray[np.int32]:
        """
        Return all tours as one row of customers, with a 0 after each tour.

        If ``size`` is given, the row is padded with zeros to this length.
        """
        row = [customer for tour in self.tours for customer in (*tour, 0)]
        if size is not None:
            if len(row) > size:
                raise InputError(f"a plan of {len(row)} entries for a row of {size}")
            row.extend([0] * (size - len(row)))
        return np.array(row, dtype=np.int32)

    def __len__(self) -> int:
        return len(self.tours)

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        return iter(self.tours)

    @property
    def vehicles(self) -> int:
        """The number of vehicles used."""
        return len(self.tours)

    def renumbered(self, customers: Sequence[int]) -> Plan:
        """
        Return the plan with customer i replaced by ``customers[i - 1]``.

        This turns a plan for some customers of an instance into one for the instance.
        """
        tours = ([customers[number - 1] for number in tour] for tour in self.tours)
        return Plan(tours, self.vehicle_types)

    def numbered_in(self, customers: Sequence[int]) -> Plan:
        """
        Return the plan with customer ``customers[i - 1]`` replaced by customer i.

        This undoes :meth:`renumbered`.
        """
        numbers = {customer: number for number, customer in enumerate(customers, 1)}
        tours = ([numbers[customer] for customer in tour] for tour in self.tours)
        return Plan(tours, self.vehicle_types)

    def tour_lengths(self, instance: Instance) -> list[float]:
        """Return the length of each tour, from the depot and back to it."""
        self.require_known(instance)
        return [
            float(instance.between([0, *tour], [*tour, 0]).sum()) for tour in self.tours
        ]

    def length(self, instance: Instance) -> float:
        """Return the total length of all tours."""
        self.require_known(instance)
        if not self.tours:
            return 0.0
        path = [0, *(stop for tour in self.tours for stop in (*tour, 0))]
        return float(instance.between(path[:-1], path[1:]).sum())

    def type_indices(self, instance: Instance) -> tuple[int, ...]:
        """
        Return the vehicle type of each tour, as an index of :attr:`Instance.fleet`.

        If the plan has no vehicle types, the tours get the vehicles of the fleet in its
        order. If there are more tours than vehicles, the rest get the last type.
        """
        if self.vehicle_types is not None:
            if max(self.vehicle_types, default=0) >= len(instance.fleet):
                raise InputError(
                    f"a tour has vehicle type {max(self.vehicle_types)}, but the last "
                    f"type of the fleet has the index {len(instance.fleet) - 1}"
                )
            return self.vehicle_types
        last = len(instance.fleet) - 1
        counts = [one.count for one in instance.fleet]
        types = (index for index, n in enumerate(counts) for _ in range(n))
        return tuple(next(types, last) for _ in self.tours)

    def types(self, instance: Instance) -> list[VehicleType]:
        """Return the :class:`VehicleType` of each tour."""
        return [instance.fleet[index] for index in self.type_indices(instance)]

    def cost(self, instance: Instance) -> float:
        """
        Return the cost of all tours.

        The cost is the total length, unless vehicles differ or have costs of their own.
        Then each tour costs its length times the cost per distance of its vehicle, plus
        the fixed cost of the vehicle.
        """
        if not instance.has_mixed_fleet:
            return self.length(instance)
        tours = zip(self.tour_lengths(instance), self.types(instance), strict=True)
        return float(
            sum(one.fixed_cost + one.cost_per_distance * km for km, one in tours)
        )

    def cost_v(self, instance: Instance, vehicle_cost: float) -> float:
        """
        Return the paper's Cost_v: the cost plus ``vehicle_cost`` for each vehicle used.
        """
        return self.cost(instance) + vehicle_cost * self.vehicles

    def timetable(self, instance: Instance) -> list[TourTimes]:
        """
        Return the times of each tour: departure, stops and return.

        Raises
        ------
        InputError
            If the instance has no travel times.
        """
        self.require_known(instance)
        pairs = zip(self.tours, self.types(instance), strict=True)
        return [time_tour(tour, instance, one.shift) for tour, one in pairs]

    def load_units(self, instance: Instance) -> list[int]:
        """Return the load of each tour in units, see :attr:`Instance.demand_units`."""
        self.require_known(instance)
        if not self.tours:
            return []
        units = instance.demand_units[[c for tour in self.tours for c in tour]]
        begins = np.cumsum([0, *map(len, self.tours[:-1])])
        loads: list[int] = np.add.reduceat(units, begins).tolist()
        return loads

    def loads(self, instance: Instance) -> list[int | float]:
        """Return the load of each tour in the user's unit of demands."""
        return [instance.amount(units) for units in self.load_units(instance)]

    def unserved(self, instance: Instance) -> list[int]:
        """Return the customers that no tour serves."""
        served = {customer for tour in self.tours for customer in tour}
        return sorted(set(range(1, instance.num_customers + 1)) - served)

    def unserved_weight(self, instance: Instance) -> int:
        """
        Return the weight of the unserved customers; 0 if all are served.

        Without priorities, the weight is the number of unserved customers. With
        priorities, one customer weighs more than all customers of lower priority
        together.
        """
        unserved = self.unserved(instance)
        if instance.priorities is None or not unserved:
            return len(unserved)
        levels = np.unique(instance.priorities, return_inverse=True)[1].tolist()
        base = instance.num_customers + 1
        return sum(base ** levels[customer - 1] for customer in unserved)

    def require_known(self, instance: Instance) -> None:
        """Raise InputError if the plan serves a customer that does not exist."""
        highest = max(map(max, self.tours), default=0)
        if highest > instance.num_customers:
            raise InputError(
                f"the plan serves customer {highest}, but the instance has "
                f"{instance.num_customers} customers"
            )

    def check(self, instance: Instance, *, partial: bool = False) -> list[str]:
        """
        Return the faults of the plan for this instance; an empty list if feasible.

        Loads and times are checked only if every customer exists. With ``partial``, the
        plan may leave customers out.
        """
        faults = []
        n = instance.num_customers
        served = [customer for tour in self.tours for customer in tour]
        known = max(served, default=0) <= n
        if not known or len(set(served)) < len(served):
            for customer, count in sorted(Counter(served).items()):
                if customer > n:
                    faults.append(f"customer {customer} does not exist: there are {n}")
                elif count > 1:
                    times = "twice" if count == 2 else f"{count} times"
                    faults.append(f"customer {customer} served {times}")
        if not partial:
            faults.extend(f"customer {c} missing" for c in self.unserved(instance))
        if (types := self.vehicle_types) is not None:
            unknown = [index for index in types if index >= len(instance.fleet)]
            if unknown:
                faults.append(f"vehicle type {unknown[0]} does not exist")
                return faults
        if known:
            faults.extend(self._overloads(instance))
            if instance.is_timed:
                faults.extend(self._delays(instance))
        if types is not None:
            faults.extend(self._missing_vehicles(instance, types))
        elif self.vehicles > instance.vehicles:
            faults.append(f"{self.vehicles} tours for {instance.vehicles} vehicles")
        return faults

    def _overloads(self, instance: Instance) -> list[str]:
        """Return a fault for each tour that carries more than its vehicle can."""
        loads, most = self.load_units(instance), instance.capacity_units
        if not instance.has_mixed_fleet:
            return [
                f"tour {number} carries {instance.amount(load)} of {instance.capacity}"
                for number, load in enumerate(loads, 1)
                if load > most
            ]
        types = zip(loads, self.type_indices(instance), strict=True)
        return [
            f"tour {number} carries {instance.amount(load)} of "
            f"{instance.fleet[index].capacity}"
            for number, (load, index) in enumerate(types, 1)
            if load > instance.type_capacity_units[index]
        ]

    def _delays(self, instance: Instance) -> list[str]:
        """Return a fault for each stop, and for each return, that is too late."""
        faults = []
        pairs = zip(self.timetable(instance), self.types(instance), strict=True)
        for number, (times, one) in enumerate(pairs, 1):
            for stop in times.stops:
                if stop.is_late and instance.windows is not None:
                    closes = instance.clock(instance.windows[stop.customer - 1, 1])
                    faults.append(
                        f"tour {number} reaches customer {stop.customer} at "
                        f"{instance.clock(stop.arrival)}, after {closes}"
                    )
            if times.is_late and one.shift is not None:
                faults.append(
                    f"tour {number} is back at {instance.clock(times.end)}, after the "
                    f"end of the shift at {instance.clock(one.shift[1])}"
                )
        return faults

    def _missing_vehicles(
        self, instance: Instance, types: tuple[int, ...]
    ) -> list[str]:
        """Return a fault for each vehicle type of which the plan uses too many."""
        faults = []
        for index, used in sorted(Counter(types).items()):
            one = instance.fleet[index]
            if used > one.count:
                name = f" of type {one.name!r}" if one.name else ""
                name = name or (f" of type {index}" if len(instance.fleet) > 1 else "")
                faults.append(f"{used} tours for {one.count} vehicles{name}")
        return faults

    def is_feasible(self, instance: Instance) -> bool:
        """
        Return whether the plan is feasible.

        Every customer must be served once, within capacity, fleet, windows and shifts.
        """
        return not self.check(instance)


class PlanBatch:
    """
    One plan for each instance of a batch, as an array of routes.

    An integer index gives a :class:`Plan`; a slice, a mask or an array of indices
    gives a batch. :meth:`concatenate` puts batches together.

    Parameters
    ----------
    routes
        Shape (B, L). A row lists the customers of a plan in visiting order, with a 0
        after each tour and zeros to the end, as in :meth:`Plan.from_routes`.
    """

    def __init__(self, routes: ArrayLike) -> None:
        try:
            array = np.asarray(routes)
        except ValueError:
            raise InputError("routes has rows of different lengths") from None
        if array.ndim != 2 or array.dtype.kind not in "iu":
            raise InputError(
                f"routes must be whole numbers of shape (B, L), not {array.dtype} of "
                f"shape {array.shape}"
            )
        self.routes: NDArray[np.int64] = array.astype(np.int64)
        if (self.routes < 0).any():
            row = int(np.argwhere(self.routes < 0)[0][0])
            raise InputError(f"routes[{row}] has a negative entry")

    @classmethod
    def from_plans(cls, plans: Iterable[Plan]) -> PlanBatch:
        """
        Return a batch of the given plans.

        Raise InputError for a plan with vehicle types, which a batch cannot hold.
        """
        rows = []
        for plan in plans:
            if plan.vehicle_types is not None:
                raise InputError("a batch of plans has no vehicle types")
            rows.append(plan.to_routes())
        return cls.gather(len(rows), ((i, row[None]) for i, row in enumerate(rows)))

    @classmethod
    def concatenate(cls, batches: Iterable[PlanBatch]) -> PlanBatch:
        """Return one batch of the plans of several batches, in their order."""
        parts = list(batches)
        width = max((part.routes.shape[1] for part in parts), default=0)
        rows = [pad_routes(part.routes, width) for part in parts]
        return cls(np.concatenate([np.zeros((0, width), dtype=np.int64), *rows]))

    @classmethod
    def from_vehicles(cls, vehicles: NDArray[Any], fleet: int) -> PlanBatch:
        """
        Return plans in which each vehicle visits its customers in ascending order.

        ``vehicles`` has the index of each customer's vehicle, shape (B, N). A customer
        whose index is ``fleet`` or more is left out.
        """
        count, n = vehicles.shape
        # Small integers are sorted faster.
        vehicles = np.minimum(vehicles, fleet).astype(np.min_scalar_type(fleet))
        order = np.argsort(vehicles, axis=1, kind="stable")
        vehicle = np.take_along_axis(vehicles, order, axis=1)
        changes = np.diff(vehicle, axis=1, prepend=vehicle[:, :1]) != 0
        place = np.arange(n) + np.cumsum(changes, axis=1)  # leaves a 0 after each tour
        routes = np.zeros((count, n + fleet), dtype=np.int64)
        customers = np.where(vehicle < fleet, order + 1, 0)
        np.put_along_axis(routes, place, customers, axis=1)
        return cls(routes)

    @classmethod
    def gather(
        cls, count: int, parts: Iterable[tuple[Rows | int, NDArray[np.integer[Any]]]]
    ) -> PlanBatch:
        """
        Return a batch of ``count`` plans that is put together from parts.

        A part is (rows, routes): row numbers of the batch and the routes of these rows,
        shape (len(rows), any width). If parts share a row, the last one counts. Rows
        that are in no part get empty plans.
        """
        parts = list(parts)
        width = max((routes.shape[1] for _, routes in parts), default=0)
        together = np.zeros((count, width), dtype=np.int64)
        for rows, routes in parts:
            together[rows] = pad_routes(routes, width)
        return cls(together)

    def replace(self, rows: Rows, plans: PlanBatch) -> PlanBatch:
        """Return a batch in which ``plans`` replace the plans of the given rows."""
        parts = [(slice(None), self.routes), (rows, plans.routes)]
        return PlanBatch.gather(len(self), parts)

    def __len__(self) -> int:
        return len(self.routes)

    def __repr__(self) -> str:
        return f"PlanBatch({len(self)} plans)"

    @overload
    def __getitem__(self, rows: Row) -> Plan: ...
    @overload
    def __getitem__(self, rows: Rows) -> PlanBatch: ...
    def __getitem__(self, rows: Row | Rows) -> Plan | PlanBatch:
        found = self.routes[rows]
        return PlanBatch(found) if found.ndim == 2 else Plan.from_routes(found)

    def __iter__(self) -> Iterator[Plan]:
        return (self[index] for index in range(len(self)))

    def vehicles(self) -> NDArray[np.int64]:
        """Return the number of vehicles that each plan uses, shape (B,)."""
        from fixedfleet.route_loops import count_tours

        return count_tours(self.routes)

    def lengths(self, batch: InstanceBatch) -> NDArray[np.float64]:
        """
        Return the length of each plan, shape (B,).

        Raise InputError if a plan serves a customer that does not exist.
        """
        self._require_known(batch)
        from fixedfleet.route_loops import euclidean_lengths

        lengths = euclidean_lengths(self.routes, batch.coordinates)
        for row in np.flatnonzero(~batch.euclidean):
            path = np.pad(self.routes[row], 1)
            moves = path[:-1] != path[1:]
            legs = path[:-1][moves], path[1:][moves]
            lengths[row] = batch[row].between(*legs).sum()
        return lengths

    def costs_v(self, batch: InstanceBatch, vehicle_cost: float) -> NDArray[np.float64]:
        """Return Cost_v of each plan, shape (B,); see :meth:`Plan.cost_v`."""
        return self.lengths(batch) + vehicle_cost * self.vehicles()

    def loads(self, batch: InstanceBatch) -> NDArray[np.int64]:
        """
        Return the load of each tour of each plan, shape (B, tours).

        Loads are in the unit of the batch's demands. Plans with fewer tours are
        padded with zeros.
        """
        self._require_known(batch)
        demands = np.pad(batch.demands, ((0, 0), (1, 0)))
        amounts = np.take_along_axis(demands, self._closed()[:, 1:], axis=1)
        carried = np.cumsum(amounts, axis=1)  # (B, L + 1)
        ends = self._ends()
        rows, places = np.nonzero(ends)
        tour = (np.cumsum(ends, axis=1) - 1)[rows, places]
        tours = max(1, int(self.vehicles().max(initial=0)))
        totals = np.zeros((len(self), tours), dtype=np.int64)  # up to this tour's end
        totals[rows, tour] = carried[rows, places]
        return np.maximum(np.diff(totals, axis=1, prepend=0), 0)

    def feasible(self, batch: InstanceBatch) -> NDArray[np.bool_]:
        """Return whether each plan is feasible for its instance, shape (B,)."""
        self._require_as_many(batch)
        from fixedfleet.route_loops import within_bounds

        return within_bounds(
            self.routes, batch.demands, batch.sizes, batch.capacity, batch.vehicles
        )

    def _closed(self) -> NDArray[np.int64]:
        """Return the routes with a further 0 at both ends, shape (B, L + 2)."""
        return np.pad(self.routes, ((0, 0), (1, 1)))

    def _ends(self) -> NDArray[np.bool_]:
        """
        Return a mask of the places at which a tour has just ended, shape (B, L + 1).

        Place k is between entries k − 1 and k of a row of routes.
        """
        closed = self._closed()
        return np.asarray((closed[:, 1:] == 0) & (closed[:, :-1] != 0))

    def _require_as_many(self, batch: InstanceBatch) -> None:
        if len(self) != len(batch):
            raise InputError(f"{len(self)} plans for {len(batch)} instances")

    def _require_known(self, batch: InstanceBatch) -> None:
        self._require_as_many(batch)
        unknown = (self.routes > batch.sizes[:, None]).any(axis=1)
        if unknown.any():
            row = int(np.argmax(unknown))
            raise InputError(
                f"routes[{row}] serves customer {self.routes[row].max()}, but the "
                f"instance has {batch.sizes[row]}"
            )


def pad_routes(
    routes: NDArray[np.integer[Any]], width: int
) -> NDArray[np.integer[Any]]:
    """
    Return routes of shape (B, L), padded with zeros to at least ``width`` columns.
    """
    return np.pad(routes, ((0, 0), (0, max(0, width - routes.shape[1]))))


def _type_index(value: int) -> int:
    try:
        index = int(value)
    except (TypeError, ValueError, OverflowError):
        index = -1
    if isinstance(value, bool) or index != value or index < 0:
        raise InputError(f"a vehicle type is {value!r}, not an index from 0")
    return index


def _customer(value: int) -> int:
    try:
        customer = int(value)
    except (TypeError, ValueError, OverflowError):
        customer = 0
    if isinstance(value, bool) or customer != value or customer < 1:
        raise InputError(f"a tour holds {value!r}, not a customer's number from 1")
    return customer
