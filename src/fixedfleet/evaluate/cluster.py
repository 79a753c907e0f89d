"""Jobs over a cluster, through Ray."""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from fixedfleet.errors import require
from fixedfleet.evaluate.job import Job, Skipped, failed, run_job, warm_up
from fixedfleet.workers.on_ray import connected

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from fixedfleet.evaluate.processes import Patience
    from fixedfleet.evaluate.protocol import Method
    from fixedfleet.evaluate.rows import Row

__all__ = ["by_ray"]

# Methods and sizes that this process, if it is one of Ray's workers, has warmed up.
_warm: set[tuple[str, int]] = set()


def by_ray(
    jobs: Iterator[Job],
    methods: Sequence[Method],
    processes: int | None,
    address: str | None,
    patience: Patience,
) -> Generator[tuple[Job, list[Row] | Skipped]]:
    """
    Run jobs on a Ray cluster, where fixedfleet must be installed on every node.

    As many jobs are out at a time as there are cores. Ray gives each a core, and a GPU
    where its method wants one. A job's time begins when it does, however long it has
    waited for its place on the cluster.

    Raises
    ------
    InputError
        If there is no cluster at the address.
    """
    ray = require("ray", "cluster", "the engine 'ray'")
    with connected(ray, address, processes):
        task = ray.remote(_run)
        clock = ray.remote(_Clock).options(num_cpus=0).remote()
        handle = ray.put(list(methods))
        room = processes or max(1, int(ray.cluster_resources().get("CPU", 1)))
        pending: dict[Any, _Pending] = {}
        numbers = itertools.count()
        try:
            while True:
                while len(pending) < room and (job := next(jobs, None)) is not None:
                    gpus = 1 if methods[job.method].on_gpu else 0
                    fitted = task.options(num_cpus=1, num_gpus=gpus, max_retries=0)
                    out = _Pending(job, next(numbers), time.monotonic())
                    pending[fitted.remote(job, handle, clock, out.number)] = out
                if not pending:
                    return
                # A limit on the wait lets Ctrl-C through, and overdue jobs be seen.
                for ready in ray.wait(list(pending), timeout=1.0)[0]:
                    out = pending.pop(ready)
                    yield out.job, _take(ray, ready, out)
                for reference, out in list(pending.items()):
                    # It may have to start a process and to warm up first.
                    job = out.job
                    allowed = patience.with_warm_up(job) + patience.with_job(job)
                    if time.monotonic() - out.given <= allowed:
                        continue
                    spent = ray.get(clock.spent.remote(out.number))
                    if spent is not None and spent > allowed:
                        ray.cancel(reference, force=True)
                        del pending[reference]
                        yield job, failed(job, f"ended after {spent:.1f} s", spent, "")
        finally:
            ray.kill(clock)
            for reference in pending:
                ray.cancel(reference, force=True)


class _Pending(NamedTuple):
    """A job that is out: its number, and when it was handed out."""

    job: Job
    number: int
    given: float


class _Clock:
    """Knows since when jobs run; on the cluster, where one clock is for all nodes."""

    def __init__(self) -> None:
        self._begun: dict[int, float] = {}

    def begin(self, number: int) -> None:
        """Note that a job begins now."""
        self._begun[number] = time.monotonic()

    def spent(self, number: int) -> float | None:
        """Seconds since a job began; None while it waits for its place."""
        begun = self._begun.get(number)
        return None if begun is None else time.monotonic() - begun


def _run(
    job: Job, methods: Sequence[Method], clock: Any, number: int
) -> list[Row] | Skipped:
    clock.begin.remote(number)
    method = methods[job.method]
    kind = job.name, job.instances[0].num_customers
    if kind not in _warm:
        warm_up(method, job)
        _warm.add(kind)
    return run_job(method, job)


def _take(ray: Any, ready: Any, out: _Pending) -> list[Row] | Skipped:
    try:
        found: list[Row] | Skipped = ray.get(ready)
    except ray.exceptions.RayError as error:
        why = f"its Ray worker was lost ({type(error).__name__})"
        return failed(out.job, why, time.monotonic() - out.given, "")
    return found
