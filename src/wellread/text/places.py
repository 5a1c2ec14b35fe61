"""Where a passage stands, in words: `R-FAQ.pdf, page 14, “Why is R named R?”`. Everything that names a source says it so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from wellread.types import Passage

HEADINGS = " › "  # stands between the headings of a path
_LONGEST = 120  # characters of a heading in a line
_ENDS = 5  # words of a quote's beginning, and of its end, that a browser looks for


def place(passage: Passage) -> str:
    """The document and the place in it, with its address where it is not a file."""
    return place_of(_fields(passage))


def name(passage: Passage) -> str:
    """The same without the address."""
    return name_of(_fields(passage))


def _fields(passage: Passage) -> dict[str, Any]:
    return {field: getattr(passage, field) for field in ("title", "url", "source", "document", "heading", "page")}


def place_of(citation: Mapping[str, Any]) -> str:
    """The same of a citation or a hit as JSON."""
    name = name_of(citation)
    address = "" if is_file(citation.get("url")) else str(citation.get("url") or citation.get("source") or "")
    return f"{name} ({address})" if address and address != name else name


def name_of(citation: Mapping[str, Any]) -> str:
    """Without the address: a file goes by its path in its folder, anything else by its title."""
    title, url = str(citation.get("title") or ""), citation.get("url")
    own = str(citation.get("document") or url) if is_file(url) else title
    heading = str(citation.get("heading") or "")
    where = inside(heading if heading != title else "", citation.get("page"))
    return ", ".join(part for part in (own, where) if part) or str(url or citation.get("source") or "")


def inside(heading: str, page: int | None) -> str:
    """The place inside a document: `page 14, “Why is R named R?”`; empty where nothing is known."""
    parts: list[str] = [f"page {page}"] if page else []
    last = heading.rpartition(HEADINGS)[2]
    if last:
        parts.append(f"“{last if len(last) <= _LONGEST else last[: _LONGEST - 1] + '…'}”")
    return ", ".join(parts)


def at_words(url: str, words: str, anchor: str = "") -> str:
    """A web address that leads browsers to these words and marks them there; a long quote by its first and last words."""
    said = words.split(maxsplit=2 * _ENDS)
    ends = [" ".join(said)]
    if len(said) > 2 * _ENDS:
        ends = [" ".join(said[:_ENDS]), " ".join(words.rsplit(maxsplit=_ENDS)[-_ENDS:])]
    text = ",".join(quote(end, safe="").replace("-", "%2D") for end in ends)
    page, _, fragment = url.partition("#")
    if not text or ":~:" in fragment:
        return url
    return f"{page}#{fragment or quote(anchor, safe='')}:~:text={text}"


def is_file(url: str | None) -> bool:
    """Whether it is a document that goes by its name: a file, or one that a server keeps under a path of its own."""
    return (url or "").startswith(("file:", "/"))


def about(passage: Passage) -> str:
    """What a passage from the middle of a document is about: its title, and its headings unless its text opens with them."""
    below = passage.heading if passage.heading and not passage.text.startswith("#") else ""
    return f"{passage.title}. {below}" if passage.title and below else passage.title or below
