"""The service under load: many clients at once, and what becomes of their plans.

    python benchmarks/service_load.py [--clients 200] [--seconds 60]
        [--kill-worker] [--kill-server]

It starts a server of its own on 127.0.0.1 with a fresh data folder. Each client draws
one request after the other from a mix: plans asked for, waited for, followed, cancelled
and downloaded, lists, the page, and requests that are wrong on purpose. An answer that
is none of those a request may get is an error; 503 from a full queue is one it may get,
and a client that gets it waits a moment. A connection that breaks is an error too,
unless the server was killed and the request begun before it was back for a second. At
the end every plan that was taken in must come to an end, and every plan that any client
was told is finished must be there as it was told.

`--kill-worker` kills a worker with SIGKILL after a third of the time, `--kill-server`
the server after two thirds, and starts it again on the same folder. The exit code is 1
if anything was lost or went wrong, or plans failed other than one of a killed worker.
Memory is read from /proc, so it needs Linux.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np

from service_http import Answer, Http, Server, resident
from service_mix import MIX

QUEUE_FULL_PAUSE = 0.5  # seconds a client waits after a 503
FINISHED = ("done", "cancelled")
BACK = 1.0  # seconds after a restart in which a request may still meet the old server
PATIENCE = 180.0  # seconds for all plans to come to an end, once no more are asked for


class Load:
    """What the clients do and see."""

    def __init__(self, arguments: argparse.Namespace, server: Server) -> None:
        self.arguments, self.server = arguments, server
        self.begin = self.end = 0.0
        self.down = False
        self.back = -math.inf  # when the server was up again after a kill
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
            self.down, self.back = True, math.inf
            finished = len(self.finished)
            self.server.process.kill()
            await asyncio.to_thread(self.server.process.wait)
            begin = time.monotonic()
            await asyncio.to_thread(self.server.start)
            self.down, self.back = False, time.monotonic()
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
                await self.broken(action.__name__, error, http.begun)
        http.close()

    async def broken(self, kind: str, error: Exception, begun: float) -> None:
        """Note a connection that broke, which a server that was killed excuses."""
        if begun <= self.back + BACK:
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


async def final(http: Http, id: str, deadline: float) -> dict | None:
    """Wait until a plan has come to an end; None if it is not there."""
    while True:
        answer = await http.request("GET", f"/plans/{id}")
        if answer.status != 200:
            return None
        plan = answer.json()
        ended = plan["status"] in (*FINISHED, "failed")
        if ended or time.monotonic() > deadline:
            return plan
        await asyncio.sleep(0.2)


async def settle(load: Load) -> Counter[str]:
    """Count accepted plans by what became of them, and finished ones lost."""
    became: Counter[str] = Counter()
    http = Http(load.server)
    deadline = time.monotonic() + PATIENCE
    for id in load.accepted:
        plan = await final(http, id, deadline)
        became["gone" if plan is None else plan["status"]] += 1
        became["finished and lost"] += load.finished.get(id, plan) != plan
        if plan is not None and plan["status"] == "failed":
            load.failed[id] = plan["error"]
    http.close()
    return became


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
            became = asyncio.run(settle(load))
        finally:
            server.process.terminate()
            code = server.process.wait(30)
    report(load)
    unfinished = became["queued"] + became["running"]
    total = sum(sum(statuses.values()) for statuses in load.statuses.values())
    print(
        f"{total:,} answers to {arguments.clients} clients in {arguments.seconds:g} s; "
        f"{len(load.accepted):,} plans taken in, {len(load.finished):,} seen finished; "
        f"at the end {became['done']:,} done, {became['cancelled']:,} cancelled, "
        f"{became['failed']} failed, {unfinished} unfinished; "
        f"{became['finished and lost']} finished plans lost, {became['gone']} accepted "
        f"plans lost, {len(load.errors)} errors; the server ended with code {code}"
    )
    for error in load.errors[:10]:
        print(f"error: {error}")
    lost = became["finished and lost"] + became["gone"] + unfinished
    undue = became["failed"] > int(arguments.kill_worker)
    return int(bool(lost or undue or load.errors or code))


if __name__ == "__main__":
    sys.exit(main())
