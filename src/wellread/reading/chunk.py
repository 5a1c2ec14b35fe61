"""Text in pieces of so many tokens that break between sentences and remember where they stood."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from wellread.errors import UsageError
from wellread.text.sentences import paragraphs

Counter = Callable[[str], int]

SIZE = 250
_PARTS = re.compile(r"[^\W\d_]+|\d+|[^\w\s]|_")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_HEADING = re.compile(r"\s*#{1,6}\s")
_FULL_ENOUGH = 0.6  # a piece this full ends with its paragraph if the next one does not fit


@dataclass(frozen=True, slots=True)
class Chunk:
    """`text == source[start:end]`."""

    text: str
    start: int
    end: int
    tokens: int


@dataclass(frozen=True, slots=True)
class _Unit:
    """A sentence, or a part of one that is too long."""

    start: int
    end: int
    tokens: int
    opens: bool  # a paragraph
    heading: bool


def estimate(text: str) -> int:
    """About the number of word pieces that small encoders make of a text, without loading one."""
    total = 0
    for part in _PARTS.findall(text):
        if not part.isascii() and _UNSPACED.search(part):
            total += len(part)
        elif part.isdigit():
            total += (len(part) + 2) // 3
        else:
            total += 1 + max(0, len(part) - 5) // 5
    return total


def chunk(text: str, size: int = SIZE, overlap: int = 0, count: Counter = estimate) -> list[Chunk]:
    """Pieces of at most `size` tokens. Each repeats the last sentences of the one before, up to `overlap` tokens.

    `count` is the tokenizer's own count where one is at hand. A sentence longer than a piece is broken
    between words, a word longer than a piece between characters.
    """
    if size < 1 or not 0 <= overlap < size:
        raise UsageError(f"pieces of {size} tokens with {overlap} repeated make no sense")
    units = _units(text, size, count)
    pieces: list[Chunk] = []
    first = following = 0
    while first < len(units):
        last = _last(units, first, following, size)
        start, end = units[first].start, units[last].end
        pieces.append(Chunk(text[start:end], start, end, sum(unit.tokens for unit in units[first : last + 1])))
        following = last + 1
        if following >= len(units):
            break
        first = _repeated(units, first, following, overlap, size)
    return pieces


def _last(units: Sequence[_Unit], first: int, new: int, size: int) -> int:
    """The last unit of the piece that starts with `first`; it reaches to the first `new` one at least."""
    tokens = units[first].tokens
    last = first
    while last + 1 < len(units) and tokens + units[last + 1].tokens <= size:
        last += 1
        tokens += units[last].tokens
    if last + 1 == len(units):
        return last
    end = last
    while end > new and not units[end + 1].opens:  # back to where a paragraph ends, if that leaves enough
        tokens -= units[end].tokens
        end -= 1
    last = end if units[end + 1].opens and tokens >= size * _FULL_ENOUGH else last
    while last > new and units[last].heading:  # a heading belongs to what follows
        last -= 1
    return last


def _repeated(units: Sequence[_Unit], first: int, following: int, overlap: int, size: int) -> int:
    """Where the next piece starts; always further on, and never so early that nothing new would fit."""
    start, tokens = following, 0
    while start - 1 > first:
        tokens += units[start - 1].tokens
        if tokens > overlap or tokens + units[following].tokens > size:
            break
        start -= 1
    return start


def _units(text: str, size: int, count: Counter) -> list[_Unit]:
    found: list[_Unit] = []
    for block in paragraphs(text):
        opens = True
        for start, end in block:
            tokens = count(text[start:end])
            heading = bool(_HEADING.match(text, start)) or (opens and bool(_HEADING.match(text, _line(text, start))))
            if tokens <= size:
                found.append(_Unit(start, end, tokens, opens, heading))
            else:
                found.extend(_broken(text, start, end, size, count, opens))
            opens = False
    return found


def _line(text: str, position: int) -> int:
    return text.rfind("\n", 0, position) + 1


def _broken(text: str, start: int, end: int, size: int, count: Counter, opens: bool) -> list[_Unit]:
    """Parts of a long sentence: halves between words until they fit."""
    parts: list[_Unit] = []
    stack = [(start, end)]
    while stack:
        left, right = stack.pop()
        tokens = count(text[left:right])
        middle = _middle(text, left, right)
        if tokens <= size or middle is None:
            parts.append(_Unit(left, right, tokens, opens and not parts, False))
            continue
        stack.append((middle[1], right))
        stack.append((left, middle[0]))
    return parts


def _middle(text: str, left: int, right: int) -> tuple[int, int] | None:
    """The blank nearest the middle, as its edges; a place between characters where there is none."""
    if right - left < 2:
        return None
    half = (left + right) // 2
    before, after = text.rfind(" ", left + 1, half), text.find(" ", half, right - 1)
    if before < 0 and after < 0:
        return half, half
    cut = before if after < 0 or (before >= 0 and half - before <= after - half) else after
    return cut, cut + 1
