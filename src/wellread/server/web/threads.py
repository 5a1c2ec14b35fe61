"""The history as a page, and a conversation as something to keep: its name, and all of it as Markdown, as JSON or on paper."""

from __future__ import annotations

import json
import re
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Annotated, Literal

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response, StreamingResponse

from wellread.marks import Marks
from wellread.present import files
from wellread.present.html import plain_text
from wellread.present.markdown import markdown, plain
from wellread.present.sections import preview, shown
from wellread.server import service, shapes
from wellread.server.addresses import linked
from wellread.server.api import RunId
from wellread.server.history import Record
from wellread.server.limits import beside
from wellread.server.service import Service
from wellread.server.session import NotFound
from wellread.server.web.controls import facts
from wellread.server.web.html import Safe, el, icon

router = APIRouter(include_in_schema=False)
DOORS = {"api": "by the API", "openai": "by the OpenAI-compatible API", "mcp": "by MCP"}
_OUTCOMES = {"partial": "in part", "unsure": "no answer found", "exhausted": "cut short", "failed": "failed"}


@router.get("/r/{run}/export.md")
async def as_markdown(request: Request, run: RunId, marks: Marks = "text") -> Response:
    here, base = service.of(request), str(request.base_url)
    name, record = await _thread(here, run)

    async def parts() -> AsyncGenerator[str, None]:
        yield f"# {plain(name)}"
        async for each in _runs(here, record):
            yield "\n\n" + await beside(lambda each=each: _section(each, base, marks))
        yield "\n"

    return StreamingResponse(parts(), media_type="text/markdown; charset=utf-8", headers=_download(name, "md"))


@router.get("/r/{run}/export.json")
async def as_json(request: Request, run: RunId) -> Response:
    here, base = service.of(request), str(request.base_url)
    name, record = await _thread(here, run)

    async def parts() -> AsyncGenerator[str, None]:
        yield f'{{"name": {_json(name)}, "thread": {_json(record.thread)}, "runs": ['
        before = "\n"
        async for each in _runs(here, record):
            yield before + await beside(lambda each=each: _json(shapes.exported(each, base)))
            before = ",\n"
        yield "\n]}\n"

    return StreamingResponse(parts(), media_type="application/json", headers=_download(name, "json"))


@router.get("/r/{run}/report.{kind}")
async def as_file(request: Request, run: RunId, kind: Literal["html", "docx"]) -> Response:
    """One answer as a file of its own."""
    record = await service.of(request).history.get(run)
    if record is None or record.answer is None:
        raise NotFound
    made, answer = files.as_html if kind == "html" else files.as_word, linked(record.answer, str(request.base_url))
    body = await beside(lambda: made(answer))
    return Response(body, media_type="application/octet-stream", headers=_download(record.question, kind))


@router.post("/r/{run}/name")
async def rename(request: Request, run: RunId, name: Annotated[str, Form(max_length=200)] = "") -> Response:
    here = service.of(request)
    _, record = await _thread(here, run)
    await here.history.rename(record.thread, " ".join(name.split()))
    return RedirectResponse(f"/r/{run}", 303)


def tools(record: Record, name: str | None) -> Safe:
    """What can be done with the whole conversation, out of the way until it is wanted."""
    field = el("input", name="name", value=name or "", maxlength=200, placeholder="Name of this conversation", aria_label="Name")
    naming = el("form", field, el("button", "Name it", class_="button"), method="post", action=f"/r/{record.id}/name")
    ways = [
        el("a", icon("page"), f"Save as {label}", href=f"/r/{record.id}/export.{kind}", download=True, class_="button")
        for label, kind in (("Markdown", "md"), ("JSON", "json"))
    ]
    printing = el("button", "Print", type="button", class_="button", data_action="print")
    inside = el("div", *ways, printing, naming, class_="actions")
    return el("details", el("summary", "Keep this conversation"), inside, class_="tools")


