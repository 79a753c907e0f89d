"""Shards over the cores of one machine, a process each."""

from __future__ import annotations

import contextlib
import logging
from collections import Counter, deque
from dataclasses import dataclass
from multiprocessing import connection
from typing import TYPE_CHECKING

from fixedfleet.cores import start_worker
from fixedfleet.errors import InputError, MissingPackageError
from fixedfleet.labels.job import Advance, Done, Job, LabellingError, Labels, label_job

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess

    from fixedfleet.labels.teacher import Teacher

__all__ = ["by_processes"]

_log = logging.getLogger(__name__)

# A shard during which two workers died is given up.
_DEATHS = 2


def by_processes(
    jobs: Iterator[Job], teacher: Teacher, processes: int
) -> Iterator[Advance | Done]:
    """
    Label shards in worker processes and say how they come along.

    Leaving the iterator, by its end, an error or Ctrl-C, ends the workers.

    Raises
    ------
    LabellingError
        If the teacher fails, if workers cannot start, or if a worker dies twice
        over the same shard.
    """
    again: deque[Job] = deque()
    deaths: Counter[int] = Counter()
    workers = [_Worker.start(teacher) for _ in range(processes)]
    try:
        while True:
            for worker in workers:
                if worker.job is None:
                    worker.give(again.popleft() if again else next(jobs, None))
            busy = {worker.pipe: worker for worker in workers if worker.job is not None}
            if not busy:
                return
            for pipe in connection.wait(list(busy)):
                worker = busy[pipe]  # type: ignore[index]
                try:
                    event = worker.receive()
                except (EOFError, OSError):
                    job = worker.bury()
                    deaths[job.index] += 1
                    _report(job, worker, deaths[job.index])
                    again.append(job)
                    workers[workers.index(worker)] = _Worker.start(teacher)
                    event = Advance(job.index, 0)
                if event is not None:
                    yield event
    finally:
        for worker in workers:
            worker.end()


@dataclass(eq=False)
class _Worker:
    """A worker process from the parent's side."""

    process: SpawnProcess
    pipe: Connection
    ready: bool = False
    job: Job | None = None

    @classmethod
    def start(cls, teacher: Teacher) -> _Worker:
        return cls(*start_worker(_work, teacher))

    def give(self, job: Job | None) -> None:
        self.job = job
        if job is not None:
            # A worker that died meanwhile shows when its pipe is read.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                self.pipe.send(job)

    def receive(self) -> Advance | Done | None:
        message = self.pipe.recv()
        if isinstance(message, BaseException):
            raise message
        if message is None:
            self.ready = True
            return None
        if self.job is None:
            raise LabellingError("a worker answered without a shard to label")
        if isinstance(message, Labels):
            done = Done(self.job.index, message)
            self.job = None
            return done
        return Advance(self.job.index, message)

    def bury(self) -> Job:
        self.process.join()
        self.pipe.close()
        if self.job is None:
            raise LabellingError("a worker without a shard died")
        return self.job

    def end(self) -> None:
        if self.process.is_alive():
            self.process.terminate()
        self.process.join(timeout=5)
        if self.process.is_alive():  # native code may sit on a SIGTERM
            self.process.kill()
            self.process.join()
        self.pipe.close()


def _report(job: Job, worker: _Worker, deaths: int) -> None:
    code = worker.process.exitcode
    how = f"by signal {-code}" if code is not None and code < 0 else f"with code {code}"
    if not worker.ready:
        raise LabellingError(
            f"a worker process could not start (it ended {how}); a script that labels "
            "must keep its code under: if __name__ == '__main__'"
        )
    if deaths >= _DEATHS:
        raise LabellingError(
            f"a worker process ended {how} on {job}, as one did before: the shard is "
            "not labelled, whole shards are kept"
        )
    _log.warning("a worker process ended %s on %s, which is tried again", how, job)


def _work(pipe: Connection, teacher: Teacher) -> None:
    """Label shards until the parent hangs up, or is gone."""
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        pipe.send(None)  # ready
        while True:
            job = pipe.recv()
            try:
                answer: object = label_job(job, teacher, pipe.send)
            except (InputError, MissingPackageError, LabellingError) as error:
                answer = error
            pipe.send(answer)
