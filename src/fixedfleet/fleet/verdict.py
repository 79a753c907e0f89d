"""The verdict on a fleet: whether it suffices, why, and which fleet would suffice."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from fixedfleet.deadline import Deadline
from fixedfleet.errors import InputError
from fixedfleet.fleet import exact_packing
from fixedfleet.fleet.mixed_fleet import MixedFleet, name_type
from fixedfleet.fleet.packing import best_fit, best_fit_batch
from fixedfleet.fleet.reach import find_unreachable, order_by_time
from fixedfleet.fleet.smallest import SmallestFleet
from fixedfleet.plan import Plan, PlanBatch
from fixedfleet.wording import count, with_unit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fixedfleet.instance import Instance, InstanceBatch, VehicleType

__all__ = [
    "BatchVerdict",
    "FleetVerdict",
    "Status",
    "assess_batch",
    "assess_fleet",
    "load_exact_packing",
    "pack_quickly",
    "quick_packing_size",
]

Status = Literal["feasible", "impossible", "undecided"]

_QUICK_SECONDS = 0.02  # limit of the quick packings, before an exact search


@dataclass(frozen=True, repr=False)
class FleetVerdict:
    """
    Whether a fleet suffices, why, and which fleet would suffice.

    Attributes
    ----------
    status
        ``feasible``, ``impossible``, or ``undecided`` within the time limit.
    vehicles
        The number of vehicles that the verdict is about.
    reason
        The proof, in one sentence.
    lower_bound
        Fewer vehicles than this are proven not to suffice.
    upper_bound
        This many vehicles are proven to suffice; None if no such number is known.
    packing
        The proof of ``feasible``: a plan within the fleet. The length of its tours is
        not optimised. None for any other status.
    smallest_packing
        A plan with at most ``upper_bound`` vehicles; None if there is no upper bound.
    additions
        If vehicles differ and are too few: a vehicle type whose ``count`` is a number
        of vehicles to add so that the fleet suffices. ``smallest_packing`` is a plan
        with these vehicles. None otherwise.
    advice
        If vehicles differ or times are given: a sentence that says what would suffice,
        and what is not proven. Empty otherwise.
    """

    status: Status
    vehicles: int
    reason: str
    lower_bound: int
    upper_bound: int | None
    packing: Plan | None
    smallest_packing: Plan | None
    additions: VehicleType | None = None
    advice: str = ""

    @property
    def smallest(self) -> int | None:
        """The size of the smallest fleet that suffices; None if it is not known."""
        return self.lower_bound if self.smallest_is_proven else None

    @property
    def smallest_is_proven(self) -> bool:
        """Whether the smallest fleet that suffices is known."""
        return self.lower_bound == self.upper_bound

    def summary(self) -> str:
        """
        Return the verdict as two lines of text.

        The first line is about this fleet, the second about the smallest fleet that
        suffices, or the advice.
        """
        if self.advice:
            smallest = self.advice
        elif self.upper_bound is None:
            smallest = "no fleet suffices"
        elif self.smallest_is_proven:
            fewest = count(self.lower_bound, "vehicle")
            smallest = f"the smallest fleet that suffices: {fewest}"
        else:
            smallest = (
                f"the smallest fleet that suffices: {self.lower_bound} to "
                f"{count(self.upper_bound, 'vehicle')}, undecided within the limit"
            )
        fleet = count(self.vehicles, "vehicle")
        return f"{fleet}: {self.status}, {self.reason}\n{smallest}"

    __str__ = summary

    def __repr__(self) -> str:
        known = "no fleet suffices"
        if self.upper_bound is not None:
            known = f"at least {self.lower_bound} needed, {self.upper_bound} suffice"
        fleet = count(self.vehicles, "vehicle")
        return f"FleetVerdict({fleet}: {self.status}, {self.advice or known})"

    def enlarge(self, instance: Instance) -> Instance:
        """Return the instance with the fleet of :attr:`smallest_packing`."""
        if self.additions is not None:
            return _add_vehicles(instance, self.additions, self.additions.count)
        if self.smallest_packing is None:
            return instance
        return instance.with_vehicles(self.smallest_packing.vehicles)

    def asked(self, instance: Instance) -> Instance:
        """Undo :meth:`enlarge`: return the instance with the fleet of this verdict."""
        if self.additions is not None and instance.vehicles > self.vehicles:
            return _add_vehicles(instance, self.additions, -self.additions.count)
        return instance.with_vehicles(self.vehicles)

    def confirmed_by(self, plan: Plan, instance: Instance) -> FleetVerdict:
        """
        Return this verdict, changed to ``feasible`` because of this plan.

        The plan must be feasible for the instance, which is not checked here. If the
        instance has a larger fleet than the one that was judged, the plan says nothing
        about that fleet, and the verdict is returned unchanged. So is ``impossible``.
        """
        if self.status == "impossible" or instance.vehicles != self.vehicles:
            return self
        reason = self.reason
        if self.status == "undecided":
            reason = "the plan shows that the fleet suffices"
        return replace(
            self,
            status="feasible",
            reason=reason,
            upper_bound=plan.vehicles,
            packing=plan,
            smallest_packing=plan,
            additions=None,
            advice=f"the plan uses {count(plan.vehicles, 'vehicle')}",
        )


@dataclass(frozen=True, eq=False, repr=False)
class BatchVerdict:
    """
    Whether the fleet of each instance suffices.

    Attributes
    ----------
    statuses
        ``feasible``, ``impossible`` or ``undecided`` per instance, shape (B,).
    packings
        A plan within the fleet for each instance whose status is ``feasible``; an empty
        plan for all others.
    reasons
        For the row of each instance that is not ``feasible``, why its fleet is not
        known to suffice.
    """

    statuses: NDArray[np.str_]
    packings: PlanBatch
    reasons: dict[int, str]

    def __repr__(self) -> str:
        good = int(self.feasible.sum())
        return f"BatchVerdict({len(self.statuses)} fleets, {good} feasible)"

    @property
    def feasible(self) -> NDArray[np.bool_]:
        """Mask of the instances whose fleet is known to suffice, shape (B,)."""
        return np.asarray(self.statuses == "feasible")


def quick_packing_size(instance: Instance) -> int | None:
    """
    Return the number of vehicles that a quick packing uses.

    If vehicles are equal, the packing may use more vehicles than the fleet has. Return
    None if a demand exceeds the capacity, or if vehicles differ and no packing into the
    fleet is found.
    """
    if _too_large(instance):
        return None
    if instance.has_mixed_fleet:
        plan = MixedFleet(instance, Deadline(_QUICK_SECONDS)).plan()
        return None if plan is None else max(1, plan.vehicles)
    sizes = [size for size in instance.demand_units.tolist() if size]
    return max(1, len(best_fit(sizes, instance.capacity_units)))


def pack_quickly(instance: Instance, deadline: Deadline) -> Plan | None:
    """
    Return a quick packing into the fleet; None if none is found.

    Windows and shifts are not considered.
    """
    if _too_large(instance):
        return None
    if instance.has_mixed_fleet:
        return MixedFleet(instance, deadline).plan()
    fleet = SmallestFleet(instance, deadline)
    return fleet.plan() if fleet.upper <= instance.vehicles else None


def load_exact_packing(instance: Instance) -> None:
    """
    Import the solver of the exact search, if the verdict on an instance may need it.

    Call it before a time limit begins, so that the import does not use up its time.
    """
    if not _too_large(instance):
        kind = MixedFleet if instance.has_mixed_fleet else SmallestFleet
        _load_if_open(kind(instance, Deadline(_QUICK_SECONDS)))


def _load_if_open(fleet: SmallestFleet | MixedFleet) -> None:
    """Import the solver of the exact search, unless quick packings have decided."""
    if fleet.open:
        exact_packing.load()


def assess_fleet(
    instance: Instance,
    *,
    time_limit: float = 1.0,
    smallest_limit: float | None = None,
    deadline: Deadline | None = None,
) -> FleetVerdict:
    """
    Return whether an instance's fleet can carry the demands, with the proof.

    If there are windows or shifts, the verdict is ``feasible`` only if a packing meets
    them. It is ``impossible`` if the demands do not fit, or if no vehicle can serve
    some customer in time. Nothing else about times is proven.

    Parameters
    ----------
    instance
        The instance.
    time_limit
        Seconds for the exact search, which runs if bounds and quick packings do not
        settle the verdict or the smallest fleet; 0 for no exact search.
    smallest_limit
        Seconds for the exact search if a quick packing has shown that the fleet
        suffices, so that only the smallest fleet is still searched for. Default: the
        time limit.
    deadline
        When everything must end, including quick packings. Default: quick packings have
        no limit, but take at most a few seconds.
    """
    if not time_limit >= 0:
        raise InputError(f"time limit is {time_limit:g} s, not at least 0")
    vehicles = instance.vehicles
    if reason := _too_large(instance):
        lower = instance.minimum_vehicles
        return FleetVerdict("impossible", vehicles, reason, lower, None, None, None)
    if not instance.is_plain:
        return _assess_day(instance, time_limit, deadline)
    return _assess_loads(instance, time_limit, smallest_limit, deadline)


def _assess_loads(
    instance: Instance,
    time_limit: float,
    smallest_limit: float | None,
    deadline: Deadline | None,
) -> FleetVerdict:
    """Return the verdict on a fleet of equal vehicles, without windows and shifts."""
    vehicles = instance.vehicles
    fleet = SmallestFleet(instance, deadline or Deadline())
    limit = time_limit
    if vehicles >= fleet.upper and smallest_limit is not None:
        limit = smallest_limit
    if deadline is None:
        if limit > 0:
            _load_if_open(fleet)
        deadline = Deadline()
    fleet.search(vehicles, deadline.within(limit))
    status: Status
    if vehicles >= fleet.upper:
        status = "feasible"
        packed = count(fleet.upper, "vehicle")
        reason = f"the demands fit into {packed}, as the packing shows"
    elif vehicles < fleet.lower:
        status = "impossible"
        reason = fleet.proof_against(vehicles)
    else:
        status = "undecided"
        reason = (
            f"within the limit of {time_limit:g} s, neither a packing into "
            f"{count(vehicles, 'vehicle')} nor a proof that none exists was found"
        )
    plan = fleet.plan()
    packing = plan if status == "feasible" else None
    return FleetVerdict(
        status, vehicles, reason, fleet.lower, fleet.upper, packing, plan
    )


def _assess_day(
    instance: Instance, time_limit: float, deadline: Deadline | None
) -> FleetVerdict:
    """Return the verdict on a fleet with several vehicle types, windows or shifts."""
    if instance.has_mixed_fleet:
        verdict = _assess_mixed(instance, time_limit, deadline)
    else:
        verdict = _assess_loads(instance, time_limit, 0.0, deadline)
    return _add_times(verdict, instance) if instance.is_timed else verdict


def _assess_mixed(
    instance: Instance, time_limit: float, deadline: Deadline | None
) -> FleetVerdict:
    """Return the verdict on vehicles of several types, without windows and shifts."""
    fleet = MixedFleet(instance, deadline or Deadline())
    if deadline is None:
        if time_limit > 0:
            _load_if_open(fleet)
        deadline = Deadline()
    fleet.search(deadline.within(time_limit))
    lower, vehicles = instance.minimum_vehicles, instance.vehicles
    if (plan := fleet.plan()) is not None:
        return FleetVerdict(
            status="feasible",
            vehicles=vehicles,
            reason="the demands fit into the fleet, as the packing shows",
            lower_bound=lower,
            upper_bound=plan.vehicles,
            packing=plan,
            smallest_packing=plan,
            advice=f"the packing uses {count(plan.vehicles, 'vehicle')}",
        )
    reason = fleet.proof or (
        f"within the limit of {time_limit:g} s, neither a packing into the fleet nor a "
        "proof that none exists was found"
    )
    added = fleet.additions(deadline.within(max(time_limit, _QUICK_SECONDS)))
    verdict = FleetVerdict(
        status="impossible" if fleet.proof else "undecided",
        vehicles=vehicles,
        reason=reason,
        lower_bound=lower,
        upper_bound=None,
        packing=None,
        smallest_packing=None,
        advice="no larger fleet was found within the limit",
    )
    if added is None:
        return verdict
    more, plan = added
    return replace(
        verdict,
        upper_bound=vehicles + more.count,
        smallest_packing=plan,
        additions=more,
        advice=f"with {name_type(more)}, the demands fit",
    )


def _add_times(verdict: FleetVerdict, instance: Instance) -> FleetVerdict:
    """
    Return a verdict that also considers windows and shifts.

    The given verdict is about loads only.
    """
    if reason := find_unreachable(instance):
        return replace(
            verdict,
            status="impossible",
            reason=reason,
            upper_bound=None,
            packing=None,
            smallest_packing=None,
            additions=None,
            advice="no number of such vehicles suffices",
        )
    if verdict.packing is not None:
        plan = order_by_time(verdict.packing, instance)
        if plan.is_feasible(instance):
            reason = f"{verdict.reason}, and it meets all windows and shifts"
            return replace(verdict, packing=plan, smallest_packing=plan, reason=reason)
    unproven = "whether windows and shifts can be met is not proven"
    advice = f"{verdict.advice}; {unproven}" if verdict.additions else unproven
    verdict = replace(
        verdict,
        upper_bound=None,
        packing=None,
        smallest_packing=None,
        additions=None,
        advice=advice,
    )
    if verdict.status != "feasible":
        return verdict
    reason = "the demands fit into the fleet, but no plan is known yet that is in time"
    return replace(verdict, status="undecided", reason=reason)


def assess_batch(
    batch: InstanceBatch,
    *,
    time_limit: float = 0.1,
    smallest: bool = False,
    deadline: Deadline | None = None,
) -> BatchVerdict:
    """
    Return, for each instance of a batch, whether its fleet can carry its demands.

    Best fit is tried for the whole batch at once, and packs nearly every instance that
    can be packed. Only the other instances need :func:`assess_fleet`.

    Parameters
    ----------
    batch
        The instances.
    time_limit
        Seconds per instance for the exact search, as for :func:`assess_fleet`.
    smallest
        Whether the packings should use as few vehicles as possible.
    deadline
        When everything must end, as for :func:`assess_fleet`. Best fit is not ended.
    """
    statuses = np.full(len(batch), "feasible", dtype="<U10")
    reasons: dict[int, str] = {}
    plans, good = best_fit_batch(batch)
    if smallest:
        good &= plans.vehicles() <= batch.minimum_vehicles
    found: dict[int, Plan] = {}
    for row in np.flatnonzero(~good).tolist():
        verdict = assess_fleet(batch[row], time_limit=time_limit, deadline=deadline)
        if verdict.packing is None:
            statuses[row], reasons[row] = verdict.status, verdict.reason
        found[row] = verdict.packing or Plan([])
    plans = plans.replace(list(found), PlanBatch.from_plans(found.values()))
    return BatchVerdict(statuses, plans, reasons)


def _add_vehicles(instance: Instance, kind: VehicleType, number: int) -> Instance:
    """
    Return an instance with ``number`` more vehicles of the type ``kind``.

    A negative number removes vehicles. ``kind.count`` is ignored.
    """
    types = list(instance.fleet)
    place = [replace(one, count=kind.count) for one in types].index(kind)
    types[place] = replace(types[place], count=types[place].count + number)
    return instance.with_vehicle_types(types)


def _too_large(instance: Instance) -> str:
    """Return a sentence about the demands above the capacity; "" if there are none."""
    units, capacity = instance.demand_units.tolist(), instance.capacity_units
    large = [customer for customer, size in enumerate(units) if size > capacity]
    if not large:
        return ""
    more = len(large) - 1
    others = f"; so {'does' if more == 1 else 'do'} {more} more" if more else ""
    return (
        f"customer {instance.name_of(large[0])} alone exceeds a vehicle: it demands "
        f"{instance.amount(units[large[0]])} of "
        f"{with_unit(str(instance.amount(capacity)), instance.unit)}{others}"
    )
