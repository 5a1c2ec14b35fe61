"""What a follow-up question stands on: the conversation so far and the passages it was built on."""

from __future__ import annotations

from collections.abc import Sequence

from wellread.codec import Json, loads
from wellread.errors import DamagedFile
from wellread.events import Event, Numbered, from_json
from wellread.server.history import History, Record
from wellread.server.limits import beside
from wellread.strategies.earlier import Earlier
from wellread.types import Passage

TURNS = 8  # of the conversation, the latest


async def context(history: History, parent: Record | None) -> tuple[tuple[tuple[str, str], ...], list[Earlier]]:
    """Questions and answers up to the parent, oldest first, and their passages as a source."""
    if parent is None:
        return (), []
    before = await chain(history, parent)
    turns = [turn for record in before for turn in (*record.turns, (record.question, record.told)) if turn[1]]
    earlier = Earlier()
    for record in before:
        for passage in (await numbered(history, record.id)).values():
            earlier.kept[passage.id] = passage
    return tuple(turns[-TURNS:]), [earlier] if earlier.kept else []


async def numbered(history: History, run: str) -> dict[int, Passage]:
    """The passages of a run by their numbers. Its log may be long: it is read beside the event loop."""
    log = [body for _, body in await history.events(run, limit=5_000)]
    return await beside(lambda: passages_of(decoded(log)))


def decoded(log: Sequence[str]) -> list[Event]:
    """The events of a run as they are kept, without those of its end."""
    try:
        return [event for body in log if (event := event_of(loads(Json, body))) is not None]
    except ValueError as problem:
        raise DamagedFile(f"the history is damaged: restore it from a copy ({problem})") from None


def event_of(body: Json) -> Event | None:
    """An event of the history; None for what says nothing to a page, or not what such an event says."""
    try:
        return from_json(body)
    except DamagedFile:
        return None


def passages_of(seen: Sequence[Event]) -> dict[int, Passage]:
    """The numbered passages of a run, from its events."""
    return {event.number: event.passage for event in seen if isinstance(event, Numbered)}


async def chain(history: History, last: Record) -> list[Record]:
    """From the first question to the last; a conversation may have branches."""
    found = [last]
    while (name := found[-1].parent) is not None and len(found) < TURNS:
        before = await history.get(name)
        if before is None or before.thread != last.thread:
            break
        found.append(before)
    return found[::-1]
