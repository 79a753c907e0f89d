"""The application: routes, what stands before them, and its beginning and end."""

# Annotations are read at run time here, so they are not postponed.
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request
from fastapi.responses import Response

from fixedfleet.serve import openapi, static
from fixedfleet.serve.body_limit import BodyLimit
from fixedfleet.serve.errors import Mistakes, add_handlers
from fixedfleet.serve.head import HeadAsGet
from fixedfleet.serve.metrics import Counted
from fixedfleet.serve.process import COMMAND
from fixedfleet.serve.routes import router
from fixedfleet.serve.security import Guard, SafeHeaders
from fixedfleet.serve.service import Service
from fixedfleet.serve.settings import Settings

__all__ = ["create_app"]


def create_app(
    settings: Settings | None = None, *, command: Sequence[str] = COMMAND
) -> FastAPI:
    """
    Make the application; its service is at ``app.state.service``.

    Parameters
    ----------
    settings
        What it allows. Default: a :class:`Settings` as it comes.
    command
        What a worker process is started with.
    """
    settings = settings or Settings()
    service = Service(settings, command)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        await service.start()
        try:
            yield
        finally:
            await service.stop()

    app = FastAPI(
        title="fixedfleet",
        version=service.version,
        summary="Plans tours for a fleet that cannot grow",
        # Their pages load scripts from elsewhere, which this server forbids.
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
    )
    app.state.service = service
    app.include_router(router)
    _add_page(app)
    add_handlers(app)
    openapi.complete(app, protected=bool(settings.tokens))
    # The last one added is the first to see a request.
    app.add_middleware(BodyLimit, settings=settings)
    app.add_middleware(Guard, settings=settings)
    app.add_middleware(Mistakes)
    app.add_middleware(Counted, metrics=service.metrics)
    app.add_middleware(HeadAsGet)
    app.add_middleware(SafeHeaders)
    return app


def _add_page(app: FastAPI) -> None:
    @app.get("/", include_in_schema=False)
    def start(request: Request) -> Response:
        return static.start_page(request.headers.get("if-none-match"))

    @app.get("/static/{name}", include_in_schema=False)
    def file(request: Request, name: str) -> Response:
        return static.page_file(name, request.headers.get("if-none-match"))
