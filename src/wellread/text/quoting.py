"""Words of passages as an answer quotes them, each with its number, and what belongs to a sentence that does not tell everything
itself: the list or the piece of code that a colon leads to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest

from wellread.text.inert import inert
from wellread.text.markers import markers, rounded
from wellread.text.sentences import FENCE, paragraphs, sentences, statements

ITEM = re.compile(r"[ \t]*(?:[-*+•‣◦·]|\d{1,3}[.)]|[a-z][.)])[ \t]+\S")
_ENTRY = re.compile(r"[^\s:]{1,40}(?: {1,2}[^\s:]{1,30}){0,3}:[ \t]+\S")  # a term with what it means
_INDENTED = re.compile(r"(?: {2,}|\t)\S")
_LEADS = re.compile(r":[ \t]*(?=\n|\Z)")
_LONGEST = 900  # characters
_WORD = re.compile(r"\w+")
_LEANING = frozenset(("it", "its", "such", "that", "these", "they", "this", "those"))
_LABEL = 4  # words at most
_SHOWN = 450  # characters of what is told with what stands around it
_ENDED = re.compile(r"[.!?…。！？:;][\"'”’»)\]]*\s*(?:\[\d+\]\s*)?\Z")


def quoted(words: str, number: str) -> str:
    """Paragraphs and items on a line each, the number behind each. Code keeps its lines, and has the number below it."""
    put, listed = "", False
    for block in paragraphs(words):
        start = block[0][0]
        begun = words.rfind("\n", 0, start) + 1
        item = ITEM.match(words, begun) is not None
        shown = words[begun:start] if item and words[begun:start].isspace() else ""
        shown += _shown([words[a:b] for a, b in block], number)
        put += ("\n" if item and listed else "\n\n") * bool(put) + shown
        listed = item
    return put


def _shown(block: Sequence[str], number: str) -> str:
    code = block[0]
    if "\n" not in code or FENCE.match(code) is None:
        return f"{inert(' '.join(' '.join(map(_unnumbered, block)).split()))} {number}"
    first, *_, last = code.splitlines()
    # a passage may end within its code: what comes below must not become a part of it
    closed = code if FENCE.match(last) else f"{code}\n{first.strip()[:3]}"
    return f"{inert(closed)}\n{number}"


def _unnumbered(sentence: str) -> str:
    """A sentence of a page without the numbers of its notes behind it; others stand in round brackets."""
    marks = markers(sentence)
    while marks and marks[-1].end == len(sentence) and _ENDED.search(sentence, 0, marks[-1].start):
        sentence = sentence[: marks.pop().start].rstrip()
    return rounded(sentence)


def one_after_another(quotes: Sequence[str]) -> str:
    """In one paragraph; without a full stop between them two would be read, and checked, as one sentence."""
    apart = any("\n" in one for one in quotes) or not all(map(_ENDED.search, quotes))
    return ("\n\n" if apart else " ").join(quotes)


def with_what_follows(text: str, start: int, end: int) -> int:
    """Where a piece ends together with the list, the entries or the code that its last colon at the end of a line introduces; the
    same place where there is none."""
    told = max(end - _LONGEST, start)
    leads = [line.end() for line in _LEADS.finditer(text, told, end)]
    return max(end, _introduced(text, leads[-1])) if leads else end


def _introduced(text: str, end: int) -> int:
    position, last, fenced, begun = end, end, False, False
    for line in text[end : end + _LONGEST + 1].splitlines(keepends=True):
        position += len(line)
        if position - end > _LONGEST:
            break
        if FENCE.match(line):
            fenced, begun = not fenced, True
        elif not line.strip():
            if not fenced and last > end and not begun:
                break
            continue
        elif not (fenced or ITEM.match(line) or _ENTRY.match(line) or (begun and _INDENTED.match(line))):
            break
        begun, last = True, position
    return end + len(text[end:last].rstrip())


def with_what_it_names(text: str, start: int, end: int) -> tuple[int, int]:
    """A piece of a text together with its neighbour where it is a label or a bit of code, which tells nothing by itself.

    The neighbour is the sentence before where that leads to it with a colon, else the one after.
    """
    if len(_WORD.findall(text, start, end)) > _LABEL:
        return start, end
    spans = sentences(text[max(0, start - _LONGEST) : end + _LONGEST])
    moved = max(0, start - _LONGEST)
    before = [(a + moved, b + moved) for a, b in spans if b + moved <= start]
    after = [(a + moved, b + moved) for a, b in spans if a + moved >= end]
    if before and text[before[-1][0] : before[-1][1]].endswith(":"):
        return before[-1][0], end
    return start, after[0][1] if after else end


def leans_back(words: str) -> bool:
    """Whether a sentence speaks of what the one before it is about: "This process is called …"."""
    return words.split(maxsplit=1)[0].casefold() in _LEANING if words.strip() else False


def with_context(text: str, start: int, end: int) -> tuple[int, int]:
    """A piece of a text together with what belongs to it: the rest of its paragraph or item, of a long one the sentences beside
    it; of an item or a row of a table those beside it and the line that leads to the list, as far as all that stays short."""
    blocks = paragraphs(text)
    own = [place for place, block in enumerate(blocks) if block[0][0] < end and block[-1][1] > start]
    if not own:
        return start, end
    first, last = own[0], own[-1]
    whole = blocks[first][0][0], blocks[last][-1][1]
    if whole[1] - whole[0] > _SHOWN:
        before = [span for span in blocks[first] if span[1] <= start][-1:]
        after = [span for span in blocks[last] if span[0] >= end][:1]
        return min([start, *(span[0] for span in before)]), max([end, *(span[1] for span in after)])
    start, end = min(start, whole[0]), max(end, whole[1])
    line = text.rfind("\n", 0, whole[0]) + 1
    if ITEM.match(text, line) or text.startswith("| ", line):
        beside = (*blocks[last + 1 : last + 2], *blocks[max(0, first - 1) : first])
        for block in (one for one in beside if not text.startswith("#", one[0][0])):
            wider = min(start, block[0][0]), max(end, block[-1][1])
            start, end = wider if wider[1] - wider[0] <= _SHOWN else (start, end)
    return start, end


def surrounded(text: str, start: int, end: int, most: int) -> tuple[int, int]:
    """A piece of a text with the sentences around it, two behind for one before, as far as all that stays short."""
    spans = statements(text)
    behind = [b for a, b in spans if a >= end]
    before = [a for a, b in reversed(spans) if b <= start and (a or _ENDED.search(text[a:b]))]  # not its title again
    for edge in (one for row in zip_longest(behind[::2], behind[1::2], before) for one in row if one is not None):
        wider = min(start, edge), max(end, edge)
        start, end = wider if wider[1] - wider[0] <= most else (start, end)
    return start, end
