"""The operations of the API."""

# FastAPI evaluates these annotations, so their types are imported at run time.
# ruff: noqa: TC001, TC003

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field
from importlib import resources
from typing import Annotated, Any, Literal, TypeVar

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.sse import EventSourceResponse, ServerSentEvent

from fixedfleet import files
from fixedfleet.documents import describe_instance, describe_verdict, to_json
from fixedfleet.files.text import check_storable
from fixedfleet.fleet import assess_fleet
from fixedfleet.serve import bodies, schema
from fixedfleet.serve.address_lookup import AddressLookup
from fixedfleet.serve.finished_plans import (
    FileFormat,
    change_plan,
    links_of,
    plan_file,
    plan_lines,
)
from fixedfleet.serve.jobs import PlanJob, PlanQueue
from fixedfleet.serve.planner import RoadServer
from fixedfleet.serve.pool import PlannerPool
from fixedfleet.serve.refusals import REFUSALS, ApiError
from fixedfleet.serve.settings import Settings
from fixedfleet.serve.store import PlanStore, StoredPlan
from fixedfleet.version import own_version

__all__ = ["Service", "examples", "open_routes", "routes"]

R = TypeVar("R", bound=schema.InstanceRequest)

routes = APIRouter(responses=REFUSALS)
open_routes = APIRouter(responses=REFUSALS)  # these need no token

MAX_WAIT = 30.0  # POST /plans waits for a plan at most this many seconds
MAX_STREAMS = 512  # the largest number of open streams of events
STREAMS_PER_CLIENT = 32
_CANCEL_WAIT = 6.0  # seconds; a little more than a worker may need to end a plan
_STREAM_PAUSE = 5  # seconds after which a client may ask for a stream again
_EXAMPLES = {
    "leipzig_parcels": "Parcels in Leipzig: 63 shops, seven vans of 850 kg",
    "bakery_round": "Bakery round: three vans, and four orders that cannot share one",
}
_RECONNECT = 2000  # milliseconds after which a browser opens a broken stream again
# Reading more bodies at the same time would only slow down the other answers.
_readers = CapacityLimiter(2)


@dataclass
class Service:
    """The objects that the operations use, available as ``app.state.service``."""

    settings: Settings
    store: PlanStore
    queue: PlanQueue
    pool: PlannerPool
    roads: RoadServer | None = None
    lookup: AddressLookup | None = None
    streams: Counter[str] = field(default_factory=Counter)  # open streams per client


# FastAPI would run dependencies that are not async in a thread.
async def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


async def _client(request: Request) -> str:
    """Return the address of the client, by which limits per client are counted."""
    return "" if request.client is None else request.client.host


ServiceDep = Annotated[Service, Depends(_service)]
ClientDep = Annotated[str, Depends(_client)]


def _json(
    text: str, status: int = 200, headers: dict[str, str] | None = None
) -> Response:
    return Response(text, status, headers, media_type="application/json")


def _no_plan(id: str, where: str | None = None) -> ApiError:
    return ApiError(404, f"there is no plan {id[:40]!r}", where=where)


def _body_of(model: type[schema.InstanceRequest]) -> dict[str, Any]:
    """
    Return OpenAPI's description of the body of an operation that parses it itself.
    """
    csv = "name,x,y,demand\ndepot,0,0,\nCafé,1,2,3\nShop,-2,1,4\n"
    text = {"schema": {"type": "string"}, "example": csv}
    example = {"text": csv, "vehicles": 1, "capacity": 10}
    document = {
        "schema": schema.self_contained(model.model_json_schema()),
        "example": example,
    }
    kinds = dict.fromkeys(bodies.CONTENT_TYPES, text) | {"application/json": document}
    return {"requestBody": {"required": True, "content": kinds}}


# ------------------------------------------------------------------ instances and plans


