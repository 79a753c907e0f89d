"""Put the service under load: many clients at once, and no accepted plan may be lost.

    python benchmarks/service_load.py [--clients 200] [--seconds 60]
        [--kill-worker] [--kill-server]

The script starts a server with an empty data folder. Each client has its own loopback
address and sends one random request after the other. It requests plans, which it waits
for, follows or cancels. It also looks at plans, downloads and lists them, loads the
page, and sends wrong requests. An unexpected answer is an error. 429 and 503 are
expected where the server may be busy; the client then waits a moment. A broken
connection is an error unless the server was killed.

`--kill-worker` kills a worker after a third of the time. `--kill-server` kills the
server after two thirds of the time, and starts it again with the same folder. At the
end, every accepted plan must have ended. Every plan that a client saw finished must
still be the same. The exit code is 1 if a plan was lost, if there was an error, or if a
plan failed that the killed worker was not making. The script needs Linux.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np

TOKEN = "token-of-the-load-test"
BUSY = (429, 503)
BUSY_PAUSE = 0.5  # seconds that a client waits after one of these answers
FINISHED = ("done", "cancelled")
BACK = 1.0  # seconds after a restart in which connections may still be broken
PATIENCE = 180.0  # after the load, all plans must end within this many seconds


class Server:
    """The server under load."""

    def __init__(self, folder: Path, workers: int | None) -> None:
        self.folder, self.workers, self.port = folder, workers, 0
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start the server; after a kill, start it again at the same port."""
        command = [sys.executable, "-m", "fixedfleet", "serve"]
        command += ["--port", str(self.port), "--data", str(self.folder)]
        command += ["--keep", "1000000"]
        if self.workers is not None:
            command += ["--workers", str(self.workers)]
        variables = {**os.environ, "FIXEDFLEET_TOKEN": TOKEN}
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env=variables
        )
        line = self.process.stdout.readline()
        if not line.startswith("fixedfleet serves at "):
            raise SystemExit("the server did not start")
        self.port = int(line.partition("127.0.0.1:")[2].partition("/")[0])

    def children(self) -> list[int]:
        """Return the process ids of the server's workers."""
        found = []
        for entry in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = entry.read_text().rpartition(")")[2].split()
                command = entry.with_name("cmdline").read_bytes()
            except OSError:
                continue
            if int(fields[1]) == self.process.pid and b"spawn_main" in command:
                found.append(int(entry.parent.name))
        return sorted(found)


def resident(pid: int) -> float:
    """Return the memory of a process in MiB."""
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
        """Return the document in the body."""
        return json.loads(self.body)


class Client:
    """A client with its own address and one connection; it needs little CPU time."""

    def __init__(self, server: Server, number: int) -> None:
        self.server = server
        self.address = f"127.0.{1 + number // 250}.{1 + number % 250}"
        self.reader: asyncio.StreamReader | None = None
        self.begun = 0.0  # when the last request began, by ``time.monotonic``

    def close(self) -> None:
        """Close the connection."""
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

    async def stream(self, path: str) -> tuple[int, str]:
        """Read a stream to its end; return its status and its text."""
        try:
            status, _headers = await self._begin("GET", path, None)
            if status != 200:
                return status, ""
            text = b""
            while size := int(await self.reader.readline(), 16):
                text += (await self.reader.readexactly(size + 2))[:-2]
            return status, text.decode()
        finally:
            self.close()

    async def _begin(self, method: str, path: str, document):
        self.begun = time.monotonic()
        if self.reader is None:
            self.reader, self.writer = await asyncio.open_connection(
                "127.0.0.1",
                self.server.port,
                limit=2**24,
                local_addr=(self.address, 0),
            )
        body = b"" if document is None else json.dumps(document).encode()
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            f"Authorization: Bearer {TOKEN}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        self.writer.write(head.encode() + body)
        await self.writer.drain()
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines[1:] if line)
        return int(lines[0].split()[1]), headers


