"""Processor time of a piece of work, undisturbed by what the tests before have left."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable


def seconds(work: Callable[[], object], rounds: int = 3, enough: float = 0.0) -> float:
    """The least of some rounds, of this thread alone, or the first that is `enough`; Python's look for garbage goes through
    everything that is alive."""
    took: list[float] = []
    enabled = gc.isenabled()
    while len(took) < rounds and min(took, default=enough + 1) > enough:
        gc.disable()
        try:
            begun = time.thread_time()
            work()
            took.append(time.thread_time() - begun)
        finally:
            if enabled:
                gc.enable()
    return min(took)
