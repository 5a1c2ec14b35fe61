"""`/api`: ask, runs, search, plugins; and `/healthz`, `/metrics`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Path, Query, Request
from fastapi.responses import JSONResponse, PlainTextResponse, StreamingResponse

from wellread.answer_json import AnswerJson
from wellread.citations.references import SUFFIXES, Format, footnotes, references, together, written
from wellread.core import codec
from wellread.events import documents_json, hit_json
from wellread.present.html import answer_html
from wellread.server import metrics, service, shapes
from wellread.server.limits import beside, in_turn
from wellread.server.menu import AskRequest
from wellread.server.runs import Numbered
from wellread.server.session import Here, Telling
from wellread.server.shapes import RUN_ID, RunRequest
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
async def ask(request: Request, here: Here, body: AskRequest) -> EventStream:
    """Answer a question: as `ask --json` prints it, or as a stream of events to who accepts `text/event-stream`. Closing the
    connection stops the work; an answer is kept in the history."""
    telling = await here.attach(body, via="api")
    if "text/event-stream" in request.headers.get("accept", ""):
        return EventStream(numbered(_without_end(telling)), telling.leave)

    async def whole() -> JSONResponse:
        ending = await telling.ending()
        failed = ending.problem or (None if ending.answer else "the run failed")
        return JSONResponse({"error": failed}, ending.status) if failed else JSONResponse(codec.encode(ending.answer))

    return Whole(whole, telling.leave)


async def _without_end(telling: Telling) -> AsyncGenerator[list[Numbered], None]:
    """The events of a run whose last one is the answer; where there is none, the one that says why."""
    answered = False
    async with aclosing(telling.batches()) as batches:
        async for batch in batches:
            answered = answered or any(body.startswith('{"event": "answered"') for _, body in batch)
            yield batch[:-1] if answered and batch[-1][1].startswith('{"event": "ended"') else batch


@router.post("/api/runs", tags=["runs"], status_code=202, responses={**_WRONG, **_GONE})
async def start(here: Here, body: RunRequest) -> shapes.Started:
    """Begin a run that goes on without a listener."""
    record = await here.begin(body, await here.run(body.parent) if body.parent else None, resume=body.resume)
    return shapes.Started(id=record.id, page=f"/r/{record.id}", events=f"/api/runs/{record.id}/events")


@router.get("/api/runs", tags=["runs"], responses=shapes.refusals(422))
async def runs(
    here: Here,
    search: Annotated[str, Query(max_length=200, description="words that question or answer must have")] = "",
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    before: Annotated[float | None, Query(description="only runs begun before this time", allow_inf_nan=False)] = None,
) -> shapes.RunList:
    """The history, latest first."""
    found = await here.service.history.list(search=search, limit=limit, before=before)
    return shapes.RunList(runs=[shapes.Summary.model_validate(record) for record in found])


@router.get("/api/runs/{run}", tags=["runs"], responses=_GONE)
async def run(here: Here, run: RunId) -> shapes.Run:
    """One run, with its answer once there is one."""
    record = await here.run(run)
    return await beside(lambda: shapes.whole(record, answer_html(record.answer), here.base))


@router.get("/api/runs/{run}/events", tags=["runs"], response_class=EventStream, responses={**_GONE, **_CROWDED, **_STREAM})
async def follow(
    here: Here,
    run: RunId,
    offset: Annotated[int, Query(ge=0, le=10_000_000, description="number of the first event to send")] = 0,
    last_event_id: Annotated[str | None, Header(description="the last event that was received, when reconnecting")] = None,
) -> EventStream:
    """A run's events from an offset; goes on until the run has ended, whose last event is `ended`."""
    return EventStream(numbered(await here.follow(run, offset, last_event_id)))


