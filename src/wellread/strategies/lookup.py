"""From hits to passages a model can be shown: pages are read where a hit brings no text."""

from __future__ import annotations

import zlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from wellread.questions.mentions import names
from wellread.run import Run
from wellread.sources.hits import plain
from wellread.strategies.relevance import content
from wellread.types import Hit, Page, Passage

T = TypeVar("T")
_EACH = 2  # hits of a place that is shown, as a rule


async def read_best(run: Run, hits: Sequence[Hit], count: int) -> list[tuple[Hit, Page]]:
    """The pages behind the best hits, in their order. A page that fails is skipped, the next is tried."""
    return await _first(run, [hit for hit in unique(hits) if hit.url], count, _page)


async def passages(run: Run, hits: Sequence[Hit], count: int) -> list[Passage]:
    """One passage for each of the best hits: its text, the page behind it, or its snippet without either."""
    return await _first(run, unique(hits), count, _whole)


async def _first(run: Run, hits: Sequence[Hit], count: int, load: Callable[[Run, Hit], Awaitable[T | None]]) -> list[T]:
    """The first so many that can be loaded, several at once."""
    found: list[T] = []
    waiting = list(hits)
    while waiting and len(found) < count:
        batch, waiting = waiting[: count - len(found)], waiting[count - len(found) :]
        found.extend(one for one in await run.gather([load(run, hit) for hit in batch]) if one is not None)
    return found


async def _page(run: Run, hit: Hit) -> tuple[Hit, Page] | None:
    page = await run.read(hit.url or "")
    return (hit, page) if page is not None and page.text.strip() else None


async def _whole(run: Run, hit: Hit) -> Passage | None:
    if not hit.text and hit.url is not None:
        read = await _page(run, hit)
        return of_page(*read) if read else None
    return hit.passage() if hit.words.strip() else None


def shown_as(run: Run, passage: Passage) -> int | None:
    """Its number, or that of a passage of its document in which it stands."""
    for number, one in run.passages.items():
        within = one.document == passage.document is not None and passage.text and passage.text in one.text
        if one.id == passage.id or within:
            return number
    return None


def nowhere(run: Run, question: str) -> list[str]:
    """Names in a question that no hit of any search has, each by all of its words in one of them."""
    if run.language is not None:  # names are told by their capital letters
        return []
    wanted = {name: content(name) for name in names(question)}
    held = [content(f"{hit.title} {hit.words}") for hit in run.found.values()]
    return [name for name, words in wanted.items() if words and not any(words <= one for one in held)]


def beyond_shown(run: Run) -> int:
    """How many hits more to ask for, as what was shown takes no place: neighbours share a number."""
    return _EACH * len(run.passages)


def of_page(hit: Hit, page: Page) -> Passage:
    """A whole page as one passage."""
    title, published = page.title or hit.title, page.published or hit.published
    return replace(hit.passage(), text=page.text, title=title, published=published)


def excerpt(hit: Hit, text: str) -> Passage:
    """A part of a hit's text as a passage of its own: other words of the same page get another number."""
    identity = hit.id if text == hit.words else f"{hit.id}~{zlib.crc32(text.encode()):08x}"
    return replace(hit.passage(), id=identity, text=text)


def description(hit: Hit) -> str:
    """A hit's description, without markup: its snippet. A passage of a local index stays as it was read, so that
    its neighbours join it and its words are found again in its document."""
    if hit.document is not None and hit.text:
        return hit.text
    return plain(hit.snippet) or plain(hit.text or hit.beginning)


def unique(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """Each address (or id) once, first seen first."""
    seen: dict[str, Hit] = {}
    for hit in hits:
        # Passages of a local index share the address of their document and are still different.
        seen.setdefault(hit.id if hit.document is not None else hit.url or hit.id, hit)
    return tuple(seen.values())
