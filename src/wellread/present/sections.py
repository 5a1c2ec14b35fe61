"""An answer taken apart into sections, once for every place that shows one: command line, page, /v1, MCP, exports."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count

from wellread import marks
from wellread.answer_json import AnswerJson, CitationJson
from wellread.present.differences import Doubt, doubts

UNDERSTOOD = "Understood as: "
MISSING = "What could not be found"  # in a report
_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Cited:
    """One cited passage: its number, the citation that carries most, all of them, and their quotes, best carried first."""

    number: int
    citations: tuple[CitationJson, ...]
    quotes: tuple[str, ...]
    new: tuple[str, ...]  # quotes that the answer does not say itself

    @property
    def best(self) -> CitationJson:
        return self.citations[0]


@dataclass(frozen=True, slots=True)
class Sections:
    """What there is to show of an answer beside its own fields; empty is what there is not."""

    answer: AnswerJson
    missing: str  # what a partial answer does not answer, in one line
    sure: str
    sources: tuple[Cited, ...]
    legend: str  # what the marks in the text mean; where it has none, empty
    checked: str  # how many sentences were checked and are carried
    contents: tuple[str, ...] = ()  # the headings of a report

    @property
    def near(self) -> str:
        """What the passages are called that come near."""
        return "Also near" if self.answer.answer else "Nearest, may answer it"

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
        """What the marks mean, with the sentences: for a text that was sent before its marks were known."""
        named = [f"“{' '.join(row.text.split())}”" for row in self.answer.sentences if not row.supported]
        return f"{self.legend}: {' '.join(named)}" if self.legend else ""


def sections(answer: AnswerJson) -> Sections:
    if answer.outcome == "unsure" and answer.answer and answer.confidence is not None:
        answer = replace(answer, outcome="answered", short=f"Probably: {answer.short or ''}".rstrip())
    return Sections(
        answer,
        missing="; ".join(row.rstrip(".") for row in answer.missing) if answer.outcome == "partial" else "",
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
