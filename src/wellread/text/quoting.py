"""Words of passages as an answer quotes them, each with its number."""

from __future__ import annotations

import re
from collections.abc import Sequence

from wellread.text.inert import inert
from wellread.text.sentences import FENCE

_ENDED = re.compile(r"[.!?…。！？:;][\"'”’»)\]]*\s*(?:\[\d+\]\s*)?\Z")


def quoted(words: str, number: str) -> str:
    """On one line, its number behind it. Code keeps its lines, and has the number below it."""
    if "\n" not in words.strip() or FENCE.match(words) is None:
        return f"{inert(' '.join(words.split()))} {number}"
    return f"{inert(_closed(words.strip()))}\n{number}"


def one_after_another(quotes: Sequence[str]) -> str:
    """In one paragraph; without a full stop between them two would be read, and checked, as one sentence."""
    apart = any("\n" in one for one in quotes) or not all(map(_ENDED.search, quotes))
    return ("\n\n" if apart else " ").join(quotes)


def _closed(code: str) -> str:
    """A passage may end within its code: what comes below must not become a part of it."""
    first, *_, last = code.splitlines()
    return code if FENCE.match(last) else f"{code}\n{first.strip()[:3]}"
