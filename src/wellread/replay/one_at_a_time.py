"""One thing at a time: what makes parallel work repeatable.

While recording and while replaying, an answer from outside reaches the run only when everything that the
answers before it have set in motion has come to rest. Between two answers an event loop does the same
steps in the same order each time, so the order of the answers fixes everything else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sized
from contextvars import ContextVar
from types import TracebackType
from typing import Literal, ParamSpec, TypeVar, cast

Left = Literal["time", "timeout", "cancelled"]
P = ParamSpec("P")
T = TypeVar("T")

_TURNS = 60  # of the loop; the longest chain of wake-ups in a run is about ten


async def settle() -> None:
    """Let all other tasks of this loop run until they wait for something."""
    ready = cast("Sized | None", getattr(asyncio.get_running_loop(), "_ready", None))  # other loops may not have it
    for _ in range(_TURNS):
        await asyncio.sleep(0)
        if ready is not None and not len(ready):
            return


class Threads:
    """What the run works out in threads. How long a thread takes is different each time: they work one after the other, in the
    order in which they were asked for, and no answer from outside comes before they are done.
    """

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._asked_for = 0
        self._idle = asyncio.Event()

    async def aside(self, job: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        self._asked_for += 1
        self._idle.clear()
        try:
            async with self._turn:
                await settle()
                try:
                    return await asyncio.to_thread(job, *args, **kwargs)
                finally:
                    await settle()
        finally:
            self._asked_for -= 1
            if not self._asked_for:
                self._idle.set()

    async def settle(self) -> None:
        """Let all tasks and threads of the run work until they wait for something from outside."""
        await settle()
        while self._asked_for:
            await self._idle.wait()
            await settle()


_in_force: ContextVar[tuple[TimeLimit, ...]] = ContextVar("time limits in force", default=())


class TimeLimits:
    """The time limits of one run while they are in force: they tell why a call was cancelled."""

    def __init__(self, expired: Callable[[int], None] = lambda number: None) -> None:
        self.run: set[TimeLimit] = set()  # those of the run as a whole, in all its tasks
        self.expired = expired  # told of limits that cut off something else than a call
        self._made = 0

    def new(self, seconds: float | None, limit: str) -> TimeLimit:
        self._made += 1
        return TimeLimit(self, self._made, seconds, "time" if limit == "seconds" else "timeout")

    def why_left(self) -> Left:
        """The run's time is up, or the call's own, or nobody waits any more."""
        own = [limit for limit in reversed(_in_force.get()) if limit.expired()]
        over = own[:1] or [limit for limit in self.run if limit.expired()]
        for limit in over:
            limit.told = True
        return over[0].meaning if over else "cancelled"


class TimeLimit:
    """`asyncio.timeout` that is known while it is in force.

    Usually it cuts off a call, which is then marked as left. On a busy machine it may strike when the answer has been
    written down and nobody has taken it yet; then the limit itself is written down.
    """

    def __init__(self, limits: TimeLimits, number: int, seconds: float | None, meaning: Left) -> None:
        self._limits, self._number, self._inner = limits, number, asyncio.timeout(seconds)
        self.meaning: Left = meaning
        self.told = False  # a call was marked as left because of it

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
        try:
            return await self._inner.__aexit__(kind, problem, trace)
        except TimeoutError:
            if not self.told:
                self._limits.expired(self._number)
            raise

    def expired(self) -> bool:
        return self._inner.expired()


class RecordedLimit:
    """Takes as long as it takes; one that has struck by itself then strikes when its work is done."""

    def __init__(self, struck: bool, strike: Callable[[], None]) -> None:
        self._struck, self._strike = struck, strike

    async def __aenter__(self) -> RecordedLimit:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._struck and kind is None:
            self._strike()
            raise TimeoutError

    def expired(self) -> bool:
        return self._struck
