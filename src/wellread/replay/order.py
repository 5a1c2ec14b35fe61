"""One thing at a time: what makes parallel work repeatable.

While recording and while replaying, an answer from outside reaches the run only when everything that the
answers before it have set in motion has come to rest. Between two answers an event loop does the same
steps in the same order each time, so the order of the answers fixes everything else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sized
from contextvars import ContextVar
from types import TracebackType
from typing import Literal, cast

Left = Literal["time", "timeout", "cancelled"]

_TURNS = 60  # of the loop; the longest chain of wake-ups in a run is about ten


async def settle() -> None:
    """Let all other tasks of this loop run until they wait for something."""
    ready = cast("Sized | None", getattr(asyncio.get_running_loop(), "_ready", None))  # other loops may not have it
    for _ in range(_TURNS):
        await asyncio.sleep(0)
        if ready is not None and not len(ready):
            return


_in_force: ContextVar[tuple[TimeLimit, ...]] = ContextVar("time limits in force", default=())


class Limits:
    """The time limits of one run while they are in force: they tell why a call was cancelled."""

    def __init__(self) -> None:
        self.run: set[TimeLimit] = set()  # those of the run as a whole, in all its tasks

    def new(self, seconds: float | None, limit: str) -> TimeLimit:
        return TimeLimit(self, seconds, "time" if limit == "seconds" else "timeout")

    def why_left(self) -> Left:
        """The run's time is up, or the call's own, or nobody waits any more."""
        own: list[Left] = [limit.meaning for limit in reversed(_in_force.get()) if limit.expired()]
        if own:
            return own[0]
        return "time" if any(limit.expired() for limit in self.run) else "cancelled"


class TimeLimit:
    """`asyncio.timeout` that is known while it is in force."""

    def __init__(self, limits: Limits, seconds: float | None, meaning: Left) -> None:
        self._limits, self._inner = limits, asyncio.timeout(seconds)
        self.meaning: Left = meaning

    async def __aenter__(self) -> TimeLimit:
        await self._inner.__aenter__()
        _in_force.set((*_in_force.get(), self))
        if self.meaning == "time":
            self._limits.run.add(self)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        _in_force.set(tuple(limit for limit in _in_force.get() if limit is not self))
        self._limits.run.discard(self)
        return await self._inner.__aexit__(kind, problem, trace)

    def expired(self) -> bool:
        return self._inner.expired()


class NoLimit:
    """Takes as long as it takes."""

    async def __aenter__(self) -> NoLimit:
        return self

    async def __aexit__(self, *_: object) -> None: ...

    def expired(self) -> bool:
        return False
