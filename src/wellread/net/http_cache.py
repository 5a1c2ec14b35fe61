"""The HTTP cache on the disk. Whatever has become of the file, pages are read: what is damaged there was never kept."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from typing import cast

from hishel import AsyncSqliteStorage, Entry, Headers, Request, Response


class HttpCache(AsyncSqliteStorage):
    """hishel's storage, which finds damage while an answer is being read and refuses a file with tables of another version."""

    async def get_entries(self, key: str) -> list[Entry]:
        """The last one that was kept: several who ask for a page at once keep it as often, and all of it would be read."""
        try:
            entries = await super().get_entries(key)
            for entry in entries[:-1]:
                await self.remove_entry(entry.id)
            return [await _whole(entry) for entry in entries[-1:]]
        except Exception:  # SQLite's errors are of many kinds, down to messages that are no text
            return []

    async def create_entry(
        self, request: Request, response: Response, key: str, *, ttl: float | None = None, tti: float | None = None
    ) -> Entry:
        try:
            return await super().create_entry(request, response, key, ttl=ttl, tti=tti)
        except Exception:
            return Entry(uuid.uuid4(), request, response)

    async def update_headers(self, id: uuid.UUID, headers: Headers) -> None:
        with suppress(Exception):
            await super().update_headers(id, headers)

    async def remove_entry(self, id: uuid.UUID) -> None:
        with suppress(Exception):
            await super().remove_entry(id)


async def _whole(entry: Entry) -> Entry:
    """With its body in memory."""
    pieces = [piece async for piece in cast("AsyncIterator[bytes]", entry.response.stream)]

    async def again() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    return replace(entry, response=replace(entry.response, stream=again()))
