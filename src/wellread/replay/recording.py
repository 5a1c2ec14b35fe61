"""A recording, read from its file."""

from __future__ import annotations

import json
import zlib
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, make_dataclass, replace
from pathlib import Path
from typing import Any

from wellread.core.codec import Json, decode
from wellread.errors import DamagedFile, UsageError
from wellread.replay.record import FORMAT, lines_of


@dataclass(slots=True)
class Call:
    """Something that was asked, and where in the order of all replies its own are."""

    number: int
    part: str
    method: str
    at: float
    request: Json
    replies: deque[int] = field(default_factory=deque[int])


@dataclass(frozen=True, slots=True)
class Recording:
    """What was asked, what was answered and what was reported."""

    header: Json
    calls: Sequence[Call]
    replies: Sequence[Json]  # in the order in which the run got them
    events: Sequence[Json]
    facts: Mapping[str, Json]  # by label
    parts: Mapping[tuple[str, str], Json]  # by kind and spec
    roles: Mapping[str, str]  # labels of the main source and the fallback
    counts: Mapping[tuple[str, str], int]
    prices: Mapping[tuple[str, int, int], float | None]
    struck: Mapping[int, tuple[float, int]]  # numbers of time limits, when they struck, and behind how many replies
    complete: bool

    @property
    def question(self) -> str:
        return self.header["question"]


def load(path: Path) -> Recording:
    """Read a recording; `DamagedFile` names the line that is broken."""
    lines = _lines(path)
    _, header = next(lines, (1, Json()))
    if "wellread recording" not in header:
        raise DamagedFile(f"{path} is not a recording: its first line does not say so")
    if header["wellread recording"] != FORMAT:
        raise DamagedFile(f"{path} is a recording of format {header['wellread recording']}; this version reads format {FORMAT}")
    found = Recording(header, [], [], [], {}, {}, {}, {}, {}, {}, False)
    complete = False
    for number, line in lines:
        try:
            complete |= _take(found, line)
        except ValueError as problem:
            raise DamagedFile(f"{path} is damaged at line {number}: {problem}") from None
    return replace(found, complete=complete)


@dataclass(frozen=True, slots=True)
class _Header:
    """What a run begins with."""

    question: str
    strategy: str
    params: Json
    history: list[tuple[str, str]]
    settings: Json
    today: str
    marker: str
    model: str | None
    earlier: list[Json] = field(default_factory=list[Json])  # of a run that went on with another


def _line(**fields: Any) -> type[Any]:
    return make_dataclass("Line", fields.items())


# The fields of each kind of line that are used as they stand; the kind is the first of these names that a line has.
_LINES: Mapping[str, type[Any]] = {
    "call": _line(call=int, part=str, method=str, at=float, request=Json),
    "reply": _line(reply=int, at=float),
    "event": _line(event=str, at=float),
    "facts": _line(facts=str, kind=str),
    "role": _line(role=str, part=str),
    "part": _line(kind=str, spec=str, part=str | None),
    "limit": _line(limit=int, at=float),
    "tokens": _line(tokens=str, text=str, count=int),
    "price": _line(price=str, of=tuple[int, int], cost=float | None),
    "end": _line(end=int),
}
_REPLIES: Mapping[str, type[Any]] = {
    "piece": _line(piece=str),
    "error": _line(error=Json),
    "ended": _line(ended=bool),
    "value": _line(value=object),
}


def check_header(recording: Recording) -> None:
    """The first line says all that a run begins with, or the recording is damaged."""
    try:
        decode(_Header, recording.header)
    except ValueError as problem:
        raise DamagedFile(f"the recording is damaged at line 1: {problem}") from None


def _take(into: Any, line: Json) -> bool:
    """Put one line where it belongs; True for the last line of a whole recording."""
    kind = next((kind for kind in _LINES if kind in line), "")
    if kind:
        decode(_LINES[kind], line)
    match kind:
        case "call":
            if line["call"] != len(into.calls) + 1:
                raise ValueError(f"call {line['call']} is not the next one")
            into.calls.append(Call(line["call"], line["part"], line["method"], line["at"], line["request"]))
        case "reply":
            if not 1 <= line["reply"] <= len(into.calls):
                raise ValueError(f"it answers call {line['reply']}, which was not made")
            decode(_REPLIES[next((name for name in _REPLIES if name in line), "value")], line)
            into.calls[line["reply"] - 1].replies.append(len(into.replies))
            into.replies.append(line)
        case _:
            _take_fact(into, kind, line)
    return kind == "end"


def _take_fact(into: Any, kind: str, line: Json) -> None:
    match kind:
        case "event":
            into.events.append(line)
        case "facts":
            into.facts[line["facts"]] = line
        case "role":
            into.roles[line["role"]] = line["part"]
        case "part":
            into.parts[line["kind"], line["spec"]] = line
        case "limit":
            into.struck[line["limit"]] = line["at"], len(into.replies)
        case "tokens":
            into.counts[line["tokens"], line["text"]] = line["count"]
        case "price":
            into.prices[line["price"], *line["of"]] = line["cost"]
        case _:
            pass


def _lines(path: Path) -> Iterator[tuple[int, Json]]:
    number = 0
    try:
        for line in lines_of(path):
            number += 1
            found = json.loads(line)
            if not isinstance(found, dict):
                raise DamagedFile(f"{path} is damaged at line {number}: it is no object")
            yield number, found  # pyright: ignore[reportUnknownVariableType]
    except FileNotFoundError:
        raise UsageError(f"{path}: there is no such recording") from None
    except json.JSONDecodeError as problem:
        raise DamagedFile(f"{path} is damaged at line {number}: {problem.msg}") from None
    except (OSError, EOFError, zlib.error, ValueError, RecursionError) as problem:
        raise DamagedFile(f"{path} cannot be read: {problem}") from None
