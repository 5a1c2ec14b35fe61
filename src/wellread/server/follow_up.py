"""What a follow-up question stands on: the conversation so far and the passages it was built on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from wellread.protocols import Source
from wellread.server.history import History, Record
from wellread.strategies.earlier import Earlier
from wellread.types import Passage

TURNS = 8  # of the conversation, the latest
_NAMES = ("id", "text", "title", "url", "source", "published", "document")


async def context(history: History, parent: Record | None) -> tuple[tuple[tuple[str, str], ...], list[Source]]:
    """Questions and answers up to the parent, oldest first, and their passages as a source."""
    if parent is None:
        return (), []
    before = await chain(history, parent)
    turns = [turn for record in before for turn in (*record.turns, (record.question, record.text)) if turn[1]]
    earlier = Earlier()
    for record in before:
        log = [body for _, body in await history.events(record.id, limit=5_000)]
        for passage in passages_of(log).values():
            earlier.passages[passage.id] = passage
    return tuple(turns[-TURNS:]), [earlier] if earlier.passages else []


def passages_of(log: Sequence[str]) -> dict[int, Passage]:
    """The numbered passages of a run, from its events."""
    found: dict[int, Passage] = {}
    for body in log:
        if body.startswith('{"event": "numbered"'):
            event: dict[str, Any] = json.loads(body)
            kept: dict[str, Any] = event["passage"]
            values: dict[str, Any] = {name: kept.get(name) for name in _NAMES}
            found[int(event["number"])] = Passage(**values, links=tuple(kept.get("links") or ()))
    return found


async def chain(history: History, last: Record) -> list[Record]:
    """From the first question to the last; a conversation may have branches."""
    known = {record.id: record for record in await history.thread(last.thread)}
    found = [last]
    while (before := found[-1].parent) is not None and before in known and len(found) < TURNS:
        found.append(known[before])
    return found[::-1]
