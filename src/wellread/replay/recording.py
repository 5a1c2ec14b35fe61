"""A recording, read from its file."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from wellread.errors import DamagedFile, UsageError
from wellread.plain import Json
from wellread.replay.record import FORMAT, opened


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
    header = next(lines, Json())
    if "wellread recording" not in header:
        raise DamagedFile(f"{path} is not a recording: its first line does not say so")
    if header["wellread recording"] != FORMAT:
        raise DamagedFile(f"{path} is a recording of format {header['wellread recording']}; this version reads format {FORMAT}")
    found = Recording(header, [], [], [], {}, {}, {}, {}, {}, {}, False)
    try:
        complete = [_take(found, line) for line in lines]
    except (KeyError, TypeError, IndexError) as problem:
        raise DamagedFile(f"{path} is damaged: a line lacks {problem}") from None
    return replace(found, complete=any(complete))


def _take(into: Any, line: Json) -> bool:
    """Put one line where it belongs; True for the last line of a whole recording."""
    if "call" in line:
        into.calls.append(Call(line["call"], line["part"], line["method"], line["at"], line["request"]))
    elif "reply" in line:
        into.calls[line["reply"] - 1].replies.append(len(into.replies))
        into.replies.append(line)
    elif "event" in line:
        into.events.append(line)
    elif "facts" in line:
        into.facts[line["facts"]] = line
    elif "role" in line:
        into.roles[line["role"]] = line["part"]
    elif "part" in line:
        into.parts[line["kind"], line["spec"]] = line
    elif "limit" in line:
        into.struck[line["limit"]] = line["at"]
    elif "tokens" in line:
        into.counts[line["tokens"], line["text"]] = line["count"]
    elif "price" in line:
        into.prices[line["price"], *line["of"]] = line["cost"]
    return "end" in line


def _lines(path: Path) -> Iterator[Json]:
    number = 0
    try:
        with opened(path, "r") as file:
            for line in file:
                number += 1
                yield json.loads(line)
    except FileNotFoundError:
        raise UsageError(f"{path}: there is no such recording") from None
    except (OSError, EOFError, UnicodeDecodeError) as problem:
        raise DamagedFile(f"{path} cannot be read: {problem}") from None
    except json.JSONDecodeError as problem:
        raise DamagedFile(f"{path} is damaged at line {number}: {problem.msg}") from None