@router.get("/api/runs/{run}/references", tags=["runs"], response_class=PlainTextResponse, responses={**_GONE, **_WRONG})
async def cited(
    here: Here,
    run: RunId,
    format: Annotated[Format | Literal["footnotes"], Query(description="footnotes: the answer, with them")] = "bibtex",
    conversation: Annotated[bool, Query(description="of all answers of its conversation, numbered anew")] = False,
) -> PlainTextResponse:
    """The works that an answer cites, for a bibliography."""
    record = await here.run(run)
    answer = record.answer or AnswerJson(outcome="failed")
    if format == "footnotes":
        return PlainTextResponse(footnotes(answer.answer, answer.citations))
    works = references(answer.citations)
    if conversation:
        told = [one.answer async for one in here.conversation(record) if one.answer]
        works = together(one.citations for one in told)
    text = await in_turn(None, lambda: written(works, format))
    name = f"wellread-{record.id}{SUFFIXES.get(format, '.txt')}"
    return PlainTextResponse(text, headers={"Content-Disposition": f'inline; filename="{name}"'})


@router.delete("/api/runs/{run}", tags=["runs"], responses=_GONE)
async def stop(
    here: Here,
    run: RunId,
    forget: Annotated[bool, Query(description="also remove it from the history")] = False,
) -> dict[str, str | None]:
    """Stop a run: searches, readings and model calls end at once. With `forget` it leaves no trace."""
    record = await here.stop(run)
    if forget:
        await here.forget(run)
    return {"id": run, "state": "forgotten" if forget else record.state}


@router.get("/api/export", tags=["runs"], response_class=StreamingResponse)
async def export(here: Here) -> StreamingResponse:
    """The whole history, one JSON object a line."""

    async def lines() -> AsyncGenerator[str, None]:
        async for record in here.service.history.export():
            yield json.dumps(shapes.exported(record, here.base), ensure_ascii=False) + "\n"

    headers = {"Content-Disposition": 'attachment; filename="wellread-history.jsonl"'}
    return StreamingResponse(lines(), media_type="application/x-ndjson", headers=headers)


@router.get("/api/search", tags=["search"], responses={**_WRONG, **shapes.refusals(502)})
async def search(
    here: Here,
    q: Annotated[str, Query(min_length=1, max_length=2_000, examples=["moons of Jupiter"])],
    source: Annotated[list[str] | None, Query(max_length=8, description="see /api/menu")] = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 10,
) -> shapes.SearchResult:
    """Search the sources, nothing more."""
    engine = here.service.menu.searching(source or [])
    async with here.service.searching.place(here.client):
        hits = await engine.search(q, limit=limit)
    shown = [{**hit_json(hit), "view": place.path() if (place := of_hit(hit)) else None} for hit in hits]
    return shapes.SearchResult.model_validate({"query": q, "hits": shown, "documents": documents_json(hits)})


@router.get("/api/menu", tags=["search"])
async def menu(here: Here) -> shapes.MenuCard:
    """Strategies, sources and models that a request can choose from."""
    menu = here.service.menu
    strategies = sorted(menu.strategies(), key=lambda one: (one[0] != menu.default_strategy, not one[2]))
    return shapes.MenuCard(
        strategies=[shapes.Choice(name=name, summary=about, usable=usable) for name, about, usable in strategies],
        sources=[shapes.Choice(name=name) for name in menu.sources],
        models=[shapes.Choice(name=name) for name in menu.models],
    )


@router.get("/api/plugins", tags=["search"])
async def plugins() -> list[dict[str, object]]:
    """Everything that is installed, with all parameters."""
    return await asyncio.to_thread(service.installed)  # pyright: ignore[reportReturnType]


@router.get("/healthz", tags=["operation"])
async def health(here: Here) -> dict[str, str]:
    """Whether the server takes questions."""
    return {"status": "stopping" if here.service.runs.stopping else "ok"}


@router.get("/metrics", tags=["operation"], response_class=PlainTextResponse)
async def numbers(here: Here) -> PlainTextResponse:
    """Counters for Prometheus."""
    told = metrics.text(here.service.metrics, here.service.gate, here.service.history.failed_writes)
    return PlainTextResponse(told, media_type="text/plain; version=0.0.4")
