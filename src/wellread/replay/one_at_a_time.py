"""Deterministic scheduling: one thing at a time, which makes parallel work repeatable.

While recording and while replaying, an answer from outside reaches the run only when everything that the
answers before it have set in motion has come to rest. Between two answers an event loop does the same
steps in the same order each time, so the order of the answers fixes everything else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sized
from dataclasses import dataclass
from types import TracebackType
from typing import NamedTuple, ParamSpec, TypeVar, cast

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


class TimeLimit:
    """`asyncio.timeout` that says so when it has struck."""

    def __init__(self, seconds: float | None, struck: Callable[[], None]) -> None:
        self._inner, self._struck = asyncio.timeout(seconds), struck

    async def __aenter__(self) -> TimeLimit:
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        try:
            return await self._inner.__aexit__(kind, problem, trace)
        except TimeoutError:
            self._struck()
            raise

    def expired(self) -> bool:
        return self._inner.expired()


@dataclass(eq=False, slots=True)
class RecordedLimit:
    """Takes as long as it takes. One that has struck does so again: when all that was answered before has come to rest, or when
    its work is done."""

    struck: Struck | None
    pending: list[RecordedLimit]  # those of the run that have still to strike
    _task: asyncio.Task[object] | None = None
    _cut: bool = False

    async def __aenter__(self) -> RecordedLimit:
        self._task = asyncio.current_task()
        if self.struck is not None:
            self.pending.append(self)
        return self

    def strike(self) -> None:
        assert self._task is not None
        self.pending.remove(self)
        self._cut = True
        self._task.cancel()

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self in self.pending:
            self.pending.remove(self)
        if self._cut and self._task is not None:
            self._task.uncancel()
        if self.struck is not None and (kind is None or (self._cut and kind is asyncio.CancelledError)):
            self.struck.tell()
            raise TimeoutError

    def expired(self) -> bool:
        return self.struck is not None


class Struck(NamedTuple):
    """When a limit struck: behind so many answers from outside, and whom to tell what time it was."""

    behind: int
    tell: Callable[[], None]
