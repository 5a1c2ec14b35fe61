"""Citation markers in an answer: `[1]`, `[1, 2]`, `[1-3]`, `【1】`, and links to a passage's address."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from typing import NamedTuple
from urllib.parse import unquote

from wellread.text import patterns as re
from wellread.types import Passage

_LONGEST_RANGE = 50  # "[1-400]" is no citation; it would name every passage there is

# At most three digits: "[1990]" in a quotation is an editor's year, not a citation.
_NUMBERS = r"\d{1,3}(?:[ \t]*[-–—‑,，、;][ \t]*\d{1,3})*"
# Where it stands, not whatever a model may write there: that would be shown and never checked.
_PLACE = r"(?:source|L?\d{1,6}(?:-L?\d{1,6})?|[\w-]{1,60}\.[a-zA-Z]{2,5})?"
_MARKER = re.compile(
    rf"\[\[({_NUMBERS})\]\]|\[\^?(?:(?:sources?|passages?|documents?|docs?|refs?)[ \t]*)?({_NUMBERS})\]"
    rf"|［({_NUMBERS})］"
    rf"|【({_NUMBERS})(?::\d{{1,4}})?(?:†{_PLACE})?】",
    re.IGNORECASE,
)
_ROUND = str.maketrans("[]［］【】", "()()()")
_RANGE = re.compile(r"(\d+)(?:[ \t]*[-–—‑][ \t]*(\d+))?")
_TARGET = (
    r"\([ \t]*<?([^\s()<>\[\]]{1,2000}(?:\([^\s()<>\[\]]{0,200}\)[^\s()<>\[\]]{0,2000})?)>?(?:[ \t]+\"[^\"\n]{0,200}\")?[ \t]*\)"
)
LINK_TARGET = re.compile(_TARGET)
_LINK = re.compile(r"\[([^\[\]\n]{1,300})\]" + _TARGET)
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]+`", re.DOTALL)


class Marker(NamedTuple):
    """A place in a text that names passages by number."""

    start: int
    end: int
    numbers: tuple[int, ...]


class Link(NamedTuple):
    """A Markdown link: where it is, what it shows and where it leads."""

    start: int
    end: int
    text: str
    url: str


def markers(text: str) -> list[Marker]:
    """Every marker in order; one inside code is none. `[1](url)` is one marker with its target."""
    found: list[Marker] = []
    code = _code(text)
    for match in _MARKER.finditer(text):
        if inside(match.start(), code):
            continue
        numbers = _numbers(next(group for group in match.groups() if group is not None))
        if numbers:
            target = LINK_TARGET.match(text, match.end())
            found.append(Marker(match.start(), target.end() if target else match.end(), numbers))
    return found


def links(text: str) -> list[Link]:
    """Every Markdown link in order, images and numeric markers left out."""
    code = _code(text)
    return [
        Link(match.start(), match.end(), match[1], match[2])
        for match in _LINK.finditer(text)
        if not inside(match.start(), code)
        and text[match.start() - 1 : match.start()] != "!"
        and not _MARKER.fullmatch(f"[{match[1]}]")
    ]


def replaced(text: str, by: Callable[[Marker], str]) -> str:
    """The text with other words in place of its markers."""
    parts: list[str] = []
    last = 0
    for one in markers(text):
        parts += [text[last : one.start], by(one)]
        last = one.end
    return "".join(parts) + text[last:]


def rounded(text: str) -> str:
    """The text of a page with its own numbers in round brackets, sign for sign: the square ones of an answer are citations."""
    return replaced(text, lambda one: text[one.start : one.end].translate(_ROUND))


def strip_markers(text: str) -> str:
    """The text without its numeric markers and the blanks before them. Links stay."""
    parts: list[str] = []
    last = 0
    for marker in markers(text):
        parts.append(text[last : marker.start].rstrip(" \t") if marker.start else "")
        last = marker.end
    if last and not "".join(parts).strip():  # a marker opened the text: no blank is left in its place
        return text[last:].lstrip(" \t")
    return "".join(parts) + text[last:]


def same_address(url: str) -> str:
    """A form in which two spellings of one address are equal."""
    bare = unquote(url).split("#", 1)[0].casefold()
    return bare.removeprefix("https://").removeprefix("http://").removeprefix("www.").rstrip("/")


def addresses(passages: Mapping[int, Passage]) -> dict[str, tuple[int, ...]]:
    """Which passages come from which address."""
    known: dict[str, tuple[int, ...]] = {}
    for number, passage in passages.items():
        if passage.url:
            address = same_address(passage.url)
            known[address] = (*known.get(address, ()), number)
    return known


def _numbers(inner: str) -> tuple[int, ...]:
    numbers: dict[int, None] = {}
    for match in _RANGE.finditer(inner):
        first = int(match[1])
        last = int(match[2]) if match[2] else first
        if not 0 < first <= last <= first + _LONGEST_RANGE:  # "[0-9]" is no citation either
            return ()
        numbers.update(dict.fromkeys(range(first, last + 1)))
    return tuple(numbers)


def _code(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in _CODE.finditer(text)] if "`" in text else []


def inside(position: int, spans: list[tuple[int, int]]) -> bool:
    """Whether one of the spans, which are in order and apart, covers the place."""
    before = bisect_right(spans, (position, len(spans) and spans[-1][1])) - 1
    return before >= 0 and position < spans[before][1]
