"""The times of one tour: departure, each stop, and return."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fixedfleet.instance import Instance

__all__ = ["StopTimes", "TourTimes", "is_late", "time_tour"]

# Sums of times have rounding errors. So a vehicle is late only if it arrives later by
# more than this share of the latest time.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class StopTimes:
    """The times of a vehicle at one customer, in the unit of the instance's times."""

    customer: int
    arrival: float
    begin: float  # of the service: the vehicle waits until the window opens
    departure: float
    is_late: bool  # whether the window has closed before the arrival

    @property
    def waiting(self) -> float:
        """How long the vehicle waits for the window to open."""
        return self.begin - self.arrival


@dataclass(frozen=True)
class TourTimes:
    """
    When a vehicle leaves, when it is at each stop, and when it is back.

    The vehicle leaves as late as it can without coming back later. So it waits as
    little as possible for windows to open. Times are in the unit of the instance's
    times.
    """

    departure: float
    stops: tuple[StopTimes, ...]
    end: float
    is_late: bool  # whether the shift is over before the vehicle is back

    @property
    def duration(self) -> float:
        """How long the tour takes, from the departure until the vehicle is back."""
        return self.end - self.departure

    @property
    def waiting(self) -> float:
        """How long the vehicle waits at all stops together."""
        return sum(stop.waiting for stop in self.stops)


def time_tour(
    tour: Sequence[int], instance: Instance, shift: tuple[float, float] | None
) -> TourTimes:
    """
    Return the times of a tour.

    ``shift`` is (from, to): when the vehicle may leave, and when it must be back. None
    allows any time from 0.
    """
    earliest, latest = (0.0, math.inf) if shift is None else shift
    path = [0, *tour, 0]
    legs = instance.time_between(path[:-1], path[1:]).tolist()
    rows = [customer - 1 for customer in tour]
    windows = [(0.0, math.inf)] * len(tour)
    if instance.windows is not None:
        windows = instance.windows[rows].tolist()
    services = [0.0] * len(tour)
    if instance.service_times is not None:
        services = instance.service_times[rows].tolist()

    def follow(departure: float) -> tuple[tuple[StopTimes, ...], float]:
        stops, time = [], departure
        for customer, leg, (opens, closes), service in zip(
            tour, legs, windows, services, strict=False
        ):
            arrival = time + leg
            begin = max(arrival, opens)
            time = begin + service
            late = is_late(arrival, closes)
            stops.append(StopTimes(customer, arrival, begin, time, late))
        return tuple(stops), time + legs[-1]

    departure = earliest
    stops, end = follow(departure)
    waited = 0.0
    spare = math.inf  # by how much the vehicle can leave later and still be in time
    for stop, (_, closes) in zip(stops, windows, strict=True):
        waited += stop.waiting
        spare = min(spare, waited + closes - stop.begin)
    if (spare := min(spare, waited)) > 0:
        departure += spare
        stops, _ = follow(departure)
    return TourTimes(departure, stops, end, is_late(end, latest))


def is_late(time: float, latest: float) -> bool:
    """Return whether a time is after the latest one, by more than rounding errors."""
    return time > latest + _ROUNDING * latest
