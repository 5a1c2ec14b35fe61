"""`/v1/responses`, OpenAI's Responses API; see `openai_format` for what a request means.

A response is kept as a run in the history, so that `previous_response_id` finds it, unless `store` is false.
Either way it is attached: a client that leaves stops the work.
"""

from __future__ import annotations

import json
import re
import secrets
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

from fastapi import APIRouter, Path, Request, Response
from fastapi.responses import JSONResponse

from wellread import events
from wellread.errors import WellreadError
from wellread.marks import Marks, shown
from wellread.server import follow_up, openai_format, service, shapes
from wellread.server.addresses import linked
from wellread.server.api import NotFound, client
from wellread.server.follow_up import TURNS
from wellread.server.limits import Ticket
from wellread.server.menu import ClientRequest, ReadyRun
from wellread.server.openai_format import PREFIX, AnswerJson, Refused
from wellread.server.record import Record, completed
from wellread.server.response_shapes import Ending, Envelope, ResponseRequest, Script, whole
from wellread.server.runs import Runs
from wellread.server.service import Service
from wellread.server.sse import EventStream, Whole

router = APIRouter(prefix="/v1", tags=["OpenAI-compatible"])
_DOCUMENTED: dict[int | str, Any] = {
    200: {
        "description": "A response, or the events of one.",
        "content": {
            "application/json": {"schema": {"type": "object", "required": ["id", "object", "created_at", "status", "output"]}},
            "text/event-stream": {},
        },
    },
    **shapes.refusals(400, 413, 422, 429, 502, 503, error=openai_format.ERROR),
}
_GONE = shapes.refusals(400, 404, 422, error=openai_format.ERROR)
ResponseId = Annotated[str, Path(max_length=200, examples=["resp_q3J0vXo2mA9k"])]


@router.post("/responses", response_model=None, responses=_DOCUMENTED)
async def respond(request: Request, body: ResponseRequest) -> Response:
    """Answer the last message; whole, or as events when `stream` is set. Leaving stops the work."""
    here = service.of(request)
    question, turns = body.asked()
    before = await _previous(here, body.previous_response_id)
    earlier, passages = await follow_up.context(here.history, before)
    wish = ClientRequest(question, openai_format.strategy(body.model, here.menu), history=(*earlier, *turns)[-TURNS:])
    asked = here.menu.order(wish, also=passages)
    store = body.store is not False
    if store:
        record = await here.runs.start(asked, client(request), before, turns, "openai")
        name, telling = record.id, Kept(here.runs, record.id, str(request.base_url), body.marks)
    else:
        ticket = await here.runs.admit(client(request))
        name, telling = secrets.token_urlsafe(9), Passing(here.runs, asked, ticket, str(request.base_url), body.marks)
    envelope = Envelope(name, body.model, body.previous_response_id, store, int(time.time()))
    return EventStream(_events(Script(envelope), telling)) if body.stream else Whole(_one(envelope, telling))


@router.get("/responses/{response}", responses=_GONE)
async def retrieve(request: Request, response: ResponseId, stream: bool = False) -> dict[str, Any]:
    """A response that was stored, as it stands."""
    if stream:
        raise Refused("a stored response does not stream again: /api/runs/ID/events does", "stream")
    here = service.of(request)
    record = await _find(here, response)
    if record is None:
        raise NotFound
    previous = f"resp_{record.parent}" if record.parent else None
    envelope = Envelope(record.id, f"{PREFIX}/{record.strategy}", previous, True, int(record.created))
    if record.state == "running":
        return envelope.response("in_progress", [])
    ends = [piece async for piece in Kept(here.runs, record.id, str(request.base_url)).pieces() if isinstance(piece, Ending)]
    return whole(envelope, ends[0])


