"""Citations for sentences whose writer forgot them, added while the text streams.

A sentence without a marker gets the number of the passage that carries it, if the checker agrees; any
other sentence passes as it is. Words are passed on as they come: only the few characters around a
possible end of a sentence are held back until it is clear whether it is one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from wellread.citations.check import check
from wellread.citations.evidence import read_ahead
from wellread.strategies.relevance import content
from wellread.text.markers import links, markers
from wellread.text.sentences import sentences
from wellread.types import Passage

_END = re.compile(r"[.!?…。！？।]+|\n")
_WORD = re.compile(r"\w\s")  # a word that has ended
_REFERENCES = ("[", "【", "［", "([")  # a number or a link that belongs to the sentence before it
_LOOK_AHEAD = 24  # characters after which a possible end is decided
_CLOSING = 4  # brackets and quotation marks between a stop and the end of its sentence
_LONGEST = 1000  # characters of a sentence; what goes on for longer passes as it is
_STEP = 500  # characters looked at together
_CANDIDATES = 3
_LEAST_WORDS = 2  # content words; "Yes." is carried by everything


class Attribution:
    """`feed` returns what may be shown; what it returns in all is the text with the numbers added."""

    def __init__(self, passages: Mapping[int, Passage]) -> None:
        self._passages = passages
        self._words: dict[int, set[str]] = {}
        self._tail = ""  # from the start of the sentence being written
        self._spans: list[tuple[int, int]] = []  # its sentences, found once: at each end anew takes time with the square
        self._shown = 0  # characters of the tail that are out already
        self._from = 0  # where to look for the next possible end in the tail

    def read_ahead(self) -> None:
        """Read all passages now, for the numbers and for the checker."""
        read_ahead(list(self._passages.values()))
        for number in list(self._passages):
            self._content(number)

    def feed(self, piece: str) -> str:
        return "".join(self._fed(piece[at : at + _STEP]) for at in range(0, len(piece), _STEP))

    def close(self) -> str:
        """The rest, with the last sentence's number."""
        rest = self._tail[self._shown :]
        body = rest.rstrip()
        spans = sentences(self._tail)
        number = self._number(self._tail[spans[-1][0] :]) if spans else ""
        self._forget(len(self._tail))
        return body + number + rest[len(body) :]

    def _fed(self, piece: str) -> str:
        self._tail += piece
        self._spans = []
        words = list(iter(self._next, None))
        if len(self._tail) > _LONGEST:  # no sentence is that long
            words.append(self._show(len(self._tail)))
            self._forget(len(self._tail))
        return "".join(words)

    def _next(self) -> str | None:
        """The next words that are decided, perhaps none; None when more must come first."""
        match = _END.search(self._tail, self._from)
        if match is None:
            self._from = len(self._tail)
            return self._show(len(self._tail.rstrip())) or None
        following = self._tail[match.end() : match.end() + _LONGEST].lstrip()
        if following.startswith(_REFERENCES):
            self._from = match.end()
            return self._show(match.end())
        if len(following) < _LOOK_AHEAD and not _WORD.search(following):
            return self._show(match.start()) or None
        if self._goes_on(match.end(), match[0]):
            self._from = match.end()
            return self._show(match.start())
        self._spans = self._spans or sentences(self._tail)
        first = next((span for span in self._spans if span[1] > match.start()), None)
        if first is None or first == self._spans[-1] or first[1] > match.end() + _CLOSING:
            self._from = match.end()
            return self._show(match.start())
        words = self._show(first[1]) + self._number(self._tail[slice(*first)])
        self._forget(first[1])
        return words

    def _goes_on(self, end: int, stop: str) -> bool:
        """Whether a stop plainly ends nothing: "3.14", "a.m. on". The rest is for those who know abbreviations."""
        after = self._tail[end : end + 2]
        return stop[-1] in ".!?…" and (after[:1].isalnum() or (after[:1] == " " and after[1:].islower()))

    def _forget(self, end: int) -> None:
        self._tail, self._shown, self._from = self._tail[end:], 0, 0
        self._spans = [(start - end, last - end) for start, last in self._spans if start >= end]

    def _show(self, end: int) -> str:
        if end <= self._shown:
            return ""
        words = self._tail[self._shown : end]
        self._shown = end
        return words

    def _number(self, sentence: str) -> str:
        """` [n]` for the passage that carries the sentence; "" when it has a number or nothing carries it."""
        sentence = sentence.strip()
        if not sentence or not self._passages or markers(sentence) or links(sentence):
            return ""
        words = content(sentence)
        if len(words) < _LEAST_WORDS:
            return ""
        shared = {number: len(words & self._content(number)) for number in self._passages}
        best = sorted((n for n in shared if 2 * shared[n] >= len(words)), key=lambda n: -shared[n])[:_CANDIDATES]
        for number in best:
            judged = check(f"{sentence} [{number}]", self._passages)
            if judged and all(one.supported and one.citations for one in judged):
                return f" [{number}]"
        return ""

    def _content(self, number: int) -> set[str]:
        if number not in self._words:
            passage = self._passages[number]
            self._words[number] = content(f"{passage.title}. {passage.text}")
        return self._words[number]


def attributed(text: str, passages: Mapping[int, Passage]) -> str:
    """The whole text with the numbers that were missing."""
    attribution = Attribution(passages)
    return attribution.feed(text) + attribution.close()


def with_numbers(text: str, passages: Mapping[int, Passage]) -> str:
    """Notes whose sentences carry numbers; missing ones are added where a passage has the words. "" where none has."""
    if any(number in passages for marker in markers(text) for number in marker.numbers):
        return text
    marked = attributed(text, passages)
    return marked if marked != text else ""
