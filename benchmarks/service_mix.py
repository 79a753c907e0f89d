"""The requests that clients draw from: what they send, and what may come back."""

from __future__ import annotations

import json
from contextlib import aclosing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random

    from service_load import Load


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
    await load.ask("read an instance", http, "POST", "/instances", (200, 503), body)


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
