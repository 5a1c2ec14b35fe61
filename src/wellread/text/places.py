"""Where a passage stands, in words: `R-FAQ.pdf, page 14, “Why is R named R?”`. Everything that names a source says it so; and its
title as it stands in running text."""

from __future__ import annotations

from typing import Protocol
from urllib.parse import quote

from wellread.types import RECOGNISED, Passage

HEADINGS = " › "  # stands between the headings of a path
SHORTEST = 4  # characters; shorter titles are found everywhere
_LONGEST = 120  # characters of a heading in a line
_ENDS = 5  # words of a quote's beginning, and of its end, that a browser looks for


class Placed(Protocol):
    """A passage, or a citation of one as JSON."""

    @property
    def title(self) -> str: ...
    @property
    def url(self) -> str | None: ...
    @property
    def source(self) -> str: ...
    @property
    def document(self) -> str | None: ...
    @property
    def heading(self) -> str: ...
    @property
    def page(self) -> int | None: ...
    @property
    def anchor(self) -> str: ...


def place(one: Placed) -> str:
    """The document and the place in it, with its address where it is not a file."""
    named, address = name(one), "" if is_file(one.url) else one.url or one.source
    return f"{named} ({address})" if address and address != named else named


def name(one: Placed) -> str:
    """Without the address: a file goes by its path in its folder, anything else by its title."""
    own = one.document or one.url if is_file(one.url) else one.title
    where = inside(one.heading if one.heading != one.title else "", one.page, one.anchor)
    return ", ".join(part for part in (own, where) if part) or one.url or one.source


def inside(heading: str, page: int | None, anchor: str = "") -> str:
    """The place inside a document: `page 14, “Why is R named R?”`; empty where nothing is known. What was recognised is said."""
    parts: list[str] = [f"page {page}"] if page else []
    last = heading.rpartition(HEADINGS)[2]
    if last:
        parts.append(f"“{last if len(last) <= _LONGEST else last[: _LONGEST - 1] + '…'}”")
    return ", ".join([*parts, "read by OCR"] if anchor == RECOGNISED else parts)


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


def is_web(url: str | None) -> bool:
    return (url or "").startswith(("http://", "https://"))


def about(passage: Passage) -> str:
    """Title and headings of a passage from the middle of a document, without those that its text opens with."""
    below = passage.heading if passage.heading and not passage.text.startswith("#") else ""
    return f"{passage.title}. {below}" if passage.title and below else passage.title or below


def bare_title(title: str) -> str:
    """A title without what tells it from others of the same name: "Titan (moon)" is written Titan."""
    whole = title.rstrip()
    if not whole.endswith(")"):
        return title
    opens = whole.find("(", whole.rfind(")", 0, -1) + 1)
    return title if opens < 0 else whole[:opens].rstrip()


def mentions(text: str, title: str) -> bool:
    """Whether a text writes a title as a name: as whole words, capitals included."""
    name = bare_title(title)
    place = text.find(name) if len(name) >= SHORTEST else -1
    while place >= 0:
        end = place + len(name)
        if not (text[max(place - 1, 0) : place].isalnum() or text[end : end + 1].isalnum()):
            return True
        place = text.find(name, end)
    return False


def leads_to(passage: Passage, title: str) -> bool:
    """Whether a passage of one document links to another one, which has this title, or writes it as a name."""
    return title != passage.title and (title in passage.links or mentions(passage.text, title))