async def _thread(here: Service, run: str) -> tuple[str, Record]:
    """The name of the conversation that a run belongs to, and the run."""
    record = await here.history.get(run)
    if record is None:
        raise NotFound
    if name := (await here.history.names()).get(record.thread):
        return name, record
    async with aclosing(_runs(here, record)) as runs:
        return (await anext(runs)).question, record


async def _runs(here: Service, record: Record) -> AsyncGenerator[Record]:
    """The runs of its conversation from the first on; itself where they have been removed just now."""
    none = True
    async with aclosing(here.history.thread(record.thread)) as runs:
        async for each in runs:
            none = False
            yield each
    if none:
        yield record


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _section(record: Record, base: str, marks: Marks) -> str:
    answer = record.answer and linked(record.answer, base)
    told = markdown(shown(answer, marks)) if answer else f"This run was {record.state}."
    return f"## {plain(record.question)}\n\n*{plain(' · '.join(facts(record)))}*\n\n{told}"


def _download(name: str, kind: str) -> dict[str, str]:
    """A name for the file that every system takes."""
    words: Sequence[str] = re.findall(r"[a-z0-9]{1,30}", name[:1_000].lower())[:8]
    return {"Content-Disposition": f'attachment; filename="{"-".join(words) or "conversation"}.{kind}"'}


def listing(threads: Sequence[Sequence[Record]], names: Mapping[str, str], search: str) -> Safe:
    field = el(
        "input",
        type="search",
        name="q",
        value=search,
        placeholder="Search questions and answers",
        aria_label="Search the history",
    )
    form = el("form", icon("search"), field, class_="search", role="search", action="/history", method="get")
    items = [_conversation(thread, names.get(thread[0].thread)) for thread in threads]
    empty = "Nothing fits these words." if search else "Nothing has been asked yet."
    found = el("ol", *items, class_="runs") if items else el("p", empty, class_="empty")
    export = el("p", el("a", "Export everything as JSON lines", href="/api/export", download=True), class_="export")
    results = el("div", found, id="results", aria_live="polite")
    return el("div", el("h1", "History"), form, results, export if items else None, class_="history")


def _conversation(thread: Sequence[Record], name: str | None) -> Safe:
    """One question as it is; several under their conversation's name, the first question unless it was given one."""
    if len(thread) == 1 and name is None:
        return el("li", el("div", *_told(thread[0], "h2")), _delete(thread[0]))
    last = thread[-1]
    head = el("h2", el("a", name or thread[0].question, href=f"/r/{last.id}"))
    facts = el("p", el("span", _day(last)), el("span", f"{len(thread)} questions" if len(thread) > 1 else None), class_="facts")
    inside = [el("li", el("div", *_told(record, "h3")), _delete(record)) for record in thread]
    return el("li", el("div", head, facts, el("ol", *inside, class_="inside")), class_="conversation")


def _told(record: Record, heading: str) -> list[Safe | None]:
    """Question, what was answered in a few words, when, how and with what outcome."""
    words = preview(plain_text(record.text[:600]), 180)
    state = _OUTCOMES.get(record.outcome or "") if record.state == "done" else record.state
    facts = el(
        "p",
        el("span", _day(record)),
        el("span", record.strategy),
        el("span", DOORS.get(record.via, record.via)) if record.via else None,
        el("span", state, class_="badge") if state else None,
        class_="facts",
    )
    return [
        el(heading, el("a", record.question, href=f"/r/{record.id}")),
        el("p", record.short, class_="headline-answer") if record.short else None,
        el("p", words, class_="preview") if words else None,
        facts,
    ]


def _delete(record: Record) -> Safe:
    remove = el("button", icon("delete"), class_="button quiet", aria_label=f"Delete: {record.question}", title="Delete")
    return el("form", remove, method="post", action=f"/r/{record.id}/delete", data_confirm="Delete this question and its answer?")


def _day(record: Record) -> Safe:
    at = time.localtime(record.created)
    return el("time", f"{at.tm_mday} {time.strftime('%b %Y, %H:%M', at)}", datetime=time.strftime("%Y-%m-%dT%H:%M:%S%z", at))
