"""Events: the stream in which a run reports. Strategies emit them; the CLI, server, traces and evaluation read them.

The last event of every run is `Answered`. `at` is seconds since the run began, stamped by the engine.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import field
from functools import cache
from typing import Literal

from wellread.answer_json import AnswerJson
from wellread.core.codec import Json, decode, encode
from wellread.core.effort import Effort
from wellread.core.unicode_safety import Encodable
from wellread.core.values import frozen
from wellread.errors import DamagedFile
from wellread.text.places import place
from wellread.types import Answer, Hit, Passage, by_document

_LONGEST_QUERY = 160  # characters of it that are shown


@frozen
class Words:
    """An event in words for a person: what was done, to what, and what else there is to know."""

    did: str
    what: str = ""
    detail: str = ""

    def __str__(self) -> str:
        line = ": ".join(filter(None, (self.did, self.what)))
        return f"{line} ({self.detail})" if self.detail else line

    def short(self, width: int) -> str:
        """One line of at most this width."""
        return textwrap.shorten(str(self), width, placeholder=" …")


def _one_line(query: str) -> str:
    """A query as a person reads it: that of a second step carries the beginning of a passage."""
    return textwrap.shorten(query, _LONGEST_QUERY, placeholder=" …")


@frozen
class Event(Encodable):
    """The base of all events."""

    at: float = field(default=0.0, kw_only=True)

    def said(self) -> Words | None:
        """The event in words, for every place that shows them; None where there is nothing to say."""
        return None


@frozen
class Started(Event):
    question: str
    strategy: str
    model: str | None
    sources: tuple[str, ...]
    params: Mapping[str, object] = field(default_factory=dict[str, object])
    effort: Effort = "normal"

    def said(self) -> Words:
        return Words("getting started")


@frozen
class Thought(Event):
    """Words of the model that are not the answer: plan, reflection, information, transcript."""

    kind: str  # "plan", "reflection", "information", "thought", "action", "observation", …
    text: str

    def said(self) -> Words:
        return Words("notes" if self.kind == "information" else self.kind, self.text)


@frozen
class Searching(Event):
    query: str
    sources: tuple[str, ...] = ()

    def said(self) -> Words:
        return Words("searching", _one_line(self.query))


@frozen
class Searched(Event):
    query: str
    hits: tuple[Hit, ...]
    seconds: float = 0.0
    failures: tuple[str, ...] = ()  # "source: message" of those that failed and were skipped
    number: int = 0  # of the searches that run at the same time, how many are done with this one
    of: int = 0
    withheld: tuple[str, ...] = ()  # services that did not hear it, for what only private sources said

    def said(self) -> Words:
        failed = f"; failed: {'; '.join(self.failures)}" if self.failures else ""
        counted = f"; {self.number} of {self.of} queries" if self.of else ""
        return Words("searched", _one_line(self.query), f"{len(self.hits)} found{counted}{failed}")


@frozen
class Reading(Event):
    url: str

    def said(self) -> Words:
        return Words("reading", self.url)


@frozen
class PageRead(Event):
    url: str
    title: str
    passages: int
    seconds: float = 0.0

    def said(self) -> Words:
        return Words("read", self.title or self.url, counted(self.passages, "passage", "passages"))


@frozen
class PageFailed(Event):
    url: str
    reason: str

    def said(self) -> Words:
        return Words("could not read", self.url, self.reason)


@frozen
class Ranked(Event):
    """Passages were put in order; `kept` are ids, best first, `scores` go with them."""

    by: str
    kept: tuple[str, ...]
    scores: tuple[float, ...] = ()
    dropped: int = 0
    pairs: int = 0  # that the evaluator read for it

    def said(self) -> Words:
        aside = [f"{self.dropped} set aside"] if self.dropped else []
        pairs = [f"{self.pairs} pairs read"] if self.pairs else []
        return Words("ranked", f"{counted(len(self.kept), 'passage', 'passages')} by {self.by}", ", ".join(aside + pairs))


@frozen
class Graded(Event):
    id: str
    title: str
    relevant: bool
    score: float | None = None

    def said(self) -> Words:
        sure = "" if self.score is None else f"{self.score:.0%}"
        return Words("relevant" if self.relevant else "not relevant", self.title, sure)


@frozen
class Decided(Event):
    """A fork in the road and the way that was taken."""

    decision: str
    why: str = ""

    def said(self) -> Words:
        return Words("decided", self.decision, self.why)


@frozen
class Rewritten(Event):
    question: str
    query: str

    def said(self) -> Words:
        return Words("asking instead", self.query)


@frozen
class Understood(Event):
    """A follow-up was made to stand alone."""

    question: str
    meant: str

    def said(self) -> Words:
        return Words("understood as", self.meant)


@frozen
class Planned:
    """A section of a report before it is written: what it must answer, and what is searched for it."""

    title: str
    question: str
    queries: tuple[str, ...] = ()


@frozen
class Outlined(Event):
    """A report was laid out in sections."""

    sections: tuple[Planned, ...]

    def said(self) -> Words:
        return Words("outline", "; ".join(one.title for one in self.sections), counted(len(self.sections), "section", "sections"))


@frozen
class Section(Event):
    """How far a section of a report is: its passages are found, or its text is written and checked."""

    number: int
    of: int
    title: str
    state: Literal["searched", "written"]
    passages: int = 0
    text: str = ""
    missing: tuple[str, ...] = ()

    def said(self) -> Words:
        told = counted(self.passages, "passage", "passages") if self.state == "searched" else f"{len(self.text.split()):,} words"
        return Words(f"section {self.number} of {self.of} {self.state}", self.title, told)


@frozen
class Numbered(Event):
    """A passage got its number: from now on `[number]` means it."""

    number: int
    passage: Passage


@frozen
class Cut(Event):
    """Text was shortened to fit."""

    what: str
    kept_tokens: int
    of_tokens: int

    def said(self) -> Words:
        return Words("shortened", self.what, f"{self.kept_tokens:,} of {self.of_tokens:,} tokens kept")


@frozen
class ModelCalled(Event):
    role: str  # "plan", "grade", "rewrite", "answer", …
    model: str
    input_tokens: int
    output_tokens: int
    cost: float | None
    seconds: float
    cut_off: bool = False  # it ended without a completion; the figures are estimates

    def said(self) -> Words:
        ending = ", cut off" if self.cut_off else ""
        spent = f"{self.input_tokens:,} tokens in, {self.output_tokens:,} out{ending}"
        return Words("asked the model", self.role, f"{self.model}, {spent}")


@frozen
class AnswerDelta(Event):
    """The next words of the answer, while it is being written."""

    text: str

    def said(self) -> Words:
        return Words("writing the answer")


@frozen
class Notice(Event):
    """Something the user should know; the run goes on."""

    message: str
    level: Literal["info", "warning"] = "warning"

    def said(self) -> Words:
        return Words("note", self.message)


@frozen
class Exhausted(Event):
    """A budget ran out; the answer is composed from what is there."""

    limit: str

    def said(self) -> Words:
        return Words("limit reached", self.limit)


@frozen
class Answered(Event):
    answer: Answer


EVENTS: tuple[type[Event], ...] = (
    Started, Thought, Searching, Searched, Reading, PageRead, PageFailed, Ranked, Graded, Decided, Rewritten,
    Understood, Outlined, Section, Numbered, Cut, ModelCalled, AnswerDelta, Notice, Exhausted, Answered,
)  # fmt: skip


@cache
def event_name(kind: type[Event]) -> str:
    """`PageRead` → `page_read`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()


