"""uvicorn: run the application in one process or several workers, and shut it down gracefully.

Connections cost little until they have asked for something: few, not silent for long, with short heads. And there is none that
asks and does not read what it is told: its run would keep its place for ever.
"""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import os
import resource
import signal
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import connection
from multiprocessing.process import BaseProcess
from types import FrameType
from typing import Any, ClassVar

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from wellread.core.safe_imports import make_safe
from wellread.errors import UsageError, WellreadError
from wellread.server import logs
from wellread.server.app import create_app
from wellread.server.options import ServerOptions, history_place
from wellread.server.security import MAX_HEAD, client
from wellread.settings import Settings

_MOST = 4096
_WANTED = 4 * _MOST  # descriptors
_MACOS = 10_240  # the most that some releases of it give, whatever they say
_HEAD_SECONDS = 20.0  # from the first moment, or the first byte of a next request, to the end of its headers
_READ_SECONDS = 60.0  # in which a client has to read the 48 kB that make room for more


def descriptors() -> int:
    """How many descriptors this process may have, after asking for as many as are wanted: shells give 1,024."""
    soft, hard = (_WANTED if limit == resource.RLIM_INFINITY else limit for limit in resource.getrlimit(resource.RLIMIT_NOFILE))
    for wanted in (min(hard, _WANTED), min(hard, _MACOS)):
        if wanted > soft:
            with suppress(ValueError, OSError):
                resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
                return wanted
    return min(soft, _WANTED)


def most() -> int:
    """How many connections there may be. Half of the descriptors: files, services and connections on their way out need some."""
    return max(16, min(_MOST, descriptors() // 2))


def at_once() -> int:
    """How many are accepted in one turn of the event loop. Those too many are closed some turns later: with asyncio's 2,048 a
    flood takes the last descriptor, and then nobody is let in for a second."""
    return max(8, descriptors() // 32)


class Connection(H11Protocol):
    """uvicorn's, which would wait for ever for the first request and takes as many as there come. A class for each server."""

    bound: ClassVar[int]
    clients: ClassVar[Counter[str]]  # how many connections each has
    idle: ClassVar[dict[Connection, None]]  # those that have asked for nothing, the one that has been silent longest first
    proxied: ClassVar[bool]
    head_seconds = _HEAD_SECONDS
    read_seconds = _READ_SECONDS
    whose: str = ""
    _waiting: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # pyright: ignore
        super().connection_made(transport)
        self.whose = client(self.client[0]) if self.client else ""
        self.clients[self.whose] += 1
        self._wait_for_head()
        # nobody keeps others out: one client has at most half of them; a proxy speaks for many
        if not self.proxied and self.clients[self.whose] > self.bound // 2:
            self._leave()
        elif len(self.connections) > self.bound:  # whoever has something to say says it at once
            next(iter(self.idle))._leave()

    def data_received(self, data: bytes) -> None:
        if self._between_requests() and self._waiting is None:
            self._wait_for_head()
        super().data_received(data)
        if not self._between_requests():
            self._stop_waiting()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._between_requests():
            self.idle[self] = None

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = self.loop.call_later(self.read_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        self._was_read()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        self._was_read()
        super().connection_lost(exc)
        self.clients.subtract([self.whose])
        if not self.clients[self.whose]:
            del self.clients[self.whose]

    def _was_read(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _between_requests(self) -> bool:
        return self.cycle is None or self.cycle.response_complete  # pyright: ignore[reportUnnecessaryComparison]

    def _wait_for_head(self) -> None:
        self.idle[self] = None
        self._waiting = self.loop.call_later(self.head_seconds, self.transport.abort)

    def _stop_waiting(self) -> None:
        self.idle.pop(self, None)
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _leave(self) -> None:
        self._stop_waiting()
        self.transport.abort()


def counted(*, proxied: bool = False) -> type[Connection]:
    """The connections of one server."""
    return type("Connection", (Connection,), {"bound": most(), "clients": Counter[str](), "idle": {}, "proxied": proxied})


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
            sys.stderr.write(f"wellread listens on http://{shown}:{port}/  (stop with Ctrl-C)\n")  # in one piece
            sys.stderr.flush()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        service = getattr(self._app.state, "service", None)
        if service is not None:
            logs.info("stopping", running=len(service.runs.live))
            await service.drain()
        await super().shutdown(sockets)
        self._looks.end()
        sys.setswitchinterval(self._turn)


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
        """Freeze what is there now."""
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


_LOOK = 0.2  # seconds
_YOUNG = 10.0  # seconds: one that ends by itself before cannot start, and would not the next time either
_CANNOT_START = 3  # how such a one ends where it has said why, and how uvicorn does


@dataclass(slots=True)
class _Worker:
    process: BaseProcess
    begun: float


def serve(settings: Settings, options: ServerOptions) -> None:
    """Serve until SIGINT or SIGTERM. With `--workers N` several processes stand behind one address, which the operating system
    deals connections out to; one that dies is replaced."""
    if options.workers == 1:
        return serve_on(None, settings, options)
    if not isinstance(history_place(options), str):
        raise UsageError(
            f"{options.workers} workers need a history that they can share: --history postgresql://…; a file is for one"
        )
    logs.configure(verbose=options.verbose)
    make_safe()
    listening = listen(options)
    stopping: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        stopping.append(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    workers = [_begin(settings, options, listening, first=place == 0) for place in range(options.workers)]
    try:
        while not stopping:
            time.sleep(_LOOK)
            workers = [_replaced(worker, settings, options, listening) for worker in workers]
    finally:
        for worker in workers:
            worker.process.terminate()
        for worker in workers:
            worker.process.join(options.stop_seconds + 20)
            worker.process.kill()
        listening.close()


def _replaced(worker: _Worker, settings: Settings, options: ServerOptions, listening: socket.socket) -> _Worker:
    if worker.process.is_alive():
        return worker
    killed = (worker.process.exitcode or 0) < 0  # by somebody else, at whatever age
    young = time.monotonic() - worker.begun < _YOUNG
    if worker.process.exitcode == _CANNOT_START or (young and not killed):  # a busy machine takes its time to start one
        raise WellreadError("a worker could not start; it has said why")
    logs.info("a worker died and is replaced", status=worker.process.exitcode)
    return _begin(settings, options, listening, first=False)


def _begin(settings: Settings, options: ServerOptions, listening: socket.socket, *, first: bool) -> _Worker:
    # spawned, not forked: each opens its own history, models and threads
    process = multiprocessing.get_context("spawn").Process(target=_work, args=(settings, options, listening, first))
    process.start()
    return _Worker(process, time.monotonic())


def _end_with(parent: int) -> None:
    """A worker whose parent was killed would go on for ever, out of anybody's control."""
    connection.wait([parent])
    os.kill(os.getpid(), signal.SIGTERM)


def _work(settings: Settings, options: ServerOptions, listening: socket.socket, first: bool) -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()
    try:
        serve_on(listening, settings, options, told=first)
    except WellreadError as problem:
        print(f"wellread: {problem}", file=sys.stderr, flush=True)  # noqa: T201
        raise SystemExit(_CANNOT_START) from None
