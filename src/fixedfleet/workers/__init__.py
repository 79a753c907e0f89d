"""
Worker processes, which run jobs on several cores or on a Ray cluster.

A worker is a process of one thread that does one job at a time. The function that does
a job must be importable. It is called as ``work(job, call, *shared)``:

``job``
    Any value that can be pickled.
``call``
    A :class:`Call`. ``call.send(value)`` sends a value to the parent while the job
    runs; ``call.send(value, seconds=9)`` also sets a new time limit, 9 seconds from
    now. ``call.ending()`` returns whether the job should soon return its best result so
    far.
``shared``
    Arguments that all jobs share. Each worker receives them once.

Batch work (labels, ``solve_batch``, ``evaluate``) goes through :func:`run_jobs`::

    with contextlib.closing(run_jobs(work, jobs, shared=(method,))) as events:
        for event in events:
            match event:
                case Message(job, value): ...  # what the job sent
                case Done(job, value): ...     # what work() returned
                case Lost(job, reason): ...    # the worker died or took too long

An exception that a job raises is raised by the iterator. ``closing`` ends the workers
at once when the loop is left early. To end a run on Ctrl-C without losing results, pass
``ending=pressed`` from ``with interrupt_noted() as pressed``. After Ctrl-C, no further
job is handed out, ``call.ending()`` returns True in running jobs, and their results
still arrive.

A service that runs for a long time uses :class:`Worker` objects directly. It calls
``give`` with a job, then ``receive`` until a :class:`Done` or a :class:`Lost` comes,
each in a thread (``asyncio.to_thread``). Meanwhile, another thread may call ``hurry``
to ask the running job to end. After a :class:`Lost`, the worker process is gone: make
another worker.

Workers never receive Ctrl-C from the terminal. They end when their parent ends, even if
it is killed, together with the programs that they have started.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from fixedfleet.errors import at_least, check_choice, check_whole
from fixedfleet.workers.calls import (
    STEP_SECONDS,
    Call,
    Done,
    Event,
    Lost,
    Message,
    Todo,
)
from fixedfleet.workers.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable

__all__ = [
    "Call",
    "Done",
    "Engine",
    "Event",
    "Lost",
    "Message",
    "Worker",
    "available_cores",
    "check_engine",
    "run_jobs",
]

Engine = Literal["processes", "ray"]

# Of Linux containers: the microseconds of processor time in each period, or "max".
_CONTAINER_SHARE = Path("/sys/fs/cgroup/cpu.max")


def check_engine(engine: str, processes: int | None) -> None:
    """Raise InputError for an unknown engine or less than one process."""
    check_choice("engine", engine, get_args(Engine))
    if processes is not None:
        check_whole("processes", processes, at_least(1))


def available_cores() -> int:
    """
    Return the number of cores that this process may use.

    A container may be given the time of fewer cores than it sees.
    """
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    with suppress(OSError, ValueError):  # no such file, or its quota is "max"
        quota, period = map(int, _CONTAINER_SHARE.read_text("ascii").split())
        cores = min(cores, max(1, quota // period))
    return cores


def run_jobs(
    work: Callable[..., Any],
    jobs: Iterable[Any],
    *,
    shared: tuple[Any, ...] = (),
    engine: Engine | Literal["here"] = "processes",
    processes: int | None = None,
    pinned: bool = False,
    attempts: int = 1,
    seconds_for: Callable[[Any], float | None] = lambda _job: None,
    gpus_for: Callable[[Any], int] = lambda _job: 0,
    ending: Callable[[], bool] = lambda: False,
) -> Generator[Event]:
    """
    Run jobs in workers and yield their events; see the module's description.

    Parameters
    ----------
    work, shared
        The function that does a job, and the arguments that all jobs share.
    jobs
        The jobs. The next one is taken when a worker is free.
    engine
        ``processes`` on this machine, ``ray`` on a cluster, or ``here`` for one job
        after the other in this process.
    processes
        Maximum number of jobs at a time. Default: one per core, or as many as the
        cluster can run.
    pinned
        Whether to pin each process to a core of its own, if there are enough cores.
    attempts
        How often a job is tried. If its worker is lost, the job is given to another
        worker until this number is reached.
    seconds_for
        Returns the time limit of a job in seconds, or None. On this machine, the limit
        includes the start of a new process. On a cluster, it begins with the job.
    gpus_for
        Returns how many GPUs of the cluster a job needs.
    ending
        Called regularly. When it returns True, no further job is handed out. Running
        jobs are asked to end; on a cluster, they are cancelled.

    Raises
    ------
    InputError
        If processes cannot start, or there is no Ray cluster.
    """
    todo = Todo(iter(jobs), attempts)
    if engine == "here":
        return _run_here(work, todo, shared, ending)
    if engine == "ray":
        from fixedfleet.workers.on_ray import run_on_ray

        task = work, shared
        return run_on_ray(task, todo, processes, seconds_for, gpus_for, ending)
    cores = _cores(processes or available_cores(), pinned)
    return _run_in_processes(work, todo, shared, cores, seconds_for, ending)


def _run_here(
    work: Callable[..., Any],
    todo: Todo,
    shared: tuple[Any, ...],
    ending: Callable[[], bool],
) -> Generator[Event]:
    sent: list[Any] = []

    def send(value: Any, *, seconds: float | None = None) -> None:
        sent.append(value)

    while not ending() and (taken := todo.take(1)):
        job = taken[0]
        answer = work(job, Call(send, ending), *shared)
        while sent:
            yield Message(job, sent.pop(0))
        yield Done(job, answer)


def _run_in_processes(
    work: Callable[..., Any],
    todo: Todo,
    shared: tuple[Any, ...],
    cores: list[int | None],
    seconds_for: Callable[[Any], float | None],
    ending: Callable[[], bool],
) -> Generator[Event]:
    from multiprocessing import connection

    workers: list[Worker] = []
    try:
        while True:
            idle = [worker for worker in workers if not worker.busy]
            taken = [] if ending() else todo.take(len(idle) + len(cores))
            # All processes start before the first of them has to take a large job.
            while len(idle) < len(taken):
                worker = Worker(work, shared, core=cores.pop(0))
                workers.append(worker)
                idle.append(worker)
            for worker, job in zip(idle, taken, strict=False):
                worker.give(job, seconds_for(job))
            busy = [worker for worker in workers if worker.busy]
            if not busy:
                return
            if ending():
                for worker in busy:
                    worker.hurry()
            connection.wait([worker.fileno() for worker in busy], STEP_SECONDS)
            for worker in busy:
                event = worker.receive(0)
                if isinstance(event, Lost):
                    workers.remove(worker)
                    cores.append(worker.core)
                    event = todo.lose(event)
                if event is not None:
                    yield event
    finally:
        for worker in workers:
            worker.kill()


def _cores(processes: int, pinned: bool) -> list[int | None]:
    """Return the core of each process; None if the process is not pinned."""
    if pinned and hasattr(os, "sched_getaffinity"):
        usable = sorted(os.sched_getaffinity(0))
        if len(usable) >= processes:
            return list(usable[:processes])
    return [None] * processes