class Load:
    """The requests that the clients send, and the answers that they get."""

    def __init__(self, arguments: argparse.Namespace, server: Server) -> None:
        self.arguments, self.server = arguments, server
        self.begin = self.end = 0.0
        self.down = False
        self.back = -math.inf  # when the server answered again after a kill
        self.statuses: dict[str, Counter[str]] = defaultdict(Counter)
        self.seconds: dict[str, list[float]] = defaultdict(list)
        self.errors: list[str] = []
        self.accepted: list[str] = []
        self.finished: dict[str, dict] = {}
        self.failed: dict[str, str] = {}
        self.memory: list[tuple[float, float, float, int]] = []
        self.notes: list[str] = []

    async def run(self) -> None:
        """Start all clients at once when the workers are ready."""
        client = Client(self.server, 0)
        while True:
            health = (await client.request("GET", "/health")).json()
            if health["workers"] >= max(1, len(self.server.children())):
                break
            await asyncio.sleep(0.1)
        client.close()
        self.begin = time.monotonic()
        self.end = self.begin + self.arguments.seconds
        clients = [self.act(number) for number in range(self.arguments.clients)]
        await asyncio.gather(*clients, self.sample(), self.kill())

    async def sample(self) -> None:
        """Record the memory of the server and its workers each second."""
        while time.monotonic() < self.end:
            if not self.down:
                children = self.server.children()
                own = resident(self.server.process.pid)
                workers = sum(map(resident, children))
                seconds = time.monotonic() - self.begin
                self.memory.append((seconds, own, workers, len(children)))
            await asyncio.sleep(1)

    async def kill(self) -> None:
        """Kill a worker and the server, if the options ask for it."""
        third = self.arguments.seconds / 3
        await asyncio.sleep(third)
        if self.arguments.kill_worker:
            victim = self.server.children()[0]
            os.kill(victim, signal.SIGKILL)
            self.notes.append(f"killed worker {victim} after {third:.0f} s")
        await asyncio.sleep(third)
        if self.arguments.kill_server:
            self.down, self.back = True, math.inf
            self.server.process.kill()
            await asyncio.to_thread(self.server.process.wait)
            begin = time.monotonic()
            await asyncio.to_thread(self.server.start)
            self.down, self.back = False, time.monotonic()
            self.notes.append(
                f"killed the server after {2 * third:.0f} s, when {len(self.finished)} "
                f"plans were finished; it answered again after "
                f"{time.monotonic() - begin:.1f} s"
            )

    async def act(self, number: int) -> None:
        """Send one random request after the other until the time is over."""
        draw = random.Random(f"{self.arguments.seed} {number}")
        actions, weights = zip(*MIX.items(), strict=True)
        client = Client(self.server, number)
        while time.monotonic() < self.end:
            action = draw.choices(actions, weights)[0]
            try:
                await action(self, client, draw)
            except (OSError, EOFError, ValueError) as error:
                if client.begun <= self.back + BACK:
                    self.statuses["while the server was down"]["broken"] += 1
                else:
                    self.statuses[action.__name__]["broken"] += 1
                    self.errors.append(f"{action.__name__}: {error!r}")
                await asyncio.sleep(BUSY_PAUSE)
        client.close()

    async def ask(self, kind, client, method, path, expected, document=None) -> Answer:
        """Send a request, and record an unexpected answer as an error."""
        begin = time.monotonic()
        answer = await client.request(method, path, document)
        self.seconds[kind].append(time.monotonic() - begin)
        await self.count(kind, answer.status, expected, answer.body[:200])
        if answer.status in BUSY and int(answer.headers["retry-after"]) < 1:
            self.errors.append(f"{kind}: a {answer.status} without Retry-After")
        return answer

    async def count(self, kind, status, expected, said) -> None:
        """Count an answer; if it says that the server is busy, wait a moment."""
        self.statuses[kind][str(status)] += 1
        if status not in expected:
            self.errors.append(f"{kind}: {status} {said!r}")
        if status in BUSY:
            await asyncio.sleep(BUSY_PAUSE)

    def note(self, plan: dict) -> None:
        """Remember a plan that has ended, as a client saw it."""
        if plan["status"] in FINISHED:
            self.finished[plan["id"]] = plan
        elif plan["status"] == "failed":
            self.failed[plan["id"]] = plan["error"]


