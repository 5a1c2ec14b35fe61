"""Making hits out of what services say. Everything is cleaned here, once."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

from wellread.sources.markup import lines, plain
from wellread.types import Hit

_TITLE, _SNIPPET, _TEXT = 500, 4_000, 1_000_000  # characters; more is abuse, not content


def hit(
    source: str,
    rank: int,
    *,
    title: str,
    url: str = "",
    snippet: str = "",
    text: str | None = None,
    published: str = "",
    score: float | None = None,
    id: str = "",
) -> Hit | None:
    """A hit with its markup stripped, or None when there is nothing to show.

    `rank` counts from 0 and gives the score where the service has none.
    """
    address = web_address(url)
    name, words = plain(title)[:_TITLE], plain(snippet)[:_SNIPPET]
    body = lines(text)[:_TEXT] if text else ""
    if not (name or words or body) or not (address or id):
        return None
    return Hit(
        id=id or address or "",
        title=name or (address or id),
        url=address,
        text=body,
        snippet=words,
        published=iso_date(published),
        score=score if score is not None else 1.0 / (rank + 1),
        source=source,
    )


def best_first(hits: Iterable[Hit | None]) -> list[Hit]:
    """Each hit once, in the service's order. Scores that contradict this order give way to ranks."""
    found: dict[str, Hit] = {}
    for made in hits:
        if made is not None:
            found.setdefault(made.id, made)
    kept = list(found.values())
    if all(first.score >= second.score for first, second in pairwise(kept)):
        return kept
    return [replace(made, score=1.0 / (rank + 1)) for rank, made in enumerate(kept)]


def web_address(url: str) -> str | None:
    """The address if it is one that a browser may be sent to, else None."""
    url = url.strip()
    return url if re.fullmatch(r"https?://[^\s/]\S*", url, re.IGNORECASE) and url.isprintable() and len(url) <= 4_000 else None


def iso_date(value: str) -> str | None:
    """A date as ISO text: ISO already, seconds since 1970, or the mail format; None for anything else."""
    value = value.strip()
    if re.fullmatch(r"\d{9,10}(\.\d+)?", value):
        return datetime.fromtimestamp(float(value), UTC).isoformat(timespec="seconds")
    found = re.match(r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?)(?:\.\d+)?\s*(Z|[+-]\d\d:?\d\d)?)?", value)
    if found:
        try:
            datetime.fromisoformat(found[1])
        except ValueError:
            return None
        return found[1] if not found[2] or not found[3] else f"{found[1]}T{found[2]}{found[3]}"
    return _mail_date(value)


def _mail_date(value: str) -> str | None:
    from email.utils import parsedate_to_datetime

    try:
        return parsedate_to_datetime(value).isoformat(timespec="seconds")
    except (ValueError, TypeError, OverflowError):
        return None
