"""
Search one plan of many customers on a GPU, in rounds that search all its parts.

Each round divides the tours of the plan into parts of about a hundred customers. All
parts are searched as one batch on the GPU, each by many chains. At the same time, each
CPU core searches one of the parts by HGS-CVRP. The best tours found for a part replace
its previous tours. The next round divides the plan in another way.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from fixedfleet.instance import InstanceBatch
from fixedfleet.plan import Plan, PlanBatch
from fixedfleet.search import gpu_kernel
from fixedfleet.search.cpu_distances import scale
from fixedfleet.search.decomposition import (
    CHECK_SECONDS,
    DecompositionParameters,
    anneal_whole,
    load_for_parts,
    part_population,
    savings_plan,
    search_part,
)
from fixedfleet.search.gpu_arrays import FAST_NODES, pack
from fixedfleet.search.parts import DividedPlan
from fixedfleet.search.task import MIN_SECONDS, ReportPace, better

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fixedfleet.deadline import Deadline
    from fixedfleet.instance import Instance
    from fixedfleet.search.parts import Part
    from fixedfleet.search.task import SearchTask

__all__ = ["GpuPartsParameters", "load_for_gpu_parts", "search_parts"]


@dataclass(frozen=True, kw_only=True)
class GpuPartsParameters:
    """
    Settings of the search part by part on a GPU.

    Parameters
    ----------
    whole_share, whole_seconds
        Before the rounds, the CPU cores search the whole plan. They have the share
        ``whole_share`` of the time limit. If ``whole_seconds`` per customer is more,
        they have this time, but at most half of the limit.
    size, largest, growth
        ``size`` is the number of customers and vehicles per part. After a round that
        improves nothing, the parts become larger by the factor ``growth``. After an
        improvement, or a round with parts of at least ``largest``, they have ``size``
        again.
    hot, cold
        First and last temperature of each round, for about a hundred customers in the
        unit square.
    round_seconds, round_iterations
        Length of a round: in seconds or, if the deadline limits iterations, in
        iterations of each annealing chain.
    first_iterations
        Iterations of the first round, which measures the speed of the GPU.
    max_speed_up
        A round has at most this many times the iterations of the previous one.
    last_share
        A round is planned to take at most this share of the time that is left, because
        it may be slower than expected.
    max_overhead
        If the work between two searches takes more than this share of
        ``round_seconds``, the rounds become longer.
    """

    whole_share: float = 0.2
    whole_seconds: float = 2e-4
    size: int = 106
    largest: int = 230
    growth: float = 1.5
    hot: float = 0.1
    cold: float = 0.01
    round_seconds: float = 0.25
    round_iterations: int = 20_000
    first_iterations: int = 2_000
    max_speed_up: int = 8
    last_share: float = 0.95
    max_overhead: float = 1 / 8


_DEFAULTS = GpuPartsParameters()


def load_for_gpu_parts(instance: Instance) -> None:
    """Load or compile the code for a search part by part on a GPU."""
    load_for_parts(instance)
    sizes = {_DEFAULTS.size // 2, _DEFAULTS.size, _DEFAULTS.largest}
    most = instance.num_customers + 1
    some = [
        instance.with_customers(range(1, min(size, most))).with_vehicles(1)
        for size in sorted(sizes)
    ]
    nothing = PlanBatch.from_plans([Plan([])] * len(some))
    gpu_kernel.load_kernels(pack(InstanceBatch.of(some), nothing))


def search_parts(
    task: SearchTask, parameters: GpuPartsParameters = _DEFAULTS
) -> Iterator[Plan]:
    """
    Improve a feasible plan of many customers part by part, on the GPU and the cores.

    A limit on iterations counts those of one chain. With such a limit, the same seed
    and number of cores give the same plan on the same GPU.
    """
    instance = task.instance
    seconds = max(task.deadline.seconds, MIN_SECONDS)
    share = min(0.5, parameters.whole_seconds * instance.num_customers / seconds)
    share = max(parameters.whole_share, share)
    first = replace(task, deadline=task.deadline.until(share))
    savings = yield from savings_plan(first)
    plan = yield from anneal_whole(first, 1.0, savings)
    tours = DividedPlan(instance, plan, task.seed)
    # With more customers, legs are shorter, and temperatures must be lower.
    unit = scale(instance) * (100 / instance.num_customers) ** 0.5
    rounds = _PartRounds(
        task.deadline.until(1.0), instance.num_customers, unit, parameters
    )
    pace, changed = ReportPace(task.deadline), False
    with ThreadPoolExecutor(task.cores) as threads:
        while rounds.begin():
            parts = _divide(tours, rounds.size)
            found = _search_round(task, parts, rounds, threads)
            improved = any([*map(tours.replace, parts, found)])
            rounds.end(improved)
            changed |= improved
            if changed and pace.is_due():
                yield from pace.report(tours.plan)
                changed = False
    yield tours.plan()


def _divide(tours: DividedPlan, size: float) -> list[Part]:
    """
    Divide all tours into parts of about ``size`` customers and vehicles.

    There are at least twice as many tours as parts, unless there is only one tour.
    """
    nodes = sum(len(tour) + 1 for tour in tours.tours)
    count = max(1, min(round(nodes / size), len(tours.tours) // 2))
    return tours.divide(count)


@dataclass
class _PartRounds:
    """Chooses the length of each round and the size of its parts."""

    deadline: Deadline
    customers: int
    unit: float  # temperatures are multiples of this
    parameters: GpuPartsParameters
    size: float = field(init=False)  # customers and vehicles per part in this round
    iterations: int = field(init=False)  # iterations of a chain in this round
    seconds: float = field(init=False)  # planned duration of this round
    done: int = 0  # iterations of a chain in all rounds so far
    begun: float = 0.0  # when this round began
    on_gpu: float = 0.0  # seconds of this round on the GPU
    waiting: float = 0.0  # seconds of this round in which only cores searched
    overhead: float = 0.0  # seconds of the last round in which nothing was searched
    speeds: dict[float, float] = field(default_factory=dict)  # iterations/s, by size

    def __post_init__(self) -> None:
        self.size = float(self.parameters.size)
        self.iterations = self.parameters.first_iterations
        self.seconds = self.parameters.round_seconds

    def begin(self) -> bool:
        """Choose the length of the next round; return False if no time is left."""
        deadline, settings = self.deadline, self.parameters
        self.begun, self.on_gpu, self.waiting = deadline.elapsed(), 0.0, 0.0
        if deadline.iterations is not None:
            rest = deadline.iterations - self.done
            self.iterations = min(settings.round_iterations, rest)
            return self.iterations > 0 and not deadline.over()
        left = deadline.left() - CHECK_SECONDS * self.customers - self.overhead
        growth = self.size / settings.size
        wanted = self.overhead / settings.max_overhead
        wanted = growth * max(settings.round_seconds, wanted)
        self.seconds = max(min(wanted, settings.last_share * left), MIN_SECONDS)
        if self.speeds:
            # If no round had parts of this size yet, the speed is guessed cautiously.
            # The last round must end in time, so the slowest speed so far is assumed.
            slowest = min(self.speeds.values())
            speed = self.speeds.get(self.size, slowest / settings.growth)
            if self.seconds < wanted:
                speed = min(speed, slowest)
            most = settings.max_speed_up * self.iterations
            self.iterations = max(1, min(int(speed * self.seconds), most))
        return left > MIN_SECONDS

    def end(self, changed: bool) -> None:
        """
        Record the time of this round, and choose the size of the next parts.

        ``changed`` says whether the round has improved the plan.
        """
        settings = self.parameters
        self.done += self.iterations
        if self.on_gpu > 0:
            self.speeds[self.size] = self.iterations / self.on_gpu
        spent = self.deadline.elapsed() - self.begun
        self.overhead = spent - self.on_gpu - self.waiting
        if changed or self.size >= settings.largest:
            self.size = float(settings.size)
        else:
            self.size *= settings.growth


def _search_round(
    task: SearchTask,
    parts: list[Part],
    rounds: _PartRounds,
    threads: ThreadPoolExecutor,
) -> list[Plan]:
    """Search parts on the GPU and on the cores; return the best plan of each."""
    fits = [
        part.instance.num_customers + part.instance.vehicles <= FAST_NODES
        for part in parts
    ]
    # The cores take the parts that are too large for the GPU first, then any others.
    rows = sorted(range(len(parts)), key=fits.__getitem__)[: task.cores]
    on_cores = {
        row: threads.submit(_search_on_core, parts[row], task, rounds) for row in rows
    }
    plans = [part.plan for part in parts]
    small = [row for row, fit in enumerate(fits) if fit]
    found = _search_on_gpu([parts[row] for row in small], task, rounds)
    for row, plan in zip(small, found, strict=True):
        plans[row] = plan
    begin = rounds.deadline.elapsed()
    for row, future in on_cores.items():
        instance = parts[row].instance
        plans[row] = better(instance, future.result(), plans[row], task.vehicle_cost)
    rounds.waiting = rounds.deadline.elapsed() - begin
    return plans


def _search_on_core(part: Part, task: SearchTask, rounds: _PartRounds) -> Plan:
    """
    Search a part by HGS-CVRP, for as long as this round takes; return the best plan.
    """
    # HGS-CVRP cannot be stopped, and only the main thread may call `stop`.
    deadline = replace(rounds.deadline, stop=None).within(rounds.seconds)
    if deadline.iterations is not None:
        deadline = replace(deadline, iterations=DecompositionParameters.part_iterations)
    return search_part(
        part,
        deadline,
        population=part_population(100 * rounds.seconds / len(part.customers)),
        vehicle_cost=task.vehicle_cost,
    )


def _search_on_gpu(
    parts: list[Part], task: SearchTask, rounds: _PartRounds
) -> Iterable[Plan]:
    """Search parts by many chains each; return the best plan of each part."""
    if not parts:
        return ()
    batch = InstanceBatch.of(part.instance for part in parts)
    known = PlanBatch.from_plans(part.plan for part in parts)
    groups = pack(batch, known)
    chains = gpu_kernel.chains_to_fill(groups)
    settings = rounds.parameters
    begin = rounds.deadline.elapsed()
    found = gpu_kernel.improve(
        batch,
        known,
        groups,
        chains=chains,
        iterations=rounds.iterations,
        temperatures=(settings.hot, settings.cold),
        unit=rounds.unit,
        vehicle_cost=task.vehicle_cost,
        seed=parts[0].seed,
    )
    rounds.on_gpu = rounds.deadline.elapsed() - begin
    return found
