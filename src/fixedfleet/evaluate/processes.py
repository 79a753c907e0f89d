"""Jobs over the cores of one machine, in workers that are ended if need be."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import time
from dataclasses import dataclass
from multiprocessing import connection
from typing import TYPE_CHECKING, Any

from fixedfleet.errors import InputError
from fixedfleet.evaluate.job import Job, Skipped, failed, machine_name, run_job, warm_up
from fixedfleet.interrupts import interrupts_held
from fixedfleet.workers.worker import ONE_THREAD, environment

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess

    from fixedfleet.evaluate.protocol import Method
    from fixedfleet.evaluate.rows import Row

__all__ = ["Patience", "by_processes"]

_READY, _WARM = "ready", "warm"
_WARMING = 120.0


@dataclass(frozen=True)
class Patience:
    """
    How long a worker may take before it is ended.

    Parameters
    ----------
    grace
        Seconds beyond twice the time limit of all instances of a call.
    longest
        Seconds for a call without a time limit.
    """

    grace: float
    longest: float

    def with_job(self, job: Job) -> float:
        """Seconds for a call that counts."""
        if job.time_limit is None:
            return self.longest
        return 2 * job.time_limit * len(job.instances) + self.grace

    def with_warm_up(self, job: Job) -> float:
        """Seconds for starting a process, loading and compiling, and a short call."""
        if job.time_limit is None:
            return self.longest
        return min(self.longest, _WARMING + self.grace)


def by_processes(
    jobs: Iterator[Job],
    methods: Sequence[Method],
    processes: int,
    patience: Patience,
    *,
    pinned: bool = False,
) -> Generator[tuple[Job, list[Row] | Skipped]]:
    """
    Run jobs in worker processes, one thread each, and give back their rows.

    A worker that dies or runs out of patience costs its job a row that says so, and
    another worker takes over. Leaving the iterator, by its end, an error or Ctrl-C,
    ends the workers.

    Parameters
    ----------
    jobs, methods
        What to do, and with what.
    processes
        Workers at once.
    patience
        How long one may take.
    pinned
        Keep each worker on a core of its own, if there are enough and the system can.

    Raises
    ------
    InputError
        If workers cannot start.
    """
    cores = _cores(processes) if pinned else [None] * processes
    workers = [_Worker.start(methods, core) for core in cores]
    try:
        while True:
            for worker in workers:
                if worker.job is None:
                    worker.give(next(jobs, None), patience)
            busy = {w.pipe: w for w in workers if w.job is not None}
            if not busy:
                return
            first = min(worker.deadline for worker in busy.values())
            wait = max(0.0, first - time.monotonic())
            for pipe in connection.wait(list(busy), wait):
                worker = busy[pipe]  # type: ignore[index]
                done = worker.receive(patience)
                if done is not None:
                    yield done
            for place, worker in enumerate(workers):
                if lost := worker.lost():
                    workers[place] = _Worker.start(methods, cores[place])
                    yield lost
    finally:
        for worker in workers:
            worker.end()


@dataclass(eq=False)
class _Worker:
    """A worker process from the parent's side."""

    process: SpawnProcess
    pipe: Connection
    ready: bool = False
    warm: bool = False
    job: Job | None = None
    begin: float = 0.0
    deadline: float = 0.0
    gone: bool = False

    @classmethod
    def start(cls, methods: Sequence[Method], core: int | None) -> _Worker:
        return cls(*start_worker(_work, methods, core))

    def give(self, job: Job | None, patience: Patience) -> None:
        self.job, self.warm = job, False
        if job is not None:
            self.begin = time.monotonic()
            self.deadline = self.begin + patience.with_warm_up(job)
            # A worker that died meanwhile shows when its pipe is read.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                self.pipe.send(job)

    def receive(self, patience: Patience) -> tuple[Job, list[Row] | Skipped] | None:
        """Take what the worker says: that it got ready, or the rows of its job."""
        try:
            message = self.pipe.recv()
        except (EOFError, OSError):
            self.gone = True
            return None
        if message == _READY:
            self.ready = True
            return None
        job = self.job
        if job is None:
            raise RuntimeError("a worker answered without a job")
        if message == _WARM:
            self.warm, self.begin = True, time.monotonic()
            self.deadline = self.begin + patience.with_job(job)
            return None
        self.job = None
        return job, message

    def lost(self) -> tuple[Job, list[Row]] | None:
        """End a worker that died or is overdue; return the rows that say so."""
        job, seconds = self.job, time.monotonic() - self.begin
        if job is None or not (self.gone or time.monotonic() >= self.deadline):
            return None
        if self.gone:
            self.process.join()
            why = f"its process ended {_how(self.process.exitcode)}"
            if not self.ready:
                raise InputError(
                    f"a worker process could not start, {why}; a script that evaluates "
                    "must keep its code under: if __name__ == '__main__'"
                )
        else:
            doing = "" if self.warm else " of warming up"
            why = f"ended after {seconds:.1f} s{doing}"
        self.end()
        # The name of a GPU is not worth loading its driver here.
        return job, failed(job, why, seconds, machine_name())

    def end(self) -> None:
        """Kill the worker and what it has started."""
        if self.process.pid is not None and self.process.is_alive():
            _kill_group(self.process.pid)
            self.process.kill()
        self.process.join()
        self.pipe.close()


def start_worker(work: Any, *arguments: Any) -> tuple[SpawnProcess, Connection]:
    """Start a process of one thread that calls a function with a pipe and arguments."""
    context = multiprocessing.get_context("spawn")
    pipe, far = context.Pipe()
    process = context.Process(target=work, args=(far, *arguments), daemon=True)
    with environment(ONE_THREAD), interrupts_held():
        process.start()
    far.close()
    return process, pipe


def _cores(processes: int) -> list[int | None]:
    """Return a core for each worker; no core where they cannot have one each."""
    if hasattr(os, "sched_setaffinity"):
        there = sorted(os.sched_getaffinity(0))
        if len(there) >= processes:
            return list(there[:processes])
    return [None] * processes


def _work(pipe: Connection, methods: Sequence[Method], core: int | None) -> None:
    """Run jobs until the parent hangs up, or is gone."""
    if core is not None:
        os.sched_setaffinity(0, {core})
    if hasattr(os, "setpgrp"):
        os.setpgrp()  # to be ended together with a program that a method runs
    threading.Thread(target=_end_with_parent, daemon=True).start()
    warm: set[tuple[int, int]] = set()
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        pipe.send(_READY)
        while True:
            job = pipe.recv()
            method = methods[job.method]
            kind = job.method, job.instances[0].num_customers
            if kind not in warm:
                warm_up(method, job)
                warm.add(kind)
                if torch := sys.modules.get("torch"):
                    torch.set_num_threads(1)
            pipe.send(_WARM)
            pipe.send(run_job(method, job))


def _end_with_parent() -> None:
    """End this process, however busy, once the one that started it is gone."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        _kill_group(os.getpid())
        os._exit(1)


def _kill_group(pid: int) -> None:
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if os.getpgid(pid) == pid:  # not yet its own just after its start
                os.killpg(pid, signal.SIGKILL)


def _how(code: int | None) -> str:
    return (
        f"by signal {-code}" if code is not None and code < 0 else f"with code {code}"
    )
