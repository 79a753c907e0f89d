"""Locked tours: a plan keeps them as they are, and only the others are searched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fixedfleet.errors import InputError
from fixedfleet.plan import Plan
from fixedfleet.wording import count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fixedfleet.instance import Instance

__all__ = ["LockedTours"]


class LockedTours:
    """
    Tours that must stay as they are, and the customers in none of them.

    Parameters
    ----------
    tours
        A plan, which may leave customers out, or tours.
    instance
        The instance with all customers.

    Attributes
    ----------
    plan
        The locked tours.
    rest
        The instance of the other customers and vehicles.

    Raises
    ------
    InputError
        If a tour has a fault, or if no customer or no vehicle is left.
    """

    def __init__(self, tours: Iterable[Iterable[int]], instance: Instance) -> None:
        self.plan = Plan(tours)
        if faults := self.plan.check(instance, partial=True):
            raise InputError(f"the tours cannot be locked: {faults[0]}")
        self._customers = self.plan.unserved(instance)
        if not self._customers:
            raise InputError(
                "every customer is in a locked tour, so none is left to plan: unlock "
                "a tour"
            )
        vehicles = instance.vehicles - self.plan.vehicles
        if vehicles < 1:
            left = count(len(self._customers), "customer")
            raise InputError(
                f"the locked tours use all {count(instance.vehicles, 'vehicle')}, but "
                f"{left} must still be planned: unlock a tour, or add a vehicle"
            )
        self.rest = instance.only(self._customers).with_vehicles(vehicles)

    def join(self, plan: Plan) -> Plan:
        """Return the locked tours, and behind them a plan for the rest."""
        return Plan((*self.plan, *plan.renumbered(self._customers)))

    def rest_of(self, plan: Plan) -> Plan:
        """
        Return what a plan for all customers has besides the locked tours.

        Raises
        ------
        InputError
            If the plan does not have the locked tours.
        """
        for tour in self.plan:
            if tour not in plan.tours:
                raise InputError(
                    f"the start does not have the locked tour {list(tour)}: start "
                    "from a plan that has it, or leave the start out"
                )
        others = Plan(tour for tour in plan if tour not in self.plan.tours)
        return others.numbered_in(self._customers)

    def told(
        self, tell: Callable[[float, float, Plan], None], cost: float
    ) -> Callable[[float, float, Plan], None]:
        """
        Return a function that takes improvements of the rest and tells of whole plans.

        Parameters
        ----------
        tell
            Called with (seconds, cost, plan).
        cost
            The cost of the locked tours.
        """

        def improved(seconds: float, found: float, plan: Plan) -> None:
            tell(seconds, found + cost, self.join(plan))

        return improved
