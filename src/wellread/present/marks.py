"""Warning marks on unsupported sentences: where they may stand in Markdown, and the legend that says what they mean.

Every door that shows an answer as text marks it here. A mark never stands inside code, a table, a formula or a link: it moves
behind these, and behind a block into a paragraph of its own. JSON has the verdicts instead.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, takewhile
from typing import Literal, NamedTuple

MARK = "⚠"
Marks = Literal["text", "none"]  # what a client may ask for
_FENCE = re.compile(r"([ \t>]*)(`{3,}(?=[^`]*\Z)|~{3,}).*")
_TABLE_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-*:?[ \t]*)*")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]")
_INLINE = re.compile(
    r"(?P<code>(?<!`)`++)[^`\n](?:.{0,400}?[^`])?(?P=code)(?!`)"  # `code`
    r"|\$\S(?:[^$\n]{0,400}?[^\s$])?\$(?!\d)|\\\([^\n]{1,400}?\\\)"  # $formula$; not "$5 or $6"
    r"|!?\[[^\]\n]{0,400}\]\([^)\n]{0,2000}\)|<https?://[^>\s]{1,2000}>"
)
_LEGEND = re.compile(rf"\n+{MARK} \d+ of \d+ sentences? checked[^\n]*")


class _Block(NamedTuple):
    """Lines in which no mark may stand; `closes` is the line that is missing where the text ends within them."""

    start: int
    end: int
    indent: str
    closes: str = ""


def marked(text: str, ends: Iterable[tuple[int, str]]) -> str:
    """The text with a mark behind every sentence that ends at one of these places; of several at one place the first."""
    blocks, inline = _blocks(text), [found.span() for found in _INLINE.finditer(text)]
    parts: list[str] = []
    at = 0
    places = {_allowed(end, blocks, inline): mark for end, mark in sorted(ends, reverse=True)}
    for (place, block), mark in reversed(places.items()):
        parts += [text[at:place], f"{block.closes}\n\n{block.indent}{mark}" if block else f" {mark}"]
        parts.append("\n" if block and place < len(text) and not text.startswith("\n\n", place) else "")
        at = place
    unclosed = blocks[-1].closes if blocks and at <= blocks[-1].start else ""
    return "".join(parts) + text[at:] + unclosed


def checked(verdicts: Sequence[str]) -> str:
    """`12 of 12 sentences checked; 1 not carried`."""
    unread, wrong = verdicts.count("not checked"), verdicts.count("not carried")
    read = f"{len(verdicts) - unread} of {len(verdicts)} sentence{'' if len(verdicts) == 1 else 's'} checked"
    return f"{read}; {wrong} not carried by the cited sources" if wrong or unread else f"{read}; all carried"


def legend(verdicts: Sequence[str]) -> str:
    """Legend of an answer's marks; "" where it has none."""
    return f"{MARK} {checked(verdicts)}" if {"not carried", "not checked"}.intersection(verdicts) else ""


def unmarked(text: str) -> str:
    """A text that was marked, as it was: a client sends back what it was shown."""
    return re.sub(rf"(?:\n\n[ \t]*| ){MARK}", "", _LEGEND.sub("", text))


def _allowed(end: int, blocks: Sequence[_Block], inline: Sequence[tuple[int, int]]) -> tuple[int, _Block | None]:
    """The next place at or behind one where a mark may stand, and the block that it is behind."""
    before = bisect_left(blocks, end, key=lambda block: block.start)
    if before and end <= blocks[before - 1].end:
        return blocks[before - 1].end, blocks[before - 1]
    within = bisect_left(inline, end, key=lambda span: span[0])
    return max(end, inline[within - 1][1]) if within else end, None


def _blocks(text: str) -> list[_Block]:
    """Code between fences or far from the margin, tables, and formulas that stand alone."""
    lines = text.split("\n")
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    found: list[_Block] = []
    at, listed = 0, False
    while at < len(lines):
        size, closes = _block_at(lines, at, listed)
        if size:
            indent = "".join(takewhile(str.isspace, lines[at])) if lines[at].lstrip()[:1] in ("`", "~", "|", "$", "\\") else ""
            found.append(_Block(starts[at], starts[at + size] - 1, indent, closes))
        elif lines[at].strip() and not lines[at][0].isspace():
            listed = _ITEM.match(lines[at]) is not None
        at += size or 1
    return found


def _block_at(lines: Sequence[str], at: int, listed: bool) -> tuple[int, str]:
    """How many lines the block takes that begins there, 0 for prose; and the line that would close it where none does."""
    line = lines[at].strip()
    if fence := _FENCE.fullmatch(lines[at]):
        size = _closed(lines, at, lambda one: one.lstrip("> \t").startswith(fence[2]) and not one.strip("> \t`~"))
        return size or len(lines) - at, "" if size else f"\n{fence[1]}{fence[2]}"
    for opening, closing in (("$$", "$$"), ("\\[", "\\]")):
        if line.startswith(opening):
            alone = line != opening and line.endswith(closing)
            return 1 if alone else _closed(lines, at, lambda one, sign=closing: one.rstrip().endswith(sign)), ""
    if at + 1 < len(lines) and "|" in line and "-" in lines[at + 1] and _TABLE_RULE.fullmatch(lines[at + 1]):
        return sum(1 for _ in takewhile(str.strip, lines[at:])), ""
    if lines[at].startswith(("    ", "\t")) and line and not listed and (at == 0 or not lines[at - 1].strip()):
        return sum(1 for _ in takewhile(lambda one: one.startswith(("    ", "\t")), lines[at:])), ""
    return 0, ""


def _closed(lines: Sequence[str], at: int, closes: Callable[[str], bool]) -> int:
    """How many lines there are up to the one that closes; 0 where none does."""
    return next((place - at + 1 for place in range(at + 1, len(lines)) if closes(lines[place])), 0)
