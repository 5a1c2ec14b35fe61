"""Making hits out of what services say: HTML, wikitext quotes, entities and control characters become plain words here, once."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import chain, islice, pairwise
from operator import attrgetter

from wellread.ranking.fusion import reciprocal_ranks
from wellread.text.blocks import without_signs
from wellread.text.dates import iso_date
from wellread.text.inert import unescaped
from wellread.types import Hit, Reference

_TAG = re.compile(r"<[a-zA-Z/!?]")
_INVISIBLE = re.compile(r"[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ue000-\uf8ff]")
_WIKI_LINK = re.compile(r"\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]")
_WIKI_NOISE = re.compile(r"'{2,5}|\{\{[^{}]*\}\}|\[\[|\]\]|^[*#:;]+\s*|={2,}", re.M)


def plain(text: str) -> str:
    """One line of words, tags and entities gone."""
    return " ".join(lines(text).split())


def lines(text: str) -> str:
    """Words with line breaks where blocks end."""
    if _TAG.search(text):  # tags and what nobody sees go, line breaks come where blocks end
        from wellread.reading.dom import parse

        text = "\n".join(run.text for run in parse(text, generous=True).runs)
    else:
        text = unescaped(text)
    text = _INVISIBLE.sub("", text)
    text = "".join(c if c.isprintable() or c in "\n\t" else " " for c in text)
    rows = [" ".join(row.split()) for row in text.split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(rows)).strip()


def without_headings(text: str) -> str:
    """One line of words, the signs of headings, quotations and code gone."""
    return plain(without_signs(text))


def without_wikitext(text: str) -> str:
    """A search snippet of a wiki: quotes, brackets and templates of its source gone."""
    return " ".join(_WIKI_NOISE.sub(" ", _WIKI_LINK.sub(r"\1", text)).split())


_TITLE, _SNIPPET, _TEXT = 500, 4_000, 1_000_000  # characters; more is abuse, not content
_MARKED = 10  # characters with markup for one of content
_MOST = 1_000  # hits of one answer


def hit(
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
    """A hit with its markup stripped, or None when there is nothing to show. What has no score is scored by its rank, later."""
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
        score=score or 0.0,
        heading=_line(heading, _TITLE),
        reference=reference,
    )


def _line(text: str, most: int) -> str:
    return plain(text[: _MARKED * most])[:most]


async def cleaned(hits: Iterable[Hit | None], source: str) -> list[Hit]:
    """`best_first`, beside the event loop: cleaning what a service sends can take long."""
    return await asyncio.to_thread(best_first, hits, source)


def best_first(hits: Iterable[Hit | None], source: str) -> list[Hit]:
    """Each hit once, in the service's order. Scores that it lacks, or that contradict this order, give way to ranks."""
    found: dict[str, Hit] = {}
    for made in islice(hits, _MOST):
        if made is not None:
            found.setdefault(made.id, made)
    kept = list(found.values())
    own = all(hit.score > 0 for hit in kept) and all(first.score >= second.score for first, second in pairwise(kept))
    return [replace(hit, source=source, score=hit.score if own else 1.0 / (rank + 1)) for rank, hit in enumerate(kept)]


def fused(rankings: Sequence[Sequence[Hit]], limit: int, key: Callable[[Hit], str] = attrgetter("id")) -> tuple[Hit, ...]:
    """Rankings as one by reciprocal ranks, each hit once: as the first has it, which takes from the others what it lacks."""
    known: dict[str, Hit] = {}
    for hit in chain.from_iterable(rankings):
        first = known.setdefault(key(hit), hit)
        said = {name: getattr(first, name) or getattr(hit, name) for name in ("text", "snippet", "published", "reference")}
        known[key(hit)] = replace(first, **said)
    # A key counts once a ranking: two passages of one page must not outweigh a second source.
    best = reciprocal_ranks([list(dict.fromkeys(map(key, hits))) for hits in rankings])[:limit]
    return tuple(replace(known[one], score=score) for one, score in best)


def web_address(url: str) -> str | None:
    """The address if it is one that a browser may be sent to, else None."""
    url = url.strip()
    return url if re.fullmatch(r"https?://[^\s/]\S*", url, re.IGNORECASE) and url.isprintable() and len(url) <= 4_000 else None
