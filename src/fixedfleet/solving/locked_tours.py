"""Locked tours: every plan contains them unchanged, and only the rest is searched."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fixedfleet.errors import InputError
from fixedfleet.plan import Plan
from fixedfleet.wording import count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fixedfleet.instance import Instance
    from fixedfleet.result import Result
    from fixedfleet.search.construct import StartName
    from fixedfleet.solving.bounded_plan import BetterBound

    Improvement = Callable[[float, float, Plan], None]  # seconds, cost, plan

__all__ = ["LockedTours"]


class LockedTours:
    """
    Tours that every plan must contain unchanged.

    ``rest`` is the instance that is left to solve: the customers that are not in a
    locked tour, and the vehicles that no locked tour uses.

    Raises
    ------
    InputError
        If a tour has a fault, or if no customer or no vehicle is left.
    """

    def __init__(
        self,
        tours: Iterable[Iterable[int]],
        instance: Instance,
        vehicle_cost: float = 0.0,
    ) -> None:
        plan = _typed(tours, instance)
        if faults := plan.check(instance, partial=True):
            raise InputError(f"the tours cannot be locked: {faults[0]}")
        others = plan.unserved(instance)
        if not others:
            raise InputError(
                "every customer is in a locked tour, so none is left to plan: unlock "
                "a tour"
            )
        vehicles = instance.vehicles - plan.vehicles
        if vehicles < 1:
            left = count(len(others), "customer")
            raise InputError(
                f"the locked tours use all {count(instance.vehicles, 'vehicle')}, but "
                f"{left} must still be planned: unlock a tour, or add a vehicle"
            )
        self._types = _types_of_rest(plan, instance)
        if self._types is None:
            self.rest = instance.with_customers(others).with_vehicles(vehicles)
        else:
            types = (
                replace(instance.fleet[index], count=number)
                for index, number in self._types.items()
            )
            self.rest = instance.with_customers(others).with_vehicle_types(types)
        self._plan, self._instance, self._others = plan, instance, others
        self._cost = plan.cost_v(instance, vehicle_cost)

    def start_for_rest(self, start: Plan | StartName) -> Plan | StartName:
        """
        Return an initial plan without the locked tours, as a plan for :attr:`rest`.

        A name, such as "savings", is returned unchanged. Raise InputError if a locked
        tour is missing in the plan, or if another tour needs a vehicle type of which
        the locked tours use all vehicles.
        """
        if not isinstance(start, Plan):
            return start
        for tour in self._plan:
            if tour not in start.tours:
                raise InputError(
                    f"the start does not have the locked tour {list(tour)}: start "
                    "from a plan that has it, or leave the start out"
                )
        kept = [tour not in self._plan.tours for tour in start]
        tours = [tour for tour, keep in zip(start, kept, strict=True) if keep]
        if self._types is None:
            return Plan(tours).numbered_in(self._others)
        places = {index: place for place, index in enumerate(self._types)}
        indices = start.type_indices(self._instance)
        types = [index for index, keep in zip(indices, kept, strict=True) if keep]
        for tour, index in zip(tours, types, strict=True):
            if index not in places:
                name = self._instance.fleet[index].name
                raise InputError(
                    f"the start's tour {list(tour)} needs a vehicle of type {name!r}, "
                    "but locked tours have all of them: start from another plan"
                )
        return Plan(tours, [places[index] for index in types]).numbered_in(self._others)

    def reporting_whole_plans(self, report: Improvement | None) -> Improvement | None:
        """
        Return a callback for the search of :attr:`rest`.

        It adds the locked tours to each plan, and calls ``report`` with the whole plan.
        """
        if report is None:
            return None

        def report_whole(seconds: float, cost: float, plan: Plan) -> None:
            report(seconds, cost + self._cost, self._join(plan))

        return report_whole

    def reporting_whole_bounds(self, report: BetterBound | None) -> BetterBound | None:
        """
        Return a callback for lower bounds of :attr:`rest`.

        It adds the cost of the locked tours, and calls ``report`` with the sum.
        """
        if report is None:
            return None
        return lambda seconds, bound: report(seconds, bound + self._cost)

    def add_to(self, result: Result) -> Result:
        """
        Return the result for the whole instance, given the result for :attr:`rest`.

        The locked tours are added to its plans, and their cost to its costs.
        """

        def join(plan: Plan | None) -> Plan | None:
            return None if plan is None else self._join(plan)

        fixed, verdict = self._plan.vehicles, result.verdict
        upper = verdict.upper_bound
        return replace(
            result,
            instance=self._enlarge(result),
            plan=join(result.plan),
            partial=join(result.partial),
            verdict=replace(
                verdict,
                vehicles=self._instance.vehicles,
                reason=f"{count(fixed, 'locked tour')}; for the rest, {verdict.reason}",
                lower_bound=verdict.lower_bound + fixed,
                upper_bound=None if upper is None else upper + fixed,
                packing=join(verdict.packing),
                smallest_packing=join(verdict.smallest_packing),
            ),
            stages=tuple(replace(s, cost=s.cost + self._cost) for s in result.stages),
            trace=tuple((moment, cost + self._cost) for moment, cost in result.trace),
            lower_bound=self._plus_locked(result.lower_bound),
            locked=fixed,
        )

    def _enlarge(self, result: Result) -> Instance:
        """
        Return the whole instance, with the vehicles that were added to :attr:`rest`.

        Vehicles are added only if the user asked for the guarantee.
        """
        if result.instance.vehicles == self.rest.vehicles:
            return self._instance
        if self._instance.has_mixed_fleet:
            return result.verdict.enlarge(self._instance)
        vehicles = result.instance.vehicles + self._plan.vehicles
        return self._instance.with_vehicles(vehicles)

    def _plus_locked(self, bound: float | None) -> float | None:
        """Add the cost of the locked tours to a lower bound for :attr:`rest`."""
        return None if bound is None else bound + self._cost

    def _join(self, plan: Plan) -> Plan:
        """Return one plan: the locked tours, then the tours of a plan for the rest."""
        tours = (*self._plan, *plan.renumbered(self._others))
        if self._types is None:
            return Plan(tours)
        indices = list(self._types)
        types = (indices[place] for place in plan.type_indices(self.rest))
        return Plan(tours, (*(self._plan.vehicle_types or ()), *types))


def _typed(tours: Iterable[Iterable[int]], instance: Instance) -> Plan:
    """
    Return locked tours as a plan.

    Raise InputError if the fleet is mixed and the tours have no vehicle types.
    """
    plan = tours if isinstance(tours, Plan) else Plan(tours)
    if instance.has_mixed_fleet and plan.vehicle_types is None:
        raise InputError(
            "the fleet has vehicles of several types: lock a Plan with vehicle types, "
            "so that it is known which vehicles the locked tours have"
        )
    return plan


def _types_of_rest(plan: Plan, instance: Instance) -> dict[int, int] | None:
    """
    Return how many vehicles of each type the locked tours leave unused.

    The keys are indices of types; types with no vehicle left are missing. Return None
    if the tours have no types.
    """
    if plan.vehicle_types is None:
        return None
    left = {
        index: one.count - plan.vehicle_types.count(index)
        for index, one in enumerate(instance.fleet)
    }
    return {index: number for index, number in left.items() if number}
