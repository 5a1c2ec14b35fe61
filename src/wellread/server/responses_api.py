"""`/v1/responses`, OpenAI's Responses API; see `openai_format` for what a request means.

A response is kept as a run in the history, so that `previous_response_id` finds it, unless `store` is false.
Either way it is attached: a client that leaves stops the work.
"""

from __future__ import annotations

import re
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response
from fastapi.responses import JSONResponse

from wellread.server import openai_format, session, shapes
from wellread.server.menu import ClientRequest
from wellread.server.openai_format import PREFIX, Refused
from wellread.server.record import Record
from wellread.server.response_shapes import Envelope, ResponseRequest, Script, whole
from wellread.server.session import Ending, NotFound, Session, Telling
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
    here = session.of(request)
    question, turns = body.asked()
    before = await _previous(here, body.previous_response_id)
    wish = ClientRequest(question, openai_format.strategy(body.model, here.service.menu), history=turns)
    store = body.store is not False
    if store:
        telling = here.listen((await here.begin(wish, before, "openai")).id, body.marks)
    else:
        telling = await here.attach(wish, before, marks=body.marks)
    envelope = Envelope(telling.run, body.model, body.previous_response_id, store, int(time.time()))
    if body.stream:
        return EventStream(_events(Script(envelope), telling), telling.leave)
    return Whole(_one(envelope, telling), telling.leave)


@router.get("/responses/{response}", responses=_GONE)
async def retrieve(request: Request, response: ResponseId, stream: bool = False) -> dict[str, Any]:
    """A response that was stored, as it stands."""
    if stream:
        raise Refused("a stored response does not stream again: /api/runs/ID/events does", "stream")
    here = session.of(request)
    record = await _find(here, response)
    previous = f"resp_{record.parent}" if record.parent else None
    envelope = Envelope(record.id, f"{PREFIX}/{record.strategy}", previous, True, int(record.created))
    if record.state == "running":
        return envelope.response("in_progress", [])
    ends = [piece async for piece in here.listen(record.id).pieces() if isinstance(piece, Ending)]
    return whole(envelope, ends[0])


@router.delete("/responses/{response}", responses=_GONE)
async def delete(request: Request, response: ResponseId) -> dict[str, str | bool]:
    """Forget a response that was stored; one that is being written is stopped."""
    here = session.of(request)
    await here.forget((await _find(here, response)).id)
    return {"id": response, "object": "response", "deleted": True}


async def _find(here: Session, name: str) -> Record:
    if known := re.fullmatch(r"resp_([A-Za-z0-9_-]{12})", name):
        return await here.run(known[1])
    raise NotFound


async def _previous(here: Session, name: str | None) -> Record | None:
    if name is None:
        return None
    try:
        record = await _find(here, name)
    except NotFound:
        raise Refused(f"there is no response {name!r}", "previous_response_id", "previous_response_not_found") from None
    if record.state == "running":
        raise Refused(f"response {name!r} is still being written", "previous_response_id")
    return record


async def _events(script: Script, telling: Telling) -> AsyncGenerator[str, None]:
    async with aclosing(telling.pieces()) as pieces:
        yield script.opening()
        async for piece in pieces:
            yield script.delta(piece) if isinstance(piece, str) else script.ending(piece)


async def _one(envelope: Envelope, telling: Telling) -> AsyncGenerator[Response, None]:
    async with aclosing(telling.pieces()) as pieces:
        async for piece in pieces:
            if isinstance(piece, Ending):
                yield JSONResponse(whole(envelope, piece), piece.status)
