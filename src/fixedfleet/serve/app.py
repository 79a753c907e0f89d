"""The web application: routes, middleware, the page, start-up and shutdown."""

from __future__ import annotations

import asyncio
import mimetypes
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import Depends, FastAPI
from fastapi.security import HTTPBearer
from starlette.staticfiles import StaticFiles

from fixedfleet.serve.address_lookup import AddressLookup
from fixedfleet.serve.jobs import PlanQueue
from fixedfleet.serve.planner import RoadServer, compile_ahead, plan_order
from fixedfleet.serve.pool import PlannerPool
from fixedfleet.serve.refusals import add_handlers
from fixedfleet.serve.routes import Service, open_routes, routes
from fixedfleet.serve.security import Guard, safe_headers
from fixedfleet.version import own_version

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from starlette.requests import Request
    from starlette.responses import Response

    from fixedfleet.serve.settings import Settings
    from fixedfleet.serve.store import PlanStore

__all__ = ["create_app"]

# Some systems take .js files for plain text, which browsers refuse to run.
mimetypes.add_type("text/javascript", ".js")


def create_app(
    settings: Settings,
    store: PlanStore,
    work: Callable[..., Any] = plan_order,
    ahead: Callable[..., Any] | None = compile_ahead,
) -> FastAPI:
    """
    Return the web application. A worker process calls ``work`` for each requested plan.

    After the start, another process calls ``ahead`` once, unless it is None.
    ``app.state.service`` exists while the application runs. Each string in
    ``app.state.tickets`` may be used once in place of the token to log in.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        roads = settings.roads and RoadServer(settings.roads, settings.data)
        queue = PlanQueue(store, roads or None)
        await queue.recover()
        pool = PlannerPool(queue, settings.workers, work, ahead)
        lookup = None
        if settings.geocoder is not None:
            pause, folder = settings.geocoder_pause, settings.data
            lookup = AddressLookup(settings.geocoder, pause, folder)
        service = Service(settings, store, queue, pool, roads or None, lookup)
        app.state.service = service
        try:
            yield
        finally:
            queue.begin_stop()
            if lookup is not None:
                await asyncio.to_thread(lookup.close)
            await pool.stop()
            await queue.close()

    app = FastAPI(
        title="fixedfleet",
        version=own_version(),
        summary="Plans tours for a fleet that cannot grow",
        # These pages load scripts from other servers, which the headers forbid.
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
    )
    app.state.tickets = set()
    # The guard checks tokens. This declares them on the OpenAPI page.
    bearer = HTTPBearer(scheme_name="token", auto_error=False)
    app.include_router(routes, dependencies=[Depends(bearer)] if settings.token else [])
    app.include_router(open_routes)
    page = StaticFiles(directory=Path(__file__).parent / "page")

    async def start(request: Request) -> Response:
        return await page.get_response("index.html", request.scope)

    app.add_route("/", start, include_in_schema=False)
    app.mount("/static", page)
    headers = safe_headers(settings.tiles)
    add_handlers(app, headers)
    app.add_middleware(
        Guard, token=settings.token, tickets=app.state.tickets, headers=headers
    )
    return app
