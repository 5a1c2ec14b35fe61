"""Progress of long work, its rate and the time left, as a value that a command line prints and a server sends."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from wellread.core.processors import available_processors
from wellread.core.values import frozen

Progress: TypeAlias = Callable[[str, int, int | None], None]  # step, done, total where it is known
_SHARE = 0.6  # of the processors' time; who has less while twice as many want them is slowed
_WINDOW = 20.0  # seconds whose rate is told: long enough for some batches, short enough to be true


def silent(step: str, done: int, total: int | None) -> None:
    """No progress wanted."""


@frozen
class Standing:
    """Where the work stands."""

    step: str  # that moved last
    counts: Mapping[str, tuple[int, int | None]]  # of every step so far: done, total
    rate: float | None  # of that step, a second, over the last seconds
    left: float | None  # seconds until that step is done, at that rate
    slowed: bool = False  # others have most of the processors


@dataclass(slots=True)
class Gauge:
    """Call it as a `Progress`; `standing` says where things are."""

    clock: Callable[[], float] = time.monotonic
    used: Callable[[], float] = time.process_time
    busy: Callable[[], float] = lambda: os.getloadavg()[0]
    _counts: dict[str, tuple[int, int | None]] = field(default_factory=dict[str, tuple[int, int | None]])
    _step: str = ""
    _seen: deque[tuple[float, int, float]] = field(default_factory=deque[tuple[float, int, float]])

    def __call__(self, step: str, done: int, total: int | None) -> None:
        now = self.clock()
        if step != self._step and not (step == "passages" and self._step == "files"):  # these two move together
            self._step = step
            self._seen.clear()
        self._counts[step] = (done, total)
        if step == self._step:
            self._seen.append((now, done, self.used()))
            while len(self._seen) > 2 and self._seen[1][0] <= now - _WINDOW:
                self._seen.popleft()

    def standing(self) -> Standing:
        """As of now."""
        rate, left, slowed = None, None, False
        done, total = self._counts.get(self._step, (0, None))
        if self._seen:
            begun, first, used = self._seen[0]
            seconds, processors = self.clock() - begun, available_processors()
            slowed = seconds > 0.5 and self.used() - used < _SHARE * seconds * processors and self.busy() > 2 * processors
            rate = (done - first) / seconds if seconds > 0.5 and done > first else None
        if rate and total:
            left = max(0.0, (total - done) / rate)
        return Standing(self._step, dict(self._counts), rate, left, slowed)
