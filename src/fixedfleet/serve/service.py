"""What the routes need, put together: store, jobs, workers, counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fixedfleet.serve.jobs import Jobs
from fixedfleet.serve.metrics import Metrics
from fixedfleet.serve.reading import Reading
from fixedfleet.serve.store import Store
from fixedfleet.serve.streams import Streams
from fixedfleet.serve.supervisor import Supervisor
from fixedfleet.version import own_version

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fixedfleet.serve.settings import Settings

__all__ = ["Service"]


class Service:
    """
    One running service.

    Parameters
    ----------
    settings
        What it allows.
    command
        What a worker process is started with.
    """

    def __init__(self, settings: Settings, command: Sequence[str]) -> None:
        self.settings, self.version = settings, own_version()
        self.metrics = Metrics()
        self.reading = Reading(settings.queue)
        self.streams = Streams(settings)
        self._command = command
        self._store: Store | None = None

    def open(self) -> Store:
        """
        Open the store, unless it is open.

        Raises
        ------
        InputError
            If the data folder cannot be used.
        """
        if self._store is None:
            self._store = Store(self.settings.folder, self.settings.keep)
        return self._store

    async def start(self) -> None:
        """Open the store, queue what was left unfinished, start the workers."""
        settings = self.settings
        self.jobs = Jobs(settings, self.open(), self.metrics)
        self.supervisor = Supervisor(
            self.jobs, self.metrics, settings.workers, self._command
        )
        await self.jobs.recover()
        self.supervisor.start()

    def begin_stop(self) -> None:
        """Refuse new plans, and let those go who wait for one or follow one."""
        self.jobs.begin_stop()

    async def stop(self) -> None:
        """End the workers; what is unfinished is left to the next server."""
        self.begin_stop()
        await self.supervisor.stop()
        await self.jobs.close()
        self._store = None

    def gauges(self) -> dict[str, tuple[str, float]]:
        """What stands at a number now."""
        return {
            "queue_length": ("plans that wait for a worker", self.jobs.waiting),
            "queue_limit": ("plans that may wait", self.settings.queue),
            "plans_running": ("plans in the making", self.jobs.running),
            "workers_ready": ("worker processes that are up", self.supervisor.ready),
            "event_streams": ("streams of events open", self.streams.open),
        }
