"""A session: one client's way to ask, follow, stop and store. `/api`, `/v1`, MCP and the page are doors on it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

from fastapi import Depends
from starlette.requests import Request

from wellread import events
from wellread.answer_json import AnswerJson
from wellread.core.codec import Json, decode, loads
from wellread.present.markdown import opening
from wellread.present.marks import Marks
from wellread.present.sections import shown
from wellread.server.history import TURNS, Record, completed, context, decoded, event_of
from wellread.server.menu import AskRequest, ReadyRun, Turns
from wellread.server.runs import Door, Numbered
from wellread.server.security import address
from wellread.server.service import Service
from wellread.server.service import of as service_of
from wellread.server.viewer import NotThere, linked

NO_RUN = "there is no such run"


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended: with an answer, its links leading here, or with a problem and the status that a whole reply has for it."""

    answer: AnswerJson | None
    problem: str | None = None
    status: int = 200


@dataclass(frozen=True, slots=True)
class Session:
    """Operations of one client; made for each request by `of`."""

    service: Service
    client: str  # whom the limits count
    base: str | None  # this server's address as the client knows it; None where both are one machine and files have their paths

    async def run(self, name: str) -> Record:
        """A run of the history."""
        if (record := await self.service.history.get(name)) is None:
            raise NotThere(NO_RUN)
        return record

    def conversation(self, record: Record) -> AsyncGenerator[Record, None]:
        """The runs of its conversation, oldest first."""
        return self.service.history.thread(record.thread)

    async def begin(
        self, wish: AskRequest, parent: Record | None = None, via: Door | None = None, turns: Turns = (), **more: Any
    ) -> Record:
        """Work on a question whether anyone listens or not; when this returns, the history holds it. `turns` are what the client
        says was said before."""
        ready = await self._authorized(wish, parent, turns, **more)
        return await self.service.runs.start(ready, self.client, parent, turns, via)

    async def attach(
        self,
        wish: AskRequest,
        parent: Record | None = None,
        via: Door | None = None,
        turns: Turns = (),
        marks: Marks | None = None,
    ) -> Telling:
        """Work on a question as long as its reader stays; kept in the history where it came by a named door."""
        live = await self.service.runs.attach(await self._authorized(wish, parent, turns), self.client, parent, turns, via)
        return Telling(self, live.record.id, partial(live.following.read, 0), marks)

    def listen(self, run: str, marks: Marks | None = None) -> Telling:
        """To a run of the history, going on or not."""
        return Telling(self, run, partial(self.service.runs.follow, run), marks)

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
        return self.service.listeners.counted(self.client, self.service.runs.follow(run, resumed(offset, last)))

    async def _authorized(
        self, wish: AskRequest, parent: Record | None, told: Turns, resume: str | None = None, share: bool = False
    ) -> ReadyRun:
        """With what was said before, here and as the client tells it, and the passages that it was built on; `resume` is a run of
        the same question that was stopped."""
        turns, earlier = await context(self.service.history, parent)
        ready = self.service.menu.authorize(wish, history=(*turns, *told)[-TURNS:], also=earlier, share=share)
        if resume:
            if (await self.run(resume)).question != ready.question:
                raise NotThere(NO_RUN)
            seen = decoded([body for _, body in await self.service.history.events(resume, limit=5_000)])
            ready.engine.outside = replace(ready.engine.outside, earlier=seen)
        return ready


def resumed(offset: int, last: str | None) -> int:
    """Where to go on behind the last event that a browser says it has received."""
    return max(offset, int(last) + 1) if last is not None and last.isdecimal() and len(last) < 10 else offset


async def of(request: Request) -> Session:
    """The session of a request, which the application's state knows the service of."""
    return Session(service_of(request), address(request.scope), str(request.base_url))


Here = Annotated[Session, Depends(of)]  # the session of a request, as a parameter of its route


@dataclass(frozen=True, slots=True)
class Telling:
    """A run as a listener hears it. `leave` must follow, whatever happens."""

    here: Session
    run: str
    batches: Callable[[], AsyncGenerator[list[Numbered], None]]
    marks: Marks | None

    async def events(self) -> AsyncGenerator[events.Event | Ending, None]:
        """Its events as they come, and how it ended."""
        answer: AnswerJson | None = None
        async with aclosing(self.batches()) as batches:
            async for batch in batches:
                for body in (loads(Json, body) for _, body in batch):
                    if body["event"] == "answered":
                        answer = completed(decode(AnswerJson, body["answer"]))
                    elif body["event"] == "ended":
                        yield self._ending(body, answer)
                        return
                    elif event := event_of(body):
                        yield event
        yield Ending(None, "the run was removed from the history", 503)

    async def ending(self) -> Ending:
        """How it ended, once it has."""
        async with aclosing(self.events()) as told:
            return [event async for event in told if isinstance(event, Ending)][-1]

    async def pieces(self) -> AsyncGenerator[str | Ending, None]:
        """The words of the answer as they come, and how it ended."""
        async with aclosing(self.events()) as told:
            async for event in told:
                if isinstance(event, Ending):
                    yield event
                elif isinstance(event, events.AnswerDelta):
                    yield event.text
                elif isinstance(event, events.Understood):
                    yield opening(event.meant)

    async def leave(self) -> None:
        """Nobody else has begun it: it is of no use any more, if it goes on."""
        if self.run in self.here.service.runs.live:
            await self.here.service.runs.stop(self.run)

    def _ending(self, ended: Json, answer: AnswerJson | None) -> Ending:
        answer = answer and shown(linked(answer, self.here.base), self.marks)
        match ended.get("state"):
            case "done":
                return Ending(answer) if answer else Ending(None, "the answer cannot be read", 502)
            case "failed":
                return Ending(answer, ended.get("reason") or "the run failed", 502)
            case state:
                return Ending(answer, "the run was stopped" if state == "stopped" else "the server is stopping", 503)
