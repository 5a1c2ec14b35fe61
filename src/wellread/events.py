"""What a run reports. Strategies yield these; the CLI, server, traces and evaluation read them.

The last event of every run is `Answered`. `at` is seconds since the run began, stamped by the engine.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Literal, cast

from wellread.encodable import Encodable
from wellread.types import Answer, Hit, Passage


@dataclass(frozen=True, slots=True, kw_only=True)
class Event(Encodable):
    """The base of all events."""

    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Started(Event):
    question: str
    strategy: str
    model: str | None
    sources: tuple[str, ...]
    params: Mapping[str, object] = field(default_factory=dict[str, object])


@dataclass(frozen=True, slots=True)
class Thought(Event):
    """Words of the model that are not the answer: plan, reflection, information, transcript."""

    kind: str  # "plan", "reflection", "information", "thought", "action", "observation", …
    text: str


@dataclass(frozen=True, slots=True)
class Searching(Event):
    query: str
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Searched(Event):
    query: str
    hits: tuple[Hit, ...]
    seconds: float = 0.0
    failures: tuple[str, ...] = ()  # "source: message" of those that failed and were skipped


@dataclass(frozen=True, slots=True)
class Reading(Event):
    url: str


@dataclass(frozen=True, slots=True)
class PageRead(Event):
    url: str
    title: str
    passages: int
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class PageFailed(Event):
    url: str
    reason: str


@dataclass(frozen=True, slots=True)
class Ranked(Event):
    """Passages were put in order; `kept` are ids, best first, `scores` go with them."""

    by: str
    kept: tuple[str, ...]
    scores: tuple[float, ...] = ()
    dropped: int = 0
    pairs: int = 0  # that the evaluator read for it


@dataclass(frozen=True, slots=True)
class Graded(Event):
    id: str
    title: str
    relevant: bool
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Decided(Event):
    """A fork in the road and the way that was taken."""

    decision: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Rewritten(Event):
    question: str
    query: str


@dataclass(frozen=True, slots=True)
class Numbered(Event):
    """A passage got its number: from now on `[number]` means it."""

    number: int
    passage: Passage


@dataclass(frozen=True, slots=True)
class Cut(Event):
    """Text was shortened to fit."""

    what: str
    kept_tokens: int
    of_tokens: int


@dataclass(frozen=True, slots=True)
class ModelCalled(Event):
    role: str  # "plan", "grade", "rewrite", "answer", …
    model: str
    input_tokens: int
    output_tokens: int
    cost: float | None
    seconds: float
    cut_off: bool = False  # it ended without a completion; the figures are estimates


@dataclass(frozen=True, slots=True)
class AnswerDelta(Event):
    """The next words of the answer, while it is being written."""

    text: str


@dataclass(frozen=True, slots=True)
class Notice(Event):
    """Something the user should know; the run goes on."""

    message: str
    level: Literal["info", "warning"] = "warning"


@dataclass(frozen=True, slots=True)
class Exhausted(Event):
    """A budget ran out; the answer is composed from what is there."""

    limit: str


@dataclass(frozen=True, slots=True)
class Answered(Event):
    answer: Answer


def to_json(value: object) -> object:
    """Plain JSON types for any of our values; events carry their name under `event`."""
    if isinstance(value, Answered):
        return {"event": "answered", "at": value.at, "answer": answer_json(value.answer)}
    if is_dataclass(value) and not isinstance(value, type):
        body = {f.name: to_json(getattr(value, f.name)) for f in fields(value)}
        if isinstance(value, Hit):
            body["text"] = value.text or None
        return {"event": event_name(value), **body} if isinstance(value, Event) else body
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in cast("Mapping[object, object]", value).items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [to_json(item) for item in cast("Sequence[object]", value)]
    return value


def event_name(event: Event) -> str:
    """`PageRead` → `page_read`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", type(event).__name__).lower()


def hit_json(hit: Hit) -> dict[str, object]:
    """The public shape of a hit in `search --json`; its text is null before a page is read."""
    shown = {name: getattr(hit, name) for name in ("id", "title", "url", "text", "snippet", "published", "score", "source")}
    return {**shown, "text": hit.text or None}


def answer_json(answer: Answer) -> dict[str, object]:
    """The public shape of `ask --json`."""
    return {
        "question": answer.question,
        "answer": answer.text,
        "short": answer.short,
        "confidence": answer.confidence,
        "outcome": answer.outcome,
        "reason": answer.reason,
        "strategy": answer.strategy,
        "model": answer.model,
        "sentences": [
            {
                "text": sentence.text,
                "supported": sentence.supported,
                "citations": list(dict.fromkeys(c.number for c in sentence.citations)),
            }
            for sentence in answer.sentences
        ],
        "citations": [
            {
                "number": citation.number,
                "title": citation.passage.title,
                "url": citation.passage.url,
                "source": citation.passage.source,
                "quote": citation.quote,
                "start": citation.start,
                "end": citation.end,
                "support": citation.support,
            }
            for citation in answer.citations
        ],
        "usage": to_json(answer.usage),
        "seconds": answer.seconds,
    }
