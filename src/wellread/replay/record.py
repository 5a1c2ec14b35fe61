"""Recording a run: everything it gets from outside, line by line, in the order it got it; and such a file read again.

    {"wellread recording": 1, "question": …}            the first line: what was asked and how
    {"part": "source library", …}                       a part the run works with
    {"call": 1, "part": …, "method": …, "request": …}   something is asked
    {"reply": 1, "value" | "piece" | "error"}           and answered; a model's reply comes in pieces
    {"limit": n}                                        the run's n-th time limit struck, and cut off what was not answered
    {"tokens": "model x", "text": hash, "count": n}     how long a text is for a model
    {"price": "model x", "of": [in, out], "cost": c}    what a call that was cut off cost
    {"event": …}                                        what the run reported
    {"end": n}                                          the last line: how many events there were

While recording, the clock moves only where the file says so: when something is asked, when it is answered
and when an event is reported. That is what lets a replay show the same times.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import re
import zlib
from base64 import b64encode
from collections import Counter, deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, make_dataclass, replace
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import IO, Any, TypeVar, cast
from urllib.parse import unquote

from wellread import events
from wellread.core import safe_files
from wellread.core.codec import Json, brief, decode, loads
from wellread.core.unicode_safety import with_texts
from wellread.errors import DamagedFile, UsageError, WellreadError
from wellread.net.address import secrets
from wellread.protocols import Source
from wellread.replay.one_at_a_time import Threads, TimeLimit
from wellread.replay.parts import ON_TAPE, PartsOnTape, facts_of
from wellread.run import Environment
from wellread.types import Completion, Fault
from wellread.version import __version__

FORMAT = 2
_LONGEST_LINE = 100_000_000  # characters; a page that was read is a few million at most
_USERS = ("settings", "params", "model")  # what a user wrote as specs and options, perhaps with a key in it
T = TypeVar("T")


def opened(path: Path, mode: str) -> IO[str]:
    """A recording's file; `.gz` is packed. Half a character is written as JSON escapes it, and comes back as it was."""
    errors = "backslashreplace" if mode == "w" else "strict"
    if mode == "r":
        safe_files.opened(path).close()  # it may come from others, and be no file
    if path.suffix == ".gz":
        return cast("IO[str]", gzip.open(path, f"{mode}t", encoding="utf-8", errors=errors, compresslevel=3))
    return path.open(mode, encoding="utf-8", errors=errors)


def lines_of(path: Path) -> Iterator[str]:
    """A recording line by line; `ValueError` for one that no recording has: a small file may unpack to anything."""
    with opened(path, "r") as file:
        while line := file.readline(_LONGEST_LINE):
            if len(line) == _LONGEST_LINE:
                raise ValueError("a line of it is too long")
            yield line


