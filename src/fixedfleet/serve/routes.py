"""The operations of the API."""

# Annotations are read at run time here, so they are not postponed.
import asyncio
import json
from contextlib import suppress
from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response, StreamingResponse

from fixedfleet.fleet import assess_fleet
from fixedfleet.serve import schema
from fixedfleet.serve.documents import dump, instance_document
from fixedfleet.serve.downloads import FileFormat, plan_file
from fixedfleet.serve.errors import ApiError
from fixedfleet.serve.events import finished_events, job_events, no_events
from fixedfleet.serve.head import is_head
from fixedfleet.serve.job import Job
from fixedfleet.serve.metrics import CONTENT_TYPE
from fixedfleet.serve.openapi import errors, request_body
from fixedfleet.serve.orders import Order, take_order
from fixedfleet.serve.parsing import parse_body, read_instance
from fixedfleet.serve.security import client_of
from fixedfleet.serve.service import Service
from fixedfleet.serve.shipped import examples
from fixedfleet.serve.streams import EventStream

__all__ = ["router"]

router = APIRouter()

_CANCEL_WAIT = 6.0  # a little more than a worker has to come to an end
_EVENTS = (
    'event: improved\ndata: {"seconds":0.3,"cost":172.8,"vehicles":2,"fleet":2,'
    '"tours":[[1,5,3],[2,4]],"lengths":[90.5,82.3]}\n\n'
)
_BODY_ERRORS = errors(400, 408, 413, 415, 422)
_PLAN_ERRORS = errors(400, 408, 413, 415, 422, 429, 503)


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


def _json(
    text: str, status: int = 200, headers: dict[str, str] | None = None
) -> Response:
    return Response(text, status, headers, media_type="application/json")


@router.post(
    "/instances",
    response_model=schema.InstanceDoc,
    responses=_BODY_ERRORS,
    openapi_extra=request_body(schema.InstanceRequest),
)
async def read(
    request: Request, options: Annotated[schema.ReadingOptions, Query()]
) -> Response:
    """Read an instance, and say whether its fleet suffices, without planning."""
    body = await request.body()
    kind = request.headers.get("content-type", "")
    service = _service(request)

    def described() -> str:
        asked = parse_body(schema.InstanceRequest, kind, body, options)
        parsed = read_instance(asked, service.settings)
        # Quick packings and bounds only: the exact search is the workers'.
        verdict = None
        if not parsed.missing:
            verdict = assess_fleet(parsed.instance, time_limit=0)
        return dump(
            instance_document(parsed.instance, parsed.notes, verdict, parsed.missing)
        )

    return _json(await service.reading.run(described))


@router.post(
    "/plans",
    response_model=schema.PlanDoc,
    responses={
        202: {
            "model": schema.PlanDoc,
            "description": "The plan is in the making.",
            "headers": {
                "Location": {
                    "description": "Where to ask for it.",
                    "schema": {"type": "string"},
                }
            },
        },
        **_PLAN_ERRORS,
    },
    openapi_extra=request_body(schema.PlanRequest),
)
async def make(
    request: Request, options: Annotated[schema.PlanOptions, Query()]
) -> Response:
    """Plan tours: the plan if it is there soon, else where to ask for it."""
    service, client = _service(request), client_of(request.scope)
    service.jobs.require_room(client)
    body = await request.body()
    kind = request.headers.get("content-type", "")

    def ordered() -> Order:
        asked = parse_body(schema.PlanRequest, kind, body, options)
        return take_order(asked, service.settings)

    order = await service.reading.run(ordered)
    job = await service.jobs.submit(client, order)
    await _wait_for(service, job, order.wait)
    if job.final is not None:
        return _json(job.final)
    return _json(dump(job.document()), 202, {"location": f"/plans/{job.id}"})


async def _wait_for(service: Service, job: Job, seconds: float) -> None:
    """Wait until a job is finished, the time is over or the server stops."""
    with job.listener() as changed, suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while job.final is None and not service.jobs.stopping:
                changed.clear()
                await changed.wait()


@router.get(
    "/plans", response_model=list[schema.PlanListing], responses=errors(404, 422)
)
async def list_plans(
    request: Request,
    limit: Annotated[int, Query(ge=1, le=200, description="plans a page")] = 50,
    before: Annotated[
        str | None, Query(description="id of the plan before which to go on")
    ] = None,
) -> Response:
    """List plans, newest first; the header Link leads to those before them."""
    store = _service(request).jobs.store
    if before is not None and await run_in_threadpool(store.document, before) is None:
        raise ApiError(404, f"there is no plan {before[:40]!r}", where="before")
    found = await run_in_threadpool(store.newest, limit + 1, before)
    headers = {}
    if len(found) > limit:
        last = found[limit - 1].id
        headers["link"] = f'</plans?limit={limit}&before={last}>; rel="next"'
    return _json(dump([asdict(plan) for plan in found[:limit]]), headers=headers)


