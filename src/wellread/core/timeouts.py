"""Timeouts: by the clock on the wall, or by what a recording says. And the threads in which what takes long is done."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Patience(AbstractAsyncContextManager[object, bool | None], Protocol):
    """How long something may take, as a context: it cancels what is inside and raises `TimeoutError`."""

    def expired(self) -> bool: ...


Limiter = Callable[[float | None, str], Patience]  # seconds, and what the limit belongs to: "seconds" is the run's budget


class Aside(Protocol):
    """Has something worked out in a thread: what takes long must not hold up others on the loop."""

    def __call__(self, job: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Awaitable[T]: ...


def real_time(seconds: float | None, limit: str) -> Patience:
    """Patience by the clock on the wall."""
    return asyncio.timeout(seconds)


class OneTimer:
    """Patience by the clock on the wall for one run, as `with`: whatever waits for the run's own end shares a timer.

    One for each wait, which is one for each piece of a model's reply, was a seventh of what the engine cost.
    """

    def __init__(self) -> None:
        self._timer: asyncio.TimerHandle | None = None
        self._struck = False
        self._waiting: set[Strikeable] = set()

    def __enter__(self) -> Limiter:
        return self._limit

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _limit(self, seconds: float | None, limit: str) -> Patience:
        if limit != "seconds" or seconds is None or self._struck:
            return real_time(seconds, limit)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(seconds, self._strike)
        return Strikeable(self._waiting)

    def _strike(self) -> None:
        self._struck = True
        for wait in self._waiting:
            wait.strike()


class Strikeable:
    """A timeout like asyncio's, whose time has come when others tell; all that wait are in one set."""

    __slots__ = ("_all", "_cancelling", "_struck", "_task")
    _task: asyncio.Task[object]
    _cancelling: int

    def __init__(self, all_waits: set[Strikeable]) -> None:
        self._all = all_waits
        self._struck = False

    async def __aenter__(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._task, self._cancelling = task, task.cancelling()
        self._all.add(self)

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._all.discard(self)
        if self._struck and self._task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise TimeoutError from problem

    def strike(self) -> None:
        self._struck = True
        self._task.cancel()

    def expired(self) -> bool:
        return self._struck