@routes.post(
    "/instances",
    response_model=schema.ReadDocument,
    openapi_extra=_body_of(schema.InstanceRequest),
)
async def read_instance(
    request: Request,
    service: ServiceDep,
    options: Annotated[schema.InstanceOptions, Query()],
) -> Response:
    """Read an instance, and say whether its fleet suffices, without planning."""
    _, read = await _read(request, service, schema.InstanceRequest, options)
    return _json(await to_thread.run_sync(_describe, read, limiter=_readers))


async def _read(
    request: Request, service: Service, model: type[R], options: schema.InstanceOptions
) -> tuple[R, files.Reading]:
    """Return the request that the body holds, and the instance that it gives."""
    body = await bodies.read_body(request)
    kind = request.headers.get("content-type", "")

    def parse() -> tuple[R, files.Reading]:
        asked, file = bodies.parse_body(model, kind, body, options)
        most, stored = service.settings.max_customers, service.store.instance
        find = None if service.lookup is None else service.lookup.find
        refused = isinstance(asked, schema.PlanRequest) and asked.roads is False
        by_road = service.roads is not None and not refused
        read = bodies.read_instance(asked, file, stored, most, find, by_road)
        return asked, read

    return await to_thread.run_sync(parse, limiter=_readers)


def _describe(read: files.Reading) -> str:
    verdict = None
    if not read.missing:  # quick bounds only: the exact search is for the workers
        verdict = describe_verdict(assess_fleet(read.instance, time_limit=0))
    document = schema.ReadDocument(
        instance=describe_instance(read.instance, without=[*read.missing, "matrix"]),
        notes=read.notes,
        doubts=read.doubts,
        rows=read.rows,
        columns=read.columns,
        verdict=verdict,
    )
    return to_json(document, one_line=True)


@routes.post(
    "/plans",
    response_model=schema.JobDocument,
    responses={
        202: {
            "model": schema.JobDocument,
            "description": "The plan is not finished yet.",
            "headers": {
                "Location": {
                    "description": "Where to ask for it.",
                    "schema": {"type": "string"},
                }
            },
        },
    },
    openapi_extra=_body_of(schema.PlanRequest),
)
async def make_plan(
    request: Request,
    service: ServiceDep,
    client: ClientDep,
    options: Annotated[schema.PlanOptions, Query()],
) -> Response:
    """Plan tours: return the plan if it is finished soon, else where to ask for it."""
    queue = service.queue
    queue.require_room(client)  # before any work is spent on the body
    asked, read = await _read(request, service, schema.PlanRequest, options)
    longest, roads = service.settings.max_seconds, service.roads
    order = await run_in_threadpool(bodies.make_order, asked, read, longest, roads)
    job = await queue.submit(client, order)
    await _wait_for(queue, job, _patience(asked.wait))
    if job.final is not None:
        return _json(job.final.document)
    return _json(await _state(job), 202, {"location": f"/plans/{job.id}"})


async def _state(job: PlanJob) -> str:
    """
    Return the document of a job that has not ended. A thread writes it: it may be long.
    """
    now = copy(job)  # the job may change meanwhile
    return await run_in_threadpool(now.document)


def _patience(asked: float | None) -> float:
    """
    Return how many seconds to wait for a plan: ``asked``, but at most ``MAX_WAIT``.
    """
    return MAX_WAIT if asked is None else min(asked, MAX_WAIT)


