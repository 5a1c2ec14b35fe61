"""Tracing, a run as a story: where the time and the tokens went, what was found, what became of it; as a page
and, for those who collect them, as an OpenTelemetry trace: one span for the run, one for each step that took time.

It is made of a run's events, live or from the file of a trace (`--trace`) or a recording (`--record`). Spans are exported when
`OTEL_EXPORTER_OTLP_ENDPOINT` (or its variant for traces) is set; the exporter reads this and the other usual variables itself.
"""

from __future__ import annotations

import json
import os
import time
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from wellread import events
from wellread.answer_json import AnswerJson
from wellread.core.codec import Json, decode, encode
from wellread.core.unicode_safety import encodable
from wellread.errors import DamagedFile, UsageError, optional
from wellread.replay.record import lines_of
from wellread.text.places import name
from wellread.types import Hit, Passage, Usage

_NO_NUMBER = 1 << 53  # of seconds and tokens; also more than what is not a number


@dataclass(frozen=True, slots=True)
class Step:
    """Something that took time, or happened at a moment (`end` equals `start`)."""

    kind: str  # search, read, model, or a word for a moment
    label: str
    start: float
    end: float
    detail: str = ""
    tokens: int = 0

    @property
    def seconds(self) -> float:
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Fate:
    """Verdict on a passage that was found: cited, shown or dropped."""

    id: str
    name: str  # of its document, with the place in it
    query: str
    place: int  # in the search that found it first
    verdict: str  # "cited", "shown", "dropped"
    why: str
    number: int | None = None


@dataclass(frozen=True, slots=True)
class Timeline:
    question: str
    strategy: str
    model: str | None
    answer: AnswerJson | None
    steps: Sequence[Step]
    fates: Sequence[Fate]
    seconds: float = 0.0
    by_kind: dict[str, float] = field(default_factory=dict[str, float])  # seconds, overlaps counted twice

    @property
    def usage(self) -> Usage:
        return self.answer.used if self.answer else Usage()

    @property
    def outcome(self) -> str:
        return self.answer.outcome if self.answer else "unfinished"


def load(path: Path) -> Timeline:
    """The story in a trace or a recording."""
    try:
        lines: list[Any] = [encodable(json.loads(line)) for line in lines_of(path) if line.strip()]  # NaN, too
    except FileNotFoundError:
        raise UsageError(f"{path}: there is no such file") from None
    except (OSError, ValueError, EOFError, zlib.error, RecursionError) as problem:
        raise DamagedFile(f"{path} is not a trace: {problem}") from None
    told: list[Json] = [line for line in lines if isinstance(line, dict) and "event" in line]
    if not told:
        raise DamagedFile(f"{path} is not a trace: there are no events in it")
    seen = [event for event in map(events.from_json, told) if event is not None]
    last = [line["answer"] for line in told if line["event"] == "answered" and "answer" in line]
    try:
        answer = decode(AnswerJson, last[0]) if last else None
        story = replace(timeline(seen, answer), seconds=_largest([line.get("at", 0.0) for line in told]))
        _largest([moment for step in story.steps for moment in (step.start, step.end)])
        _largest([value for value in encode(answer.used).values() if value is not None] if answer else ())
    except ValueError as problem:
        raise DamagedFile(f"{path} is not a trace: {problem}") from None
    return story


def _largest(numbers: Sequence[Any]) -> float:
    if not all(isinstance(number, int | float) and abs(number) < _NO_NUMBER for number in numbers):
        raise ValueError("a number in it is none")
    return max(numbers, default=0.0)


def timeline(seen: Iterable[events.Event], answer: AnswerJson | None) -> Timeline:
    """The story of a run; without an answer where it was left before that."""
    seen = list(seen)
    started = next((event for event in seen if isinstance(event, events.Started)), events.Started("", "", None, ()))
    steps = [step for step in map(_step, seen) if step is not None]
    by_kind: dict[str, float] = {}
    for step in steps:
        if step.seconds:
            by_kind[step.kind] = by_kind.get(step.kind, 0.0) + step.seconds
    return Timeline(
        question=started.question,
        strategy=started.strategy,
        model=started.model,
        answer=answer,
        steps=sorted(steps, key=lambda step: step.start),
        fates=_fates(seen, answer),
        seconds=max((event.at for event in seen), default=0.0),
        by_kind=by_kind,
    )


