"""Processor time of a piece of work, undisturbed by what the tests before have left."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable


def seconds(work: Callable[[], object], rounds: int = 3) -> float:
    """The least of some rounds, of this thread alone; Python's look for garbage goes through everything that is alive."""
    took: list[float] = []
    enabled = gc.isenabled()
    for _ in range(rounds):
        gc.disable()
        try:
            begun = time.thread_time()
            work()
            took.append(time.thread_time() - begun)
        finally:
            if enabled:
                gc.enable()
    return min(took)
