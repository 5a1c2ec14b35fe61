"""Words of passages as an answer quotes them, each with its number."""

from __future__ import annotations

import re
from collections.abc import Sequence

from wellread.text.inert import inert
from wellread.text.lists import ITEM
from wellread.text.sentences import FENCE, paragraphs

_ENDED = re.compile(r"[.!?…。！？:;][\"'”’»)\]]*\s*(?:\[\d+\]\s*)?\Z")


def quoted(words: str, number: str) -> str:
    """Paragraphs and items on a line each, the number behind each. Code keeps its lines, and has the number below it."""
    put, listed = "", False
    for block in paragraphs(words):
        start, end = block[0][0], block[-1][1]
        begun = words.rfind("\n", 0, start) + 1
        item = ITEM.match(words, begun) is not None
        shown = words[begun:start] if item and words[begun:start].isspace() else ""
        shown += _shown(words[start:end], number)
        put += ("\n" if item and listed else "\n\n") * bool(put) + shown
        listed = item
    return put


def _shown(block: str, number: str) -> str:
    if "\n" not in block or FENCE.match(block) is None:
        return f"{inert(' '.join(block.split()))} {number}"
    return f"{inert(_closed(block))}\n{number}"


def one_after_another(quotes: Sequence[str]) -> str:
    """In one paragraph; without a full stop between them two would be read, and checked, as one sentence."""
    apart = any("\n" in one for one in quotes) or not all(map(_ENDED.search, quotes))
    return ("\n\n" if apart else " ").join(quotes)


def _closed(code: str) -> str:
    """A passage may end within its code: what comes below must not become a part of it."""
    first, *_, last = code.splitlines()
    return code if FENCE.match(last) else f"{code}\n{first.strip()[:3]}"
