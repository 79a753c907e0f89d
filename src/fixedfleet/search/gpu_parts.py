"""Search one plan of many customers on a GPU: all its parts at once, again and again.

Each round divides the tours of the plan into parts of about a hundred customers. The
parts are a batch for the GPU, where many chains search each of them. Meanwhile each
core searches one of the parts by HGS-CVRP. The best tours found for a part replace the
ones before, and the next round divides the plan in another way.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

from fixedfleet.instance import InstanceBatch
from fixedfleet.plan import Plan, PlanBatch
from fixedfleet.search import gpu_kernel
from fixedfleet.search.cpu_distances import scale
from fixedfleet.search.decomposition import (
    CLOSING_SECONDS,
    anneal_whole,
    breed,
    part_population,
)
from fixedfleet.search.gpu_arrays import FAST_NODES, pack
from fixedfleet.search.method import LEAST_SECONDS, better
from fixedfleet.search.parts import Tours

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fixedfleet.search.method import SearchTask
    from fixedfleet.search.parts import Part

__all__ = ["search_parts"]

# The cores begin with the whole plan. They have this share of the time, and these
# seconds for each customer, but at most half of the time.
_WHOLE_SHARE, _WHOLE_SECONDS = 0.2, 2e-4
# Customers and vehicles per part. After a round that changed no part, the next has
# parts that are larger by this factor, until they have at least the second number.
_SIZE, _LARGEST, _GROWTH = 106, 230, 1.5
# Temperatures of each round, for about a hundred customers in the unit square.
_HOT, _COLD = 0.1, 0.01
_ROUND_SECONDS = 0.25
_ROUND_ITERATIONS = 20_000  # of a chain, if the limit is a number of iterations
_FIRST = 2_000  # iterations of the first round, which shows how fast the GPU is
_FASTER = 8  # a round has at most this many times the iterations of the last one
_CAUTION = 0.95  # share of the time left for the last round, whose speed may differ
_OVERHEAD = 1 / 8  # if the host takes more of a round, the rounds become longer


def search_parts(task: SearchTask) -> None:
    """
    Improve a feasible plan of many customers.

    With a limit on iterations, which are those of a chain, the same seed and number of
    cores give the same plan on the same GPU.
    """
    seconds = max(task.stop.seconds, LEAST_SECONDS)
    share = min(0.5, _WHOLE_SECONDS * task.instance.num_customers / seconds)
    share = max(_WHOLE_SHARE, share)
    anneal_whole(replace(task, stop=task.stop.part(share)), 1.0)
    tours = Tours(task)
    with ThreadPoolExecutor(task.cores) as threads:
        rounds = _Rounds(task, threads)
        try:
            while rounds.begin():
                parts = _divide(tours, rounds.size)
                rounds.end(any(tours.join(parts, rounds.search(parts))))
                if task.best.watched:
                    tours.offer()
        finally:  # also after Ctrl-C
            tours.offer()


def _divide(tours: Tours, size: float) -> list[Part]:
    """Divide all tours into parts of about so many customers and vehicles."""
    nodes = sum(len(tour) + 1 for tour in tours.tours)
    count = max(1, min(round(nodes / size), len(tours.tours) // 2))
    return tours.divide(count)


class _Rounds:
    """The rounds of a search: how long they are, and how they search the parts."""

    def __init__(self, task: SearchTask, threads: ThreadPoolExecutor) -> None:
        self.task = task
        self.threads = threads
        self.stop = task.stop.part()
        customers = task.instance.num_customers
        # Legs become shorter with more customers, and the temperatures with the legs.
        self.unit = scale(task.instance) * (100 / customers) ** 0.5
        self.closing = CLOSING_SECONDS * customers
        self.size = float(_SIZE)  # customers and vehicles of a part
        self.done = 0  # iterations of a chain
        self.iterations = _FIRST  # of a chain in this round
        self.begun = 0.0  # when this round began
        self.seconds = _ROUND_SECONDS  # that this round should take
        self.on_gpu = 0.0  # seconds of this round on the GPU
        self.waiting = 0.0  # seconds of this round in which only cores searched
        self.speeds: dict[float, float] = {}  # iterations per second, by size
        self.overhead = 0.0  # seconds of a round without a search

    def begin(self) -> bool:
        """Choose the length of the next round; return False if there is none."""
        stop, self.begun = self.stop, self.stop.elapsed()
        if stop.iterations is not None:
            self.iterations = min(_ROUND_ITERATIONS, stop.iterations - self.done)
            return self.iterations > 0 and stop.left() > 0
        left = stop.left() - self.closing - self.overhead
        growth = self.size / _SIZE
        wanted = growth * max(_ROUND_SECONDS, self.overhead / _OVERHEAD)
        self.seconds = max(min(wanted, _CAUTION * left), LEAST_SECONDS)
        if self.speeds:
            # A larger size than before is at least this fast. The last round, which
            # must end in time, may be as slow as the slowest.
            slowest = min(self.speeds.values())
            speed = self.speeds.get(self.size, slowest / _GROWTH)
            if self.seconds < wanted:
                speed = min(speed, slowest)
            most = _FASTER * self.iterations
            self.iterations = max(1, min(int(speed * self.seconds), most))
        return left > LEAST_SECONDS

    def search(self, parts: list[Part]) -> list[Plan]:
        """Search parts on the GPU and on the cores; return the best plan of each."""
        fits = [
            part.instance.num_customers + part.instance.vehicles <= FAST_NODES
            for part in parts
        ]
        # The cores search what is too large for the GPU, then any others.
        rows = sorted(range(len(parts)), key=fits.__getitem__)[: self.task.cores]
        bred = {row: self.threads.submit(self._breed, parts[row]) for row in rows}
        plans = [part.plan for part in parts]
        small = [row for row, fit in enumerate(fits) if fit]
        found = self._search_on_gpu([parts[row] for row in small])
        for row, plan in zip(small, found, strict=True):
            plans[row] = plan
        begin = self.stop.elapsed()
        for row, future in bred.items():
            plans[row] = better(
                parts[row].instance,
                future.result(),
                plans[row],
                self.task.vehicle_cost,
            )
        self.waiting = self.stop.elapsed() - begin
        return plans

    def _breed(self, part: Part) -> Plan:
        """Search a part on a core, for as long as this round."""
        by_time = self.stop.iterations is None
        return breed(
            part,
            seconds=self.seconds if by_time else None,
            population=part_population(100 * self.seconds / len(part.customers)),
            vehicle_cost=self.task.vehicle_cost,
        )

    def _search_on_gpu(self, parts: list[Part]) -> Iterable[Plan]:
        """Search parts by many chains each; return the best plan of each part."""
        self.on_gpu = 0.0
        if not parts:
            return ()
        batch = InstanceBatch.of(part.instance for part in parts)
        known = PlanBatch.from_plans(part.plan for part in parts)
        groups = pack(batch, known)
        with self.task.stop.paused():  # a kernel may have to be compiled
            chains = gpu_kernel.chains_to_fill(groups)
        begin = self.stop.elapsed()
        found = gpu_kernel.improve(
            batch,
            known,
            groups,
            chains=chains,
            iterations=self.iterations,
            temperatures=(_HOT, _COLD),
            unit=self.unit,
            vehicle_cost=self.task.vehicle_cost,
            seed=parts[0].seed,
        )
        self.on_gpu = self.stop.elapsed() - begin
        self.stop.count(chains * len(parts) * self.iterations)
        return found

    def end(self, changed: bool) -> None:
        """Note how long the round took; choose larger parts if it changed none."""
        self.done += self.iterations
        if self.on_gpu > 0:
            self.speeds[self.size] = self.iterations / self.on_gpu
        spent = self.stop.elapsed() - self.begun
        self.overhead = spent - self.on_gpu - self.waiting
        if changed or self.size >= _LARGEST:
            self.size = float(_SIZE)
        else:
            self.size *= _GROWTH