_KINDS = {event_name(kind): kind for kind in EVENTS}


def to_json(value: object) -> object:
    """Plain JSON types for any of our values; events carry their name under `event`."""
    if isinstance(value, Answered):
        return {"event": "answered", "at": value.at, "answer": answer_json(value.answer)}
    body = encode(value)
    if isinstance(value, Searched):  # in JSON a text that nobody has read yet is null
        body["hits"] = [{**hit, "text": hit["text"] or None} for hit in body["hits"]]
    return {"event": event_name(type(value)), **body} if isinstance(value, Event) else body


def from_json(body: Json) -> Event | None:
    """The event again; None for those that say less in JSON than they hold (`answered`) and for what is no event of ours."""
    kind = _KINDS.get(str(body.get("event")), Answered)
    if kind is Answered:
        return None
    given = {name: item for name, item in body.items() if name != "event"}
    try:
        if kind is Searched:
            given["hits"] = [{**hit, "text": hit["text"] or ""} for hit in given["hits"]]
        return decode(kind, given)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as problem:
        raise DamagedFile(f"an event ({body['event']}) cannot be read: {problem}") from None


def hit_json(hit: Hit) -> dict[str, object]:
    """The public shape of a hit in `search --json`; its text is null before a page is read."""
    names = ("id", "title", "url", "text", "snippet", "published", "score", "source", "document", "heading", "page", "anchor")
    known = {"reference": encode(hit.reference)} if hit.reference else {}
    return {**{name: getattr(hit, name) for name in names}, "text": hit.text or None, "place": place(hit), **known}


def documents_json(hits: Iterable[Hit]) -> list[dict[str, object]]:
    """Search results grouped by document: where each is and the ids of its passages, best first."""
    names = ("title", "url", "source", "document", "score")
    groups = by_document(hits)
    return [{**{name: getattr(group[0], name) for name in names}, "hits": [hit.id for hit in group]} for group in groups]


def answer_json(answer: Answer) -> Json:
    """The public shape of `ask --json`."""
    return encode(AnswerJson.of(answer))


def counted(number: int, thing: str, things: str) -> str:
    """`1 passage`, `2 passages`."""
    return f"{number:,} {thing if number == 1 else things}"
