"""How long something may take: by the clock on the wall, or by what a recording says."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Protocol


class Patience(Protocol):
    """How long something may take, as a context: it cancels what is inside and raises `TimeoutError`."""

    async def __aenter__(self) -> object: ...
    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None, /
    ) -> bool | None: ...
    def expired(self) -> bool: ...


def real_time(seconds: float | None, limit: str) -> Patience:
    """Patience by the clock on the wall; `limit` says what it belongs to: "seconds" is the run's budget."""
    return asyncio.timeout(seconds)
