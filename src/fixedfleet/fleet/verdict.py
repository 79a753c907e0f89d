"""Is the fleet enough? The verdict, its proof, and the smallest fleet that is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from fixedfleet.errors import InputError, check_whole
from fixedfleet.fleet.bounds import volume
from fixedfleet.fleet.smallest import SmallestFleet, in_vehicles

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from fixedfleet.instance import Instance
    from fixedfleet.plan import Plan

__all__ = ["FleetVerdict", "Status", "assess_demands", "assess_fleet", "pack"]

Status = Literal["feasible", "impossible", "undecided"]


@dataclass(frozen=True)
class FleetVerdict:
    """
    Whether a fleet suffices, why, and which one would.

    Attributes
    ----------
    status
        ``feasible``, ``impossible``, or ``undecided`` within the time limit.
    vehicles
        The fleet that was asked about.
    reason
        The proof, in one sentence.
    lower_bound
        Fewer vehicles than this are proven not to suffice.
    upper_bound
        This many are proven to suffice; None where no fleet does.
    packing
        The witness of ``feasible``: a plan within the fleet, its tours in no order.
    smallest_packing
        A plan with ``upper_bound`` vehicles; None where no fleet suffices.
    """

    status: Status
    vehicles: int
    reason: str
    lower_bound: int
    upper_bound: int | None
    packing: Plan | None
    smallest_packing: Plan | None

    @property
    def smallest(self) -> int | None:
        """The smallest fleet that suffices; None if undecided or if none does."""
        return self.lower_bound if self.smallest_is_proven else None

    @property
    def smallest_is_proven(self) -> bool:
        """Whether the smallest fleet that suffices is known."""
        return self.lower_bound == self.upper_bound

    def summary(self) -> str:
        """Return the verdict in two sentences for people."""
        if self.upper_bound is None:
            smallest = "no fleet suffices"
        elif self.smallest_is_proven:
            smallest = (
                f"the smallest fleet that suffices: {in_vehicles(self.lower_bound)}"
            )
        else:
            smallest = (
                f"the smallest fleet that suffices: {self.lower_bound} to "
                f"{in_vehicles(self.upper_bound)}, undecided within the limit"
            )
        return f"{in_vehicles(self.vehicles)}: {self.status}, {self.reason}\n{smallest}"

    def __str__(self) -> str:
        return self.summary()


def assess_fleet(instance: Instance, *, time_limit: float = 1.0) -> FleetVerdict:
    """
    Say whether the instance's fleet can carry the demands, with the proof.

    Parameters
    ----------
    instance
        The instance; only its demands, capacity and fleet matter.
    time_limit
        Seconds for the exact search where bounds and quick packings leave the verdict
        or the smallest fleet open; 0 for none.
    """
    return assess_demands(
        instance.demand_units[1:],
        instance.capacity_units,
        instance.vehicles,
        time_limit=time_limit,
        name_of=instance.name_of,
        amount=instance.amount,
    )


def assess_demands(
    demand_units: ArrayLike,
    capacity_units: int,
    vehicles: int,
    *,
    time_limit: float = 1.0,
    name_of: Callable[[int], str] = str,
    amount: Callable[[int], int | float] = int,
) -> FleetVerdict:
    """
    Say whether so many vehicles can carry the demands, with the proof.

    Parameters
    ----------
    demand_units
        Whole-number demands of the customers 1 … N, shape (N,).
    capacity_units
        What one vehicle carries, in the same unit.
    vehicles
        The number of vehicles there are.
    time_limit
        Seconds for the exact search; 0 for none.
    name_of, amount
        How the reason names a customer, and writes a number of units.
    """
    demands = _check_demands(demand_units)
    capacity = check_whole("capacity", capacity_units, least=1)
    vehicles = check_whole("vehicles", vehicles, least=1)
    _check_time(time_limit)
    if reason := _too_large(demands, capacity, name_of, amount):
        lower = max(1, volume(demands, capacity))
        return FleetVerdict("impossible", vehicles, reason, lower, None, None, None)
    search = SmallestFleet(demands, capacity)
    search.run(vehicles, time_limit)
    status: Status
    if vehicles >= search.upper:
        status = "feasible"
        reason = (
            f"the demands fit into {in_vehicles(search.upper)}, as the packing shows"
        )
    elif vehicles < search.lower:
        status = "impossible"
        reason = search.proof_against(vehicles, amount)
    else:
        status = "undecided"
        reason = (
            f"within the limit of {time_limit:g} s neither a packing into "
            f"{in_vehicles(vehicles)} was found nor the proof that there is none"
        )
    plan = search.plan(demands)
    packing = plan if status == "feasible" else None
    return FleetVerdict(
        status, vehicles, reason, search.lower, search.upper, packing, plan
    )


def pack(
    instance: Instance, vehicles: int | None = None, *, time_limit: float = 1.0
) -> Plan | None:
    """
    Return a plan that keeps capacity and fleet, its tours in no particular order.

    Parameters
    ----------
    instance
        The instance.
    vehicles
        The fleet to keep to. Default: the instance's.
    time_limit
        Seconds for the exact search where the quick packings need more vehicles.

    Returns
    -------
    Plan or None
        None where there is no such plan or none was found; :func:`assess_fleet` says
        which.
    """
    fleet = instance.vehicles
    if vehicles is not None:
        fleet = check_whole("vehicles", vehicles, least=1)
    _check_time(time_limit)
    demands = instance.demand_units[1:].tolist()
    if max(demands) > instance.capacity_units:
        return None
    search = SmallestFleet(demands, instance.capacity_units)
    search.decide(fleet, time_limit)
    return search.plan(demands) if search.upper <= fleet else None


def _check_demands(demand_units: ArrayLike) -> list[int]:
    demands = np.asarray(demand_units)
    if demands.ndim != 1 or not len(demands) or demands.dtype.kind not in "iuO":
        raise InputError(
            f"demands are {demands.dtype} of shape {demands.shape}, not whole numbers "
            "of shape (N,) with one customer at least"
        )
    return [
        check_whole(f"demand of customer {customer}", demand, least=0)
        for customer, demand in enumerate(demands.tolist(), 1)
    ]


def _check_time(time_limit: float) -> None:
    if not time_limit >= 0:
        raise InputError(f"time limit is {time_limit:g} s, not at least 0")


def _too_large(
    demands: list[int],
    capacity: int,
    name_of: Callable[[int], str],
    amount: Callable[[int], int | float],
) -> str:
    """Name the first customer that no vehicle can serve; empty if there is none."""
    large = [index for index, size in enumerate(demands, 1) if size > capacity]
    if not large:
        return ""
    more = len(large) - 1
    others = f"; so {'does' if more == 1 else 'do'} {more} more" if more else ""
    return (
        f"customer {name_of(large[0])} alone exceeds a vehicle: it demands "
        f"{amount(demands[large[0] - 1])} of {amount(capacity)}{others}"
    )
