"""Keeps workers alive and jobs going to them."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Literal

from fixedfleet.serve.job import Outcome
from fixedfleet.serve.process import COMMAND, WorkerDied, WorkerProcess

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fixedfleet.serve.job import Job
    from fixedfleet.serve.jobs import Jobs
    from fixedfleet.serve.metrics import Metrics

__all__ = ["Supervisor"]

_log = logging.getLogger(__name__)

_START_SECONDS = 180.0  # to load and compile, on a slow machine without a cache
_CANCEL_SECONDS = 5.0  # for a worker to come to an end when asked to
# A search may overrun its time limit where cores are short; a worker that takes longer
# than this many limits and seconds hangs.
_SLACK, _GRACE_SECONDS = 2.0, 60.0
_MISTAKE = "the server made a mistake with this plan"
_LONGEST_PAUSE = 30.0  # between two starts of a worker that does not come up


class Supervisor:
    """
    A slot for each worker: starts it, gives it jobs, starts another when it dies.

    Parameters
    ----------
    jobs
        Where jobs come from and go to.
    metrics
        Counts deaths.
    workers
        The number of slots.
    command
        What to start.
    """

    def __init__(
        self,
        jobs: Jobs,
        metrics: Metrics,
        workers: int,
        command: Sequence[str] = COMMAND,
    ) -> None:
        self._jobs, self._metrics, self._command = jobs, metrics, command
        self._workers = workers
        self._slots: list[asyncio.Task[None]] = []
        self._ready: set[WorkerProcess] = set()

    @property
    def ready(self) -> int:
        """The number of workers that are up."""
        return len(self._ready)

    def start(self) -> None:
        """Fill all slots."""
        self._slots = [asyncio.create_task(self._slot()) for _ in range(self._workers)]

    async def stop(self) -> None:
        """Empty all slots, whatever their workers are doing."""
        for slot in self._slots:
            slot.cancel()
        await asyncio.gather(*self._slots, return_exceptions=True)

    async def _slot(self) -> None:
        pause = 0.0
        while True:
            await asyncio.sleep(pause)
            pause = min(_LONGEST_PAUSE, 2 * pause + 0.5)
            try:
                worker = await WorkerProcess.start(self._command)
            except OSError:
                _log.exception("no worker could be started")
                continue
            try:
                await self._await_ready(worker)
                pause = 0.0
                self._ready.add(worker)
                while True:
                    await self._serve_one(worker)
            except WorkerDied as death:
                self._metrics.count("worker_deaths")
                _log.warning("worker %d ended: %s", worker.pid, death)
            except Exception:  # a slot never stays empty
                _log.exception("worker %d is given up", worker.pid)
            finally:
                self._ready.discard(worker)
                await asyncio.shield(worker.end())

    @staticmethod
    async def _await_ready(worker: WorkerProcess) -> None:
        try:
            async with asyncio.timeout(_START_SECONDS):
                message = await worker.receive()
        except TimeoutError:
            raise WorkerDied(f"not ready after {_START_SECONDS:g} s") from None
        if message["kind"] != "ready":
            raise WorkerDied(f"it began with {message['kind']!r}")

    async def _serve_one(self, worker: WorkerProcess) -> None:
        """Wait for a job and bring it to an end, whatever happens."""
        job = await self._next_job(worker)
        try:
            await self._see_through(worker, job)
        except WorkerDied:
            raise
        except Exception:
            if job.outcome is None:
                await self._jobs.finish(job, Outcome("failed", error=_MISTAKE))
            raise

    async def _see_through(self, worker: WorkerProcess, job: Job) -> None:
        """Have a job made, and keep what comes of it."""
        try:
            outcome = await self._make(worker, job)
        except WorkerDied as death:
            sentence = f"the worker process that made this plan ended: {death}"
            best = job.best_so_far()
            await self._jobs.finish(job, Outcome("failed", result=best, error=sentence))
            raise
        except _TooLate:
            await worker.kill()
            await self._jobs.finish(job, _cut_off(job))
            raise WorkerDied("it did not come to an end, and was killed") from None
        await self._jobs.finish(job, outcome)

    async def _next_job(self, worker: WorkerProcess) -> Job:
        """Wait for a job, and no longer than the worker lives."""
        taking = asyncio.create_task(self._jobs.take())
        dying = asyncio.create_task(worker.died())
        try:
            await asyncio.wait({taking, dying}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            dead = dying.done()
            dying.cancel()
            taking.cancel()  # without effect where there is a job
        if taking.done() and not dead:
            return taking.result()
        if taking.done():
            self._jobs.put_back(taking.result())
        raise WorkerDied("while it had nothing to do")

    async def _make(self, worker: WorkerProcess, job: Job) -> Outcome:
        """Let a worker make a plan; the time it has shrinks when it is cancelled."""
        await self._jobs.begin(job)
        worker.send("make", id=job.id, instance=job.instance, request=job.request)
        longest = _SLACK * job.request["time_limit"] + _GRACE_SECONDS
        try:
            async with asyncio.timeout(longest) as limit:

                def hurry() -> None:
                    worker.send("cancel", id=job.id)
                    soon = asyncio.get_running_loop().time() + _CANCEL_SECONDS
                    with suppress(RuntimeError):  # its time has just run out
                        limit.reschedule(soon)

                job.hurry = hurry
                if job.cancelled:  # before there was anybody to tell
                    hurry()
                return await _follow(worker, job)
        except TimeoutError:
            raise _TooLate from None
        finally:
            job.hurry = None


class _TooLate(Exception):
    """A worker has had all the time it may have."""


async def _follow(worker: WorkerProcess, job: Job) -> Outcome:
    """Note what a worker tells of a job until it has finished it."""
    while True:
        message = await worker.receive()
        if message.pop("id", None) != job.id:
            raise WorkerDied("it spoke of a plan it was not given")
        kind = message.pop("kind")
        if kind == "verdict":
            job.verdict = message["verdict"]
        elif kind == "improved":
            job.improved = message
            if message["cost"] is not None:
                job.trace.append([message["seconds"], message["cost"]])
        elif kind == "done":
            status: Literal["cancelled", "done"]
            status = "cancelled" if job.cancelled else "done"
            return Outcome(status, message["verdict"], message["result"])
        elif kind == "failed":
            return Outcome("failed", error=message["error"])
        job.changed()


def _cut_off(job: Job) -> Outcome:
    """What is left of a job whose worker had to be killed."""
    best = job.best_so_far()
    if job.cancelled:
        return Outcome("cancelled", result=best)
    sentence = (
        f"no plan after {job.seconds:.0f} s, though the time limit was "
        f"{job.request['time_limit']:g} s"
    )
    return Outcome("failed", result=best, error=sentence)
