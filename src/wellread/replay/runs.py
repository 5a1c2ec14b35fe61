"""Runs on tape: `recorded` runs an engine and writes the file, `replayed` runs the file again.

async for event in recorded(engine, path, "Who invented the telescope?"): …
async for event in replayed(path): …        the same events, bit for bit, or ReplayMismatch
"""

from __future__ import annotations

import asyncio
import difflib
import json
import os
from collections import defaultdict, deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, nullcontext
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from wellread import events
from wellread.core import codec
from wellread.core.codec import Json, brief
from wellread.core.effort import Effort
from wellread.core.timeouts import Patience
from wellread.engine import Engine, clean_question
from wellread.errors import DamagedFile, ReplayMismatch, UsageError, WellreadError
from wellread.parameters import fill
from wellread.parts import Parts
from wellread.protocols import Source
from wellread.replay.one_at_a_time import RecordedLimit, Threads
from wellread.replay.parts import ON_TAPE, PartsOnTape
from wellread.replay.record import Call, Recorder, Recording, check_header, fingerprint, load
from wellread.run import Environment
from wellread.settings import Settings
from wellread.types import Completion, Fault

T = TypeVar("T")
_NOT_RECORDED = ("server", "cache", "allow_hosts", "ignore_robots")  # of no use to a replay, or not for others to read


_LATEST = 1e9  # seconds that a run may have taken: what a damaged recording says beyond that could not be reckoned with


