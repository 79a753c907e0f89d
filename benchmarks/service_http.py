"""A server to be loaded, and a client that costs as little as can be."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path


class Server:
    """The server under load."""

    def __init__(self, folder: Path, workers: int | None) -> None:
        self.folder, self.workers, self.port = folder, workers, 0
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start it; after a kill, at the same address."""
        command = [sys.executable, "-m", "fixedfleet", "serve"]
        command += ["--port", str(self.port), "--data", str(self.folder)]
        # All clients come from one address.
        command += ["--jobs-per-client", "100000", "--streams-per-client", "100000"]
        command += ["--keep", "1000000"]
        if self.workers is not None:
            command += ["--workers", str(self.workers)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line.startswith("fixedfleet serves at "):
            raise SystemExit("the server did not start")
        self.url = line.split()[3].rstrip("/")
        self.port = int(self.url.rpartition(":")[2])

    def children(self) -> list[int]:
        """Process ids of its workers."""
        found = []
        for entry in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = entry.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == self.process.pid and fields[0] != "Z":
                found.append(int(entry.parent.name))
        return sorted(found)


def resident(pid: int) -> float:
    """Memory of a process in MiB."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    lines = [line for line in status.splitlines() if line.startswith("VmRSS:")]
    return int(lines[0].split()[1]) / 1024 if lines else 0.0


@dataclass(frozen=True)
class Answer:
    """An answer to a request."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self):
        """The document in the body."""
        return json.loads(self.body)


class Http:
    """One connection, kept open: as little work for the client as can be."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.reader: asyncio.StreamReader | None = None
        self.begun = 0.0  # when the last request was begun

    def close(self) -> None:
        """Hang up."""
        if self.reader is not None:
            self.writer.close()
            self.reader = None

    async def request(self, method: str, path: str, document=None) -> Answer:
        """Send a request and read the answer."""
        try:
            status, headers = await self._begin(method, path, document)
            length = int(headers.get("content-length", 0))
            body = await self.reader.readexactly(length)
        except BaseException:
            self.close()
            raise
        if headers.get("connection") == "close":
            self.close()
        return Answer(status, headers, body)

    async def lines(self, path: str):
        """Read a stream: its status, then its lines, in the chunks they come in."""
        try:
            status, _headers = await self._begin("GET", path, None)
            yield str(status)
            text = b""
            while size := int(await self.reader.readline(), 16):
                text += (await self.reader.readexactly(size + 2))[:-2]
                *whole, text = text.split(b"\n")
                for line in whole:
                    yield line.decode()
        finally:
            self.close()

    async def _begin(self, method: str, path: str, document):
        self.begun = time.monotonic()
        if self.reader is None:
            self.reader, self.writer = await asyncio.open_connection(
                "127.0.0.1", self.server.port, limit=2**24
            )
        body = b"" if document is None else json.dumps(document).encode()
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        self.writer.write(head.encode() + body)
        await self.writer.drain()
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines[1:] if line)
        return int(lines[0].split()[1]), headers
