"""The public JSON of an answer: what `ask --json` prints, the history keeps, every client gets and every page is made from.

`AnswerJson.of(answer)` makes it, `codec` writes and reads it. All but the outcome have a default, so that what was kept before
there was more to say is read as well.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from wellread.core.codec import UNSET, UnsetType
from wellread.core.values import frozen
from wellread.text.places import place
from wellread.types import Answer, Citation, Hit, Near, Outcome, Passage, Reference, Sentence, Usage

SURE = 0.7  # below this an answer is shown with what else came near
# what an answer has by the same name
_SAME = ("question", "short", "confidence", "outcome", "reason", "understood", "asks", "strategy", "model", "usage", "seconds")
_WORDS = ((0.9, "very sure"), (SURE, "fairly sure"), (0.5, "not very sure"), (0.0, "unsure"))


def how_sure(confidence: float) -> str:
    """`fairly sure, 0.78`: how often such an answer is right, where that was measured (docs/log/evaluator.md)."""
    words = next(words for least, words in _WORDS if confidence >= least or least == 0.0)
    return f"{words}, {confidence:.2f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A passage by its number and its place."""

    number: int = 0
    title: str = ""
    url: str | None = None
    source: str = ""
    document: str | None = None
    heading: str = ""
    page: int | None = None
    anchor: str = ""
    place: str = ""
    start: int = 0
    end: int = 0
    reference: Reference | UnsetType = UNSET  # the work that it is from, where that is known
    link: str | UnsetType | None = UNSET  # the whole address of what a server keeps, for its clients


def placed(passage: Passage | Hit) -> dict[str, Any]:
    """The fields of `Placed` for a passage."""
    names = ("title", "url", "source", "document", "heading", "page", "anchor")
    at = {name: getattr(passage, name) for name in names}
    return {**at, "place": place(passage), "reference": passage.reference or UNSET}


def _place(one: Citation | Near) -> dict[str, Any]:
    return {**placed(one.passage), "number": one.number, "start": one.start, "end": one.end}


@dataclass(frozen=True, slots=True, kw_only=True)
class CitationJson(Placed):
    quote: str = ""
    support: float = 0.0

    @classmethod
    def of(cls, one: Citation) -> CitationJson:
        return cls(**_place(one), quote=one.quote, support=one.support)


@dataclass(frozen=True, slots=True, kw_only=True)
class NearJson(Placed):
    """A passage that comes close."""

    id: str = ""
    text: str = ""

    @classmethod
    def of(cls, near: Near) -> NearJson:
        return cls(**_place(near), id=near.passage.id, text=near.words)


@frozen
class SentenceJson:
    text: str = ""
    verdict: str = ""
    supported: bool = False
    inferred: bool = False
    citations: list[int] = field(default_factory=list[int])

    @classmethod
    def of(cls, one: Sentence) -> SentenceJson:
        numbers = list(dict.fromkeys(citation.number for citation in one.citations))
        return cls(one.text, one.verdict, one.supported, one.inferred, numbers)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerJson:
    question: str = ""
    answer: str = ""
    short: str | None = None
    confidence: float | None = None
    sure: str | None = None
    outcome: Outcome
    reason: str | None = None
    missing: list[str] = field(default_factory=list[str])
    understood: str | None = None
    asks: str | None = None
    strategy: str = ""
    model: str | None = None
    sentences: list[SentenceJson] = field(default_factory=list[SentenceJson])
    citations: list[CitationJson] = field(default_factory=list[CitationJson])
    nearest: list[NearJson] = field(default_factory=list[NearJson])
    notes: list[str] = field(default_factory=list[str])
    tries: list[str] = field(default_factory=list[str])
    usage: Usage | None = field(default_factory=Usage)
    seconds: float = 0.0

    @property
    def used(self) -> Usage:
        return self.usage or Usage()

    @property
    def told(self) -> str:
        """The answer's words, for a later question to refer to; see `Answer.told`."""
        return "\n\n".join(filter(None, (self.short, self.answer))) or self.asks or ""

    @property
    def verdicts(self) -> list[str]:
        """Of its sentences; old answers know only whether one is carried."""
        return [one.verdict or ("carried" if one.supported else "not carried") for one in self.sentences]

    @classmethod
    def of(cls, answer: Answer) -> AnswerJson:
        return cls(
            answer=answer.text,
            sure=None if answer.confidence is None else how_sure(answer.confidence),
            sentences=list(map(SentenceJson.of, answer.sentences)),
            citations=list(map(CitationJson.of, answer.citations)),
            nearest=list(map(NearJson.of, answer.nearest)),
            **{name: list(getattr(answer, name)) for name in ("missing", "notes", "tries")},
            **{name: getattr(answer, name) for name in _SAME},
        )
