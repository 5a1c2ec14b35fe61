"""`/api`: ask, runs, search, plugins; and `/healthz`, `/metrics`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Path, Query, Request
from fastapi.responses import JSONResponse, PlainTextResponse, StreamingResponse

from wellread import codec
from wellread.answer_json import AnswerJson
from wellread.citations.references import SUFFIXES, Format, footnotes, references, together, written
from wellread.events import documents_json, hit_json
from wellread.present.html import answer_html
from wellread.server import metrics, service, session, shapes
from wellread.server.security import address
from wellread.server.session import Telling
from wellread.server.shapes import RUN_ID, AskRequest, RunRequest
from wellread.server.sharing import Numbered
from wellread.server.sse import EventStream, Whole, numbered
from wellread.server.viewer import of_hit

router = APIRouter()
RunId = Annotated[str, Path(pattern=RUN_ID, examples=["q3J0vXo2mA9k"])]
_STREAM: dict[int | str, Any] = {
    200: {
        "description": "Server-sent events; each `data` line is one event as JSON, `id` is its number.",
        "content": {
            "text/event-stream": {
                "schema": {"type": "object", "properties": {"id": {"type": "string"}, "data": {"type": "string"}}},
                "example": {"id": "0", "data": '{"event": "started", "at": 0.0, "question": "Who invented the telescope?"}'},
            }
        },
    }
}
_ANSWER = {
    "description": "The answer; or its events, each as in `/api/runs/{run}/events`.",
    "content": {"application/json": {"schema": {"type": "object"}}, **_STREAM[200]["content"]},
}
_WRONG = shapes.refusals(400, 413, 422, 429, 503)
_GONE = shapes.refusals(404, 422)
_CROWDED = shapes.refusals(429)


@router.post("/api/ask", tags=["ask"], response_model=None, responses={**_WRONG, 200: _ANSWER, **shapes.refusals(502)})
async def ask(request: Request, body: AskRequest) -> EventStream:
    """Answer a question: as `ask --json` prints it, or as a stream of events to who accepts `text/event-stream`. Closing the
    connection stops the work; an answer is kept in the history."""
    telling = await session.of(request).attach(body.wish(), via="api")
    if "text/event-stream" in request.headers.get("accept", ""):
        return EventStream(numbered(_without_end(telling)), telling.leave)
    return Whole(partial(_whole, telling), telling.leave)


async def _whole(telling: Telling) -> JSONResponse:
    ending = await telling.ending()
    failed = ending.problem or (None if ending.answer else "the run failed")
    return JSONResponse({"error": failed}, ending.status) if failed else JSONResponse(codec.encode(ending.answer))


async def _without_end(telling: Telling) -> AsyncGenerator[list[Numbered], None]:
    """The events of a run whose last one is the answer; where there is none, the one that says why."""
    answered = False
    async with aclosing(telling.batches()) as batches:
        async for batch in batches:
            answered = answered or any(body.startswith('{"event": "answered"') for _, body in batch)
            yield batch[:-1] if answered and batch[-1][1].startswith('{"event": "ended"') else batch


@router.post("/api/runs", tags=["runs"], status_code=202, responses={**_WRONG, **_GONE})
async def start(request: Request, body: RunRequest) -> shapes.Started:
    """Begin a run that goes on without a listener."""
    here = session.of(request)
    record = await here.begin(body.wish(), await here.run(body.parent) if body.parent else None)
    return shapes.Started(id=record.id, page=f"/r/{record.id}", events=f"/api/runs/{record.id}/events")


@router.get("/api/runs", tags=["runs"], responses=shapes.refusals(422))
async def runs(
    request: Request,
    search: Annotated[str, Query(max_length=200, description="words that question or answer must have")] = "",
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    before: Annotated[float | None, Query(description="only runs begun before this time", allow_inf_nan=False)] = None,
) -> shapes.RunList:
    """The history, latest first."""
    here = service.of(request)
    async with here.looking_up.turn(address(request.scope)):
        found = await here.history.list(search=search, limit=limit, before=before)
    return shapes.RunList(runs=[shapes.summary(record) for record in found])


@router.get("/api/runs/{run}", tags=["runs"], responses=_GONE)
async def run(request: Request, run: RunId) -> shapes.Run:
    """One run, with its answer once there is one."""
    here = session.of(request)
    record = await here.run(run)
    return shapes.whole(record, answer_html(record.answer), here.base)


@router.get("/api/runs/{run}/events", tags=["runs"], response_class=EventStream, responses={**_GONE, **_CROWDED, **_STREAM})
async def follow(
    request: Request,
    run: RunId,
    offset: Annotated[int, Query(ge=0, le=10_000_000, description="number of the first event to send")] = 0,
    last_event_id: Annotated[str | None, Header(description="the last event that was received, when reconnecting")] = None,
) -> EventStream:
    """A run's events from an offset; goes on until the run has ended, whose last event is `ended`."""
    return EventStream(numbered(await session.of(request).follow(run, offset, last_event_id)))


