"""Entries of a list of definitions or options: `--quiet: print nothing`, one below the other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from wellread.text.lexicon import STOPWORDS
from wellread.text.words import fold, stem

_ENTRY = re.compile(r"^[ \t]*(?:[-*+•][ \t]+)?(?P<label>[^\s:|][^:|\n]{0,60})(?::[ \t]|[ \t]+[–—][ \t])", re.MULTILINE)
_WORD = re.compile(r"\w+(?:['’]\w+)?")
_LONGEST = 4_000  # characters of a passage that are looked at
_SAID = 400  # characters of an entry that count


@dataclass(frozen=True, slots=True)
class _Words:
    """The words of a text that say something, and all words in pairs, as they stand beside each other."""

    single: frozenset[str]
    pairs: frozenset[tuple[str, str]]

    @classmethod
    def of(cls, text: str) -> _Words:
        words = [fold(word) for word in _WORD.findall(text)]
        stems = list(map(stem, words))
        telling = frozenset(stemmed for word, stemmed in zip(words, stems, strict=True) if word not in STOPWORDS)
        return cls(telling, frozenset(pairwise(stems)))

    def shared(self, other: _Words) -> tuple[int, int]:
        return len(self.single & other.single), len(self.pairs & other.pairs)


@dataclass(frozen=True, slots=True)
class _Entry:
    """A label's place in the text, and the words of the entry."""

    start: int
    end: int
    words: _Words


def begins_entry(text: str, start: int) -> bool:
    """Whether a line begins at this place of a text, and with a label: "Note: …" within a line is none."""
    line = text.rfind("\n", 0, start) + 1
    return not text[line:start].strip(" \t-*+•") and _ENTRY.match(text, line) is not None


def nearer_label(question: str, text: str, start: int, end: int) -> tuple[int, int] | None:
    """The label of the entry that is meant, where a phrase is the label of another one beside it.

    It is meant where its entry says all that the phrase's own says of the question, and more.
    """
    line = _ENTRY.match(text, text.rfind("\n", 0, start) + 1)
    if line is None or start < line.start("label") or end > line.end("label"):
        return None
    entries = list(_entries(text[:_LONGEST]))
    own = next((entry for entry in entries if entry.start <= start < entry.end), None)
    if own is None:
        return None
    asked = _Words.of(question)
    told = asked.single & own.words.single
    better = [
        (*entry.words.shared(asked), entry.start, entry.end) for entry in entries if told < (asked.single & entry.words.single)
    ]
    better.sort(reverse=True)
    if not better or (len(better) > 1 and better[0][:2] == better[1][:2]):
        return None
    return better[0][2:]


def _entries(text: str) -> Iterator[_Entry]:
    found = list(_ENTRY.finditer(text))
    for number, match in enumerate(found):
        until = found[number + 1].start() if number + 1 < len(found) else len(text)
        label = match["label"].rstrip()
        start = match.start("label")
        yield _Entry(start, start + len(label), _Words.of(text[start : min(until, start + _SAID)]))
