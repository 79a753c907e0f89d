"""The public function ``lower_bound``, which computes a lower bound for a plan."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from fixedfleet.bound.bounding import bounds
from fixedfleet.bound.subset_rows import count_visits
from fixedfleet.deadline import Deadline
from fixedfleet.errors import InputError, check_vehicle_cost
from fixedfleet.fleet import assess_fleet, load_exact_packing
from fixedfleet.instance import Instance
from fixedfleet.interrupts import interrupt_noted, interrupts_deferred
from fixedfleet.plan import Plan
from fixedfleet.search import improve, load_search
from fixedfleet.search.task import MIN_SECONDS
from fixedfleet.wording import describe_proof, format_length

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["LowerBound", "load_kernels", "lower_bound"]

# The search for a plan if none is given, and its share of the time.
_SEARCH, _SEARCH_SHARE = "auto", 0.1


@dataclass(frozen=True, repr=False)
class LowerBound:
    """
    The result of :func:`fixedfleet.lower_bound`.

    Attributes
    ----------
    instance
        The instance.
    plan
        The best known plan: the given one, or a better one that was found meanwhile.
    lower_bound
        No feasible plan costs less than this.
    is_optimal
        Whether the plan is proven optimal. Unless all distances and the vehicle cost
        are whole numbers, another plan may cost less by a share of at most 1e-7.
    vehicle_cost
        Fixed cost of each vehicle used.
    seconds
        Duration of the computation.
    interrupted
        Whether the user ended the computation with Ctrl-C.
    """

    instance: Instance
    plan: Plan
    lower_bound: float
    is_optimal: bool
    vehicle_cost: float = 0.0
    seconds: float = 0.0
    interrupted: bool = False

    @property
    def cost(self) -> float:
        """Length of the plan, plus the vehicle cost of each vehicle used."""
        return self.plan.cost_v(self.instance, self.vehicle_cost)

    @property
    def gap(self) -> float:
        """
        The largest share by which the plan can cost more than an optimal one.

        It is infinite if no lower bound above 0 was found.
        """
        if self.cost == self.lower_bound:
            return 0.0
        return self.cost / self.lower_bound - 1 if self.lower_bound else math.inf

    def __str__(self) -> str:
        what = "cost" if self.vehicle_cost else "length"
        start = f"{what} {format_length(self.cost, 6, self.instance)}"
        if math.isinf(self.gap):
            return f"{start}, no lower bound found"
        proof = describe_proof(
            self.gap, is_optimal=self.is_optimal, vehicle_cost=self.vehicle_cost
        )
        return f"{start}, {proof}"

    def __repr__(self) -> str:
        return (
            f"LowerBound({self.lower_bound:g}, cost {self.cost:g}, "
            f"{'optimal' if self.is_optimal else f'gap {self.gap:.2%}'})"
        )


def lower_bound(
    instance: Instance,
    plan: Plan | None = None,
    time_limit: float = 10.0,
    *,
    vehicle_cost: float = 0.0,
    seed: int = 0,
    stop: Callable[[], bool] | None = None,
) -> LowerBound:
    """
    Return a lower bound on the cost of all plans, and whether a plan is optimal.

    Ctrl-C ends the call with the best bound so far. ``docs/bound.md`` describes the
    method and what exactly is proven.

    Parameters
    ----------
    instance
        The instance. Distances may be asymmetric.
    plan
        A feasible plan to compare with the bound. The better it is, the less time the
        proof takes. Default: a plan is searched for during a tenth of the time.
    time_limit
        Seconds for the whole call. Loading compiled code, the first time in a process,
        does not count towards this limit.
    vehicle_cost
        Fixed cost of each vehicle used.
    seed
        Seed of the search.
    stop
        Called now and then; the computation ends when it returns True.

    Raises
    ------
    InputError
        If the plan is not feasible for the instance, or if no plan is given and none is
        found.
    """
    Deadline.of(time_limit, stop=stop)  # raises an error before anything is compiled
    instance.require_plain("a lower bound")
    check_vehicle_cost(vehicle_cost)
    load_kernels()
    if plan is None:
        load_exact_packing(instance)
        load_search(_SEARCH, instance)
    with interrupt_noted() as pressed:
        deadline = Deadline.of(time_limit, stop=stop).or_when(pressed)
        tours: set[tuple[int, ...]] = set()
        if plan is None:
            share = deadline.until(_SEARCH_SHARE)
            plan = _find_plan(instance, share, vehicle_cost, seed, tours)
        *_, last = bounds(
            instance,
            plan,
            seconds_left=deadline.left,
            vehicle_cost=vehicle_cost,
            tours=tours,
        )
        return LowerBound(
            instance=instance,
            plan=last.plan,
            lower_bound=last.bound,
            is_optimal=last.proven,
            vehicle_cost=vehicle_cost,
            seconds=deadline.elapsed(),
            interrupted=pressed(),
        )


def _find_plan(
    instance: Instance,
    deadline: Deadline,
    vehicle_cost: float,
    seed: int,
    tours: set[tuple[int, ...]],
) -> Plan:
    """
    Search for a plan and return it.

    The tours of this plan and of all plans before it are added to ``tours``.
    """
    verdict = assess_fleet(instance, time_limit=deadline.seconds, deadline=deadline)
    if verdict.packing is None:
        raise InputError(f"there is no plan to bound: {verdict}")

    def note(_seconds: float, _cost: float, found: Plan) -> None:
        tours.update(found.tours)

    found = improve(
        instance,
        verdict.packing,
        time_limit=max(deadline.left(), MIN_SECONDS),
        stop=deadline.over,
        search=_SEARCH,
        seed=seed,
        vehicle_cost=vehicle_cost,
        on_improvement=note,
    )
    return found.plan


@cache
def load_kernels() -> None:
    """Load all compiled functions of this folder, or compile them the first time."""
    angles = np.arange(9.0)
    ring = Instance(
        depot=(0, 0),
        customers=np.column_stack((np.cos(angles), np.sin(angles))),
        demands=[3, 4, 5, 3, 4, 5, 3, 4, 5],
        capacity=9,
        vehicles=5,
    )
    poor = Plan([[1, 5], [2, 7], [3, 8], [4, 6], [9]])
    with interrupts_deferred():  # Numba's compiler may lose a KeyboardInterrupt
        for _ in bounds(ring, poor, seconds_left=lambda: math.inf):
            pass
        nothing = np.zeros((1, 2), bool)
        ones = np.ones((1, 2), np.int64)
        count_visits(np.zeros((1, 2), np.int16), ones, nothing, ones[0, :1])