@router.get("/plans/{id}", response_model=schema.PlanDoc, responses=errors(404, 422))
async def get_plan(request: Request, id: str) -> Response:
    """Tell how far a plan is, or what came of it."""
    job = _service(request).jobs.get(id)
    if job is not None:
        return _json(job.final or dump(job.document()))
    return _json((await _stored(request, id))[1])


async def _stored(request: Request, id: str) -> tuple[str, str]:
    """Status and document of a plan that is not in the making."""
    stored = await run_in_threadpool(_service(request).jobs.store.document, id)
    if stored is None:
        raise ApiError(404, f"there is no plan {id[:40]!r}")
    return stored


@router.delete(
    "/plans/{id}",
    response_model=schema.PlanDoc,
    responses={
        202: {"model": schema.PlanDoc, "description": "It is about to end."},
        **errors(404, 409, 422),
    },
)
async def cancel(request: Request, id: str) -> Response:
    """Cancel a plan in the making, and keep the best found so far."""
    service = _service(request)
    job = service.jobs.get(id)
    ended: str | None = None
    if job is None:
        ended, _ = await _stored(request, id)
    elif job.outcome is not None:
        ended = job.outcome.status
    if job is None or ended is not None:
        raise ApiError(409, f"the plan has ended already: it is {ended}")
    await service.jobs.cancel(job)
    await _wait_for(service, job, _CANCEL_WAIT)
    if job.final is not None:
        return _json(job.final)
    return _json(dump(job.document()), 202)


@router.get(
    "/plans/{id}/events",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "Server-sent events: queued, verdict (a VerdictDoc), "
            "improved (an ImprovedDoc), and done (a PlanDoc) or failed at last.",
            "content": {"text/event-stream": {"example": _EVENTS}},
        },
        **errors(404, 422, 429),
    },
)
async def follow(request: Request, id: str) -> Response:
    """Follow a plan: its latest state at once, then every change."""
    service, client = _service(request), client_of(request.scope)
    service.streams.reserve(client)
    try:
        job = service.jobs.get(id)
        if job is not None:
            events = job_events(service.jobs, job)
        else:
            events = finished_events(*await _stored(request, id))
        if is_head(request.scope):
            events = no_events()
    except BaseException:
        service.streams.release(client)
        raise
    return EventStream(events, service.streams, client)


@router.get(
    "/plans/{id}/plan.{format}",
    response_class=Response,
    responses={
        200: {
            "description": "The plan as a file.",
            "content": {
                "text/csv": {"schema": {"type": "string"}},
                "application/json": {"schema": {"type": "object"}},
                "text/plain": {"schema": {"type": "string"}},
            },
        },
        **errors(404, 409, 422),
    },
)
async def download(request: Request, id: str, format: FileFormat) -> Response:
    """Download a finished plan: a table of stops, JSON, or a VRPLIB solution."""
    store = _service(request).jobs.store
    status, document = await _stored(request, id)
    if status in ("queued", "running"):
        raise ApiError(409, f"the plan is not finished: it is {status}")
    instance = await run_in_threadpool(store.instance, id)
    if instance is None:  # forgotten in this moment
        raise ApiError(404, f"there is no plan {id[:40]!r}")
    text, headers = await run_in_threadpool(
        plan_file, json.loads(document), instance, format
    )
    return Response(text, headers=headers)


@router.get("/examples", response_model=list[schema.ExampleListing], responses=errors())
async def list_examples() -> Response:
    """List the examples that come with the service."""
    listing = [asdict(example) for example in examples().values()]
    for example in listing:
        del example["text"]
    return _json(dump(listing))


@router.get(
    "/examples/{name}", response_model=schema.ExampleDoc, responses=errors(404, 422)
)
async def get_example(name: str) -> Response:
    """Give an example's text, to be sent to ``/plans``."""
    if name not in examples():
        raise ApiError(404, f"no example {name[:40]!r}, only {', '.join(examples())}")
    return _json(dump(asdict(examples()[name])))


@router.get("/health", response_model=schema.HealthDoc, responses=errors())
async def health(request: Request) -> Response:
    """Tell how the service is."""
    service = _service(request)
    status = "ok" if service.supervisor.ready else "starting"
    if service.jobs.stopping:
        status = "stopping"
    document = {
        "status": status,
        "version": service.version,
        "workers": service.supervisor.ready,
        "queue": service.jobs.waiting,
        "running": service.jobs.running,
    }
    return _json(dump(document))


@router.get(
    "/metrics",
    response_class=Response,
    responses={
        200: {
            "description": "Counts in Prometheus's text format.",
            "content": {"text/plain": {"schema": {"type": "string"}}},
        },
        **errors(),
    },
)
async def metrics(request: Request) -> Response:
    """Give the counts that Prometheus collects."""
    service = _service(request)
    text = service.metrics.text(service.gauges())
    return Response(text, headers={"content-type": CONTENT_TYPE})
