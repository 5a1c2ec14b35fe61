"""A recording, read from its file."""

from __future__ import annotations

import json
import zlib
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from wellread.codec import Json
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
    gone: bool = False  # while replaying: nobody waits for it any more


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
    struck: Mapping[int, float]  # numbers of time limits, and when they struck
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
        except _Wrong as problem:
            raise DamagedFile(f"{path} is damaged at line {number}: {problem}") from None
    return replace(found, complete=complete)


class _Wrong(Exception):
    """What a line lacks."""


_NUMBER = (int, float)
# The fields of each kind of line that are used as they stand; the kind is the first of these names that a line has.
_FIELDS: Mapping[str, Mapping[str, type | tuple[type, ...]]] = {
    "call": {"call": int, "part": str, "method": str, "at": _NUMBER, "request": dict},
    "reply": {"reply": int, "at": _NUMBER},
    "event": {"event": str, "at": _NUMBER},
    "facts": {"facts": str, "kind": str},
    "role": {"role": str, "part": str},
    "part": {"kind": str, "spec": str, "part": (str, type(None))},
    "limit": {"limit": int, "at": _NUMBER},
    "tokens": {"tokens": str, "text": str, "count": int},
    "price": {"price": str, "of": list, "cost": (*_NUMBER, type(None))},
    "end": {"end": int},
}
_HEADER: Mapping[str, type | tuple[type, ...]] = {
    "question": str,
    "strategy": str,
    "params": dict,
    "history": list,
    "settings": dict,
    "today": str,
    "marker": str,
    "model": (str, type(None)),
}


def check_header(recording: Recording) -> None:
    """The first line says all that a run begins with, or the recording is damaged."""
    try:
        _check({"earlier": [], **recording.header}, {**_HEADER, "earlier": list})  # of a run that went on with another
        if not all(isinstance(one, dict) for one in recording.header.get("earlier", ())):
            raise _Wrong("'earlier' is not a list of events")
        turns: list[Any] = recording.header["history"]
        if not all(isinstance(turn, list) and [*map(type, turn)] == [str, str] for turn in turns):  # pyright: ignore[reportUnknownArgumentType]
            raise _Wrong("'history' is not a list of questions and answers")
    except _Wrong as problem:
        raise DamagedFile(f"the recording is damaged at line 1: {problem}") from None


def _check(line: Json, wanted: Mapping[str, type | tuple[type, ...]]) -> None:
    for name, kind in wanted.items():
        if name not in line:
            raise _Wrong(f"it lacks {name!r}")
        if not isinstance(line[name], kind) or isinstance(line[name], bool):
            raise _Wrong(f"{name!r} is {json.dumps(line[name])[:40]}")


def _take(into: Any, line: Json) -> bool:
    """Put one line where it belongs; True for the last line of a whole recording."""
    kind = next((kind for kind in _FIELDS if kind in line), None)
    if kind is None:
        return False
    _check(line, _FIELDS[kind])
    match kind:
        case "call":
            if line["call"] != len(into.calls) + 1:
                raise _Wrong(f"call {line['call']} is not the next one")
            into.calls.append(Call(line["call"], line["part"], line["method"], line["at"], line["request"]))
        case "reply":
            _check_reply(line, len(into.calls))
            into.calls[line["reply"] - 1].replies.append(len(into.replies))
            into.replies.append(line)
        case "event":
            into.events.append(line)
        case "price":
            if [type(count) for count in line["of"]] != [int, int]:
                raise _Wrong("'of' is not two counts")
            into.prices[line["price"], *line["of"]] = line["cost"]
        case _:
            _take_fact(into, kind, line)
    return kind == "end"


def _take_fact(into: Any, kind: str, line: Json) -> None:
    match kind:
        case "facts":
            into.facts[line["facts"]] = line
        case "role":
            into.roles[line["role"]] = line["part"]
        case "part":
            into.parts[line["kind"], line["spec"]] = line
        case "limit":
            into.struck[line["limit"]] = line["at"]
        case "tokens":
            into.counts[line["tokens"], line["text"]] = line["count"]
        case _:
            pass


def _check_reply(line: Json, calls: int) -> None:
    if not 1 <= line["reply"] <= calls:
        raise _Wrong(f"it answers call {line['reply']}, which was not made")
    for name, kind in (("piece", str), ("left", str), ("error", dict)):
        if name in line:
            _check(line, {name: kind})
            return
    if "value" not in line:
        raise _Wrong("it lacks 'value'")


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
