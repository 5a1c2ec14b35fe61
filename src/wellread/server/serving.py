"""Run the application under uvicorn, and stop it so that nothing is lost."""

from __future__ import annotations

import socket
import sys

import uvicorn
from fastapi import FastAPI

from wellread.errors import UsageError, WellreadError
from wellread.server import logs
from wellread.server.app import create_app
from wellread.server.connections import MAX_HEAD, at_once, counted
from wellread.server.garbage import ShortLooks
from wellread.server.options import ServerOptions
from wellread.settings import Settings

_TURN = 0.001  # seconds that a thread keeps the interpreter while the event loop waits for it; five are Python's own


class Server(uvicorn.Server):
    """Lets running answers finish before connections are closed: their readers want the end."""

    def __init__(self, config: uvicorn.Config, app: FastAPI, options: ServerOptions, *, told: bool = True) -> None:
        super().__init__(config)
        self._told = told
        self._app = app
        self._options = options
        self._looks = ShortLooks()
        self._turn = sys.getswitchinterval()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Say where it listens once it answers: who follows the address before would wait."""
        sys.setswitchinterval(_TURN)
        await super().startup(sockets)
        self._looks.begin()
        for listening in (sockets or ()) if self.started and self._told else ():
            host, port = listening.getsockname()[:2]
            shown = f"[{host}]" if ":" in host else host
            print(f"wellread listens on http://{shown}:{port}/  (stop with Ctrl-C)", file=sys.stderr, flush=True)  # noqa: T201

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        service = getattr(self._app.state, "service", None)
        if service is not None:
            logs.info("stopping", running=len(service.runs.live))
            await service.runs.drain(self._options.stop_seconds)
        await super().shutdown(sockets)
        self._looks.end()
        sys.setswitchinterval(self._turn)


def serve(settings: Settings, options: ServerOptions) -> None:
    """Serve until SIGINT or SIGTERM."""
    serve_on(None, settings, options)


def serve_on(listening: socket.socket | None, settings: Settings, options: ServerOptions, *, told: bool = True) -> None:
    """On a socket that listens already, which others may share, or on one of its own; `told` says where, on stderr."""
    logs.configure(verbose=options.verbose)
    app = create_app(settings, options=options)
    try:
        server(app, options, told=told).run(sockets=[listening or listen(options)])
    except SystemExit:  # uvicorn's way to say that the start failed
        if isinstance(problem := getattr(app.state, "problem", None), WellreadError):
            raise problem from None
        raise


def server(app: FastAPI, options: ServerOptions, *, told: bool = True) -> Server:
    """uvicorn with our logs in place of its own."""
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        proxy_headers=options.proxy,
        ws="none",
        http=counted(),
        backlog=at_once(),
        h11_max_incomplete_event_size=MAX_HEAD,
        lifespan="on",
        timeout_keep_alive=30,
        timeout_graceful_shutdown=10,
    )
    return Server(config, app, options, told=told)


def listen(options: ServerOptions) -> socket.socket:
    """A socket that listens; taken before the slow start, so that a taken port is told at once."""
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # else asyncio does not take it for TCP
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((options.host, options.port))
        listening.listen(1024)
    except OSError as problem:
        listening.close()
        raise WellreadError(f"cannot listen on {options.host}:{options.port}: {problem.strerror}") from None
    except (TypeError, ValueError):  # what no name of a host can hold
        listening.close()
        raise UsageError(f"cannot listen on {options.host!a:.80}: that is no name of a host") from None
    return listening
