"""Instances with vehicle types and times in whole numbers, for outside solvers."""

from __future__ import annotations

import math
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fixedfleet.errors import InputError
from fixedfleet.plan import Plan
from fixedfleet.search.outside.whole_numbers import (
    binary_exponent,
    distance_exponent,
    whole_capacities,
    whole_distances,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from fixedfleet.instance import Instance

__all__ = ["WholeDay", "WholeType", "whole_day"]

# Costs per distance and times are multiplied by the first of these factors that makes
# all of them whole.
_COST_FACTORS = (1, 10, 100, 1000)
_TIME_FACTORS = (1, 10, 60, 100, 600, 1000)
_LONGEST_TIME = 2**24  # largest time; sums of times stay below 2^40
_COARSEST = 2**12  # the longest distance has at least this many units
_EXACT = 1e-9  # a number counts as whole if it differs by at most this share


class WholeType(NamedTuple):
    """A vehicle type in whole numbers. ``end`` is None if its shift has no end."""

    number: int
    capacity: int
    fixed_cost: int
    unit_cost: int  # per unit of distance
    begin: int
    end: int | None


class WholeDay(NamedTuple):
    """
    An instance as whole numbers.

    Demands, capacities and times are rounded so that a plan that is feasible with the
    rounded numbers is also feasible for the instance. All times are 0 if there are no
    windows and no shifts.
    """

    demands: NDArray[np.int64]  # (N + 1,), first 0 for the depot
    distances: NDArray[np.int64]  # (N + 1, N + 1)
    times: NDArray[np.int64]  # (N + 1, N + 1)
    services: list[int]  # N + 1 service times, first 0 for the depot
    windows: list[tuple[int, int | None]]  # N + 1; the end is None if there is none
    types: list[WholeType]
    is_plain: bool
    is_timed: bool

    @property
    def vehicles(self) -> list[int]:
        """For each vehicle, the index of its type in ``types``."""
        return list(chain(*([t] * one.number for t, one in enumerate(self.types))))

    def seat(self, plan: Plan, instance: Instance) -> list[list[int]]:
        """
        Return the tour of each vehicle of the fleet; idle vehicles have empty tours.
        """
        tours: list[list[int]] = [[] for _ in self.vehicles]
        types = [0] * plan.vehicles if self.is_plain else plan.type_indices(instance)
        free = [
            iter([v for v, own in enumerate(self.vehicles) if own == t])
            for t in range(len(self.types))
        ]
        for tour, index in zip(plan, types, strict=True):
            tours[next(free[index])] = list(tour)
        return tours

    def plan(self, tours: Iterable[Sequence[int]], types: Iterable[int]) -> Plan:
        """
        Return the plan of these tours.

        ``types`` has the index of each tour's vehicle type. It is ignored for plain
        instances.
        """
        return Plan(tours) if self.is_plain else Plan(tours, types)


def whole_day(
    instance: Instance,
    *,
    longest: int,
    largest_sum: int,
    most_fixed: int,
    vehicle_cost: float = 0.0,
) -> WholeDay:
    """
    Return an instance as whole numbers.

    Parameters
    ----------
    instance
        The instance.
    longest
        Upper limit of a distance multiplied by a cost per distance.
    largest_sum
        Upper limit of the sum of all demands, see :func:`whole_amounts`.
    most_fixed
        Upper limit of a fixed cost. If the instance is plain, a larger fixed cost is
        reduced to it. Otherwise distances are rounded more coarsely, so that the fixed
        costs, which are scaled with the distances, stay within the limit.
    vehicle_cost
        Fixed cost of each vehicle used, besides those of the vehicle types.

    Raises
    ------
    InputError
        If a fixed cost is so large that distances would be rounded too coarsely.
    """
    plain, n = instance.is_plain, instance.num_customers
    fleet = instance.fleet[:1] if plain else instance.fleet
    units = [1.0] if plain else [one.cost_per_distance for one in fleet]
    factor = next((f for f in _COST_FACTORS if _is_whole(f * np.array(units))), 1000)
    unit_costs = [round(factor * unit) for unit in units]
    largest = longest // max(1, *unit_costs)
    dearest = vehicle_cost + max(one.fixed_cost for one in fleet)
    while True:
        scale = math.ldexp(factor, distance_exponent(instance, largest))
        if plain or scale * dearest <= most_fixed:
            break
        largest //= 2
        if largest < _COARSEST:
            raise InputError(
                f"a vehicle of the fleet costs {dearest:g} per use, which is too much "
                "beside these distances for this solver: it counts in whole numbers "
                f"up to {most_fixed}"
            )
    capacities = [instance.capacity_units] if plain else instance.type_capacity_units
    demands, room = whole_capacities(instance, capacities, largest=largest_sum)
    times, services, windows, shifts = _whole_times(instance)
    types = [
        WholeType(
            number=min(instance.vehicles if plain else one.count, n),
            capacity=room[index],
            fixed_cost=int(min(scale * (one.fixed_cost + vehicle_cost), most_fixed)),
            unit_cost=unit_costs[index],
            begin=shifts[index][0],
            end=shifts[index][1],
        )
        for index, one in enumerate(fleet)
    ]
    distances = whole_distances(instance, largest=largest)
    timed = instance.is_timed
    return WholeDay(demands, distances, times, services, windows, types, plain, timed)


def _is_whole(values: NDArray[np.float64]) -> bool:
    tolerance = _EXACT * np.maximum(1.0, np.abs(values))
    return bool((np.abs(values - np.rint(values)) <= tolerance).all())


def _whole_times(
    instance: Instance,
) -> tuple[
    NDArray[np.int64],
    list[int],
    list[tuple[int, int | None]],
    list[tuple[int, int | None]],
]:
    """
    Return (travel times, service times, windows, shifts) as whole numbers.

    There is one shift per vehicle type. If no factor makes all times whole, durations
    and earliest times are rounded up, and latest times are rounded down.
    """
    n, fleet = instance.num_customers, instance.fleet
    if not instance.is_timed:
        open_end = (0, None)
        zeros = np.zeros((n + 1, n + 1), dtype=np.int64)
        return zeros, [0] * (n + 1), [open_end] * (n + 1), [open_end] * len(fleet)
    services = np.zeros(n + 1)
    if instance.service_times is not None:
        services[1:] = instance.service_times
    windows = np.tile((0.0, math.inf), (n + 1, 1))
    if instance.windows is not None:
        windows[1:] = instance.windows
    shifts = np.array([one.shift or (0.0, math.inf) for one in fleet])
    arrays = (instance.travel_times, services, windows, shifts)
    values = np.concatenate([array.ravel() for array in arrays])
    values = values[np.isfinite(values)]
    most = float(values.max())
    factor = next(
        (
            f
            for f in _TIME_FACTORS
            if f * most <= _LONGEST_TIME and _is_whole(f * values)
        ),
        math.ldexp(1.0, binary_exponent(_LONGEST_TIME) - 1 - binary_exponent(most)),
    )

    def up(array: NDArray[np.float64]) -> NDArray[np.int64]:
        return np.ceil(factor * array - _EXACT * (1 + factor * array)).astype(np.int64)

    def bounds(pairs: NDArray[np.float64]) -> list[tuple[int, int | None]]:
        ends = [
            None
            if math.isinf(end)
            else math.floor(factor * end * (1 + _EXACT) + _EXACT)
            for end in pairs[:, 1].tolist()
        ]
        return list(zip(up(pairs[:, 0]).tolist(), ends, strict=True))

    return (
        up(instance.travel_times),
        up(services).tolist(),
        bounds(windows),
        bounds(shifts),
    )
