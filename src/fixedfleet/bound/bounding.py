"""Ever higher lower bounds on the cost of all plans, until a plan is proven optimal."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fixedfleet.bound.linear_program import NoSolutionError
from fixedfleet.bound.pricing import OutOfTimeError, TooManyLabelsError
from fixedfleet.bound.root import Root
from fixedfleet.bound.route_pool import RoutePool
from fixedfleet.bound.whole_instance import make_whole
from fixedfleet.errors import InputError, check_vehicle_cost
from fixedfleet.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from fixedfleet.bound.master import Route
    from fixedfleet.bound.whole_instance import WholeInstance
    from fixedfleet.instance import Instance

__all__ = ["Bound", "bounds"]

_log = logging.getLogger("fixedfleet")
_MOST_CUSTOMERS = 1000  # with more customers, one pricing takes minutes


@dataclass(frozen=True)
class Bound:
    """
    A lower bound on the cost of all plans, and the best known plan.

    Attributes
    ----------
    bound
        The lower bound: no plan costs less.
    proven
        Whether the plan is proven optimal. Unless all costs are whole numbers, another
        plan may cost less by a share of at most 1e-7.
    plan
        The given plan, or a better one that was found meanwhile.
    """

    bound: float
    proven: bool
    plan: Plan


def bounds(
    instance: Instance,
    plan: Plan,
    *,
    seconds_left: Callable[[], float],
    vehicle_cost: float = 0.0,
    tours: Iterable[Route] = (),
) -> Iterator[Bound]:
    """
    Yield ever higher lower bounds until the plan is proven optimal or time is over.

    Parameters
    ----------
    instance
        The instance.
    plan
        A feasible plan. The better it is, the less time the proof takes.
    seconds_left
        Returns the remaining time in seconds. It is called often, and no further bound
        is computed when it returns 0 or less.
    vehicle_cost
        Fixed cost of each vehicle used.
    tours
        Tours of other good plans. Column generation starts with them, which saves time.

    Raises
    ------
    InputError
        If vehicles differ, or there are windows or shifts; if the plan is not feasible;
        if a tour exceeds the capacity, or visits a customer twice or one that does not
        exist.
    """
    check_vehicle_cost(vehicle_cost)
    instance.require_plain("a lower bound")
    if instance.num_customers > _MOST_CUSTOMERS:
        raise InputError(
            f"a lower bound is for at most {_MOST_CUSTOMERS:,} customers: there are "
            f"{instance.num_customers:,}"
        )
    if faults := plan.check(instance):
        raise InputError(f"the plan is not one for this instance: {faults[0]}")
    known = [*plan.tours, *(tuple(tour) for tour in tours)]
    for tour in known:
        if faults := Plan([tour]).check(instance, partial=True):
            raise InputError(f"tour {list(tour)} is no tour: {faults[0]}")
    return _Bounds(instance, plan, vehicle_cost, known, seconds_left).run()


class _Bounds:
    """The state of :func:`bounds`: the best plan and the best bound so far."""

    def __init__(
        self,
        instance: Instance,
        plan: Plan,
        vehicle_cost: float,
        tours: list[Route],
        seconds_left: Callable[[], float],
    ) -> None:
        self._instance = instance
        self._vehicle_cost = vehicle_cost
        self._tours = tours
        self._seconds_left = seconds_left
        self._whole: WholeInstance = make_whole(instance, plan, vehicle_cost)
        self._plan = plan
        self._cost = plan.cost_v(instance, vehicle_cost)
        self._goal = self._whole.goal(self._cost)
        self._bound = 0
        self._claimed = 0

    def run(self) -> Iterator[Bound]:
        """
        Yield a :class:`Bound` at once, and again whenever bound or plan has improved.
        """
        last = self._now()
        yield last
        try:
            for _ in self._steps():
                now = self._now()
                if now != last:
                    last = now
                    yield now
                if now.proven:
                    return
        except (OutOfTimeError, TooManyLabelsError):
            pass
        except NoSolutionError as error:  # what is known so far still holds
            _log.warning("the computation of the lower bound ended early: %s", error)
        if self._now() != last:
            yield self._now()

    def _steps(self) -> Iterator[None]:
        root = Root(self._whole, self._goal, self._tours, self._seconds_left)
        for _ in root.run():
            self._bound = max(self._bound, root.bound)
            yield
        self._bound = max(self._bound, root.bound)
        yield
        if root.pool is None or root.bound > self._goal:
            return
        pool = RoutePool(
            root.pricer,
            root.pool,
            root.master,
            root.bound,
            self._goal,
            self._improve,
        )
        try:
            for _ in pool.search():
                self._bound = max(self._bound, pool.bound)
                yield
        finally:
            self._bound = max(self._bound, pool.bound)

    def _improve(self, tours: list[Route]) -> int:
        """
        Replace the best known plan by the plan of these tours, if it is better.

        Return the new goal, or the same goal if the plan is not better. The goal is a
        cost in the units of :class:`WholeInstance`. The cost of the tours is at most
        the goal. But because costs in units are rounded down, a plan that is much
        cheaper than the first plan may only seem to be better than the best known one.
        """
        plan = Plan(tours)
        if faults := plan.check(self._instance):
            raise RuntimeError(f"the routes found are no plan: {faults[0]}")
        cost = plan.cost_v(self._instance, self._vehicle_cost)
        if cost < self._cost:
            self._plan, self._cost = plan, cost
            self._goal = self._whole.goal(cost)
        return self._goal

    def _now(self) -> Bound:
        proven = self._bound > self._goal or self._cost == 0
        # After arcs were forbidden, the bound holds only for plans within the goal.
        self._claimed = max(self._claimed, min(self._bound, self._goal + 1))
        bound = min(self._whole.to_user(self._claimed), self._cost)
        return Bound(bound, proven, self._plan)
