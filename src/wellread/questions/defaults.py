"""Defaults and entries of manuals: `--quiet: print nothing`, one below the other, and lines like "Default: 21" that end them.

Here are questions after a default, sentences that say one, and where an entry begins.
"""

from __future__ import annotations

import re
from functools import lru_cache

# "How do I change the default printer?" is after an instruction.
_ASKED = re.compile(r"\A(?!\s*(?:how (?:do|does|can|could|should|would|to)|why)\b).*\bdefaults?\b", re.IGNORECASE | re.DOTALL)
_TOLD = re.compile(
    r"default|\b(?:initial\w*|normally|usual\w*|standard|omitted|otherwise|unless)\b"
    r"|\b(?:no|not|without)\b[^.\n]{0,40}\b(?:given|named|present|set|specified)\b",
    re.IGNORECASE,
)
_ALONE = re.compile(
    r"(?P<open>\()?defaults?(?: value| setting)?\s*(?:\b(?:is|to)\b\s*:?|[:=])\s*(?P<value>[^\s,;][^,;\n]{0,60}?)"
    r"\s*(?:[,;][^\n]{0,200}?)?(?(open)\)\.?|\.?)",
    re.IGNORECASE,
)
_ENTRY = re.compile(r"^[ \t]*(?:[-*+•][ \t]+)?(?P<label>[^\s:|][^:|\n]{0,60})(?::[ \t]|[ \t]+[–—][ \t])", re.MULTILINE)


@lru_cache(4_000)
def asks_default(question: str) -> bool:
    """Whether it is asked what holds unless something else is said."""
    return _ASKED.match(question) is not None


def tells_default(sentence: str) -> bool:
    """Whether a sentence says what holds by default."""
    return _TOLD.search(sentence) is not None


def default_alone(sentence: str) -> str | None:
    """The value, where a sentence or line says nothing else: "Default: 21"."""
    found = _ALONE.fullmatch(sentence.strip())
    return found["value"].strip("\"'“”‘’`") if found else None


def begins_entry(text: str, start: int) -> bool:
    """Whether a line begins at this place of a text, and with a label: "Note: …" within a line is none."""
    line = text.rfind("\n", 0, start) + 1
    return not text[line:start].strip(" \t-*+•") and _ENTRY.match(text, line) is not None
