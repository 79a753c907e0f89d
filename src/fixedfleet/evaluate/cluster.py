"""Jobs over a cluster, through Ray."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from fixedfleet.errors import require
from fixedfleet.evaluate.job import Job, Skipped, failed, run_job, warm_up
from fixedfleet.labels.cluster import connected

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

    As many jobs are out at a time as there are cores, so that none waits for one and
    the time since it was handed out tells whether it hangs.

    Raises
    ------
    InputError
        If there is no cluster at the address.
    """
    ray = require("ray", "cluster", "the engine 'ray'")
    with connected(ray, address, processes):
        gpu = any(method.on_gpu for method in methods)
        task = ray.remote(_run).options(
            num_cpus=1, num_gpus=1 if gpu else 0, max_retries=0
        )
        handle = ray.put(list(methods))
        room = processes or max(1, int(ray.cluster_resources().get("CPU", 1)))
        pending: dict[Any, tuple[Job, float]] = {}
        try:
            while True:
                while len(pending) < room and (job := next(jobs, None)) is not None:
                    pending[task.remote(job, handle)] = job, time.monotonic()
                if not pending:
                    return
                # A limit on the wait lets Ctrl-C through, and overdue jobs be seen.
                for ready in ray.wait(list(pending), timeout=1.0)[0]:
                    job, begin = pending.pop(ready)
                    yield job, _take(ray, ready, job, begin)
                for reference, (job, begin) in list(pending.items()):
                    # It may have to start a process and to warm up first.
                    allowed = patience.with_warm_up(job) + patience.with_job(job)
                    if (spent := time.monotonic() - begin) > allowed:
                        ray.cancel(reference, force=True)
                        del pending[reference]
                        yield job, failed(job, f"ended after {spent:.1f} s", spent, "")
        finally:
            for reference in pending:
                ray.cancel(reference, force=True)


def _run(job: Job, methods: Sequence[Method]) -> list[Row] | Skipped:
    method = methods[job.method]
    kind = job.name, job.instances[0].num_customers
    if kind not in _warm:
        warm_up(method, job)
        _warm.add(kind)
    return run_job(method, job)


def _take(ray: Any, ready: Any, job: Job, begin: float) -> list[Row] | Skipped:
    try:
        found: list[Row] | Skipped = ray.get(ready)
    except ray.exceptions.RayError as error:
        why = f"its Ray worker was lost ({type(error).__name__})"
        return failed(job, why, time.monotonic() - begin, "")
    return found
