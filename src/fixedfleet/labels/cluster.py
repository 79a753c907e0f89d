"""Shards over a cluster, through Ray. The only file that imports it."""

from __future__ import annotations

import contextlib
import logging
import socket
from collections import Counter, deque
from typing import TYPE_CHECKING, Any

from fixedfleet.errors import InputError, require
from fixedfleet.labels.job import Advance, Done, Job, LabellingError, label_job

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fixedfleet.labels.teacher import Teacher

__all__ = ["by_ray", "connected"]

_log = logging.getLogger(__name__)
_DEATHS = 2


def by_ray(
    jobs: Iterator[Job], teacher: Teacher, processes: int | None, address: str | None
) -> Iterator[Advance | Done]:
    """
    Label shards on a Ray cluster, where fixedfleet must be installed on every node.

    Ray gives each shard a core (a GPU, if the teacher wants one) and holds numeric
    libraries to as many threads. The shards come back here to be written, so the
    nodes need no common file system.

    Raises
    ------
    InputError
        If there is no cluster at the address.
    LabellingError
        If the teacher fails, or if a worker dies twice over the same shard.
    """
    ray = require("ray", "cluster", "the engine 'ray'")
    with connected(ray, address, processes):
        # Retries are counted here, so that the first death is reported.
        task = ray.remote(label_job).options(
            num_cpus=1, num_gpus=1 if teacher.on_gpu else 0, max_retries=0
        )
        handle = ray.put(teacher)
        again: deque[Job] = deque()
        deaths: Counter[int] = Counter()
        pending: dict[Any, Job] = {}
        try:
            while True:
                while len(pending) < (processes or _room(ray)):
                    job = again.popleft() if again else next(jobs, None)
                    if job is None:
                        break
                    pending[task.remote(job, handle)] = job
                if not pending:
                    return
                # A limit on the wait lets Ctrl-C through.
                for ready in ray.wait(list(pending), timeout=1.0)[0]:
                    job = pending.pop(ready)
                    yield _take(ray, ready, job, deaths, again)
        finally:
            for reference in pending:
                ray.cancel(reference, force=True)


def _take(
    ray: Any, ready: Any, job: Job, deaths: Counter[int], again: deque[Job]
) -> Advance | Done:
    try:
        return Done(job.index, ray.get(ready))
    except ray.exceptions.RayTaskError as error:
        cause = error.cause
        known = isinstance(cause, (InputError, ImportError, LabellingError))
        raise (cause if known else LabellingError(f"{job} failed: {error}")) from None
    except ray.exceptions.RayError as error:
        deaths[job.index] += 1
        if deaths[job.index] >= _DEATHS:
            raise LabellingError(
                f"a Ray worker was lost on {job}, as one was before: the shard is not "
                f"labelled, whole shards are kept ({type(error).__name__})"
            ) from error
        _log.warning("a Ray worker was lost on %s, which is tried again", job)
        again.append(job)
        return Advance(job.index, 0)


def _room(ray: Any) -> int:
    """How many shards to hand out: two a core, so that none of them waits for us."""
    return max(2, 2 * int(ray.cluster_resources().get("CPU", 1)))


@contextlib.contextmanager
def connected(ray: Any, address: str | None, processes: int | None) -> Iterator[None]:
    """Use the connection this process has, else make one and close it again."""
    if ray.is_initialized():
        yield
        return
    if address is None:
        raise InputError(
            "the engine 'ray' needs an address: 'auto' for the cluster this machine "
            "belongs to, 'host:port', 'ray://host:port', or 'local' to start one here"
        )
    cores = processes if address == "local" else None
    _knock(address)
    try:
        ray.init(address=address, num_cpus=cores, include_dashboard=False)
    except (ConnectionError, ValueError, RuntimeError) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"no Ray cluster at {address!r}: {reason}") from error
    try:
        yield
    finally:
        ray.shutdown()


def _knock(address: str) -> None:
    """Try the port of an address that has one: Ray alone would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=5).close()
    except (OSError, OverflowError) as error:
        raise InputError(f"no Ray cluster at {address!r}: {error}") from error
