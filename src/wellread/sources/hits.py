"""Making hits out of what services say. Everything is cleaned here, once."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, pairwise

from wellread.net.payload import Payload
from wellread.sources.markup import lines, plain
from wellread.text.dates import iso_date
from wellread.types import Hit, Reference

_TITLE, _SNIPPET, _TEXT = 500, 4_000, 1_000_000  # characters; more is abuse, not content
_MARKED = 10  # characters with markup for one of content
_MOST = 1_000  # hits of one answer
_TITLES = ("title", "headline", "name", "subject", "heading", "label", "question")
_TEXTS = ("body", "text", "content", "extract", "description", "summary", "abstract", "message", "answer", "commentary")
_URLS = ("url", "link", "permalink", "uri", "href", "link_url", "canonical_url")
_DATES = ("published", "published_at", "publishedat", "created", "created_at", "date", "pub_date")
_MORE_DATES = ("timestamp", "@timestamp", "updated")


def hit(
    source: str,
    rank: int,
    *,
    title: str,
    url: str = "",
    snippet: str = "",
    beginning: str = "",
    text: str | None = None,
    published: str = "",
    heading: str = "",
    score: float | None = None,
    id: str = "",
    reference: Reference | None = None,
) -> Hit | None:
    """A hit with its markup stripped, or None when there is nothing to show.

    `rank` counts from 0 and gives the score where the service has none.
    """
    address = web_address(url)
    name, words = _line(title, _TITLE), _line(snippet, _SNIPPET)
    body = lines(text[: 2 * _TEXT])[:_TEXT] if text else ""
    if not (name or words or body) or not (address or id):
        return None
    return Hit(
        id=id or address or "",
        title=name or (address or id),
        url=address,
        text=body,
        snippet=words,
        beginning=_line(beginning, _SNIPPET),
        published=iso_date(published, earliest=1),  # a record may be of any time
        score=score if score is not None else 1.0 / (rank + 1),
        source=source,
        heading=_line(heading, _TITLE),
        reference=reference,
    )


def _line(text: str, most: int) -> str:
    return plain(text[: _MARKED * most])[:most]


async def cleaned(hits: Iterable[Hit | None]) -> list[Hit]:
    """`best_first`, beside the event loop: cleaning what a service sends can take long."""
    return await asyncio.to_thread(best_first, hits)


def best_first(hits: Iterable[Hit | None]) -> list[Hit]:
    """Each hit once, in the service's order. Scores that contradict this order give way to ranks."""
    found: dict[str, Hit] = {}
    for made in islice(hits, _MOST):
        if made is not None:
            found.setdefault(made.id, made)
    kept = list(found.values())
    if all(first.score >= second.score for first, second in pairwise(kept)):
        return kept
    return [replace(made, score=1.0 / (rank + 1)) for rank, made in enumerate(kept)]


async def with_page(hits: Sequence[Hit], items: Sequence[Payload], make: Callable[[Payload, int], Hit | None]) -> list[Hit]:
    """The hits of earlier pages and those of one more, ranked behind them."""
    return await cleaned(chain(hits, (make(item, rank) for rank, item in enumerate(items, start=len(hits)))))


def web_address(url: str) -> str | None:
    """The address if it is one that a browser may be sent to, else None."""
    url = url.strip()
    return url if re.fullmatch(r"https?://[^\s/]\S*", url, re.IGNORECASE) and url.isprintable() and len(url) <= 4_000 else None


@dataclass(frozen=True, slots=True)
class Roles:
    """Which fields of a database's records are what; None where it is to be guessed from the customary names."""

    title: str | None = None
    text: str | None = None
    url: str | None = None
    date: str | None = None

    def title_of(self, record: Payload) -> str:
        return _field(record, self.title, _TITLES)

    def url_of(self, record: Payload) -> str:
        return _field(record, self.url, _URLS)

    def date_of(self, record: Payload) -> str:
        return _field(record, self.date, _DATES + _MORE_DATES)

    def text_of(self, record: Payload) -> str:
        """The text, or all words of a record that has no field for it."""
        if found := _field(record, self.text, _TEXTS):
            return found
        taken = {self.title_of(record), self.url_of(record), self.date_of(record)}
        words = ((name, record.at(name).value) for name in record.names())
        return "\n".join(f"{name}: {value}" for name, value in words if isinstance(value, str) and value and value not in taken)


def _field(record: Payload, chosen: str | None, customary: tuple[str, ...]) -> str:
    if chosen is not None:
        return record.text(*chosen.split(".")) or record.text(chosen)
    names = {name.lower(): name for name in record.names()}
    return next((text for name in customary if name in names and (text := record.text(names[name]))), "")