async def _wait_for(queue: PlanQueue, job: PlanJob, seconds: float) -> None:
    """Wait until a job has ended, the time is over or the server stops."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while job.final is None and not queue.stopping:
                await job.next_change.wait()


@routes.get("/plans")
async def list_plans(
    response: Response,
    service: ServiceDep,
    limit: Annotated[int, Query(ge=1, le=200, description="plans per page")] = 50,
    before: Annotated[
        str | None, Query(description="only plans older than the plan with this id")
    ] = None,
) -> list[schema.PlanListing]:
    """List plans, newest first; the header Link leads to the next page."""
    store = service.store
    if before is not None and await run_in_threadpool(store.plan, before) is None:
        raise _no_plan(before, where="before")
    found = await run_in_threadpool(store.newest, limit + 1, before)
    if len(found) > limit:
        last = found[limit - 1].id
        response.headers["link"] = f'</plans?limit={limit}&before={last}>; rel="next"'
    return found[:limit]


@routes.get(
    "/plans/{id}",
    response_model=schema.JobDocument,
)
async def get_plan(service: ServiceDep, id: str) -> Response:
    """Return a plan: its state, and its result when it is finished."""
    found = await _find(service, id)
    if isinstance(found, StoredPlan):
        return _json(found.document)
    return _json(await _state(found))


async def _find(service: Service, id: str) -> PlanJob | StoredPlan:
    """
    Return a plan: its job while it waits or runs, and the stored plan afterwards.

    Raise ApiError, with the status 404, if the plan does not exist.
    """
    job = service.queue.get(id)
    if job is not None:
        return job.final or job
    stored = await run_in_threadpool(service.store.plan, id)
    if stored is None:
        raise _no_plan(id)
    return stored


@routes.delete(
    "/plans/{id}",
    response_model=schema.JobDocument,
    responses={
        202: {"model": schema.JobDocument, "description": "It will end soon."},
    },
)
async def cancel_plan(
    service: ServiceDep,
    id: str,
    forget: Annotated[
        bool, Query(description="delete a plan that has ended, for good")
    ] = False,
) -> Response:
    """
    Cancel a plan that is not finished, and keep the best plan found so far.

    With ``forget``, delete a plan that has ended, with all names in it.
    """
    found = await _find(service, id)
    if forget:
        if isinstance(found, PlanJob):
            sentence = f"the plan is {found.status}: cancel it first"
            raise ApiError(409, sentence)
        if not await service.queue.forget(id):
            raise _no_plan(id)
        return _json(found.document)
    if isinstance(found, StoredPlan):
        raise ApiError(409, f"the plan has already ended: it is {found.status}")
    await service.queue.cancel(found)
    await _wait_for(service.queue, found, _CANCEL_WAIT)
    if found.final is not None:
        return _json(found.final.document)
    return _json(await _state(found), 202)


@routes.patch(
    "/plans/{id}",
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {"schema": schema.RenameRequest.model_json_schema()}
            },
        }
    },
)
async def rename_plan(
    request: Request, service: ServiceDep, id: str
) -> schema.RenameRequest:
    """Give a plan that has ended another name."""
    body = await bodies.read_body(request)
    wanted = await run_in_threadpool(bodies.parse_json, schema.RenameRequest, body, {})
    check_storable("the name", wanted.name)
    await _finished(service, id)
    if not await service.queue.rename(id, wanted.name):
        raise _no_plan(id)
    return wanted


@routes.put(
    "/plans/{id}/tours",
    response_model=schema.EditedDocument,
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {"schema": schema.EditRequest.model_json_schema()}
            },
        }
    },
)
async def change_tours(request: Request, service: ServiceDep, id: str) -> Response:
    """
    Keep the tours of a finished plan as the dispatcher changed them.

    Tours that somebody else has changed since the client read them are not replaced. A
    client that got no answer may send the same change again.
    """
    body = await bodies.read_body(request)
    edit = await run_in_threadpool(bodies.parse_json, schema.EditRequest, body, {})
    plan, instance = await _finished(service, id)
    edited = await run_in_threadpool(change_plan, plan, instance, edit, service.roads)
    text = await run_in_threadpool(to_json, edited, one_line=True)
    if not await service.queue.keep_edit(id, edited.cost, text, edit.revision):
        # This raises 404 if the plan has been deleted meanwhile.
        now, _ = await _finished(service, id)
        if now.get("edited") != json.loads(text):
            raise ApiError(
                409,
                "the plan was changed by somebody else: read it again, and send the "
                "revision of the tours that you change",
                where="revision",
            )
    return _json(text)


async def _finished(service: Service, id: str) -> tuple[dict[str, Any], str]:
    """
    Return the document of a finished plan, and its instance as JSON.

    Raise ApiError, with the status 409, while the plan is waiting or running.
    """
    found = await _find(service, id)
    if isinstance(found, PlanJob):
        raise ApiError(409, f"the plan is not finished: it is {found.status}")
    instance = await run_in_threadpool(service.store.instance, id)
    if instance is None:  # it was deleted at this moment
        raise _no_plan(id)
    return await run_in_threadpool(json.loads, found.document), instance


# ------------------------------------------------------------------------------- events


async def _followed(
    service: ServiceDep, client: ClientDep, id: str
) -> AsyncIterator[PlanJob | StoredPlan]:
    """
    Dependency that yields a plan, and counts the client's event stream until it closes.

    Raise ApiError if the client, or all clients together, have too many open streams.
    """
    streams = service.streams
    if streams[client] >= STREAMS_PER_CLIENT:
        raise ApiError(
            429,
            f"{streams[client]} of your streams are open, and a client may not have "
            "more: close one",
            retry_after=_STREAM_PAUSE,
        )
    if streams.total() >= MAX_STREAMS:
        sentence = f"{streams.total()} streams of events are open"
        raise ApiError(503, sentence, retry_after=_STREAM_PAUSE)
    streams[client] += 1
    try:
        yield await _find(service, id)
    finally:
        streams[client] -= 1
        if streams[client] <= 0:
            del streams[client]


@routes.get(
    "/plans/{id}/events",
    response_class=EventSourceResponse,
    responses={
        200: {
            "description": "Server-sent events: queued, preparing, roads "
            "(ProgressDocument), verdict (VerdictDocument), searching, improved "
            "(ImprovedDocument), and at the end done (JobDocument) or failed.",
        },
    },
)
async def follow_plan(
    service: ServiceDep,
    followed: Annotated[PlanJob | StoredPlan, Depends(_followed)],
) -> AsyncIterator[ServerSentEvent]:
    """
    Follow a plan: its current state at once, then every change until it ends.

    A client that reads slowly misses improvements that newer ones have replaced, and
    nothing else. No events pile up for it.
    """
    yield ServerSentEvent(retry=_RECONNECT)
    if isinstance(followed, StoredPlan):
        yield await run_in_threadpool(_last_event, followed)
        return
    told: dict[str, Any] = {}
    while True:
        change = followed.next_change
        for name, news in _news(followed, service.pool.ready > 0).items():
            if news is not None and news != told.get(name):
                told[name] = news
                is_long = isinstance(news, schema.ImprovedDocument)
                data = news.text if is_long else to_json(news, one_line=True)
                yield ServerSentEvent(event=name, raw_data=data)
        if followed.final is not None:
            yield await run_in_threadpool(_last_event, followed.final)
            return
        if service.queue.stopping:
            yield ServerSentEvent(comment="the server is stopping")
            return
        await change.wait()


def _news(job: PlanJob, has_worker: bool) -> dict[str, Any]:
    """
    Return {name of the event: data} with all that followers of a job should know now.

    The data are None for an event that has not happened. ``has_worker`` says whether
    any worker process is ready.
    """
    queued = None if job.position is None else {"position": job.position}
    # After an installation, code is compiled before the first worker is ready, or
    # before a search of a new kind begins: after the roads and the verdict are known.
    waits = job.status == "running" and job.searching is None
    preparing: dict[str, Any] | None = {} if waits or not has_worker else None
    return {
        "queued": queued,
        "preparing": preparing,
        "roads": job.roads,
        "verdict": job.verdict,
        "searching": job.searching,
        "improved": job.improved,
    }


def _last_event(plan: StoredPlan) -> ServerSentEvent:
    if plan.status != "failed":
        return ServerSentEvent(event="done", raw_data=plan.document)
    error = {"error": json.loads(plan.document)["error"]}
    return ServerSentEvent(event="failed", raw_data=to_json(error, one_line=True))


# ---------------------------------------------------------------------------- downloads


@routes.get(
    "/plans/{id}/plan.{format}",
    response_class=Response,
    responses={
        200: {
            "description": "The plan as a file.",
            "content": {
                "text/csv": {"schema": {"type": "string"}},
                "application/gpx+xml": {"schema": {"type": "string"}},
                "application/json": {"schema": {"type": "object"}},
                "text/plain": {"schema": {"type": "string"}},
                bodies.EXCEL: {"schema": {"type": "string", "format": "binary"}},
            },
        },
    },
)
async def download_plan(
    service: ServiceDep,
    id: str,
    format: FileFormat,
    decimal: Annotated[
        Literal[".", ","],
        Query(description="decimal sign of CSV; with a comma, semicolons separate"),
    ] = ".",
    language: Annotated[
        files.Language, Query(description="language of the headings in CSV and Excel")
    ] = "en",
) -> Response:
    """Download a finished plan: a table, JSON, GPX, or a VRPLIB solution."""
    plan, instance = await _finished(service, id)
    dialect = files.Dialect(";", ",") if decimal == "," else files.Dialect()
    return await run_in_threadpool(
        plan_file, plan, instance, format, dialect, service.roads, language
    )


@routes.get("/plans/{id}/lines", response_model=schema.LinesDocument)
async def get_lines(service: ServiceDep, id: str) -> Response:
    """Return the lines of a finished plan's tours along roads, as they are now."""
    plan, instance = await _finished(service, id)
    lines = await run_in_threadpool(plan_lines, plan, instance, service.roads)
    return _json(await run_in_threadpool(to_json, lines, one_line=True))


