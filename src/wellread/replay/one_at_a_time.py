"""Deterministic scheduling: one thing at a time, which makes parallel work repeatable.

While recording and while replaying, an answer from outside reaches the run only when everything that the
answers before it have set in motion has come to rest. Between two answers an event loop does the same
steps in the same order each time, so the order of the answers fixes everything else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sized
from types import TracebackType
from typing import ParamSpec, TypeVar, cast

from wellread.core.timeouts import Strikeable

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
    """Threads of a run, serialised. How long a thread takes is different each time: they work one after the other, in the
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


class RecordedLimit(Strikeable):
    """One that has struck strikes again: when all that was answered before has come to rest, or when its work is done."""

    __slots__ = ("at", "behind", "number", "tell")

    def __init__(self, pending: set[RecordedLimit], number: int, at: float, behind: int, tell: Callable[[], None]) -> None:
        """Of the run's limits the `number`; it struck `at` that time behind so many answers, and tells so then."""
        super().__init__(cast("set[Strikeable]", pending))
        self.number, self.at, self.behind, self.tell = number, at, behind, tell

    def strike(self) -> None:
        self._all.discard(self)
        super().strike()

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None or (self._struck and kind is asyncio.CancelledError):
            self.tell()
        await super().__aexit__(kind, problem, trace)
        if kind is None:
            raise TimeoutError

    def expired(self) -> bool:
        return True