@router.get("/api/runs/{run}/references", tags=["runs"], response_class=PlainTextResponse, responses={**_GONE, **_WRONG})
async def cited(
    request: Request,
    run: RunId,
    format: Annotated[Format | Literal["footnotes"], Query(description="footnotes: the answer, with them")] = "bibtex",
    conversation: Annotated[bool, Query(description="of all answers of its conversation, numbered anew")] = False,
) -> PlainTextResponse:
    """The works that an answer cites, for a bibliography."""
    here = session.of(request)
    record = await here.run(run)
    answer = record.answer or AnswerJson(outcome="failed")
    if format == "footnotes":
        return PlainTextResponse(footnotes(answer.answer, answer.citations))
    works = references(answer.citations)
    if conversation:
        told = [one.answer async for one in here.service.history.thread(record.thread) if one.answer]
        works = together(one.citations for one in told)
    text = await asyncio.to_thread(written, works, format)
    name = f"wellread-{record.id}{SUFFIXES.get(format, '.txt')}"
    return PlainTextResponse(text, headers={"Content-Disposition": f'inline; filename="{name}"'})


@router.delete("/api/runs/{run}", tags=["runs"], responses=_GONE)
async def stop(
    request: Request,
    run: RunId,
    forget: Annotated[bool, Query(description="also remove it from the history")] = False,
) -> dict[str, str | None]:
    """Stop a run: searches, readings and model calls end at once. With `forget` it leaves no trace."""
    here = session.of(request)
    record = await here.stop(run)
    if forget:
        await here.forget(run)
    return {"id": run, "state": "forgotten" if forget else record.state}


@router.get("/api/export", tags=["runs"], response_class=StreamingResponse)
async def export(request: Request) -> StreamingResponse:
    """The whole history, one JSON object a line."""
    here = service.of(request)

    async def lines() -> AsyncGenerator[str, None]:
        async for record in here.history.export():
            yield json.dumps(shapes.exported(record, str(request.base_url)), ensure_ascii=False) + "\n"

    headers = {"Content-Disposition": 'attachment; filename="wellread-history.jsonl"'}
    return StreamingResponse(lines(), media_type="application/x-ndjson", headers=headers)


@router.get("/api/search", tags=["search"], responses={**_WRONG, **shapes.refusals(502)})
async def search(
    request: Request,
    q: Annotated[str, Query(min_length=1, max_length=2_000, examples=["moons of Jupiter"])],
    source: Annotated[list[str] | None, Query(max_length=8, description="see /api/menu")] = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 10,
) -> shapes.SearchResult:
    """Search the sources, nothing more."""
    here = service.of(request)
    engine = here.menu.searching(source or [])
    async with here.turn(address(request.scope)):
        hits = await engine.search(q, limit=limit)
    shown = [{**hit_json(hit), "view": place.path() if (place := of_hit(hit)) else None} for hit in hits]
    return shapes.SearchResult.model_validate({"query": q, "hits": shown, "documents": documents_json(hits)})


@router.get("/api/menu", tags=["search"])
async def menu(request: Request) -> shapes.MenuCard:
    """Strategies, sources and models that a request can choose from."""
    here = service.of(request).menu
    strategies = sorted(here.strategies(), key=lambda one: (one[0] != here.default_strategy, not one[2]))
    return shapes.MenuCard(
        strategies=[shapes.Choice(name=name, summary=about, usable=usable) for name, about, usable in strategies],
        sources=[shapes.Choice(name=name) for name in here.sources],
        models=[shapes.Choice(name=name) for name in here.models],
    )


@router.get("/api/plugins", tags=["search"])
async def plugins(request: Request) -> list[dict[str, object]]:
    """Everything that is installed, with all parameters."""
    return await asyncio.to_thread(service.installed)  # pyright: ignore[reportReturnType]


@router.get("/healthz", tags=["operation"])
async def health(request: Request) -> dict[str, str]:
    """Whether the server takes questions."""
    return {"status": "stopping" if service.of(request).runs.stopping else "ok"}


@router.get("/metrics", tags=["operation"], response_class=PlainTextResponse)
async def numbers(request: Request) -> PlainTextResponse:
    """Counters for Prometheus."""
    here = service.of(request)
    told = metrics.text(here.metrics, here.gate, here.history.failed_writes)
    return PlainTextResponse(told, media_type="text/plain; version=0.0.4")
