"""Sentence segmentation: where sentences start and end, in prose and Markdown, in one pass and without a model.

Blocks first (paragraphs, headings, list items, table rows, code), then stops within each block. A stop
ends a sentence unless the words around it say otherwise: an abbreviation, an initial, a lower-case
letter after it. Markers that follow a stop belong to the sentence before it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import NamedTuple

from wellread.text import lexicon
from wellread.text.markers import Link, Marker, inside, links, markers

# No blank is needed after these: scripts that use them write on without one.
_WIDE_STOPS = "。！？｡।॥"
_STOP = re.compile(rf"[.!?…‽؟۔։።᙮។။{_WIDE_STOPS}]+")
_CLOSERS = re.compile(r"[\"'”’»›)\]}*_~」』）】》〉]*")
_BLANKS = re.compile(r"\s*")
_WORD_BEFORE = re.compile(r"[^\s()\[\]{}\"“”'‘’«»,;:/*_~]+\Z")
_WORD = re.compile(r"[^\W\d_]+")
_DOTTED = re.compile(r"(?:[^\W\d_]{1,2}\.)+[^\W\d_]{1,2}\Z")

_BULLET = r"#{1,6}(?=[ \t])|[-*+•‣◦·](?=[ \t])"
_ITEM = re.compile(rf"[ \t]*(?:{_BULLET}|\|)")
_NUMBERED = re.compile(r"[ \t]*(\d{1,3})[.)](?=[ \t])")
_QUOTED = re.compile(r"[ \t]*>")
_ALONE = re.compile(r"[ \t]*(?:#{1,6}[ \t].*|\|.*|[-*_=]{3,}[ \t]*|\*\*[^*\n]+\*\*:?[ \t]*)\Z")
_PREFIX = re.compile(rf"(?:[ \t]*+(?:>|{_BULLET}|\d{{1,3}}[.)](?=[ \t])))++[ \t]*")  # possessive: what is tried is not kept
# As in Markdown: what is closed on its own line is code within a sentence, and leaves the lines below it alone.
FENCE = re.compile(r"[ \t]*(?:`{3,}+[^`\n]*$|~~~)", re.M)
_CODE_IN_LINE = re.compile(r"(?<!`)```[^`\n]+```")

_QUOTE_GOES_ON = "とのがをはにもや、，"  # after 。」


class _Notes(NamedTuple):
    """The markers and links of the text, and where each starts; the code within its lines."""

    marks: list[Marker | Link]
    starts: list[int]
    code: list[tuple[int, int]]

    def at(self, position: int) -> Marker | Link | None:
        index = bisect_left(self.starts, position)
        if index < len(self.starts) and self.starts[index] == position:
            return self.marks[index]
        return None

    def covers(self, position: int) -> bool:
        """Whether a stop there is inside a link, a marker or code, and so ends nothing."""
        index = bisect_left(self.starts, position) - 1
        within = index >= 0 and position < self.marks[index].end
        return within or inside(position, self.code)


_ASKING = ("?", "？", "؟")
_HEADING = re.compile(r"[ \t]*#{1,6}[ \t]")
# dots that lead to a page, and its number
_CONTENTS = re.compile(r"(?:\.[ \t]?){4,}[ \t]*(?:\d+|[ivxlc]+)?[ \t]*\Z|\A\s*\d{1,4}\s*\Z")
# What a page says to whoever answers out of it: of 77,000 passages of documents one has such a sentence.
_ORDER = re.compile(
    r"(?:^|[.!?:;,]\s+|\b(?:and|please|must|should|always)\s+)(?:"
    r"(?:ignore|disregard|forget|override)\b[^.!?]{0,60}\b(?:instructions?|prompts?|guidelines)\b"
    r"|(?:answer|reply|respond)\s+(?:\w+\s+){0,3}?that\b)"
    r"|\byou\s+are\s+(?:now\s+)?(?:an?|the)\s+(?:\w+\s+){0,3}(?:assistant|chatbot|language\s+model|AI)\b",
    re.IGNORECASE | re.MULTILINE,
)


def statements(text: str) -> list[tuple[int, int]]:
    """The sentences without headings, lines of a table of contents and questions, which name what they do not tell, and without
    orders to whoever answers."""
    return [
        (start, end)
        for block in paragraphs(text)
        if not _HEADING.match(text, block[0][0])
        for start, end in block
        if not text[start:end].rstrip().endswith(_ASKING) and not any(no.search(text[start:end]) for no in (_CONTENTS, _ORDER))
    ]


def unordered(text: str) -> str:
    """The text with blanks in place of such orders, sign for sign: as it is read by models that tell what stands in it."""
    for start, end in sentences(text) if _ORDER.search(text) else ():
        if _ORDER.search(text[start:end]):
            text = text[:start] + " " * (end - start) + text[end:]
    return text


def sentences(text: str) -> list[tuple[int, int]]:
    """Where each sentence starts and ends: ordered, apart, covering everything but blanks."""
    return [span for block in paragraphs(text) for span in block]


def paragraphs(text: str) -> list[list[tuple[int, int]]]:
    """The sentences of each block: a paragraph, a heading, a list item, a table row."""
    marks = sorted([*markers(text), *links(text)])
    code = [match.span() for match in _CODE_IN_LINE.finditer(text)] if "```" in text else []
    notes = _Notes(marks, [mark.start for mark in marks], code)
    found: list[list[tuple[int, int]]] = []
    for start, end in _blocks(text):
        if found and _only_markers(text, start, end, notes):
            last = found[-1][-1]
            found[-1][-1] = (last[0], end)  # markers alone on a line belong to what they follow
        else:
            found.append(_split(text, start, end, notes))
    return found


def prefix_end(text: str, start: int, end: int) -> int:
    """Where the words begin after list bullets, heading signs and quotation signs."""
    match = _PREFIX.match(text, start, end)
    return match.end() if match and match.end() < end else start


def _blocks(text: str) -> list[tuple[int, int]]:
    blocks: list[tuple[int, int]] = []
    begun: int | None = None  # the open block
    fenced = alone = False
    position = 0
    for line in text.splitlines(keepends=True):
        fence = FENCE.match(line) is not None
        if begun is not None and not fenced and (fence or alone or _interrupts(text, begun, position, line)):
            blocks.append((begun, position))
            begun = None
        if begun is None and line.strip():
            begun = position
            alone = not fence and _alone(line)
        position += len(line)
        if fence:
            if fenced and begun is not None:
                blocks.append((begun, position))
                begun = None
            fenced = not fenced
    if begun is not None:
        blocks.append((begun, position))
    return [trimmed for block in blocks if (trimmed := _trim(text, *block))]


def _interrupts(text: str, begun: int, position: int, line: str) -> bool:
    """Whether a line ends the block that began there; otherwise it goes on with it."""
    if not line.strip() or _ITEM.match(line) or _alone(line):
        return True
    if _QUOTED.match(line):
        return _QUOTED.match(text, begun) is None
    # as in Markdown: a wrapped line may start with "42.", only "1." or one more item is a list
    number = _NUMBERED.match(line)
    if number is None:
        return False
    introduced = text[max(begun, position - 4) : position].rstrip().endswith(":")
    return introduced or int(number[1]) == 1 or _NUMBERED.match(text, begun) is not None


def _alone(line: str) -> bool:
    return _ALONE.match(line.rstrip()) is not None


def _split(text: str, start: int, end: int, notes: _Notes) -> list[tuple[int, int]]:
    if FENCE.match(text, start) or text.startswith("|", start):
        return [(start, end)]
    spans: list[tuple[int, int]] = []
    begun = start
    position = prefix_end(text, start, end)
    while match := _STOP.search(text, position, end):
        position = match.end()
        cut = None if notes.covers(match.start()) else _cut(text, match, begun, end, notes)
        if cut is None:
            continue
        if span := _trim(text, begun, cut):
            spans.append(span)
        begun = position = cut
    if span := _trim(text, begun, end):
        spans.append(span)
    return spans


def _cut(text: str, stop: re.Match[str], begun: int, end: int, notes: _Notes) -> int | None:
    """Where the sentence ends that this stop may end; None when it does not."""
    closed = _end(_CLOSERS, text, stop.end(), end)
    marked = _after_markers(text, closed, end, notes)
    following = _end(_BLANKS, text, marked, end)
    if following >= end:
        return end
    if stop[0][-1] in _WIDE_STOPS:
        return None if closed > stop.end() and text[following] in _QUOTE_GOES_ON else marked
    if following == closed:  # nothing between the stop and what follows: "3.14", "example.org"
        return None
    if stop[0] == "." and marked == closed and _abbreviation(text, stop.start(), begun, following, end):
        return None
    if _goes_on(text, following, end):
        # "… in 1610. [2] reports that …": the marker is the next sentence's subject
        return closed if marked > closed and stop[0] == "." and text[closed].isspace() else None
    return marked


def _goes_on(text: str, following: int, end: int) -> bool:
    """Whether what follows a stop continues the sentence: a lower-case letter or a comma."""
    character = text[following]
    if character in ",;:)—–" and not (character in "–—" and text[following - 1] == "\n"):
        return True
    if character in "\"'“‘«(*_[":
        word = _WORD.search(text, following, min(end, following + 8))
        return word is not None and word[0][0].islower() and character not in "*_["
    return character.islower()


def _abbreviation(text: str, stop: int, begun: int, following: int, end: int) -> bool:
    before = _WORD_BEFORE.search(text, max(begun, stop - 24), stop)
    if before is None:
        return False
    word = before[0]
    folded = word.casefold()
    after = _WORD.match(text, following, end)
    next_word = after[0].casefold() if after else ""
    if folded in lexicon.NEVER_LAST and word != "V":
        return True
    if word.isdigit():
        return len(word) <= 2 and next_word in lexicon.AFTER_ORDINAL
    if folded in lexicon.BEFORE_NUMBERS and text[following].isdigit():
        return True
    initial = len(word) == 1 and word.isalpha() and word.isupper()
    if initial or folded in lexicon.MAYBE_LAST or _DOTTED.match(word):
        return next_word not in lexicon.OPENERS and (next_word != "" or text[following] in "(0123456789")
    return False


def _after_markers(text: str, position: int, end: int, notes: _Notes) -> int:
    """Past the markers and bracketed links after a stop, and one stray stop behind them."""
    marked = False
    while position < end:
        start = _end(_BLANKS, text, position, end)
        bracketed = text.startswith("(", start)
        mark = notes.at(start + bracketed)
        if mark is None or mark.end > end:
            break
        close = mark.end
        if bracketed:
            if not text.startswith(")", close):
                break
            close += 1
        elif isinstance(mark, Link) and _end(_BLANKS, text, close, end) < end:
            break  # "… in 1610. [Galileo](…) was born …": a link that opens a sentence
        position, marked = close, True
    return position + (marked and text.startswith((".", "。"), position, end))


def _only_markers(text: str, start: int, end: int, notes: _Notes) -> bool:
    position = start
    while (mark := notes.at(position)) and isinstance(mark, Marker):
        position = _end(_BLANKS, text, mark.end, end)
        if position >= end:
            return True
    return False


def _end(pattern: re.Pattern[str], text: str, start: int, end: int) -> int:
    match = pattern.match(text, start, end)
    return match.end() if match else start


def _trim(text: str, start: int, end: int) -> tuple[int, int] | None:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return (start, end) if start < end else None
