"""Defaults and entries of manuals: `--quiet: print nothing`, one below the other, and lines like "Default: 21" that end them.

These look all alike, and each belongs to what stands above it. Here are questions after a default, sentences that say one,
and whose default a line tells.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from wellread.text.places import bare_title
from wellread.text.sentences import sentences
from wellread.text.words import read

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
_LABEL = re.compile(r"^[^\n]{1,80}(?<![.!?;,:])[ \t]*\n[ \t]*\n", re.MULTILINE)  # in a line of its own: "--quiet or -q"
_OF_WHAT = re.compile(r"\bdefault ((?:[\w-]+ ){0,3}[\w-]+)", re.IGNORECASE)
_SAYS_LITTLE = frozenset(read("default use used long large big high set value option setting").content)
_REACH = 1_000  # characters above a line that its entry may have
_ENOUGH = 1 / 3  # of the words asked for
_ENTRY = re.compile(r"^[ \t]*(?:[-*+•][ \t]+)?(?P<label>[^\s:|][^:|\n]{0,60})(?::[ \t]|[ \t]+[–—][ \t])", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Line:
    """A default that stands alone, and what stands above it up to the entry's label."""

    start: int
    entry: str

    def share(self, words: frozenset[str]) -> float:
        return sum(word in self.entry for word in words) / len(words) if words else 1.0


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


def is_meant(question: str, title: str, text: str, start: int) -> bool:
    """Whether the default that stands alone at a place of a text is the one asked for.

    Its entry says enough of what the question does, no other entry with a default of its own says more; and of "the default
    configuration file" it says both words.
    """
    known = frozenset(read(re.sub(r"\W", " ", bare_title(title))).content) | frozenset(read(title).content) | _SAYS_LITTLE
    asked = frozenset(read(question).content) - known
    lines = list(_lines(text))
    own = next((line for line in lines if line.start == start), None)
    if own is None or own.share(_of_what(question) - known) < 1:
        return False
    share = own.share(asked)
    return share >= _ENOUGH and all(line.share(asked) <= share for line in lines)


def _of_what(question: str) -> frozenset[str]:
    """The words that "default" stands before, up to the first that says nothing: "the default log file of …"."""
    found = _OF_WHAT.search(question)
    words = found[1].split() if found else []
    kept = next((place for place, word in enumerate(words) if not read(word).content), len(words))
    return frozenset(read(" ".join(words[:kept])).content)


def _lines(text: str) -> Iterator[_Line]:
    begun = 0
    for start, end in sentences(text):
        said = text[start:end]
        if default_alone(said) is not None:
            yield _Line(start, text[max(begun, start - _REACH) : start].casefold())
            begun = end
        elif begins_entry(text, start) or _LABEL.match(text, start):
            begun = start


def begins_entry(text: str, start: int) -> bool:
    """Whether a line begins at this place of a text, and with a label: "Note: …" within a line is none."""
    line = text.rfind("\n", 0, start) + 1
    return not text[line:start].strip(" \t-*+•") and _ENTRY.match(text, line) is not None
