"""Short looks for garbage. One through everything that a busy server keeps takes a tenth of a second of everybody's time; what
such a look has found to be alive is therefore not looked through again."""

from __future__ import annotations

import gc
import time
from collections.abc import Mapping
from typing import Any

_LONG = 0.02  # seconds
_TIMES = 32  # what dies in a circle after it was set apart stays: there is an end to that


class ShortLooks:
    """Called by the collector before and after it looks."""

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