def fingerprint(text: str) -> str:
    """A short name for a text."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


_NAMES = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|AUTH", re.IGNORECASE)
_SHORTEST = 6  # characters; a shorter value would cover words of the text
_SHAPES = re.compile(
    r"(?P<user>(?<=://)[^/\s:@\"]+:[^/\s@\"]+(?=@))"
    r"|(?P<bearer>(?<=[Bb]earer )[\w.~+/=-]{6,})"
    r"|(?P<known>\b(?:sk|tvly|xox[abprs]|ghp|hf)[-_][\w-]{12,})"
)
_OPTION = re.compile(
    r"(?P<name>[?&](?:api_?key|key|token|access_token|secret|password|auth)=)(?P<value>[^&\s\"]+)", re.IGNORECASE
)
COVER = "•"


class Covers:
    """Knows the secrets of an environment, and those that settings carry, and covers them."""

    def __init__(self, environ: Mapping[str, str] = os.environ, settings: Any = None) -> None:
        values = {value.strip() for name, value in environ.items() if _NAMES.search(name)} | _carried(settings)
        self._values = sorted((value for value in values if len(value) >= _SHORTEST), key=len, reverse=True)

    def text(self, text: str) -> str:
        """Text from anywhere: only known secrets are covered, so that contents stay as they are."""
        for value in self._values:
            if value in text:
                text = text.replace(value, COVER * len(value))
        return text

    def line(self, data: Mapping[str, Any]) -> str:
        """A line of the file."""
        return self.text(json.dumps(data, ensure_ascii=False))

    def setting(self, value: T) -> T:
        """Specs, addresses and options of the user: also what has the look of a key is covered."""

        def covered(text: str) -> str:
            readable = next((form for form in (text, unquote(text)) if _SHAPES.search(form)), text)
            plain = _SHAPES.sub(lambda match: COVER * len(match[0]), self.text(readable))
            return _OPTION.sub(lambda match: match["name"] + COVER * len(match["value"]), plain)

        return with_texts(value, covered)


def _carried(value: Any) -> set[str]:
    """Secrets in specs and options, by their look."""
    found = set[str]()

    def look(text: str) -> str:
        for match in _SHAPES.finditer(unquote(text)):
            found.update(secrets("Basic " + b64encode(unquote(match[0]).encode()).decode()) if match["user"] else (match[0],))
        found.update(match["value"] for match in _OPTION.finditer(text))
        return text

    with_texts(value, look)
    return found


class Recorder:
    """The tape of one run, being written. Use as `with`; `outside` goes to the engine, `event` gets each event."""

    def __init__(self, path: Path, header: Mapping[str, Any], base: Environment, environ: Mapping[str, str]):
        self._covers = Covers(environ, [header.get("settings"), header.get("params")])
        self._problem: OSError | None = None  # a full disk must not cost the answer: it is told when the run is over
        self._path = path
        try:
            self._file = opened(path, "w")
        except OSError as problem:
            raise UsageError(self._told(problem)) from None
        self._base = base
        self._begun = base.clock()
        self._now = 0.0
        self._limits = 0
        self._calls = 0
        self._events = 0
        self._turn = asyncio.Lock()
        self._threads = Threads()
        self._labels = Counter[str]()
        self._parts: dict[tuple[str, str], Any] = {}
        self._wrapped: dict[tuple[str, int], tuple[str, Any, Any]] = {}
        self._counts: dict[tuple[str, str], int] = {}
        self._prices: dict[tuple[str, int, int], float | None] = {}
        self._today, self._marker = base.today(), base.marker()
        asked = {**header, **self._covers.setting({name: header[name] for name in _USERS if name in header})}
        fixed = {"today": self._today, "marker": self._marker}
        self._write({"wellread recording": FORMAT, "version": __version__, **asked, **fixed})

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            self._write({"end": self._events})
        self._trying(self._file.close)
        if self._problem is not None and kind is None:
            raise WellreadError(self._told(self._problem))

    def outside(self) -> Environment:
        """The run's environment, with this tape before it."""
        return Environment(
            clock=lambda: self._now,
            today=lambda: self._today,
            marker=lambda: self._marker,
            patience=lambda: nullcontext(self._limit),
            stamp=self._tick,
            aside=self._threads.aside,
            earlier=self._base.earlier,
            consent=self._base.consent,
            kit=lambda kit: PartsOnTape(self, kit, kit.effort, kit.cache),
            source=lambda role, source: self._played(role, source),
        )

    def event(self, event: events.Event) -> None:
        """Write an event down."""
        self._events += 1
        self._write(cast("Json", events.to_json(event)))
        if self._problem is None:
            self._trying(self._file.flush)

    async def call(self, part: str, method: str, request: Json, job: Callable[[], Awaitable[T]], kind: type[T]) -> T:
        reply = await self._replied(self._asked(part, method, request), job, lambda value: {"value": brief(value)})
        return decode(kind, reply["value"])  # the run sees what is in the file

    async def stream(
        self, part: str, request: Json, job: Callable[[], AsyncIterator[str | Completion]]
    ) -> AsyncGenerator[str | Completion, None]:
        number, inner = self._asked(part, "stream", request), job()

        def told(item: str | Completion | None) -> Json:
            return {"piece": item} if isinstance(item, str) else {"value": brief(item)} if item else {"ended": True}

        try:
            while "piece" in (reply := await self._replied(number, lambda: anext(inner, None), told)):
                yield reply["piece"]
            if "value" in reply:
                yield decode(Completion, reply["value"])
        finally:
            if isinstance(inner, AsyncGenerator):
                await inner.aclose()

    def count(self, part: str, text: str, job: Callable[[], int]) -> int:
        key = (part, fingerprint(text))
        if key not in self._counts:
            self._counts[key] = job()
            self._write({"tokens": part, "text": key[1], "count": self._counts[key]})
        return self._counts[key]

    def price(self, part: str, tokens: tuple[int, int], job: Callable[[], float | None]) -> float | None:
        key = (part, *tokens)
        if key not in self._prices:
            self._prices[key] = job()
            self._write({"price": part, "of": list(tokens), "cost": self._prices[key]})
        return self._prices[key]

    def part(self, kind: str, spec: str, build: Callable[[], Any]) -> Any:
        """A part for the kit: built, written down and wrapped once; an error is written down each time."""
        key = (kind, spec)
        if key in self._parts:
            return self._parts[key]
        asked = {"kind": kind, "spec": self._covers.setting(spec)}
        try:
            inner = build()
        except Exception as problem:
            self._write({"part": None, **asked, "error": brief(Fault.of(problem))})
            raise
        if inner is None:
            self._write({"part": None, **asked})
            self._parts[key] = None
        else:
            label, self._parts[key] = self._wrap(kind, inner)
            self._write({"part": label, **asked})
        return self._parts[key]

    def member(self, inner: Any, place: str) -> Any:
        return self._wrap("source", inner)[1]

    def _played(self, role: str, source: Source) -> Source:
        label, wrapped = self._wrap("source", source)
        self._write({"part": label, "kind": "source", "role": role})
        return wrapped

    def _wrap(self, kind: str, inner: Any) -> tuple[str, Any]:
        """One wrapper for one part: strategies may compare them."""
        key = (kind, id(inner))
        if key not in self._wrapped:
            facts = self._covers.setting(facts_of(kind, inner))
            label = f"{kind} {facts.get('name', '')}".strip()
            self._labels[label] += 1
            label += f" ({self._labels[label]})" if self._labels[label] > 1 else ""
            if "members" in facts:  # members are called by their labels
                facts["members"] = [self._wrap("source", source)[0] for source in inner.members]
            self._write({"facts": label, "kind": kind, **facts})
            self._wrapped[key] = (label, ON_TAPE[kind](self, label, facts, inner), inner)
        label, wrapped, _ = self._wrapped[key]
        return label, wrapped

    def _asked(self, part: str, method: str, request: Json) -> int:
        self._calls += 1
        self._write({"call": self._calls, "part": part, "method": method, "at": self._tick(), "request": request})
        return self._calls

    async def _replied(self, number: int, job: Callable[[], Awaitable[T]], told: Callable[[T], Json]) -> Json:
        """An answer, or an error, reaches the run when it is its turn."""
        failure: Exception | None = None
        try:
            reply = told(await job())
        except Exception as problem:
            failure, reply = problem, {"error": brief(Fault.of(problem))}
        async with self._turn:
            await self._threads.settle()
        self._write({"reply": number, "at": self._tick(), **reply})
        if failure is not None:
            raise failure
        return reply

    def _limit(self, seconds: float | None, limit: str) -> TimeLimit:
        self._limits += 1
        number = self._limits
        return TimeLimit(seconds, lambda: self._write({"limit": number, "at": self._tick()}))

    def _tick(self) -> float:
        self._now = max(self._now, round(self._base.clock() - self._begun, 4))
        return self._now

    def _write(self, data: Json) -> None:
        if not self._file.closed and self._problem is None:
            self._trying(lambda: self._file.write(self._covers.line(data) + "\n"))

    def _trying(self, deed: Callable[[], object]) -> None:
        try:
            deed()
        except OSError as problem:
            self._problem = self._problem or problem

    def _told(self, problem: OSError) -> str:
        return f"{self._path}: the recording cannot be written: {problem.strerror or problem}"


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
    """A recording in memory: calls, replies and events."""

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
    """Header of a recording: what a run begins with."""

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
            yield number, loads(Json, line)
    except FileNotFoundError:
        raise UsageError(f"{path}: there is no such recording") from None
    except ValueError as problem:
        raise DamagedFile(f"{path} is damaged at line {number}: {problem}") from None
    except (OSError, EOFError, zlib.error) as problem:
        raise DamagedFile(f"{path} cannot be read: {problem}") from None
