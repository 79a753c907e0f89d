"""The service under load: many clients at once, and what becomes of their plans.

    python benchmarks/service_load.py [--clients 200] [--seconds 60]
        [--kill-worker] [--kill-server]

It starts a server of its own on 127.0.0.1 with a fresh data folder. Each client draws
one request after the other from a mix: plans asked for, waited for, followed, cancelled
and downloaded, lists, the page, and requests that are wrong on purpose. An answer that
is none of those a request may get is an error; 503 from a full queue is one it may get,
and a client that gets it waits a moment. At the end, after a restart if the server was
killed, every plan that any client was told is finished must be there as it was told.

`--kill-worker` kills a worker with SIGKILL after a third of the time, `--kill-server`
the server after two thirds, and starts it again on the same folder. The exit code is 1
if anything was lost or went wrong. Memory is read from /proc, so it needs Linux.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from contextlib import aclosing
from pathlib import Path

import numpy as np

from service_http import Answer, Http, Server, resident

QUEUE_FULL_PAUSE = 0.5  # seconds a client waits after a 503
FINISHED = ("done", "cancelled")


class Load:
    """What the clients do and see."""

    def __init__(self, arguments: argparse.Namespace, server: Server) -> None:
        self.arguments, self.server = arguments, server
        self.begin = self.end = 0.0
        self.down = self.killed = False
        self.statuses: dict[str, Counter[str]] = defaultdict(Counter)
        self.seconds: dict[str, list[float]] = defaultdict(list)
        self.errors: list[str] = []
        self.accepted: list[str] = []
        self.finished: dict[str, dict] = {}
        self.failed: dict[str, str] = {}
        self.memory: list[tuple[float, float, float, int]] = []
        self.notes: list[str] = []

    async def run(self) -> None:
        """Let all clients go at once, and look on."""
        await self.workers_up()
        self.begin = time.monotonic()
        self.end = self.begin + self.arguments.seconds
        clients = [self.client(number) for number in range(self.arguments.clients)]
        await asyncio.gather(*clients, self.sample(), self.kill())

    async def workers_up(self) -> None:
        """Wait until every worker is ready."""
        http = Http(self.server)
        while True:
            health = (await http.request("GET", "/health")).json()
            if health["workers"] >= max(1, len(self.server.children())):
                break
            await asyncio.sleep(0.1)
        http.close()

    async def sample(self) -> None:
        """Note memory each second."""
        while time.monotonic() < self.end:
            if not self.down:
                children = self.server.children()
                self.memory.append(
                    (
                        time.monotonic() - self.begin,
                        resident(self.server.process.pid),
                        sum(map(resident, children)),
                        len(children),
                    )
                )
            await asyncio.sleep(1)

    async def kill(self) -> None:
        """Kill what is to be killed, when its time has come."""
        third = self.arguments.seconds / 3
        await asyncio.sleep(third)
        if self.arguments.kill_worker:
            victim = self.server.children()[0]
            os.kill(victim, signal.SIGKILL)
            self.notes.append(f"killed worker {victim} after {third:.0f} s")
        await asyncio.sleep(third)
        if self.arguments.kill_server:
            self.down = self.killed = True
            finished = len(self.finished)
            self.server.process.kill()
            await asyncio.to_thread(self.server.process.wait)
            begin = time.monotonic()
            await asyncio.to_thread(self.server.start)
            self.down = False
            self.notes.append(
                f"killed the server after {2 * third:.0f} s, when {finished} plans "
                f"were finished; it answered again {time.monotonic() - begin:.1f} s "
                "later"
            )

    async def client(self, number: int) -> None:
        """Send one request after the other until the time is over."""
        draw = random.Random(f"{self.arguments.seed} {number}")
        kinds, weights = zip(*MIX.items(), strict=True)
        http = Http(self.server)
        while time.monotonic() < self.end:
            action = draw.choices(kinds, weights)[0]
            try:
                await action(self, http, draw)
            except (OSError, EOFError, ValueError) as error:
                await self.broken(action.__name__, error)
        http.close()

    async def broken(self, kind: str, error: Exception) -> None:
        """Note a connection that broke; while the server is down that is no error."""
        if not self.down:
            await asyncio.sleep(0.2)  # the kill may be a moment older than the note
        if self.killed:
            self.statuses["while the server was down"]["broken"] += 1
        else:
            self.statuses[kind]["broken"] += 1
            self.errors.append(f"{kind}: {error!r}")
        await asyncio.sleep(0.5)

    async def ask(self, kind, http, method, path, expected, document=None) -> Answer:
        """Send a request and hold the answer against what is expected."""
        begin = time.monotonic()
        answer = await http.request(method, path, document)
        self.seconds[kind].append(time.monotonic() - begin)
        self.statuses[kind][str(answer.status)] += 1
        if answer.status not in expected:
            self.errors.append(f"{kind}: {answer.status} {answer.body[:200]!r}")
        if answer.status == 503:
            if int(answer.headers["retry-after"]) < 1:
                self.errors.append(f"{kind}: a 503 without Retry-After")
            await asyncio.sleep(QUEUE_FULL_PAUSE)
        return answer

    def note(self, plan: dict) -> None:
        """Remember a plan that is finished or has failed, as it was told."""
        if plan["status"] in FINISHED:
            self.finished[plan["id"]] = plan
        elif plan["status"] == "failed":
            self.failed[plan["id"]] = plan["error"]


def instance(draw: random.Random) -> dict:
    """A random instance with room to spare."""
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


def order(load: Load, draw: random.Random, **changes) -> dict:
    """A request for a plan."""
    limit = load.arguments.time_limit
    return {"instance": instance(draw), "time_limit": limit, **changes}


async def plan_waiting(load, http, draw):
    """Ask for a plan and wait for it."""
    body = order(load, draw, wait=20)
    answer = await load.ask(
        "plan, waited for", http, "POST", "/plans", (200, 202, 503), body
    )
    if answer.status in (200, 202):
        load.accepted.append(answer.json()["id"])
        load.note(answer.json())


async def plan_followed(load, http, draw):
    """Ask for a plan and follow it by its events."""
    body = order(load, draw, wait=0)
    kind = "plan, not waited for"
    answer = await load.ask(kind, http, "POST", "/plans", (202, 503), body)
    if answer.status != 202:
        return
    id = answer.json()["id"]
    load.accepted.append(id)
    name = ""
    async with aclosing(http.lines(f"/plans/{id}/events")) as lines:
        load.statuses["events"][await anext(lines)] += 1
        async for line in lines:
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: ") and name == "done":
                load.note(json.loads(line.removeprefix("data: ")))


async def plan_cancelled(load, http, draw):
    """Ask for a plan and cancel it."""
    body = order(load, draw, wait=0)
    kind = "plan, not waited for"
    answer = await load.ask(kind, http, "POST", "/plans", (202, 503), body)
    if answer.status == 202:
        id = answer.json()["id"]
        load.accepted.append(id)
        answer = await load.ask(
            "cancel", http, "DELETE", f"/plans/{id}", (200, 202, 409)
        )
        if answer.status == 200:
            load.note(answer.json())


async def plan_looked_at(load, http, draw):
    """Look at a plan that somebody asked for."""
    if load.accepted:
        path = f"/plans/{draw.choice(load.accepted)}"
        load.note((await load.ask("look at a plan", http, "GET", path, (200,))).json())


async def plan_downloaded(load, http, draw):
    """Download a finished plan."""
    if load.finished:
        id, kind = draw.choice(list(load.finished)), draw.choice(("csv", "json", "sol"))
        # A plan cancelled before it began has no tours.
        has = load.finished[id]["result"] is not None
        expected = (200,) if has else (409,)
        path = f"/plans/{id}/plan.{kind}"
        await load.ask("download", http, "GET", path, expected)


async def listed(load, http, draw):
    """List the newest plans."""
    await load.ask("list", http, "GET", "/plans", (200,))


async def page(load, http, draw):
    """Load the page, the examples or the health."""
    path = draw.choice(("/", "/health", "/examples", "/metrics"))
    await load.ask("page, health, …", http, "GET", path, (200,))


async def instance_read(load, http, draw):
    """Have an instance read."""
    body = {"instance": instance(draw)}
    await load.ask("read an instance", http, "POST", "/instances", (200,), body)


async def wrong(load, http, draw):
    """Send what is wrong."""
    body = draw.choice(
        ({"text": "nonsense"}, {}, {**order(load, draw), "time_limit": 1e6})
    )
    await load.ask("wrong", http, "POST", "/plans", (422, 503), body)


MIX = {
    plan_waiting: 3,
    plan_followed: 3,
    plan_cancelled: 1,
    plan_looked_at: 6,
    plan_downloaded: 3,
    listed: 2,
    page: 4,
    instance_read: 2,
    wrong: 1,
}


async def lost(load: Load) -> tuple[int, int]:
    """Count finished plans that are gone or changed, and accepted ones gone."""
    finished = accepted = 0
    http = Http(load.server)
    for id in load.accepted:
        answer = await http.request("GET", f"/plans/{id}")
        accepted += answer.status != 200
        if id in load.finished:
            finished += answer.status != 200 or answer.json() != load.finished[id]
    http.close()
    return finished, accepted


def report(load: Load) -> None:
    """Print what was seen."""
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
    """Load a server, report, and say whether all went well."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--time-limit", type=float, default=0.2, help="of each plan")
    parser.add_argument("--workers", type=int, help="default: the service's")
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
            gone, unknown = asyncio.run(lost(load))
        finally:
            server.process.terminate()
            code = server.process.wait(30)
    report(load)
    total = sum(sum(statuses.values()) for statuses in load.statuses.values())
    print(
        f"{total:,} answers to {arguments.clients} clients in {arguments.seconds:g} s; "
        f"{len(load.accepted):,} plans taken in, {len(load.finished):,} seen finished; "
        f"{gone} finished plans lost, {unknown} accepted plans lost, "
        f"{len(load.errors)} errors; the server ended with code {code}"
    )
    for error in load.errors[:10]:
        print(f"error: {error}")
    return int(bool(gone or unknown or load.errors or code))


if __name__ == "__main__":
    sys.exit(main())
