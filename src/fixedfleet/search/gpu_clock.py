"""The GPU search for so many seconds: in rounds, cooled by the clock."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from fixedfleet.errors import InputError
from fixedfleet.instance import InstanceBatch
from fixedfleet.plan import PlanBatch
from fixedfleet.search.gpu import (
    MOST_ITERATIONS,
    GpuParameters,
    chains_to_fill,
    improve_batch,
)
from fixedfleet.search.run import Run

if TYPE_CHECKING:
    from collections.abc import Callable

    from fixedfleet.instance import Instance
    from fixedfleet.plan import Plan
    from fixedfleet.search.result import SearchResult

__all__ = ["Rounds", "gpu_search"]

_LEAST_SECONDS = 1e-3  # less is not worth a round
_FIRST = 50  # iterations of the first round, which shows how fast the GPU is
_GROWTH = 8  # times as many iterations as in the round before, at most


class Rounds:
    """
    Plans on a GPU that are improved as long as there is time.

    Each round begins with the best plans so far and goes on with the temperature where
    the clock stands, so that the search ends cold at its limit. Making this compiles
    the kernels.

    Parameters
    ----------
    instances
        The instances, as :func:`improve_batch` takes them.
    starts
        A feasible plan for each.
    seed
        Of the first round, from 0.
    vehicle_cost
        What a vehicle used adds to the length.
    parameters
        How to search and between which temperatures.

    Attributes
    ----------
    plans
        The best plans so far.
    iterations
        Iterations done, for each chain.
    """

    def __init__(
        self,
        instances: InstanceBatch,
        starts: PlanBatch,
        *,
        seed: int = 0,
        vehicle_cost: float = 0.0,
        parameters: GpuParameters | None = None,
    ) -> None:
        self.instances = instances
        self.plans = starts
        self.seed = seed
        self.vehicle_cost = vehicle_cost
        self.parameters = parameters or GpuParameters()
        self.iterations = 0
        self._call(1, self.parameters)
        begin = time.perf_counter()
        self._call(1, self.parameters)
        self._overhead = time.perf_counter() - begin  # of the host, in every round

    def run(
        self,
        time_limit: float,
        left: Callable[[], float],
        *,
        rounds: int = 10,
        told: Callable[[PlanBatch], None] | None = None,
    ) -> None:
        """
        Improve the plans for a time.

        Parameters
        ----------
        time_limit
            Seconds in all.
        left
            Says how many of them are left, 0 to make an end.
        rounds
            Rounds that the time is cut into, at least.
        told
            Told the best plans after each round.
        """
        iterations, pace = _FIRST, 0.0
        while (remaining := left()) > max(_LEAST_SECONDS, self._overhead):
            seconds = min(remaining, time_limit / rounds)
            if pace:
                wanted = int(pace * (seconds - self._overhead))
                iterations = min(max(1, wanted), _GROWTH * iterations, MOST_ITERATIONS)
            passed = time_limit - remaining
            settings = self._cooled(
                passed / time_limit, (passed + seconds) / time_limit
            )
            begin = time.perf_counter()
            self.plans = self._call(iterations, settings)
            spent = max(time.perf_counter() - begin, 1e-9)
            pace = iterations / max(spent - self._overhead, spent / 10)
            self.iterations += iterations
            self.seed += 1
            if told is not None:
                told(self.plans)

    def _call(self, iterations: int, settings: GpuParameters) -> PlanBatch:
        return improve_batch(
            self.instances,
            self.plans,
            iterations=iterations,
            seed=self.seed,
            parameters=settings,
            vehicle_cost=self.vehicle_cost,
        )

    def _cooled(self, begin: float, end: float) -> GpuParameters:
        """Return parameters for a part of the cooling, given as shares of it all."""
        hot = self.parameters.start_temperature
        fall = self.parameters.end_temperature / hot
        return replace(
            self.parameters,
            start_temperature=hot * fall**begin,
            end_temperature=hot * fall ** min(end, 1.0),
        )


def gpu_search(
    instance: Instance,
    start: Plan,
    *,
    time_limit: float,
    seed: int = 0,
    vehicle_cost: float = 0.0,
    rounds: int = 10,
    parameters: GpuParameters | None = None,
    on_improvement: Callable[[float, float, Plan], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> SearchResult:
    """
    Improve one plan by as many chains of ruin and recreate as fill the GPU.

    Every round begins with the best plan of all chains. Compiling the kernel does not
    count as time.

    Parameters
    ----------
    instance
        The instance to plan for. Its fleet is a hard bound.
    start
        A plan within the fleet that serves everybody.
    time_limit
        Seconds to search.
    seed
        Seed of the random numbers, from 0.
    vehicle_cost
        Fixed cost of each vehicle used.
    rounds
        Rounds that the time is cut into, at least.
    parameters
        How to search; by default a :class:`GpuParameters` with as many chains as fill
        the GPU.
    on_improvement
        Called with (seconds, cost, plan) when a round has found a better plan.
    stop
        Asked between rounds; the search ends when it answers True.

    Raises
    ------
    InputError
        If the start leaves customers out, the instance is too large, or there is no
        GPU.
    MissingPackageError
        If CuPy is not installed.
    """
    if faults := start.check(instance):
        raise InputError(
            "the search on a GPU begins with a plan that serves everybody within the "
            f"fleet, and there is none: {faults[0]}"
        )
    work = Rounds(
        InstanceBatch.of([instance]),
        PlanBatch.from_plans([start]),
        seed=seed,
        vehicle_cost=vehicle_cost,
        parameters=parameters or GpuParameters(chains=chains_to_fill(instance)),
    )
    run = Run(
        instance,
        start,
        time_limit=time_limit,
        vehicle_cost=vehicle_cost,
        on_improvement=on_improvement,
        stop=stop,
    )
    try:
        work.run(
            time_limit, run.left, rounds=rounds, told=lambda plans: run.offer(plans[0])
        )
    except KeyboardInterrupt:
        run.interrupted = True
    run.iterations = work.iterations * work.parameters.chains
    return run.result()