@router.delete("/responses/{response}", responses=_GONE)
async def delete(request: Request, response: ResponseId) -> dict[str, str | bool]:
    """Forget a response that was stored; one that is being written is stopped."""
    here = service.of(request)
    record = await _find(here, response)
    if record is None:
        raise NotFound
    await here.runs.stop(record.id)
    await here.history.delete(record.id)
    return {"id": response, "object": "response", "deleted": True}


async def _find(here: Service, name: str) -> Record | None:
    known = re.fullmatch(r"resp_([A-Za-z0-9_-]{12})", name)
    return await here.history.get(known[1]) if known else None


async def _previous(here: Service, name: str | None) -> Record | None:
    if name is None:
        return None
    record = await _find(here, name)
    if record is None:
        raise Refused(f"there is no response {name!r}", "previous_response_id", "previous_response_not_found")
    if record.state == "running":
        raise Refused(f"response {name!r} is still being written", "previous_response_id")
    return record


class Telling(Protocol):
    """A run as a listener hears it: words of the answer, then how it ended. `leave` must follow, whatever happens."""

    def pieces(self) -> AsyncGenerator[str | Ending, None]: ...

    async def leave(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Kept:
    """A run of the history."""

    runs: Runs
    run: str
    base: str
    marks: Marks | None = None

    async def pieces(self) -> AsyncGenerator[str | Ending, None]:
        answer: AnswerJson | None = None
        async with aclosing(self.runs.follow(self.run)) as batches:
            async for batch in batches:
                for event in (json.loads(body) for _, body in batch):
                    if words := _words(event):
                        yield words
                    elif event["event"] == "answered":
                        answer = shown(linked(completed(event["answer"]), self.base), self.marks)
                    elif event["event"] == "ended":
                        yield _ended(event, answer)
                        return
        yield Ending(None, "the run was removed from the history", 503)

    async def leave(self) -> None:
        await self.runs.stop(self.run)  # nothing, when it has ended


def _words(event: dict[str, Any]) -> str:
    """The words of the answer in an event of the log."""
    known = follow_up.event_of(event) if event["event"] in ("answer_delta", "understood") else None
    return openai_format.said_now(known) if known else ""


def _ended(event: dict[str, Any], answer: AnswerJson | None) -> Ending:
    state = event.get("state")
    if state == "done":
        return Ending(answer) if answer else Ending(None, "the answer cannot be read", 502)
    if state == "failed":
        return Ending(answer, event.get("reason") or "the run failed", 502)
    why = "the run was stopped" if state == "stopped" else "the server is stopping"
    return Ending(answer, why, 503)


@dataclass(frozen=True, slots=True)
class Passing:
    """A run of which nothing is kept."""

    runs: Runs
    asked: ReadyRun
    ticket: Ticket
    base: str
    marks: Marks | None = None

    async def pieces(self) -> AsyncGenerator[str | Ending, None]:
        try:
            async with aclosing(self.runs.attach(self.asked, self.ticket)) as stream:
                async for event in stream:
                    if words := openai_format.said_now(event):
                        yield words
                    elif isinstance(event, events.Answered):
                        answer = shown(linked(events.answer_json(event.answer), self.base), self.marks)
                        failed = event.answer.outcome == "failed"
                        yield Ending(answer, event.answer.reason or "the run failed", 502) if failed else Ending(answer)
        except WellreadError as problem:
            yield Ending(None, str(problem), 502)

    async def leave(self) -> None:
        self.ticket.release()


async def _events(script: Script, telling: Telling) -> AsyncGenerator[str, None]:
    try:
        yield script.opening()
        async with aclosing(telling.pieces()) as pieces:
            async for piece in pieces:
                yield script.delta(piece) if isinstance(piece, str) else script.ending(piece)
    finally:
        await telling.leave()


async def _one(envelope: Envelope, telling: Telling) -> AsyncGenerator[Response, None]:
    try:
        async with aclosing(telling.pieces()) as pieces:
            async for piece in pieces:
                if isinstance(piece, Ending):
                    yield JSONResponse(whole(envelope, piece), piece.status)
    finally:
        await telling.leave()