# ---------------------------------------------------------------------------- addresses


@routes.put(
    "/places",
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {"schema": schema.PlaceRequest.model_json_schema()}
            },
        }
    },
)
async def keep_place(request: Request, service: ServiceDep) -> schema.PlaceRequest:
    """Keep the place of an address that was not found, or found at several places."""
    body = await bodies.read_body(request)
    wanted = await run_in_threadpool(bodies.parse_json, schema.PlaceRequest, body, {})
    if service.lookup is None:
        sentence = "this server looks up no addresses: start it with --geocoder URL"
        raise ApiError(409, sentence)
    check_storable("the address", wanted.address)
    await run_in_threadpool(
        service.lookup.keep, wanted.address, wanted.latitude, wanted.longitude
    )
    return wanted


@routes.get("/plans/{id}/links")
async def list_links(service: ServiceDep, id: str) -> list[list[schema.LinkDocument]]:
    """
    Return links, with QR codes, that open each tour in the maps app of a phone.

    A tour without latitudes and longitudes has none. The links have places, no names.
    """
    plan, instance = await _finished(service, id)
    return await run_in_threadpool(links_of, plan, instance)


# --------------------------------------------------------------------- examples, health


def examples() -> list[schema.ExampleDocument]:
    """Return the examples that come with the service."""
    folder = resources.files("fixedfleet.serve") / "examples"
    return [
        schema.ExampleDocument(
            name=name,
            title=title,
            text=(folder / f"{name}.csv").read_text(encoding="utf-8"),
        )
        for name, title in _EXAMPLES.items()
    ]


@routes.get("/examples")
async def list_examples() -> list[schema.ExampleDocument]:
    """Return example tables. The text of each can be sent to ``/plans`` as it is."""
    return examples()


@routes.get("/settings")
async def get_settings(service: ServiceDep) -> schema.SettingsDocument:
    """Return what the page must know about the server."""
    settings = service.settings
    return schema.SettingsDocument(
        max_bytes=bodies.MAX_BODY,
        tiles=settings.tiles,
        attribution=settings.attribution if settings.tiles else "",
        roads=service.roads is not None,
        geocoder=service.lookup is not None,
    )


@open_routes.get("/health")
async def health(service: ServiceDep) -> schema.HealthDocument:
    """Return the state of the service."""
    ready = service.pool.ready
    status: Literal["ok", "starting", "stopping"] = "ok" if ready else "starting"
    return schema.HealthDocument(
        status="stopping" if service.queue.stopping else status,
        version=own_version(),
        workers=ready,
        queue=service.queue.waiting,
        running=len(service.queue.running),
    )
