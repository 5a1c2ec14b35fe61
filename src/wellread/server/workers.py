"""`serve --workers N`: several processes behind one address, which the operating system deals connections out to."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from dataclasses import dataclass
from multiprocessing import connection
from multiprocessing.process import BaseProcess
from types import FrameType

from wellread.errors import UsageError, WellreadError
from wellread.safe_imports import make_safe
from wellread.server import logs, serving
from wellread.server.options import ServerOptions, history_place
from wellread.settings import Settings

_LOOK = 0.2  # seconds
_YOUNG = 10.0  # seconds: one that ends by itself before cannot start, and would not the next time either
_CANNOT_START = 3  # how such a one ends where it has said why, and how uvicorn does


@dataclass(slots=True)
class _Worker:
    process: BaseProcess
    begun: float


def check(options: ServerOptions) -> None:
    """Several processes need a history that several can share."""
    if options.workers > 1 and not isinstance(history_place(options), str):
        raise UsageError(
            f"{options.workers} workers need a history that they can share: --history postgresql://…; a file is for one"
        )


def serve(settings: Settings, options: ServerOptions) -> None:
    """Until SIGINT or SIGTERM; a worker that dies is replaced."""
    logs.configure(verbose=options.verbose)
    make_safe()
    listening = serving.listen(options)
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
        serving.serve_on(listening, settings, options, told=first)
    except WellreadError as problem:
        print(f"wellread: {problem}", file=sys.stderr, flush=True)  # noqa: T201
        raise SystemExit(_CANNOT_START) from None
