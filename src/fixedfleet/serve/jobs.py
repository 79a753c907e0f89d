"""The queue of plans that wait for a worker or are being made, and its limits."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pydantic import TypeAdapter

from fixedfleet import files
from fixedfleet.documents import describe_instance, to_json
from fixedfleet.files import json_files
from fixedfleet.fleet import assess_fleet
from fixedfleet.plan import Plan
from fixedfleet.result import Result
from fixedfleet.serve.planner import Order
from fixedfleet.serve.refusals import ApiError
from fixedfleet.serve.schema import JobDocument, PlanListing, RequestDocument
from fixedfleet.serve.store import StoredPlan
from fixedfleet.wording import length_unit

if TYPE_CHECKING:
    from collections.abc import Callable

    from fixedfleet.documents import ResultDocument, VerdictDocument
    from fixedfleet.serve.planner import RoadServer
    from fixedfleet.serve.schema import (
        ImprovedDocument,
        ProgressDocument,
        SearchingDocument,
    )
    from fixedfleet.serve.store import PlanStore, Unfinished

__all__ = ["Outcome", "PlanJob", "PlanQueue"]

T = TypeVar("T")

_log = logging.getLogger(__name__)

MAX_QUEUED = 64  # the largest number of plans that wait for a worker
JOBS_PER_CLIENT = 8  # the largest number of one client's plans that wait or run
# A plan that was running when a server died is tried again, but only until this many
# servers have died: the plan itself may be the reason.
_MAX_DEATHS = 2


@dataclass(frozen=True)
class Outcome:
    """How a job ended: its status, its result if there is one, and why it failed."""

    status: Literal["done", "cancelled", "failed"]
    result: ResultDocument | None = None
    error: str | None = None


@dataclass(eq=False, kw_only=True)
class PlanJob:
    """
    A plan that waits for a worker or is being made.

    Not thread-safe: use it from the event loop only. (A thread may make the document of
    a job that does not change meanwhile.) On every change, ``next_change`` is set and
    replaced by another event. A task that follows the job first takes this event, then
    looks at the job, then waits for the event. So it misses no change.
    """

    id: str
    client: str
    created: str  # in ISO 8601
    order: Order

    status: Literal["queued", "running"] = "queued"
    position: int | None = None  # the number of jobs before it in the queue
    verdict: VerdictDocument | None = None
    roads: ProgressDocument | None = None  # of the requests to the road server
    searching: SearchingDocument | None = None  # once the search runs
    improved: ImprovedDocument | None = None
    trace: list[tuple[float, float]] = field(default_factory=list)  # (seconds, cost)
    begun: float | None = None  # when a worker began, by ``time.monotonic``
    cancelled: bool = False
    hurry: Callable[[], None] | None = None  # tells the worker to end the search soon
    final: StoredPlan | None = None  # once the job has ended
    next_change: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def seconds(self) -> float:
        """Seconds since a worker began to make the plan."""
        return 0.0 if self.begun is None else time.monotonic() - self.begun

    def document(self, outcome: Outcome | None = None) -> str:
        """
        Return the document of the job as JSON.

        With ``outcome``, it describes how the job ended; without, its current state.
        """
        result = None if outcome is None else outcome.result
        order = self.order
        document = JobDocument(
            id=self.id,
            status=self.status if outcome is None else outcome.status,
            created=self.created,
            seconds=round(self.seconds, 3),
            position=self.position if outcome is None else None,
            error=None if outcome is None else outcome.error,
            request=order.request,
            instance=describe_instance(order.instance, without=["matrix"]),
            notes=order.notes,
            verdict=self.verdict if result is None else result.verdict,
            result=result,
        )
        return to_json(document, one_line=True)

    def best_so_far(self) -> ResultDocument | None:
        """Return a result with the best plan reported so far; None if there is none."""
        if self.improved is None:
            return None
        order = self.order.by_road()
        improved = self.improved
        plan = Plan(improved.tours, improved.vehicle_types).numbered_in(order.customers)
        instance = order.rest.with_vehicles(self.improved.vehicles_planned_for)
        whole = plan.is_feasible(instance)
        result = Result(
            instance,
            plan if whole else None,
            assess_fleet(order.rest, time_limit=0),
            stages=(),
            vehicle_cost=order.request.vehicle_cost,
            trace=tuple(self.trace),
            partial=None if whole else plan,
            lower_bound=self.improved.lower_bound,
            locked=len(order.request.locked),
        )
        return order.describe(result)

    def changed(self) -> None:
        """Wake all tasks that wait for a change."""
        self.next_change.set()
        self.next_change = asyncio.Event()


class PlanQueue:
    """
    The queue of unfinished jobs, which also writes plans to the store.

    Not thread-safe: use it from the event loop only. Another thread does the writing.
    """

    def __init__(self, store: PlanStore, roads: RoadServer | None = None) -> None:
        self._store, self._roads = store, roads
        self.stopping = False
        # Jobs that have not ended, and jobs whose outcome could not be stored.
        self._jobs: dict[str, PlanJob] = {}
        self._waiting: list[PlanJob] = []
        self._arrived = asyncio.Event()
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="store")

    @property
    def waiting(self) -> int:
        """The number of jobs that wait for a worker."""
        return len(self._waiting)

    @property
    def running(self) -> list[PlanJob]:
        """The jobs whose plans a worker is making."""
        return [job for job in self._unfinished() if job.status == "running"]

    def _unfinished(self) -> list[PlanJob]:
        return [job for job in self._jobs.values() if job.final is None]

    def get(self, id: str) -> PlanJob | None:
        """Return the job with this id; None if it has ended or never existed."""
        return self._jobs.get(id)

    def require_room(self, client: str) -> None:
        """
        Raise ApiError if no job of this client can be accepted now.

        The status is 429 if the client has too many unfinished plans. It is 503 if the
        queue is full or the server is stopping.
        """
        if self.stopping:
            raise ApiError(503, "the server is stopping", retry_after=5)
        # Jobs that are still being written to the store count as well.
        jobs = self._unfinished()
        own = sum(job.client == client for job in jobs)
        if own >= JOBS_PER_CLIENT:
            raise ApiError(
                429,
                f"{own} of your plans are not finished, and a client may not have "
                "more: wait for one, or cancel one",
                retry_after=self._next_free(),
            )
        if len(jobs) - len(self.running) >= MAX_QUEUED:
            raise ApiError(
                503,
                f"the queue is full: {MAX_QUEUED} plans are waiting",
                retry_after=self._next_free(),
            )

    def _next_free(self) -> int:
        """Return the seconds until a worker is expected to be free, from 1 to 60."""
        left = [job.order.request.time_limit - job.seconds for job in self.running]
        return min(60, max(1, round(min(left, default=1.0))))

    async def submit(self, client: str, order: Order) -> PlanJob:
        """
        Make a job from an order, write it to the store, and add it to the queue.

        ``client`` is the address of the client. Raise ApiError if there is no room for
        the job (:meth:`require_room`), or if it cannot be stored.
        """
        self.require_room(client)
        job = PlanJob(
            id=secrets.token_hex(8),
            client=client,
            created=datetime.now(UTC).isoformat(timespec="milliseconds"),
            order=order,
        )
        listing = PlanListing(
            id=job.id,
            name=order.instance.name,
            status="queued",
            created=job.created,
            customers=order.instance.num_customers,
            vehicles=order.instance.vehicles,
            cost=None,
            unit=length_unit(order.instance),
        )
        self._jobs[job.id] = job
        try:
            # A matrix of 1,000 customers takes a second. Other clients must not wait.
            text = await asyncio.to_thread(json_files.format_instance, order.instance)
            document = await asyncio.to_thread(job.document)
            await self._write(
                self._store.add, listing, client, text, document, order.listed
            )
        except BaseException as error:
            del self._jobs[job.id]
            if not isinstance(error, sqlite3.Error):
                raise
            _log.exception("a plan could not be stored")
            sentence = f"the plan could not be stored: {error}"
            raise ApiError(503, sentence, retry_after=60) from None
        self._enqueue(job)
        return job

    def _enqueue(self, job: PlanJob) -> None:
        self._waiting.append(job)
        self._renumber()
        self._arrived.set()

    def _renumber(self) -> None:
        """Tell each waiting job how many jobs are before it."""
        for position, job in enumerate(self._waiting):
            if job.position != position:
                job.position = position
                job.changed()

    async def wait_for_job(self, seconds: float) -> None:
        """Wait until there is a job for a worker, but not longer than these seconds."""
        if self._waiting:
            return
        self._arrived.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._arrived.wait()

    def take(self) -> PlanJob | None:
        """Return the next waiting job, and mark it as running; None if no job waits."""
        if not self._waiting:
            return None
        job = self._waiting.pop(0)
        job.status, job.begun, job.position = "running", time.monotonic(), None
        job.changed()
        self._renumber()
        return job

    async def store_start(self, job: PlanJob) -> None:
        """Record in the store that a worker begins to make a plan."""
        try:
            await self._write(self._store.begin, job.id)
        except sqlite3.Error:  # the plan can still be made
            _log.exception("the start of plan %s could not be stored", job.id)

    async def cancel(self, job: PlanJob) -> None:
        """End a job: at once if it waits, soon if it is running."""
        if job.cancelled:
            return
        job.cancelled = True
        if job in self._waiting:
            self._waiting.remove(job)
            self._renumber()
            await self.finish(job, Outcome("cancelled"))
        elif job.hurry is not None:
            job.hurry()

    async def finish(self, job: PlanJob, outcome: Outcome) -> None:
        """Store the outcome of a job, and only then wake the tasks that follow it."""
        cost = None if outcome.result is None else outcome.result.cost

        # One call, so that a plan is also stored if the server is stopped meanwhile.
        def store(ended: Outcome) -> str:
            document = job.document(ended)
            self._store.finish(job.id, ended.status, cost, document)
            return document

        try:
            document = await self._write(store, outcome)
        except sqlite3.Error as error:
            _log.exception("plan %s could not be stored", job.id)
            outcome = Outcome("failed", error=f"the plan could not be stored: {error}")
            document = await asyncio.to_thread(job.document, outcome)
        else:
            # A plan that could not be stored stays in memory while the server runs.
            del self._jobs[job.id]
        job.final = StoredPlan(outcome.status, document)
        job.changed()

    async def keep_edit(
        self, id: str, cost: float | None, edited: str, revision: int
    ) -> bool:
        """Store tours that the dispatcher changed; see :meth:`PlanStore.keep_edit`."""
        return await self._write(self._store.keep_edit, id, cost, edited, revision)

    async def forget(self, id: str) -> bool:
        """
        Delete a plan that is no longer computed; return whether it existed.

        The caller makes sure that it is neither waiting nor running.
        """
        self._jobs.pop(id, None)  # a plan that could not be stored is only in memory
        return await self._write(self._store.forget, id)

    async def rename(self, id: str, name: str) -> bool:
        """Give a plan another name; return whether it exists."""
        return await self._write(self._store.rename, id, name)

    async def recover(self) -> None:
        """
        Add the plans that an earlier server left unfinished to the queue.

        A plan fails instead if servers have died too often while they made it, or if it
        cannot be read from the store.
        """
        for left in await self._write(self._store.take_over):
            try:
                job = await asyncio.to_thread(_job_again, left, self._roads)
            except (ValueError, TypeError, KeyError):
                await self._give_up(left)
                continue
            self._jobs[job.id] = job
            if left.deaths < _MAX_DEATHS:
                self._enqueue(job)
                continue
            sentence = (
                f"the server died {left.deaths} times while it made this plan, so the "
                "plan is not tried again"
            )
            await self.finish(job, Outcome("failed", error=sentence))

    async def _give_up(self, left: Unfinished) -> None:
        """Record that a plan has failed because its request cannot be read."""
        _log.error("plan %s in the store cannot be read", left.id)
        document = JobDocument(
            id=left.id,
            status="failed",
            created=left.created,
            seconds=0.0,
            position=None,
            error="the request for this plan could not be read from the store",
            request=None,
            instance=None,
            notes=[],
            verdict=None,
            result=None,
        )
        text = to_json(document, one_line=True)
        await self._write(self._store.finish, left.id, "failed", None, text)

    def begin_stop(self) -> None:
        """Accept no more jobs, and wake all tasks that wait for the end of a job."""
        self.stopping = True
        for job in self._jobs.values():
            job.changed()

    async def close(self) -> None:
        """Mark running jobs as waiting, for the next server, and close the store."""
        try:
            await self._write(self._store.requeue_running)
        finally:
            await self._write(self._store.close)
            self._writer.shutdown()

    async def _write(self, action: Callable[..., T], *values: Any) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._writer, action, *values)


def _job_again(left: Unfinished, roads: RoadServer | None) -> PlanJob:
    """Return the job of a plan that an earlier server left unfinished."""
    document = json.loads(left.document)
    request = TypeAdapter(RequestDocument).validate_python(document["request"])
    instance = files.parse(left.instance).instance
    if request.roads and roads is None:
        raise ValueError("a plan by road, and a server without roads")
    by = roads if request.roads else None
    order = Order(instance, request, document["notes"], roads=by)
    return PlanJob(id=left.id, client=left.client, created=left.created, order=order)
