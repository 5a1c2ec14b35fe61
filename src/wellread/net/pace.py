"""Turns at a host: how many at once, how far apart, and how long a service asks us to stay away."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from email.utils import parsedate_to_datetime


class Pace:
    """Turns at one host: so many at once, so far apart."""

    def __init__(self, concurrency: int, interval: float) -> None:
        self._slots = asyncio.Semaphore(concurrency)
        self._interval = interval
        self._next = 0.0

    @asynccontextmanager
    async def turn(self) -> AsyncGenerator[None]:
        async with self._slots:
            now = time.monotonic()
            start = max(now, self._next)
            self._next = start + self._interval
            if start > now:
                await asyncio.sleep(start - now)
            yield

    def hold(self, seconds: float) -> None:
        """Nobody goes before that."""
        self._next = max(self._next, time.monotonic() + seconds)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a Retry-After header asks for, in either of its forms."""
    value = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d+(\.\d+)?", value, re.ASCII):
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None