class Player:
    """The tape of one run, being played. `departed` says where the run first left its recording, or None.

    A run that departs would wait for an answer that never comes: after `patience` seconds without any
    progress it is told so.
    """

    def __init__(self, recording: Recording, *, patience: float = 10.0) -> None:
        self.recording = recording
        self.departed: WellreadError | None = None
        self._patience = patience
        self._now: float = 0.0
        self._asked = 0
        self._limits = 0
        self._pending: set[RecordedLimit] = set()
        self._striking: asyncio.Task[None] | None = None
        self._position = 0
        self._seen = self._stamped = 0
        self._waiting: dict[int, asyncio.Event] = {}
        self._parts: dict[str, Any] = {}
        self._threads = Threads()
        self._open: dict[str, deque[Call]] = defaultdict(deque)
        for call in recording.calls:
            self._open[_key(call.part, call.method, call.request)].append(call)
        self._orders = {call.number: deque(call.replies) for call in recording.calls}

    def outside(self) -> Environment:
        """The recorded run's environment. Time limits are not measured again: what they cut off is in the file."""
        header = self.recording.header
        effort: Effort = header["settings"].get("effort", "normal")
        return Environment(
            clock=lambda: self._now,
            today=lambda: header["today"],
            marker=lambda: header["marker"],
            patience=lambda: nullcontext(self._limit),
            stamp=self._stamp,
            aside=self._threads.aside,
            earlier=[one for body in header.get("earlier", ()) if (one := events.from_json(body))],
            kit=lambda kit: PartsOnTape(self, None, effort),
        )

    def _limit(self, seconds: float | None, limit: str) -> Patience:
        """Takes as long as it takes, unless it has struck then."""
        self._limits += 1
        if self._limits not in self.recording.struck:
            return asyncio.timeout(None)
        at, behind = self.recording.struck[self._limits]
        return RecordedLimit(self._pending, self._limits, at, behind, lambda: self._reach(at))

    def source(self, role: str) -> Source | None:
        """The source that had this role, as far as it is in the file."""
        label = self.recording.roles.get(role)
        return None if label is None else self._part(label)

    def event(self, event: events.Event) -> None:
        """Compare an event with the recorded one."""
        seen: Json = codec.loads(Json, codec.dumps(events.to_json(event)))
        recorded = self.recording.events[self._seen] if self._seen < len(self.recording.events) else None
        self._seen += 1
        if self.departed is None and seen != recorded and (recorded is not None or self.recording.complete):
            self.departed = of_event(self._seen, recorded, seen)

    def finish(self) -> None:
        """The run is over: raise where it departed, if it did."""
        if self.departed is None and self._seen < len(self.recording.events):
            self.departed = of_event(self._seen + 1, self.recording.events[self._seen], None)
        if self.departed is not None:
            raise self.departed

    async def call(self, part: str, method: str, request: Json, job: Callable[[], Awaitable[T]], kind: type[T]) -> T:
        return self._decoded(kind, (await self._take(await self._match(part, method, request)))["value"])

    async def stream(
        self, part: str, request: Json, job: Callable[[], AsyncIterator[str | Completion]]
    ) -> AsyncGenerator[str | Completion, None]:
        call = await self._match(part, "stream", request)
        while "piece" in (reply := await self._take(call)):
            yield reply["piece"]
        if "value" in reply:
            yield self._decoded(Completion, reply["value"])

    def count(self, part: str, text: str, job: Callable[[], int]) -> int:
        """As recorded. A text that is not known there is guessed at: the prompt it goes into will show the difference."""
        return self.recording.counts.get((part, fingerprint(text)), len(text) // 4)

    def price(self, part: str, tokens: tuple[int, int], job: Callable[[], float | None]) -> float | None:
        return self.recording.prices.get((part, *tokens))

    def part(self, kind: str, spec: str, build: Callable[[], Any]) -> Any:
        line = self.recording.parts.get((kind, spec))
        if line is None:
            raise self._depart(of_call(self._asked, None, (kind, "is asked for", {"spec": spec})))
        if "error" in line:
            raise self._decoded(Fault, line["error"]).error()
        return None if line["part"] is None else self._part(line["part"])

    def member(self, inner: Any, place: str) -> Any:
        return self._part(place)

    def _part(self, label: str) -> Any:
        if label not in self._parts:
            facts = self.recording.facts.get(label)
            if facts is None:
                raise self._depart(DamagedFile(f"the recording is damaged: it says nothing about {label!r}"))
            self._parts[label] = self._used(lambda: ON_TAPE[facts["kind"]](self, label, facts, None), facts)
        return self._parts[label]

    def _decoded(self, kind: type[T], data: Any) -> T:
        return self._used(lambda: codec.decode(kind, data), data)

    def _used(self, build: Callable[[], T], data: Any) -> T:
        """A value of the file as ours. Anyone may have written the file: whatever fails here is its damage."""
        try:
            return build()
        except WellreadError:
            raise
        except Exception as problem:
            words = json.dumps(data, ensure_ascii=False)[:60]
            raise self._depart(DamagedFile(f"the recording is damaged: {words} cannot be used ({problem})")) from None

    async def _match(self, part: str, method: str, request: Json) -> Call:
        """The recorded call with this content; of several equal ones the earliest."""
        if self.departed is not None:
            raise self.departed
        self._asked += 1
        found = self._open.get(_key(part, method, request))
        if not found:
            await self._strike()  # a limit may have come before it
            expected = self._expected(part, method)
            asked = (part, method, request)
            place = self._asked if expected is None else expected.number
            recorded = None if expected is None else (expected.part, expected.method, expected.request)
            raise self._depart(of_call(place, recorded, asked))
        call = found.popleft()
        self._reach(call.at)
        return call

    def _expected(self, part: str, method: str) -> Call | None:
        """The recorded call in place of one that is not in the file: the first of its kind not yet made."""
        waiting = sorted((call for calls in self._open.values() for call in calls), key=lambda call: call.number)
        alike = [call for call in waiting if (call.part, call.method) == (part, method)]
        return next(iter(alike or waiting), None)

    async def _take(self, call: Call) -> Json:
        """The call's next reply, when all replies before it have been given."""
        orders = self._orders[call.number]
        order = orders.popleft() if orders else -1  # its turn never comes: something else will end the waiting
        self._wake()
        while self._position != order:
            await self._until_progress(order)
        await self._threads.settle()
        await self._strike()
        self._position += 1
        reply = self.recording.replies[order]
        self._reach(reply["at"])
        self._wake()
        if self.departed is not None:
            raise self.departed
        if "error" in reply:
            raise self._decoded(Fault, reply["error"]).error()
        return reply

    async def _until_progress(self, order: int) -> None:
        before = self._position
        called = self._waiting.setdefault(order, asyncio.Event())
        try:
            async with asyncio.timeout(self._patience):
                await called.wait()
        except TimeoutError:
            await self._threads.settle()  # the time may have passed in one long computation
            if self._position == before:
                raise self._depart(self._stuck()) from None
        if self.departed is not None:  # woken because the turn will not come any more
            raise self.departed

    def _stuck(self) -> ReplayMismatch:
        if self._position >= len(self.recording.replies):
            return ReplayMismatch("the recording ends here: the run was left before its answer")
        number: int = self.recording.replies[self._position]["reply"]
        call = self.recording.calls[number - 1]
        asked = json.dumps(call.request, ensure_ascii=False, indent=2)
        where = f"the recording goes on with call {number} ({call.part}, {call.method})"
        return ReplayMismatch(f"{where}, which the run does not make", asked)

    def _wake(self) -> None:
        """Wake the one whose turn it is, and the limits that are due."""
        if called := self._waiting.pop(self._position, None):
            called.set()
        if self._due() and (self._striking is None or self._striking.done()):
            self._striking = asyncio.get_running_loop().create_task(self._strike())

    def _due(self) -> list[RecordedLimit]:
        return sorted((one for one in self._pending if one.behind <= self._position), key=lambda one: (one.at, one.number))

    async def _strike(self) -> None:
        """Let limits strike that did behind the answers given so far, when all that these have set in motion has come to rest:
        together, unless there was an event between them."""
        while self._due():
            await self._threads.settle()
            for place, limit in enumerate(self._due()):
                if place and any(event["at"] < limit.at for event in self.recording.events[self._stamped :]):
                    break
                limit.strike()
            await self._threads.settle()

    def _reach(self, at: float) -> None:
        self._now = max(self._now, min(at, _LATEST))

    def _stamp(self) -> float:
        """When the run's next event came then, though what came just after it may be answered already."""
        now = self._now
        if self._stamped < len(self.recording.events):
            now = min(self.recording.events[self._stamped]["at"], _LATEST)
            self._reach(now)
        self._stamped += 1
        return now

    def _depart(self, problem: WellreadError) -> WellreadError:
        self.departed = self.departed or problem
        for called in self._waiting.values():
            called.set()
        return self.departed


def _key(part: str, method: str, request: Json) -> str:
    return json.dumps([part, method, request], sort_keys=True, ensure_ascii=False)


_AROUND = 30  # characters shown on each side of the first difference


def of_call(number: int, recorded: tuple[str, str, Json] | None, asked: tuple[str, str, Json]) -> ReplayMismatch:
    """A call that is not in the recording; `recorded` is the one that stands in its place there."""
    part, method, request = asked
    what = f"call {number} ({part}, {method})"
    if recorded is None:
        return ReplayMismatch(f"{what} is not in the recording: nothing like it is left there", "\n".join(_lines(request)))
    if recorded[:2] != asked[:2]:
        instead = f"{recorded[0]}, {recorded[1]}"
        return ReplayMismatch(f"{what} is not in the recording, which has ({instead}) there", _diff(recorded[2], request))
    place, old, new = first_difference(recorded[2], request)
    words = f"{what} departs from the recording at {place}: {old!r} was asked, now it is {new!r}"
    return ReplayMismatch(words, _diff(recorded[2], request))


def of_event(number: int, recorded: Json | None, seen: Json | None) -> ReplayMismatch:
    """An event that is not the one in the recording."""
    if recorded is None or seen is None:
        name = (seen or recorded or {}).get("event", "?")
        where = "is new: the recording has no such event" if recorded is None else "is missing: the run ended before it"
        return ReplayMismatch(f"event {number} ({name}) {where}", _diff(recorded or {}, seen or {}))
    place, old, new = first_difference(recorded, seen)
    return ReplayMismatch(
        f"event {number} ({seen['event']}) departs from the recording at {place}: {old!r} was reported, now it is {new!r}",
        _diff(recorded, seen),
    )


def first_difference(old: Any, new: Any, place: str = "") -> tuple[str, str, str]:
    """The path to the first difference, and both sides around it."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:  # pyright: ignore[reportUnknownVariableType]
            if old.get(key) != new.get(key):  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
                return first_difference(old.get(key), new.get(key), f"{place}.{key}" if place else str(key))  # pyright: ignore
    if isinstance(old, list) and isinstance(new, list):
        for index, (one, other) in enumerate(zip(old, new, strict=False)):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            if one != other:
                return first_difference(one, other, f"{place}[{index}]")
        return f"the length of {place}", str(len(old)), str(len(new))  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(old, str) and isinstance(new, str):
        at = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
        return f"{place}, character {at + 1}", _around(old, at), _around(new, at)
    return place or "the whole", _short(old), _short(new)


def _around(text: str, at: int) -> str:
    start = max(0, at - _AROUND)
    end = at + _AROUND
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 2 * _AROUND else text[: 2 * _AROUND] + "…"


def _diff(old: Json, new: Json) -> str:
    return "\n".join(difflib.unified_diff(_lines(old), _lines(new), "recorded", "now", lineterm="", n=2))


def _lines(value: Any, place: str = "") -> Sequence[str]:
    """One line for each value, texts with their own line breaks, so that a diff shows the words that changed."""
    if isinstance(value, dict):
        return [line for key, item in value.items() for line in _lines(item, f"{place}.{key}" if place else str(key))]  # pyright: ignore
    if isinstance(value, list):
        return [line for index, item in enumerate(value) for line in _lines(item, f"{place}[{index}]")]  # pyright: ignore
    if isinstance(value, str) and "\n" in value:
        return [f"{place}:", *(f"    {line}" for line in value.split("\n"))]
    return [f"{place}: {value if isinstance(value, str) else json.dumps(value)}"]


async def recorded(
    engine: Engine,
    path: Path,
    question: str,
    *,
    strategy: str | None = None,
    params: Mapping[str, object] | None = None,
    history: Sequence[tuple[str, str]] = (),
    environ: Mapping[str, str] = os.environ,
) -> AsyncGenerator[events.Event, None]:
    """The events of one run, while it is written to `path`."""
    header: dict[str, Any] = {
        "question": clean_question(question),
        "strategy": engine.strategy(strategy),
        "model": engine.kit.model_spec(),
        "params": brief(params or {}),
        "history": [list(turn) for turn in history],
        **({"earlier": [events.to_json(one) for one in engine.outside.earlier]} if engine.outside.earlier else {}),
        "settings": {f.name: brief(getattr(engine.settings, f.name)) for f in fields(Settings) if f.name not in _NOT_RECORDED},
    }
    with Recorder(path, header, engine.outside, environ) as tape:
        run = engine.stream(question, strategy=strategy, params=params, history=history, outside=tape.outside())
        async with aclosing(run) as stream:
            async for event in stream:
                tape.event(event)
                yield event


async def replayed(
    path: Path | Recording,
    *,
    question: str | None = None,
    strategy: str | None = None,
    params: Mapping[str, object] | None = None,
    patience: float = 10.0,
) -> AsyncGenerator[events.Event, None]:
    """The events of a recorded run again, without network or model.

    What is given here takes the place of what was recorded, to see where that leads elsewhere. Where the
    run leaves its recording, `ReplayMismatch` is raised after the events until there.
    """
    recording = path if isinstance(path, Recording) else load(path)
    player = Player(recording, patience=patience)
    source = player.source("main")
    if source is None:
        raise DamagedFile("the recording ends before its run began")
    check_header(recording)
    header = recording.header
    kit = _KitOfTape(_settings(recording), environ={})
    engine = Engine(kit.settings, kit=kit, source=source, fallback=player.source("fallback"), outside=player.outside())
    stream = engine.stream(
        question or recording.question,
        strategy=strategy or header["strategy"],
        params={**(header["params"] if strategy in (None, header["strategy"]) else {}), **(params or {})},
        history=[(asked, answered) for asked, answered in header["history"]],
    )
    async with engine, aclosing(stream):
        count = 0
        async for event in stream:
            player.event(event)
            if player.departed is not None:
                break
            yield event
            count += 1
            if not recording.complete and count == len(recording.events):
                return  # the recorded run was left here too
        player.finish()


class _KitOfTape(Parts):
    """Builds nothing: a recording may come from anyone, and the parts that its settings name are not to be reached."""

    def _kept(self, kind: str, name: str, build: Callable[[], T]) -> T:
        raise ReplayMismatch(f"the run asks for {name or 'a part'} ({kind}), which is not in the recording")


def _settings(recording: Recording) -> Settings:
    values = {**recording.header["settings"], "model": recording.header["model"] or "none"}
    try:
        return fill(Settings, values, "recording")
    except UsageError as problem:
        raise DamagedFile(f"the recording's settings cannot be used: {problem}") from problem