def instance(draw: random.Random) -> dict:
    """Return a random instance with enough vehicles."""
    n = draw.choice((10, 20, 40))
    demands = [draw.randint(1, 9) for _ in range(n)]
    return {
        "name": f"load {draw.randrange(10**6)}",
        "depot": [0.5, 0.5],
        "customers": [[draw.random(), draw.random()] for _ in range(n)],
        "demands": demands,
        "capacity": 30,
        "vehicles": sum(demands) // 30 + 2,
    }


async def order(load, client, draw, wait) -> dict | None:
    """
    Request a plan, and let the server wait for it up to ``wait`` seconds.

    Return the plan's document, or None if the server is busy.
    """
    limit = load.arguments.time_limit
    body = {"instance": instance(draw), "time_limit": limit, "wait": wait}
    kind = "plan, waited for" if wait else "plan, not waited for"
    expected = ((200, 202) if wait else (202,)) + BUSY
    answer = await load.ask(kind, client, "POST", "/plans", expected, body)
    if answer.status in BUSY:
        return None
    plan = answer.json()
    load.accepted.append(plan["id"])
    load.note(plan)
    return plan


async def wait_for_plan(load, client, draw):
    """Request a plan and wait for it."""
    await order(load, client, draw, 20)


async def follow_plan(load, client, draw):
    """Request a plan and follow its events."""
    plan = await order(load, client, draw, 0)
    if plan is None:
        return
    status, text = await client.stream(f"/plans/{plan['id']}/events")
    await load.count("events", status, (200, *BUSY), text[:200])
    _, found, rest = text.partition("event: done\ndata: ")
    if found:
        load.note(json.loads(rest.partition("\n")[0]))


async def cancel_plan(load, client, draw):
    """Request a plan and cancel it."""
    plan = await order(load, client, draw, 0)
    if plan is not None:
        path = f"/plans/{plan['id']}"
        answer = await load.ask("cancel", client, "DELETE", path, (200, 202, 409))
        if answer.status == 200:
            load.note(answer.json())


async def look_at_plan(load, client, draw):
    """Look at a plan that some client has requested."""
    if load.accepted:
        path = f"/plans/{draw.choice(load.accepted)}"
        answer = await load.ask("look at a plan", client, "GET", path, (200,))
        load.note(answer.json())


async def download_plan(load, client, draw):
    """Download a finished plan."""
    if load.finished:
        id, kind = draw.choice(list(load.finished)), draw.choice(("csv", "json", "sol"))
        # A plan that was cancelled while it waited has no tours.
        expected = (200,) if load.finished[id]["result"] else (409,)
        path = f"/plans/{id}/plan.{kind}"
        await load.ask("download", client, "GET", path, expected)


async def list_plans(load, client, draw):
    """List the newest plans."""
    await load.ask("list", client, "GET", "/plans", (200,))


async def open_page(load, client, draw):
    """Load the page, the examples or the state of the server."""
    path = draw.choice(("/", "/health", "/examples"))
    await load.ask("page, health, examples", client, "GET", path, (200,))


async def read_instance(load, client, draw):
    """Let the server read an instance, without a plan."""
    body = {"instance": instance(draw)}
    await load.ask("read an instance", client, "POST", "/instances", (200,), body)


async def send_nonsense(load, client, draw):
    """Send a wrong request."""
    too_long = {"instance": instance(draw), "time_limit": 1e6}
    body = draw.choice(({"text": "nonsense"}, {}, too_long))
    await load.ask("wrong", client, "POST", "/plans", (422, *BUSY), body)


