"""How long the event loop stands still, and over what: the processor time of one callback, whoever else uses the machine."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Noted = Callable[[float, str], None]
_LOOK = 0.02  # seconds between two looks at what a callback is doing


@contextmanager
def watched(note: Noted) -> Iterator[None]:
    """Tell the seconds of every callback of a loop in this process, and where long ones were when they were last looked at."""
    run_one, over = asyncio.Handle._run, threading.Event()
    since, seen, thread = 0.0, "", 0

    def timed(handle: asyncio.Handle) -> None:
        nonlocal since, seen, thread
        since, seen, thread = time.monotonic(), "", threading.get_ident()
        begun = time.thread_time()
        run_one(handle)
        took, since = time.thread_time() - begun, 0.0
        note(took, seen)

    def look() -> None:
        nonlocal seen
        while not over.wait(_LOOK):
            if since and time.monotonic() - since > 2 * _LOOK and (frame := sys._current_frames().get(thread)):
                seen = " < ".join(f"{one.name} {one.filename.rpartition('/')[2]}:{one.lineno}" for one in _latest(frame))

    asyncio.Handle._run = timed  # type: ignore[method-assign]
    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    try:
        yield
    finally:
        over.set()
        looking.join()
        asyncio.Handle._run = run_one  # type: ignore[method-assign]


def _latest(frame: object) -> list[traceback.FrameSummary]:
    return traceback.extract_stack(frame)[:-13:-1]  # type: ignore[arg-type]
