"""The worker processes of the service, and the jobs that go to them."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from fixedfleet.documents import ResultDocument, VerdictDocument
from fixedfleet.errors import InputError
from fixedfleet.serve.jobs import Outcome
from fixedfleet.serve.schema import (
    ImprovedDocument,
    ProgressDocument,
    SearchingDocument,
)
from fixedfleet.workers import Done, Lost, Message, Worker, available_cores

if TYPE_CHECKING:
    from collections.abc import Callable

    from fixedfleet.serve.jobs import PlanJob, PlanQueue
    from fixedfleet.workers import Event

__all__ = ["PlannerPool"]

_log = logging.getLogger(__name__)

_START_SECONDS = 180.0  # to load and compile, on a slow machine without a cache
CANCEL_SECONDS = 5.0  # a worker must end a cancelled plan within this time
# A search may exceed its time limit on a busy machine. A worker is killed, because it
# seems to hang, after _SLACK times the time limit plus _GRACE_SECONDS.
_SLACK, _GRACE_SECONDS = 2.0, 60.0
_ROADS_SECONDS = 600.0  # additional seconds while road distances are requested
_LONGEST_PAUSE = 30.0  # seconds between two attempts to start a worker
_LOOK_SECONDS = 1.0  # between two checks whether an idle worker is still alive
_VARIABLES = {
    # Nothing in the folder in which the server was started is ever imported.
    "PYTHONSAFEPATH": "1",
    # A worker does not need the token.
    "FIXEDFLEET_TOKEN": "",
}


class PlannerPool:
    """
    Keeps worker processes alive and gives them jobs.

    Each worker has its own task in the event loop. When a worker dies, its job fails
    with the best plan it reported, and the task starts another worker. A worker calls
    ``work`` with an order, or with None to get ready. When the first worker is ready,
    another process calls ``ahead`` once, with None, and ends.
    """

    def __init__(
        self,
        queue: PlanQueue,
        workers: int,
        work: Callable[..., Any],
        ahead: Callable[..., Any] | None = None,
    ) -> None:
        self.ready = 0  # workers that can take a job
        self._any_ready = asyncio.Event()  # set when the first worker is ready
        self._queue, self._work = queue, work
        self._threads = ThreadPoolExecutor(workers + 1, thread_name_prefix="worker")
        self._tasks = [asyncio.create_task(self._keep()) for _ in range(workers)]
        if ahead is not None:
            self._tasks.append(asyncio.create_task(self._do_ahead(ahead)))

    async def stop(self) -> None:
        """End all workers, whatever they are doing."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._threads.shutdown()

    async def _keep(self) -> None:
        """
        Keep one worker running: start another one whenever it dies.

        After each failure to start a worker, the wait before the next attempt is
        longer.
        """
        pause = 0.0
        while True:
            await asyncio.sleep(pause)
            pause = min(_LONGEST_PAUSE, 2 * pause + 0.5)
            try:
                worker = await self._in_thread(Worker, self._work, variables=_VARIABLES)
            except OSError:
                _log.exception("no worker process could be started")
                continue
            try:
                worker.give(None, _START_SECONDS)
                event = await self._receive(worker)
                if isinstance(event, Lost):
                    raise InputError(event.reason)
                pause = 0.0
                await self._use(worker)
            except InputError as error:
                _log.warning("worker process %d did not start: %s", worker.pid, error)
            except Exception:
                _log.exception("worker process %d is given up", worker.pid)
            finally:
                worker.kill()

    async def _use(self, worker: Worker) -> None:
        """Give a worker one job after the other until it dies."""
        self.ready += 1
        self._any_ready.set()
        alive = True
        try:
            while alive:
                await self._queue.wait_for_job(_LOOK_SECONDS)
                # The only event of an idle worker is its death.
                alive = worker.receive(0) is None
                if alive and (job := self._queue.take()) is not None:
                    alive = await self._do_job(worker, job)
        finally:
            self.ready -= 1
        _log.warning("worker process %d ended, another one starts", worker.pid)

    async def _do_ahead(self, ahead: Callable[..., Any]) -> None:
        """Call ``ahead`` in a process of its own, once a worker is ready."""
        await self._any_ready.wait()
        worker: Worker | None = None
        try:
            worker = await self._in_thread(Worker, ahead, variables=_VARIABLES)
            worker.give(None)
            event = await self._receive(worker)
            if isinstance(event, Lost):
                raise InputError(event.reason)
        except Exception as error:  # workers then compile what they need themselves
            _log.warning("not all code could be compiled ahead: %s", error)
        finally:
            if worker is not None:
                worker.kill()

    async def _do_job(self, worker: Worker, job: PlanJob) -> bool:
        """
        Give a job to a worker, and store the outcome of the job when it has ended.

        Return whether the worker can take another job.
        """
        alive = True
        try:
            await self._queue.store_start(job)
            last = await self._follow(worker, job)
            alive = isinstance(last, Done)
            outcome = await self._in_thread(_outcome, job, last)
        except InputError as error:
            outcome = Outcome("failed", error=str(error))
        except Exception as error:  # an unexpected error must not end the server
            _log.exception("plan %s could not be made", job.id)
            sentence = f"the plan could not be made: {type(error).__name__}: {error}"
            outcome = Outcome("failed", error=sentence)
        await self._queue.finish(job, outcome)
        # After an unexpected error, the worker may still be making the plan.
        return alive and not worker.busy

    async def _follow(self, worker: Worker, job: PlanJob) -> Done | Lost:
        """
        Give a job to a worker, and return the worker's last event for this job.

        The values that the worker sends meanwhile are recorded in the job.
        """
        request = job.order.request
        # A worker loads and compiles more code for its first lower bound, and for its
        # first instance with times or a mixed fleet.
        loads_code = request.prove or not job.order.instance.is_plain
        grace = _START_SECONDS if loads_code else _GRACE_SECONDS
        longest = _SLACK * request.time_limit + grace
        longest += _ROADS_SECONDS if job.order.roads else 0.0
        # Jobs that begin later get fewer cores, and share some of them with this job.
        cores = max(1, available_cores() // len(self._queue.running))
        order = replace(job.order, cores=cores)
        try:
            await self._in_thread(worker.give, order, longest)
            job.hurry = partial(worker.hurry, CANCEL_SECONDS)
            if job.cancelled:  # it was cancelled while its start was being stored
                job.hurry()
            while isinstance(event := await self._receive(worker), Message):
                _note(job, event.value)
            return event
        finally:
            job.hurry = None

    async def _receive(self, worker: Worker) -> Event:
        """
        Return the worker's next event; if the wait is cancelled, kill the worker first.
        """
        waiting = asyncio.ensure_future(self._in_thread(worker.receive))
        try:
            event: Event = await asyncio.shield(waiting)
        except asyncio.CancelledError:
            # The waiting thread must end the process, because it uses the pipe.
            worker.hurry(0)
            await asyncio.wait({waiting})
            raise
        return event

    async def _in_thread(
        self, action: Callable[..., Any], *args: Any, **options: Any
    ) -> Any:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(
            self._threads, partial(action, *args, **options)
        )


def _note(job: PlanJob, report: object) -> None:
    """Record in the job what its worker reports."""
    if isinstance(report, VerdictDocument):
        job.verdict = report
    elif isinstance(report, ProgressDocument):
        job.roads = report
    elif isinstance(report, SearchingDocument):
        job.searching = report
    elif isinstance(report, ImprovedDocument):
        before, job.improved = job.improved, report
        # The plan is the same if only the lower bound has improved.
        same = before is not None and report.cost == before.cost
        if report.cost is not None and not same:
            job.trace.append((report.seconds, report.cost))
    job.changed()


def _outcome(job: PlanJob, last: Done | Lost) -> Outcome:
    """Return the outcome of a job, which follows from the last event of its worker."""
    if isinstance(last, Lost):
        best = job.best_so_far()
        if job.cancelled:
            return Outcome("cancelled", best)
        sentence = f"the plan could not be finished: {last.reason}"
        return Outcome("failed", best, sentence)
    if not isinstance(last.value, ResultDocument):
        raise TypeError(f"the worker returned {type(last.value).__name__}")
    return Outcome("cancelled" if job.cancelled else "done", last.value)