MIX = {
    wait_for_plan: 3,
    follow_plan: 3,
    cancel_plan: 1,
    look_at_plan: 6,
    download_plan: 3,
    list_plans: 2,
    open_page: 4,
    read_instance: 2,
    send_nonsense: 1,
}


async def settle(load: Load) -> Counter[str]:
    """Wait until all accepted plans have ended; count them by their final status."""
    became: Counter[str] = Counter()
    client = Client(load.server, 0)
    deadline = time.monotonic() + PATIENCE
    for id in load.accepted:
        plan = await final(client, id, deadline)
        became["gone" if plan is None else plan["status"]] += 1
        became["finished and lost"] += load.finished.get(id, plan) != plan
        if plan is not None:
            load.note(plan)
    client.close()
    return became


async def final(client: Client, id: str, deadline: float) -> dict | None:
    """
    Wait until a plan has ended or the deadline has passed, and return the plan.

    Return None if the plan does not exist.
    """
    while True:
        answer = await client.request("GET", f"/plans/{id}")
        if answer.status != 200:
            return None
        plan = answer.json()
        ended = plan["status"] in (*FINISHED, "failed")
        if ended or time.monotonic() > deadline:
            return plan
        await asyncio.sleep(0.2)


def report(load: Load) -> None:
    """Print tables of answers and memory, notes, and the plans that failed."""
    print("| request | answers | median ms | 95 % | 99 % | longest |")
    print("| --- | --- | --- | --- | --- | --- |")
    for kind, statuses in sorted(load.statuses.items()):
        counts = ", ".join(
            f"{n:,} × {status}" for status, n in sorted(statuses.items())
        )
        cells = ["", "", "", ""]
        if load.seconds[kind]:
            quantiles = np.quantile(load.seconds[kind], (0.5, 0.95, 0.99, 1))
            cells = [f"{1e3 * value:.0f}" for value in quantiles]
        print(f"| {kind} | {counts} | {' | '.join(cells)} |")
    print("\n| seconds | server MiB | workers MiB | workers |")
    print("| --- | --- | --- | --- |")
    step = max(1, len(load.memory) // 12)
    for seconds, server, workers, number in load.memory[::step]:
        print(f"| {seconds:.0f} | {server:.0f} | {workers:.0f} | {number} |")
    print()
    for note in load.notes:
        print(note)
    for id, error in load.failed.items():
        print(f"plan {id} failed: {error}")


def main() -> int:
    """Put a server under load and print a report; return 1 if anything went wrong."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--time-limit", type=float, default=0.2, help="of each plan")
    parser.add_argument("--workers", type=int, help="default: one per core")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kill-worker", action="store_true")
    parser.add_argument("--kill-server", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder), arguments.workers)
        server.start()
        load = Load(arguments, server)
        try:
            asyncio.run(load.run())
            became = asyncio.run(settle(load))
        finally:
            server.process.terminate()
            code = server.process.wait(30)
    report(load)
    unfinished = became["queued"] + became["running"]
    total = sum(sum(statuses.values()) for statuses in load.statuses.values())
    print(
        f"{total:,} answers to {arguments.clients} clients in {arguments.seconds:g} s; "
        f"{len(load.accepted):,} plans accepted: {became['done']:,} done, "
        f"{became['cancelled']:,} cancelled, {became['failed']} failed, {unfinished} "
        f"unfinished; {became['finished and lost']} finished plans lost, "
        f"{became['gone']} accepted plans lost, {len(load.errors)} errors; the server "
        f"ended with code {code}"
    )
    for error in load.errors[:10]:
        print(f"error: {error}")
    lost = became["finished and lost"] + became["gone"] + unfinished
    undue = became["failed"] > int(arguments.kill_worker)
    return int(bool(lost or undue or load.errors or code))


if __name__ == "__main__":
    sys.exit(main())
