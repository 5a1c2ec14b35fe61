"""CPU count that this process may use, which in a container is less than the machine's; a thread pool that keeps it busy."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

_COURTESY = 2  # of `nice`: enough to be waited for no longer, little enough to keep its share beside other programs


def available_processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def workers(name: str, threads: int = 0) -> ThreadPoolExecutor:
    """Threads for long computations. Where a thread can have a priority of its own, as on Linux, theirs is lower: an event loop
    that has a word to say goes before them."""
    return ThreadPoolExecutor(threads or available_processors(), name, _step_back)


async def queued(threads: ThreadPoolExecutor, work: Callable[[T], R], parts: Iterable[T]) -> list[R]:
    """Work on threads beside an event loop. Whoever shares the threads stands in one queue, and who is cancelled leaves it."""
    loop = asyncio.get_running_loop()
    waiting = [loop.run_in_executor(threads, work, part) for part in parts]
    try:
        return await asyncio.gather(*waiting)
    finally:
        for one in waiting:
            one.cancel()


def _step_back() -> None:
    if sys.platform == "linux":  # elsewhere the whole process would step back
        with suppress(OSError):
            os.nice(_COURTESY)
