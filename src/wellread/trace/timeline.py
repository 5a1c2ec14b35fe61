"""A trace as a story: where the time and the tokens went, what was found, what became of it.

Works on the events as JSON, from a trace (`--trace`) or a recording (`--record`).
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from wellread.encodable import encodable
from wellread.errors import DamagedFile, UsageError
from wellread.replay.codec import Json
from wellread.replay.record import opened


@dataclass(frozen=True, slots=True)
class Step:
    """Something that took time, or happened at a moment (`end` equals `start`)."""

    kind: str  # search, read, model, or a word for a moment
    label: str
    start: float
    end: float
    detail: str = ""
    tokens: int = 0
    cost: float | None = None

    @property
    def seconds(self) -> float:
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of a passage that was found."""

    id: str
    title: str
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
    answer: Json
    steps: Sequence[Step]
    fates: Sequence[Fate]
    seconds: float = 0.0
    by_kind: dict[str, float] = field(default_factory=dict[str, float])  # seconds, overlaps counted twice


def load(path: Path) -> list[Json]:
    """The events in a trace or a recording."""
    try:
        with opened(path, "r") as file:
            lines: list[Any] = [encodable(json.loads(line)) for line in file if line.strip()]
    except FileNotFoundError:
        raise UsageError(f"{path}: there is no such file") from None
    except (OSError, ValueError, EOFError) as problem:
        raise DamagedFile(f"{path} is not a trace: {problem}") from None
    found: list[Json] = [line for line in lines if isinstance(line, dict) and "event" in line]
    if not found:
        raise DamagedFile(f"{path} is not a trace: there are no events in it")
    return found


def timeline(events: Sequence[Json]) -> Timeline:
    """The story of a run."""
    started = next((event for event in events if event["event"] == "started"), Json())
    answer: Json = next((event["answer"] for event in events if event["event"] == "answered"), Json())
    steps = [step for event in events for step in _steps(event)]
    by_kind: dict[str, float] = {}
    for step in steps:
        if step.seconds:
            by_kind[step.kind] = by_kind.get(step.kind, 0.0) + step.seconds
    total = max((event["at"] for event in events), default=0.0)
    return Timeline(
        question=started.get("question", ""),
        strategy=started.get("strategy", ""),
        model=started.get("model"),
        answer=answer,
        steps=sorted(steps, key=lambda step: step.start),
        fates=_fates(events, answer),
        seconds=total,
        by_kind=by_kind,
    )


def _steps(event: Json) -> Iterable[Step]:
    at: float = event["at"]
    match event["event"]:
        case "searched":
            failed = "; ".join(event.get("failures", ()))
            found = f"{len(event['hits'])} found" + (f"; failed: {failed}" if failed else "")
            yield Step("search", event["query"], at - event["seconds"], at, found)
        case "page_read":
            yield Step("read", event["title"] or event["url"], at - event["seconds"], at, f"{event['passages']} passages")
        case "page_failed":
            yield Step("read", event["url"], at, at, f"failed: {event['reason']}")
        case "model_called":
            tokens = event["input_tokens"] + event["output_tokens"]
            ending = ", cut off" if event.get("cut_off") else ""
            detail = f"{event['input_tokens']} tokens in, {event['output_tokens']} out{ending}"
            yield Step("model", event["role"], at - event["seconds"], at, detail, tokens, event["cost"])
        case kind if kind in _MOMENTS:
            yield Step(kind, _said(event), at, at)
        case _:
            return


_MOMENTS = ("decided", "rewritten", "ranked", "cut", "notice", "exhausted", "thought")


def _said(event: Json) -> str:
    match event["event"]:
        case "decided":
            return event["decision"] + (f": {event['why']}" if event["why"] else "")
        case "rewritten":
            return f"asking instead: {event['query']}"
        case "ranked":
            pairs = f", {event['pairs']} pairs read" if event.get("pairs") else ""
            return f"{len(event['kept'])} kept, {event['dropped']} dropped, by {event['by']}{pairs}"
        case "cut":
            return f"{event['what']}: {event['kept_tokens']} of {event['of_tokens']} tokens kept"
        case "exhausted":
            return f"the limit on {event['limit']} is reached"
        case _:
            return str(event.get("message") or f"{event.get('kind', '')}: {event.get('text', '')}")


def _fates(events: Sequence[Json], answer: Json) -> list[Fate]:
    found: dict[str, tuple[str, str, int]] = {}
    graded: dict[str, Json] = {}
    ranked = False
    kept: set[str] = set()  # by any of the rankings: a run may rank for each part of a question, or each page
    numbers: dict[str, list[int]] = {}
    for event in events:
        match event["event"]:
            case "searched":
                for place, hit in enumerate(event["hits"], 1):
                    found.setdefault(hit["id"], (hit["title"], event["query"], place))
            case "graded":
                graded[event["id"]] = event
            case "ranked":
                ranked = True
                kept |= {one.rpartition("@")[0] or one for one in cast("list[str]", event["kept"])}
            case "numbered":
                numbers.setdefault(_hit_of(event["passage"]["id"], found), []).append(event["number"])
            case _:
                pass
    cited = {citation["number"] for citation in answer.get("citations", ())}
    fates = [
        Fate(one, title, query, place, *_verdict(one, number, cited, graded.get(one), kept if ranked else None), number)
        for one, (title, query, place) in found.items()
        for number in [_best(numbers.get(one, ()), cited)]
    ]
    order = ("cited", "shown", "dropped")
    return sorted(fates, key=lambda fate: (order.index(fate.verdict), fate.number or 0, fate.place))


def _hit_of(passage: str, found: Container[str]) -> str:
    """The hit a passage is a part of: excerpts and paragraphs of a page have longer ids."""
    return next((one for one in (passage, passage.rpartition("~")[0], passage.rpartition("#")[0]) if one in found), passage)


def _best(numbers: Sequence[int], cited: set[Any]) -> int | None:
    """Of the numbers of a page's parts, one that the answer cites."""
    return next((number for number in numbers if number in cited), numbers[0] if numbers else None)


def _verdict(one: str, number: int | None, cited: set[Any], grade: Json | None, kept: set[str] | None) -> tuple[str, str]:
    score = "" if grade is None or grade["score"] is None else f", score {grade['score']:.2f}"
    if number is not None:
        if number in cited:
            return "cited", f"carries the answer as [{number}]{score}"
        return "shown", f"in the prompt as [{number}]{score}"
    if grade is not None and not grade["relevant"]:
        return "dropped", f"graded not relevant{score}"
    if kept is not None and one not in kept:
        return "dropped", "ranked below those that were kept"
    return "dropped", "not needed" if kept is None else "kept in the ranking, but not needed"
