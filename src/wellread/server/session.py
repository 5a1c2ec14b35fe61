"""A session: one client's way to ask, follow, stop and store. `/api`, `/v1` and the page are doors on it, MCP on its runs."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Protocol

from starlette.requests import Request

from wellread import events
from wellread.codec import Json
from wellread.errors import WellreadError
from wellread.marks import Marks, shown
from wellread.present.markdown import opening
from wellread.server import follow_up
from wellread.server.addresses import linked
from wellread.server.follow_up import TURNS
from wellread.server.limits import Ticket
from wellread.server.menu import ClientRequest, ReadyRun
from wellread.server.record import Record, completed
from wellread.server.runs import Door, Runs
from wellread.server.security import address
from wellread.server.service import Service
from wellread.server.service import of as service_of


class NotFound(Exception):
    """There is no such run."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended: with an answer, its links leading here, or with a problem and the status that a whole reply has for it."""

    answer: Json | None
    problem: str | None = None
    status: int = 200


class Telling(Protocol):
    """A run as a listener hears it: words of the answer, then how it ended. `leave` must follow, whatever happens."""

    def pieces(self) -> AsyncGenerator[str | Ending, None]: ...

    async def leave(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Session:
    """What one client can do; made for each request by `of`."""

    service: Service
    client: str  # whom the limits count
    base: str  # this server's address, as the client knows it

    async def run(self, name: str) -> Record:
        """A run of the history."""
        if (record := await self.service.history.get(name)) is None:
            raise NotFound
        return record

    async def begin(self, wish: ClientRequest, parent: Record | None = None, via: Door | None = None) -> Record:
        """Work on a question whether anyone listens or not; when this returns, the history holds it."""
        return await self.service.runs.start(await self._authorized(wish, parent), self.client, parent, wish.history, via)

    async def attach(
        self, wish: ClientRequest, parent: Record | None = None, via: Door | None = None, marks: Marks | None = None
    ) -> Attached:
        """Work on a question as long as its reader stays; kept in the history where it came by a named door."""
        asked = await self._authorized(wish, parent)
        return Attached(self.service.runs, asked, await self.service.runs.admit(self.client), self.base, via, marks)

    def kept(self, run: str, marks: Marks | None = None) -> Kept:
        return Kept(self.service.runs, run, self.base, marks)

    async def stop(self, run: str) -> Record:
        """Stop a run, if it is going on; what the history has of it."""
        await self.service.runs.stop(run)
        return await self.run(run)

    async def forget(self, run: str) -> bool:
        """Stop a run and remove it from the history."""
        await self.service.runs.stop(run)
        return await self.service.history.delete(run)

    async def follow(self, run: str, offset: int, last: str | None) -> AsyncGenerator[list[tuple[int, str]], None]:
        """A run's events with their numbers, from an offset or behind the last one that a browser has received."""
        if run not in self.service.runs.live:
            await self.run(run)
        if last is not None and last.isdecimal() and len(last) < 10:
            offset = max(offset, int(last) + 1)
        return self.service.listeners.counted(self.client, self.service.runs.follow(run, offset))

    async def _authorized(self, wish: ClientRequest, parent: Record | None) -> ReadyRun:
        """With what was said before, here and as the client tells it, and the passages that it was built on."""
        turns, earlier = await follow_up.context(self.service.history, parent)
        return self.service.menu.authorize(replace(wish, history=(*turns, *wish.history)[-TURNS:]), also=earlier)


def of(request: Request) -> Session:
    """The session of a request."""
    return Session(service_of(request), address(request.scope), str(request.base_url))


@dataclass(frozen=True, slots=True)
class Attached:
    """A run that ends with its reader."""

    runs: Runs
    asked: ReadyRun
    ticket: Ticket
    base: str
    via: Door | None
    marks: Marks | None

    def events(self) -> AsyncGenerator[events.Event, None]:
        return self.runs.attach(self.asked, self.ticket, self.via)

    async def pieces(self) -> AsyncGenerator[str | Ending, None]:
        try:
            async with aclosing(self.events()) as stream:
                async for event in stream:
                    if words := _said_now(event):
                        yield words
                    elif isinstance(event, events.Answered):
                        answer = shown(linked(events.answer_json(event.answer), self.base), self.marks)
                        failed = event.answer.outcome == "failed"
                        yield Ending(answer, event.answer.reason or "the run failed", 502) if failed else Ending(answer)
        except WellreadError as problem:
            yield Ending(None, str(problem), 502)

    async def leave(self) -> None:
        self.ticket.release()


@dataclass(frozen=True, slots=True)
class Kept:
    """A run of the history, going on or not."""

    runs: Runs
    run: str
    base: str
    marks: Marks | None

    async def pieces(self) -> AsyncGenerator[str | Ending, None]:
        answer: Json | None = None
        async with aclosing(self.runs.follow(self.run)) as batches:
            async for batch in batches:
                for event in (json.loads(body) for _, body in batch):
                    if event["event"] == "answered":
                        answer = shown(linked(completed(event["answer"]), self.base), self.marks)
                    elif event["event"] == "ended":
                        yield _ended(event, answer)
                        return
                    elif event["event"] in ("answer_delta", "understood") and (known := follow_up.event_of(event)):
                        yield _said_now(known)
        yield Ending(None, "the run was removed from the history", 503)

    async def leave(self) -> None:
        await self.runs.stop(self.run)  # nothing, when it has ended


def _said_now(event: events.Event) -> str:
    """What an event adds to the text while it is written."""
    if isinstance(event, events.Understood):
        return opening(event.meant)
    return event.text if isinstance(event, events.AnswerDelta) else ""


def _ended(event: Json, answer: Json | None) -> Ending:
    match event.get("state"):
        case "done":
            return Ending(answer) if answer else Ending(None, "the answer cannot be read", 502)
        case "failed":
            return Ending(answer, event.get("reason") or "the run failed", 502)
        case state:
            return Ending(answer, "the run was stopped" if state == "stopped" else "the server is stopping", 503)
