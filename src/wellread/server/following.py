"""The events of one run as they come, for any number of readers."""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field

Numbered = tuple[int, str]  # an event's number and its JSON


@dataclass(eq=False, slots=True)
class Following:
    """What is known of a run that is going on. Readers wait on `more`, which is replaced whenever there is news."""

    known: list[Numbered] = field(default_factory=list[Numbered])
    more: asyncio.Event = field(default_factory=asyncio.Event)
    over: bool = False

    @property
    def next(self) -> int:
        """The number of the event that is waited for."""
        return self.known[-1][0] + 1 if self.known else 0

    def add(self, *news: Numbered, last: bool = False) -> None:
        self.known += news
        self.over = self.over or last
        self.more.set()
        self.more = asyncio.Event()

    async def read(self, offset: int) -> AsyncGenerator[list[Numbered], None]:
        """All events from an offset on, to the end of the run."""
        while True:
            batch = self.known[bisect_left(self.known, offset, key=lambda event: event[0]) :]
            if batch:
                yield batch
                offset = batch[-1][0] + 1
            elif self.over:
                return
            else:
                await self.more.wait()
