"""An answer taken apart into sections, once for every place that shows one: command line, page, /v1, MCP, exports; and, for what
is not carried, the differences between a sentence and the words of its source, word by word."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import count, islice
from typing import NamedTuple

from wellread.answer_json import AnswerJson, CitationJson
from wellread.core.values import frozen
from wellread.present import marks
from wellread.questions.headings import Headings, headings
from wellread.questions.languages import foreign_language
from wellread.text.lexicon import NEGATIVE, STOPWORDS
from wellread.text.markers import strip_markers
from wellread.text.words import fold, plain_number, stem
from wellread.types import Outcome

Span = tuple[int, int]
_WORD = re.compile(r"\d(?:[\d.,'’]*\d)?|[^\W\d_]+(?:[’'][^\W\d_]+)*")
_IDLE = STOPWORDS - NEGATIVE
_MOST = 150  # words that are compared: it takes their product


class _Word(NamedTuple):
    span: Span
    key: str
    kind: str  # "number", "name" or ""; words that tell nothing are "idle"


@frozen
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
        sentence = " ".join(strip_markers(row.text).split())
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


UNDERSTOOD = "Understood as: "
_IN_PART: tuple[Outcome, ...] = ("partial", "exhausted")
_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)


@frozen
class Cited:
    """One cited passage: its number, the citation that carries most, all of them, and their quotes, best carried first."""

    number: int
    citations: tuple[CitationJson, ...]
    quotes: tuple[str, ...]
    new: tuple[str, ...]  # quotes that the answer does not say itself

    @property
    def best(self) -> CitationJson:
        return self.citations[0]


@frozen
class Sections:
    """Parts of an answer to show beside its own fields; empty is what there is not."""

    answer: AnswerJson
    missing: str  # what an answer in part does not answer, in one line
    sure: str
    sources: tuple[Cited, ...]
    legend: str  # what the marks in the text mean; where it has none, empty
    checked: str  # how many sentences were checked and are carried
    contents: tuple[str, ...] = ()  # the headings of a report

    @property
    def headings(self) -> Headings:
        return headings(foreign_language(self.answer.question))

    @property
    def near(self) -> str:
        """Heading of the nearest passages."""
        return "Also near" if self.answer.answer else "Nearest, may answer it"

    @property
    def notes(self) -> list[str]:
        """Notes on how it was found, and that a limit has ended it."""
        ended = self.answer.answer and self.answer.outcome == "exhausted"
        return [f"cut short, because {self.answer.reason}", *self.answer.notes] if ended else self.answer.notes

    @property
    def doubts(self) -> list[Doubt]:
        """The sentences that no source carries, each beside the words that come nearest."""
        return list(doubts(self.answer))

    def marked(self, mark: str = marks.MARK) -> str:
        """The text with a mark behind every sentence that no source carries; without any sentences the text as it is. `{}` in a
        mark is the number of its doubt."""
        text, at = self.answer.answer, 0
        ends: list[tuple[int, str]] = []
        numbers = count(1)
        for row in self.answer.sentences:
            found = text.find(row.text, at)
            at = found + len(row.text) if found >= 0 else at
            number = None if row.supported else next(numbers)
            if found >= 0 and number:
                ends.append((at, mark.format(number)))
        return marks.marked(text, ends)

    def quoting_legend(self) -> str:
        """Legend of the marks that quotes the sentences: for a text that was sent before its marks were known."""
        named = [f"“{' '.join(row.text.split())}”" for row in self.answer.sentences if not row.supported]
        return f"{self.legend}: {' '.join(named)}" if self.legend else ""


def sections(answer: AnswerJson) -> Sections:
    if answer.outcome == "unsure" and answer.answer and answer.confidence is not None:
        answer = replace(answer, outcome="answered", short=f"Probably: {answer.short or ''}".rstrip())
    return Sections(
        answer,
        missing="; ".join(row.rstrip(".") for row in answer.missing) if answer.outcome in _IN_PART else "",
        sure=answer.sure or "" if answer.answer else "",
        sources=tuple(_cited(answer)),
        legend=marks.legend(answer.verdicts),
        checked=marks.checked(answer.verdicts),
        contents=tuple(_HEADING.findall(answer.answer)),
    )


def preview(text: str, most: int) -> str:
    """The beginning of a text in one line, up to the end of a word where one ends."""
    words = " ".join(text.split())
    whole = words[:most].rpartition(" ")[0]
    return words if len(words) <= most else f"{whole if len(whole) > most // 2 else words[:most]} …"


def shown(answer: AnswerJson, wanted: str | None) -> AnswerJson:
    """The answer as a client wants it rendered: where it asked for no marks, nothing is known of its sentences."""
    return replace(answer, sentences=[]) if wanted == "none" else answer


def _cited(answer: AnswerJson) -> Iterator[Cited]:
    said, found = " ".join(answer.answer.split()), dict[int, list[CitationJson]]()
    for one in sorted(answer.citations, key=lambda one: -one.support):
        found.setdefault(one.number, []).append(one)
    for number, some in sorted(found.items()):
        quotes = tuple(quote for quote in dict.fromkeys(" ".join(one.quote.split()) for one in some) if quote)
        yield Cited(number, tuple(some), quotes, tuple(quote for quote in quotes if quote not in said))
