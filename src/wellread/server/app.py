"""The FastAPI application: routers, middleware, lifespan, and error responses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from wellread.engine import Engine
from wellread.errors import DamagedFile, ReadError, SourceError, UsageError, WellreadError
from wellread.server import api, collections_api, mcp, openai_api, openai_format, security
from wellread.server import options as options_module
from wellread.server.database import TooSlow
from wellread.server.limits import Busy, Stopping
from wellread.server.metrics import Metrics
from wellread.server.options import ServerOptions
from wellread.server.security import Access, Wall
from wellread.server.service import running
from wellread.server.viewer import NotThere
from wellread.server.web import collecting, configuring, documents, pages
from wellread.settings import Settings
from wellread.version import __version__

_STATUSES = ((NotThere, 404), (UsageError, 400), (SourceError, 502), (ReadError, 502), (DamagedFile, 503), (TooSlow, 503))
_ABOUT = """Ask questions, watch how they are answered, search.

Answers carry numbers; every number leads to words in a passage. Errors are `{"error": "…"}`.
Where the server has a token, send it as `Authorization: Bearer …`.
"""


def create_app(
    settings: Settings | None = None, *, engine: Engine | None = None, options: ServerOptions | None = None
) -> FastAPI:
    """The whole server as an ASGI application. An engine that is given is closed with it."""
    engine = engine or Engine(settings)
    options = options or options_module.load(engine.settings)
    options.check()
    access = Access(options.token)
    metrics = Metrics()
    tools = mcp.McpEndpoint()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None, None]:
        async with AsyncExitStack() as stack:
            try:
                service = await stack.enter_async_context(running(engine, options, metrics))
            except WellreadError as problem:
                app.state.problem = problem  # for the one who started the server
                raise
            app.state.service = service
            await stack.enter_async_context(tools.running(service))
            describing = asyncio.create_task(asyncio.to_thread(app.openapi))  # slow the first time, kept afterwards
            stack.push_async_callback(asyncio.wait, [describing])
            yield

    app = FastAPI(title="wellread", version=__version__, description=_ABOUT, lifespan=lifespan, docs_url=None, redoc_url=None)
    app.state.access = access
    for door in (api, collections_api, openai_api, pages, documents, collecting, configuring):
        app.include_router(door.router)
    app.router.routes.append(tools.route())
    app.mount("/static", StaticFiles(directory=pages.STATIC))
    for kind in (RequestValidationError, Busy, openai_format.Refused, WellreadError, HTTPException):
        app.add_exception_handler(kind, _told)
    if options.proxied:
        app.add_middleware(ProxyHeadersMiddleware, trusted_hosts=list(options.proxies))  # pyright: ignore[reportArgumentType]
    app.add_middleware(Wall, options=options, access=access, names=security.hosts(options), metrics=metrics)
    return app


async def _told(request: Request, problem: Exception) -> Response:
    """An exception as a response: its status, its words, and what else the client should know."""
    match problem:
        case RequestValidationError():
            wrong = [(".".join(map(str, one["loc"][1:])) or "body", one["msg"]) for one in problem.errors()[:5]]
            return _error(request, 422, "; ".join(f"{where}: {why}" for where, why in wrong))
        case Busy():
            status = 503 if isinstance(problem, Stopping) else 429
            return _error(request, status, str(problem), {"Retry-After": str(problem.retry_after)})
        case openai_format.Refused():
            return openai_format.error(400, str(problem), param=problem.param, code=problem.code)
        case HTTPException():
            return _error(request, problem.status_code, str(problem.detail), dict(problem.headers or {}))
        case _:
            return _error(request, next((status for kind, status in _STATUSES if isinstance(problem, kind)), 500), str(problem))


def _error(request: Request, status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    """In the caller's dialect: a page for browsers, else as for programs."""
    wants_page = "text/html" in request.headers.get("accept", "") and not request.url.path.startswith(("/api/", "/v1/"))
    answer = pages.error(request, status, message) if wants_page else security.error(request.url.path, status, message)
    answer.headers.update(headers or {})
    return answer