def _step(event: events.Event) -> Step | None:
    words = event.said()
    if words is None:
        return None
    match event:
        case events.Searched(seconds=seconds):
            return Step("search", words.what, event.at - seconds, event.at, words.detail)
        case events.PageRead(seconds=seconds):
            return Step("read", words.what, event.at - seconds, event.at, words.detail)
        case events.ModelCalled(seconds=seconds, input_tokens=before, output_tokens=after):
            return Step("model", words.what, event.at - seconds, event.at, words.detail, before + after)
        case events.Started() | events.Searching() | events.Reading() | events.Graded() | events.AnswerDelta():
            return None  # told by what comes of them
        case _:
            return Step(words.did, str(replace(words, did="")), event.at, event.at)


def _fates(seen: Sequence[events.Event], answer: AnswerJson | None) -> list[Fate]:
    found: dict[str, tuple[Hit, str, int]] = {}
    graded: dict[str, events.Graded] = {}
    ranked = False
    kept: set[str] = set()  # by any of the rankings: a run may rank for each part of a question, or each page
    numbers: dict[str, list[int]] = {}
    for event in seen:
        match event:
            case events.Searched(query=query, hits=hits):
                for place, hit in enumerate(hits, 1):
                    found.setdefault(hit.id, (hit, query, place))
            case events.Graded():
                graded[event.id] = event
            case events.Ranked():
                ranked = True
                kept |= {one.rpartition("@")[0] or one for one in event.kept}
            case events.Numbered(number=number, passage=passage):
                # excerpts and paragraphs of a page have longer ids
                own = (passage.id, passage.id.rpartition("~")[0], passage.id.rpartition("#")[0])
                for one in (next((one for one in own if one in found), passage.id), *_joined(passage, found)):
                    numbers.setdefault(one, []).append(number)
            case _:
                pass
    cited = {citation.number for citation in answer.citations} if answer else set[int]()
    fates = [
        Fate(one, name(hit), query, place, *_verdict(one, number, cited, graded.get(one), kept if ranked else None), number)
        for one, (hit, query, place) in found.items()
        for some in [numbers.get(one, [])]  # of a page's parts, one that the answer cites
        for number in [next((number for number in some if number in cited), some[0] if some else None)]
    ]
    order = ("cited", "shown", "dropped")
    return sorted(fates, key=lambda fate: (order.index(fate.verdict), fate.number or 0, fate.place))


def _joined(passage: Passage, found: Mapping[str, tuple[Hit, str, int]]) -> list[str]:
    """Hits of the same document whose words stand in the passage: neighbours are shown as one."""
    hits = (hit for hit, _, _ in found.values() if hit.document == passage.document is not None and hit.id != passage.id)
    return [hit.id for hit in hits if hit.text and hit.text in passage.text]


def _verdict(
    one: str, number: int | None, cited: set[int], grade: events.Graded | None, kept: set[str] | None
) -> tuple[str, str]:
    score = "" if grade is None or grade.score is None else f", score {grade.score:.2f}"
    if number is not None:
        if number in cited:
            return "cited", f"carries the answer as [{number}]{score}"
        return "shown", f"in the prompt as [{number}]{score}"
    if grade is not None and not grade.relevant:
        return "dropped", f"graded not relevant{score}"
    if kept is not None and one not in kept:
        return "dropped", "ranked below those that were kept"
    return "dropped", "not needed" if kept is None else "kept in the ranking, but not needed"


_ROW = 26  # pixels
_KINDS = {"search": "#2457a6", "read": "#3f8f5b", "model": "#d9772b"}


def page(story: Timeline) -> str:
    """The page."""
    style = (files("wellread") / "trace" / "page.css").read_text(encoding="utf-8")
    answer = story.answer
    usage = story.usage
    facts = [
        (f"{story.seconds:.2f} s", "in all"),
        *((f"{seconds:.2f} s", _NAMES.get(kind, kind)) for kind, seconds in sorted(story.by_kind.items(), key=lambda kv: -kv[1])),
        (f"{usage.input_tokens:,} + {usage.output_tokens:,}", "tokens in + out"),
        (str(usage.searches), "searches"),
        ("unknown" if usage.cost is None else f"${usage.cost:.4f}", "cost"),
    ]
    cards = "".join(f"<div class=card><b>{escape(value)}</b><span>{escape(name)}</span></div>" for value, name in facts)
    text = (answer.answer or answer.reason if answer else None) or "no answer"
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        f"<title>{escape(story.question)}</title><style>{style}</style><main>"
        f"<p class=sub>{escape(story.strategy)} · {escape(story.model or 'no language model')}"
        f" · {story.outcome}</p>"
        f"<h1>{escape(story.question)}</h1><p class=answer>{escape(text)}</p><div class=cards>{cards}</div>"
        f"<h2>Where the time went</h2>{_chart(story)}{_moments(story)}{_passages(story)}</main></html>"
    )


_NAMES = {"search": "searching", "read": "reading pages", "model": "in the model"}


