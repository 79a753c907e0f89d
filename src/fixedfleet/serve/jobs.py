"""All jobs there are: the bounded queue, who may add to it, and what is kept."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import sqlite3
import time
from collections import Counter, deque
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from fixedfleet.serve.documents import dump
from fixedfleet.serve.errors import ApiError
from fixedfleet.serve.job import Job, Outcome
from fixedfleet.serve.schema import PlanDoc, RequestDoc
from fixedfleet.serve.store import Listing, Store

if TYPE_CHECKING:
    from collections.abc import Callable

    from fixedfleet.serve.metrics import Metrics
    from fixedfleet.serve.orders import Order
    from fixedfleet.serve.settings import Settings
    from fixedfleet.serve.store import Unfinished

__all__ = ["Jobs"]

T = TypeVar("T")

_log = logging.getLogger(__name__)

# A plan in the making when a server died is tried again, but not for ever: it may be
# what the server died of.
_BEGUN = 2


class Jobs:
    """
    The jobs that wait or are in the making, and the store of all plans.

    It lives in the event loop's thread; the store's writer is a thread of its own.

    Parameters
    ----------
    settings
        The limits.
    store
        Where plans are kept.
    metrics
        Counts what happens.
    """

    def __init__(self, settings: Settings, store: Store, metrics: Metrics) -> None:
        self.store = store
        self.stopping = False
        self._settings, self._metrics = settings, metrics
        self._live: dict[str, Job] = {}
        self._waiting: deque[Job] = deque()
        self._running: dict[str, Job] = {}
        self._of_client: Counter[str] = Counter()
        self._accepted = 0  # jobs that are being written into the store
        self._arrived = asyncio.Event()
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="store")

    @property
    def waiting(self) -> int:
        """The number of jobs that wait for a worker."""
        return len(self._waiting)

    @property
    def running(self) -> int:
        """The number of jobs in the making."""
        return len(self._running)

    def get(self, id: str) -> Job | None:
        """The job of this id, if it is not finished."""
        return self._live.get(id)

    def require_room(self, client: str) -> None:
        """
        Refuse a job before any work is spent on it.

        Raises
        ------
        ApiError
            With 503 where the queue is full or the server stops, with 429 where the
            client has as many jobs as it may.
        """
        if self.stopping:
            raise ApiError(503, "the server is being stopped", retry_after=5)
        if self._of_client[client] >= self._settings.jobs_per_client:
            raise ApiError(
                429,
                f"{self._of_client[client]} plans of yours wait or are in the making, "
                "as many as a client may have: wait for one, or cancel one",
                retry_after=self._next_free(),
            )
        if len(self._waiting) + self._accepted >= self._settings.queue:
            self._metrics.count("refused")
            raise ApiError(
                503,
                f"the queue is full: {self._settings.queue} plans wait already",
                retry_after=self._next_free(),
            )

    def _next_free(self) -> int:
        """Seconds until a worker should be free, from 1 to 60."""
        left = [
            job.request["time_limit"] - job.seconds for job in self._running.values()
        ]
        return min(60, max(1, round(min(left, default=1.0))))

    async def submit(self, client: str, order: Order) -> Job:
        """Take an order in: write it down, then queue it."""
        self.require_room(client)
        job = Job(
            id=secrets.token_hex(8),
            client=client,
            created=datetime.now(UTC).isoformat(timespec="milliseconds"),
            request=order.request,
            instance=order.instance,
            instance_document=order.document,
        )
        listing = Listing(
            id=job.id,
            name=order.document["name"],
            status="queued",
            created=job.created,
            customers=order.document["customers"],
            vehicles=order.request["vehicles"],
            cost=None,
        )
        self._of_client[client] += 1
        self._accepted += 1
        try:
            document = dump(job.document())
            await self._write(self.store.add, listing, client, job.instance, document)
        except sqlite3.Error as error:
            self._forget(job)
            _log.exception("a plan could not be written down")
            raise ApiError(
                503, f"the plan could not be written down: {error}", retry_after=60
            ) from None
        except BaseException:
            self._forget(job)
            raise
        finally:
            self._accepted -= 1
        self._metrics.count("accepted")
        self._enqueue(job)
        return job

    def _enqueue(self, job: Job) -> None:
        self._live[job.id] = job
        self._waiting.append(job)
        self._renumber()
        self._arrived.set()

    def _renumber(self) -> None:
        """Tell each that waits how many are before it."""
        for position, job in enumerate(self._waiting):
            if job.position != position:
                job.position = position
                job.changed()

    async def take(self) -> Job:
        """Wait for the next job to be made."""
        while not self._waiting:
            self._arrived.clear()
            await self._arrived.wait()
        job = self._waiting.popleft()
        job.position = None
        self._running[job.id] = job
        self._renumber()
        return job

    def put_back(self, job: Job) -> None:
        """Let a job that was taken, but not begun, be the next again."""
        self._running.pop(job.id, None)
        self._waiting.appendleft(job)
        self._renumber()
        self._arrived.set()

    async def begin(self, job: Job) -> None:
        """Note that a worker has a job."""
        job.status, job.begun = "running", time.monotonic()
        job.changed()
        try:
            await self._write(self.store.begin, job.id)
        except sqlite3.Error:  # the plan can be made all the same
            _log.exception("the begin of plan %s could not be written down", job.id)

    async def cancel(self, job: Job) -> None:
        """Let a job end: at once if it waits, soon if it is in the making."""
        if job.cancelled:
            return
        job.cancelled = True
        if job in self._waiting:
            self._waiting.remove(job)
            self._renumber()
            await self.finish(job, Outcome("cancelled"))
        elif job.hurry is not None:
            job.hurry()

    async def finish(self, job: Job, outcome: Outcome) -> None:
        """Keep what came of a job; only then is anybody told."""
        document = dump(job.document(outcome))
        cost = None if outcome.result is None else outcome.result["cost"]
        try:
            await self._write(self.store.finish, job.id, outcome.status, cost, document)
        except sqlite3.Error as error:
            _log.exception("plan %s could not be kept", job.id)
            outcome = Outcome("failed", error=f"the plan could not be kept: {error}")
            document = dump(job.document(outcome))
        else:
            # What could not be kept is told from here as long as the server lives.
            self._live.pop(job.id, None)
        self._metrics.count(outcome.status)
        self._running.pop(job.id, None)
        self._forget(job)
        job.outcome, job.final = outcome, document
        job.changed()

    def _forget(self, job: Job) -> None:
        self._of_client[job.client] -= 1
        if self._of_client[job.client] <= 0:
            del self._of_client[job.client]

    async def recover(self) -> None:
        """Queue again what an earlier server left unfinished, each plan once."""
        await self._write(self.store.requeue)
        for left in await self._write(self.store.unfinished):
            try:
                job = _job_again(left)
            except (ValueError, TypeError, KeyError):
                await self._give_up(left)
                continue
            self._of_client[job.client] += 1
            if left.begun < _BEGUN:
                self._enqueue(job)
            else:
                sentence = (
                    f"the server died {left.begun} times while this plan was in the "
                    "making, so it is not tried again"
                )
                await self.finish(job, Outcome("failed", error=sentence))

    async def _give_up(self, left: Unfinished) -> None:
        """Let a plan fail of which it cannot be read what it was to be."""
        _log.error("plan %s in the store cannot be read, and is given up", left.id)
        document = dict.fromkeys(PlanDoc.model_fields) | {
            "id": left.id,
            "status": "failed",
            "created": left.created,
            "seconds": 0.0,
            "error": "what was asked for could not be read from the store",
        }
        await self._write(self.store.finish, left.id, "failed", None, dump(document))
        self._metrics.count("failed")

    def begin_stop(self) -> None:
        """Take nothing in any more, and let everybody who waits go."""
        self.stopping = True
        for job in self._live.values():
            job.changed()

    async def close(self) -> None:
        """Put back what is in the making, for the next server, and close the store."""
        try:
            await self._write(self.store.put_back)
        finally:
            await self._write(self.store.close)
            self._writer.shutdown()

    async def _write(self, action: Callable[..., T], *values: Any) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._writer, action, *values)


def _job_again(left: Unfinished) -> Job:
    """The job that a plan left unfinished was."""
    document = json.loads(left.document)
    return Job(
        id=left.id,
        client=left.client,
        created=document["created"],
        request=RequestDoc.model_validate(document["request"]).model_dump(),
        instance=left.instance,
        instance_document=document["instance"],
    )
