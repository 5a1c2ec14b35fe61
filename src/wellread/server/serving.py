"""Run the application under uvicorn, and stop it so that nothing is lost."""

from __future__ import annotations

import gc
import socket
import sys
import time
from collections.abc import Mapping
from typing import Any

import uvicorn
from fastapi import FastAPI

from wellread.errors import UsageError, WellreadError
from wellread.server import logs
from wellread.server.app import create_app
from wellread.server.connections import MAX_HEAD, at_once, counted
from wellread.server.options import ServerOptions
from wellread.settings import Settings

_TURN = 0.001  # seconds that a thread keeps the interpreter while the event loop waits for it; five are Python's own
_LONG = 0.02  # seconds
_TIMES = 32  # what dies in a circle after it was set apart stays: there is an end to that


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
            await service.drain()
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
        proxy_headers=False,  # the application believes them, once it has seen who says so
        ws="none",
        http=counted(proxied=options.proxied),
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


class ShortLooks:
    """Short looks for garbage, called by the collector before and after one. A look through everything that a busy server keeps
    takes a tenth of a second of everybody's time: what one has found to be alive is not looked through again."""

    def __init__(self, long: float = _LONG, times: int = _TIMES) -> None:
        self._long, self._left = long, times
        self._begun = 0.0

    def begin(self) -> None:
        """What is there now stays."""
        gc.collect()
        gc.freeze()
        gc.callbacks.append(self)

    def end(self) -> None:
        if self in gc.callbacks:
            gc.callbacks.remove(self)
        gc.unfreeze()

    def __call__(self, phase: str, info: Mapping[str, Any]) -> None:
        if phase == "start":
            self._begun = time.perf_counter()
        elif info["generation"] == 2 and self._left and time.perf_counter() - self._begun >= self._long:
            self._left -= 1
            gc.freeze()