def _chart(story: Timeline) -> str:
    """Bars on one scale of time; parallel work lies side by side."""
    bars = [step for step in story.steps if step.kind in _KINDS]
    if not bars:
        return "<p class=note>Nothing in this run took time outside.</p>"
    total = max(story.seconds, 0.001)
    rows: list[str] = []
    for number, step in enumerate(bars):
        left, width = 100 * step.start / total, max(0.3, 100 * step.seconds / total)
        rows.append(
            f"<div class=row style='top:{number * _ROW}px'><span class=name title='{escape(step.label, quote=True)}'>"
            f"<i style='background:{_KINDS[step.kind]}'></i>{escape(step.kind)}: {escape(step.label)}</span>"
            f"<span class=track><span class=bar style='left:{left:.2f}%;width:{min(width, 100 - left):.2f}%;"
            f"background:{_KINDS[step.kind]}'></span></span><span class=took>{step.seconds:.2f} s"
            f"<small>{escape(step.detail)}</small></span></div>"
        )
    return f"<div class=chart style='height:{len(bars) * _ROW}px'>{''.join(rows)}</div>"


def _moments(story: Timeline) -> str:
    rows: list[str] = []
    for step in story.steps:
        text = escape(step.label)
        shown = text if len(text) < 300 else f"<details><summary>{text[:200]} …</summary>{text}</details>"
        if step.kind not in _KINDS:
            rows.append(f"<li><time>{step.start:.2f} s</time><b>{escape(step.kind)}</b><div>{shown}</div></li>")
    return f"<h2>What it decided and thought</h2><ol class=moments>{''.join(rows)}</ol>" if rows else ""


def _passages(story: Timeline) -> str:
    if not story.fates:
        return ""
    numbers = {verdict: sum(fate.verdict == verdict for fate in story.fates) for verdict in ("cited", "shown", "dropped")}
    counts = ", ".join(f"{count} {verdict}" for verdict, count in numbers.items() if count)
    head = "<tr><th></th><th>passage</th><th>found by</th><th>why</th></tr>"
    rows = [
        f"<tr class={fate.verdict}><td>{fate.verdict}</td><td>{escape(fate.name or fate.id)}</td>"
        f"<td>{escape(fate.query)} <small>#{fate.place}</small></td><td>{escape(fate.why)}</td></tr>"
        for fate in story.fates
    ]
    table = f"<table>{head}{''.join(rows)}</table>"
    return f"<h2>What it found</h2><p class=note>{counts}</p><div class=scroll>{table}</div>"


_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


def wanted(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether somebody collects traces."""
    return any(environ.get(name, "").strip() for name in _ENDPOINTS) and environ.get("OTEL_SDK_DISABLED", "").lower() != "true"


def export(seen: Sequence[events.Event]) -> None:
    """Send one finished run, where somebody collects them. Blocks until it is sent; a collector that is down costs no answer."""
    if not wanted():
        return
    with optional("exporting traces", "otel"):
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import SERVICE_NAME, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    provider = TracerProvider(
        resource=Resource.create({SERVICE_NAME: os.environ.get("OTEL_SERVICE_NAME", "wellread")}), shutdown_on_exit=False
    )
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    answer = next((AnswerJson.of(event.answer) for event in seen if isinstance(event, events.Answered)), None)
    _spans(provider.get_tracer("wellread"), timeline(seen, answer), time.time())
    provider.shutdown()


def _spans(tracer: Any, story: Timeline, ended: float) -> None:
    from opentelemetry.trace import set_span_in_context

    begun = ended - story.seconds

    def moment(at: float) -> int:
        return int((begun + at) * 1e9)

    facts = {
        "wellread.strategy": story.strategy,
        "wellread.outcome": story.outcome,
        "gen_ai.request.model": story.model or "",
        "gen_ai.usage.input_tokens": story.usage.input_tokens,
        "gen_ai.usage.output_tokens": story.usage.output_tokens,
        "wellread.searches": story.usage.searches,
    }
    run = tracer.start_span("wellread.ask", start_time=moment(0.0), attributes=facts)
    inside = set_span_in_context(run)
    for step in story.steps:
        if step.kind in _KINDS:
            tokens = {"wellread.tokens": step.tokens} if step.tokens else {}
            attributes = {"wellread.label": step.label[:500], "wellread.detail": step.detail, **tokens}
            span = tracer.start_span(f"wellread.{step.kind}", inside, start_time=moment(step.start), attributes=attributes)
            span.end(moment(step.end))
        else:
            run.add_event(step.kind, {"text": step.label[:500]}, moment(step.start))
    run.end(moment(story.seconds))
