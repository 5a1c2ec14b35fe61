"""Differences between a sentence and the words of its source, word by word: what to look at where one is not carried."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import islice
from typing import NamedTuple

from wellread.answer_json import AnswerJson, CitationJson
from wellread.text.lexicon import NEGATIVE, STOPWORDS
from wellread.text.words import fold, plain_number, stem

Span = tuple[int, int]
_WORD = re.compile(r"\d(?:[\d.,'’]*\d)?|[^\W\d_]+(?:[’'][^\W\d_]+)*")
_NUMBERS = re.compile(r"\s*\[\d[\d,; ]*\]")
_IDLE = STOPWORDS - NEGATIVE
_MOST = 150  # words that are compared: it takes their product


class _Word(NamedTuple):
    span: Span
    key: str
    kind: str  # "number", "name" or ""; words that tell nothing are "idle"


@dataclass(frozen=True, slots=True)
class Doubt:
    """A sentence that is not carried, the words of a source that come nearest to it (None: it cites none), and in both the spans
    of what the other has not."""

    number: int
    sentence: str
    cited: CitationJson | None
    ours: Sequence[Span]
    theirs: Sequence[Span]


def doubts(answer: AnswerJson) -> Iterator[Doubt]:
    """Every sentence of an answer that is not carried, in order."""
    for number, row in enumerate((one for one in answer.sentences if not one.supported), 1):
        sentence = " ".join(_NUMBERS.sub("", row.text).split())
        keys = {word.key for word in _words(sentence)}
        quoted = [one for one in answer.citations if one.number in row.citations]
        cited = max(quoted, key=lambda one: len(keys & {word.key for word in _words(one.quote)}), default=None)
        yield Doubt(number, sentence, cited, *differing(sentence, cited.quote if cited else ""))


def differing(ours: str, theirs: str) -> tuple[list[Span], list[Span]]:
    """Spans of words that only one of two texts has, in each; in the second those that stand where the first says otherwise, and
    numbers against numbers, names against names. Where both have the same words, those in other places."""
    left, right = _words(ours), _words(theirs)
    said, told = ({word.key for word in words} for words in (left, right))
    blocks = SequenceMatcher(None, [word.key for word in left], [word.key for word in right], autojunk=False).get_opcodes()
    apart = [(left[i:j], right[k:m]) for what, i, j, k, m in blocks if what != "equal"]
    if new := {word for word in left if word.key not in told and word.kind != "idle"}:
        kinds = {word.kind for word in new} - {""}
        against = {word for word in right if word.kind in kinds}
        against.update(word for one, two in apart if not new.isdisjoint(one) for word in two)
        return _spans(left, new), _spans(right, {word for word in against if word.key not in said})
    moved = {word for pair in apart for side in pair for word in side if word.kind != "number" and word.key in said}
    return _spans(left, moved), _spans(right, moved)


def bracketed(text: str, spans: Sequence[Span], begin: str = "»", end: str = "«") -> str:
    """A text with signs around these spans of it."""
    for start, stop in sorted(spans, reverse=True):
        text = f"{text[:start]}{begin}{text[start:stop]}{end}{text[stop:]}"
    return text


def _words(text: str) -> list[_Word]:
    return [_Word(match.span(), *_read(match[0])) for match in islice(_WORD.finditer(text), _MOST)]


def _read(word: str) -> tuple[str, str]:
    if word[0].isdigit():
        return plain_number(word), "number"
    form = fold(word)
    return stem(form), "idle" if form in _IDLE else "name" if word[0].isupper() else ""


def _spans(words: Sequence[_Word], chosen: set[_Word]) -> list[Span]:
    """Of words with content; neighbours are one."""
    spans: list[Span] = []
    before = -1
    for place, word in enumerate(words):
        if word in chosen and word.kind != "idle":
            spans[-1:] = [(spans[-1][0], word.span[1])] if spans and before == place - 1 else [*spans[-1:], word.span]
            before = place
    return spans
