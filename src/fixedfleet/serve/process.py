"""A worker process from the server's side."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from typing import TYPE_CHECKING, Any

from fixedfleet.serve.documents import dump
from fixedfleet.workers.worker import ONE_THREAD

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["COMMAND", "WorkerDied", "WorkerProcess"]

# -P: nothing that lies in the folder the server was started in is ever imported.
COMMAND = (sys.executable, "-P", "-m", "fixedfleet.serve.worker")

_LONGEST_LINE = 64 * 2**20
_END_SECONDS = 3.0


class WorkerDied(Exception):
    """A worker process ended, or said what no worker says."""


class WorkerProcess:
    """
    A process that speaks lines of JSON over its standard input and output.

    Parameters
    ----------
    process
        The process.
    """

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("a worker without pipes")
        self._process = process
        self._stdin, self._stdout = process.stdin, process.stdout

    @classmethod
    async def start(cls, command: Sequence[str] = COMMAND) -> WorkerProcess:
        """Start a process; it says ``ready`` once it is."""
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, **ONE_THREAD, "FIXEDFLEET_TOKEN": ""},
            limit=_LONGEST_LINE,
            # Ctrl-C on the terminal is for the server, which ends its workers itself.
            start_new_session=True,
        )
        return cls(process)

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    def send(self, kind: str, **values: Any) -> None:
        """Send a message; a worker that died shows when it is listened to."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError, RuntimeError):
            self._stdin.write(dump({"kind": kind, **values}).encode() + b"\n")

    async def receive(self) -> dict[str, Any]:
        """
        Wait for the next message.

        Raises
        ------
        WorkerDied
            If there is none to come.
        """
        try:
            line = await self._stdout.readline()
            message = json.loads(line) if line.endswith(b"\n") else None
        except (ValueError, OSError) as error:
            raise WorkerDied(f"it sent what is no message ({error})") from None
        if not isinstance(message, dict) or "kind" not in message:
            raise WorkerDied(await self._how_it_ended())
        return message

    async def died(self) -> None:
        """Wait until the process is gone."""
        await self._process.wait()

    async def _how_it_ended(self) -> str:
        try:
            async with asyncio.timeout(_END_SECONDS):
                code = await self._process.wait()
        except TimeoutError:
            return "it closed its line"
        return f"by signal {-code}" if code < 0 else f"with exit code {code}"

    async def end(self) -> None:
        """Hang up, and kill the process if it does not end by itself."""
        self._stdin.close()
        try:
            async with asyncio.timeout(_END_SECONDS):
                await self._process.wait()
        except TimeoutError:
            await self.kill()

    async def kill(self) -> None:
        """End the process at once."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()
