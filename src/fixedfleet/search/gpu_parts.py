"""Search one plan of many customers on a GPU: all its parts at once, again and again.

Each round divides the tours of the plan into parts of about a hundred customers. The
parts are a batch for the GPU, where many chains search each of them. The tours of the
best chains replace the ones before, and the next round divides the plan in another way.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fixedfleet.instance import InstanceBatch
from fixedfleet.plan import Plan, PlanBatch
from fixedfleet.search import gpu_kernel
from fixedfleet.search.cpu_arrays import scale
from fixedfleet.search.decomposition import (
    Tours,
    anneal_whole,
    decomposition,
    divide,
)
from fixedfleet.search.gpu_arrays import FAST_NODES, pack
from fixedfleet.search.method import LEAST_SECONDS
from fixedfleet.search.parameters import (
    GPU_DEFAULTS,
    DecompositionParameters,
    GpuPartsParameters,
)

if TYPE_CHECKING:
    from fixedfleet.search.decomposition import Part
    from fixedfleet.search.method import SearchTask

__all__ = ["search_parts"]

_DEFAULTS = GpuPartsParameters()
_WHOLE = DecompositionParameters(whole_share=1.0)
_WHOLE_SECONDS = 2e-4  # for each customer, to begin with a plan of the whole
_FIRST = 2_000  # iterations of the first round, which shows how fast the GPU is
_FASTER = 8  # a round has at most this many times the iterations of the last one
_GROWTH = 1.5  # of the parts after a round that changed none of them
_ROUND_ITERATIONS = 20_000  # of a chain, if the limit is a number of iterations
_CAUTION = 0.95  # share of the time left for the last round, whose speed may differ
_OVERHEAD = 1 / 8  # if the host takes more of a round, the rounds become longer
_CLOSING_SECONDS = 5e-6  # for each customer, to check the last plan


def search_parts(task: SearchTask, parameters: GpuPartsParameters = _DEFAULTS) -> None:
    """
    Improve a plan of many customers.

    With a limit on iterations, which are those of a chain, the same seed and number of
    cores give the same plan on the same GPU.

    Parameters
    ----------
    task
        What to search. The start must be feasible.
    parameters
        Settings of the search.
    """
    seconds = max(task.stop.seconds, LEAST_SECONDS)
    share = min(0.5, _WHOLE_SECONDS * task.instance.num_customers / seconds)
    share = max(parameters.whole_share, share)
    anneal_whole(replace(task, stop=task.stop.part(share)), _WHOLE)
    tours = Tours(task)
    rounds = _Rounds(task, parameters)
    try:
        while rounds.begin():
            parts = _divide(tours, rounds.size)
            if not parts:
                rest = replace(task, start=Plan(tours.tours), stop=task.stop.part())
                decomposition(rest)
                break
            rounds.end(any(tours.join(parts, rounds.search(parts))))
            if task.best.watched:
                tours.offer()
    finally:  # also after Ctrl-C
        tours.offer()


def _divide(tours: Tours, size: float) -> list[Part]:
    """
    Divide all tours into parts of about so many customers and vehicles.

    Parts that are too large for the GPU, because the tours are long, are left out.
    """
    nodes = sum(len(tour) + 1 for tour in tours.tours)
    count = max(1, min(round(nodes / size), len(tours.tours) // 2))
    groups = [
        group
        for group in divide(tours, tours.tours, count)
        if sum(len(tour) + 1 for tour in group) <= FAST_NODES
    ]
    return tours.parts(groups) if groups else []


class _Rounds:
    """
    The rounds of a search: how long they are, and how they search the parts.

    Parameters
    ----------
    task
        The task, whose limit is a time or a number of iterations of each chain.
    parameters
        Settings of the search.
    """

    def __init__(self, task: SearchTask, parameters: GpuPartsParameters) -> None:
        self.task = task
        self.parameters = parameters
        self.stop = task.stop.part()
        customers = task.instance.num_customers
        # Legs become shorter with more customers, and the temperatures with the legs.
        self.unit = scale(task.instance) * (100 / customers) ** 0.5
        self.closing = _CLOSING_SECONDS * customers
        self.size = float(parameters.size)  # customers and vehicles of a part
        self.done = 0  # iterations of a chain
        self.iterations = _FIRST  # of a chain in this round
        self.begun = 0.0  # when this round began
        self.on_gpu = 0.0  # seconds of this round on the GPU
        self.speeds: dict[float, float] = {}  # iterations per second, by size
        self.overhead = 0.0  # seconds of a round that are not on the GPU

    def begin(self) -> bool:
        """Choose the length of the next round; return False if there is none."""
        stop, self.begun = self.stop, self.stop.elapsed()
        if stop.iterations is not None:
            self.iterations = min(_ROUND_ITERATIONS, stop.iterations - self.done)
            return self.iterations > 0 and stop.left() > 0
        left = stop.left() - self.closing - self.overhead
        if self.speeds:
            growth = self.size / self.parameters.size
            wanted = max(self.parameters.round_seconds, self.overhead / _OVERHEAD)
            # A larger size than before is at least this fast.
            speed = min(self.speeds.values()) / _GROWTH
            speed = self.speeds.get(self.size, speed)
            iterations = int(speed * min(growth * wanted, _CAUTION * left))
            self.iterations = max(1, min(iterations, _FASTER * self.iterations))
        return left > LEAST_SECONDS

    def search(self, parts: list[Part]) -> list[Plan]:
        """Search parts on the GPU; return the better plan of each."""
        batch = InstanceBatch.of(part.instance for part in parts)
        known = PlanBatch.from_plans(part.plan for part in parts)
        groups = pack(batch, known)
        with self.task.stop.paused():  # a kernel may have to be compiled
            chains = gpu_kernel.chains_to_fill(groups)
        parameters = self.parameters
        limits = gpu_kernel.make_limits(
            GPU_DEFAULTS,
            iterations=self.iterations,
            temperatures=(parameters.start_temperature, parameters.end_temperature),
            unit=self.unit,
            vehicle_cost=self.task.vehicle_cost,
            seed=parts[0].seed,
        )
        begin = self.stop.elapsed()
        wait = gpu_kernel.search(groups, limits, chains)
        before = known.costs_v(batch, self.task.vehicle_cost)  # while the GPU works
        found = wait()
        self.on_gpu = self.stop.elapsed() - begin
        self.stop.count(chains * len(parts) * self.iterations)
        if not found.feasible(batch).all():
            raise RuntimeError("the GPU returned an infeasible plan")
        better = found.costs_v(batch, self.task.vehicle_cost) < before
        return [
            found[row] if better[row] else part.plan for row, part in enumerate(parts)
        ]

    def end(self, changed: bool) -> None:
        """Note how long the round took; choose larger parts if it changed none."""
        self.done += self.iterations
        self.speeds[self.size] = self.iterations / max(self.on_gpu, 1e-9)
        self.overhead = self.stop.elapsed() - self.begun - self.on_gpu
        if changed or self.size >= self.parameters.largest:
            self.size = float(self.parameters.size)
        else:
            self.size *= _GROWTH
