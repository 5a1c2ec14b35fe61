"""The routes that answer with HTML: questions, their answers, the history, and a conversation as something to keep. They work
without JavaScript too; with it they are livelier."""

from __future__ import annotations

import json
import re
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path as File
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Form, Header, Query, Request
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse, Response, StreamingResponse

from wellread.core.codec import Json, loads
from wellread.events import Event, Outlined, Section
from wellread.present import files
from wellread.present.html import plain_text
from wellread.present.markdown import markdown, plain
from wellread.present.marks import Marks
from wellread.present.sections import preview, shown
from wellread.server import service, session, shapes
from wellread.server.api import RunId
from wellread.server.history import Record, chain, event_of
from wellread.server.limits import beside
from wellread.server.menu import AskRequest
from wellread.server.session import NO_RUN, Here, Session
from wellread.server.shapes import RUN_ID
from wellread.server.sse import EventStream
from wellread.server.viewer import NotThere, linked
from wellread.server.web.articles import Drafted, article, status, step
from wellread.server.web.controls import again_box, ask_box, facts
from wellread.server.web.html import Child, Safe, el, framed, icon, join, search_form

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
STATIC = File(__file__).parent / "static"
_DRAWN = 0.2  # seconds between two drafts
_LANDMARK = re.compile(r'(?<=<section )aria-label="([^"]*)"')
_EXAMPLES = (
    "Who invented the telescope?",
    "Which planet has the most moons?",
    "What is the capital of Australia?",
)
DOORS = {"api": "by the API", "openai": "by the OpenAI-compatible API", "mcp": "by MCP"}
_OUTCOMES = {"partial": "in part", "unsure": "no answer found", "exhausted": "cut short", "failed": "failed"}
Schema = dict[str, Any]


@router.get("/")
async def home(request: Request, source: Annotated[list[str] | None, Query(max_length=50)] = None) -> Response:
    here = service.of(request)
    examples = [el("li", el("button", text, type="button", class_="example", data_question=text)) for text in _EXAMPLES]
    hero = el(
        "div",
        el("h1", "Ask. Then check.", class_="headline"),
        el("p", "Answers from your sources, and every number leads to the words that carry it.", class_="lead"),
        ask_box(here.menu, autofocus=True, sources=source or ()),
        el("ul", *examples, class_="examples", aria_label="Examples") if here.menu.default_source == "library" else None,
        class_="hero",
    )
    return page(request, "wellread", hero)


@router.post("/ask")
async def ask(
    here: Here,
    question: Annotated[str, Form(max_length=20_000)],
    strategy: Annotated[str, Form(max_length=100)] = "",
    source: Annotated[list[str] | None, Form(max_length=50)] = None,
    model: Annotated[str, Form(max_length=500)] = "",
    effort: Annotated[Literal["low", "normal", "high", ""], Form()] = "",
    parent: Annotated[str, Form(max_length=40)] = "",
    again: Annotated[str, Form(pattern=f"{RUN_ID}|^$")] = "",
    share: Annotated[bool, Form()] = False,
    resume: Annotated[str, Form(pattern=f"{RUN_ID}|^$")] = "",
) -> Response:
    """The form without JavaScript; with it the page posts to /api/runs."""
    before = await here.service.history.get(parent) if parent else None  # one that is gone is not followed up
    wish = AskRequest(question, strategy or None, tuple(source or ()), model=model or None, effort=effort or None)
    record = await here.begin(wish, before, resume=resume or None, share=share)
    return RedirectResponse(f"/compare/{again}/{record.id}" if again else f"/r/{record.id}", 303)


@router.get("/compare/{first}/{second}")
async def compare(request: Request, here: Here, first: RunId, second: RunId) -> Response:
    """Two answers side by side."""
    columns = [await _article(request, await here.run(run)) for run in (first, second)]
    columns[0] = Safe(_LANDMARK.sub(r'aria-label="\1 of the first answer"', columns[0]))  # names of places must differ
    title = el("h1", "Two answers", class_="hidden")
    return page(request, "Two answers", el("div", title, *columns, class_="compare"), live='data-state="running"' in columns[1])


@router.get("/r/{run}")
async def show(request: Request, here: Here, run: RunId) -> Response:
    """A question with its answer, after those it follows up on."""
    menu, history = here.service.menu, here.service.history
    records = await chain(history, await here.run(run))
    articles = [await _article(request, record) for record in records]
    last = records[-1]
    box = ask_box(menu, parent=last, label="Ask a follow-up")
    name = (await history.names()).get(last.thread)
    heading = name or ("Question and answer" if len(records) == 1 else "Questions and answers")
    title = el("h1", heading, class_="thread-name" if name else "hidden")
    thread = el("div", title, *articles, again_box(menu, last), tools(last, name), class_="thread")
    return page(request, last.question, thread, el("div", box, class_="follow-up"), live=last.state == "running")


@router.get("/r/{run}/article")
async def fragment(request: Request, here: Here, run: RunId) -> Response:
    """One article by itself, to take the place of the live one."""
    return HTMLResponse(await _article(request, await here.run(run)))


@router.get("/r/{run}/live")
async def live(
    here: Here,
    run: RunId,
    offset: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
    last_event_id: Annotated[str | None, Header()] = None,
) -> Response:
    """A run's events as what the page shows: `{"status", "step", "draft", "ended"}`; the draft now and then, and whole."""
    offset = session.resumed(offset, last_event_id)
    batches = await here.follow(run, 0, None)  # the words before the offset are a part of the draft

    async def chunks() -> AsyncGenerator[str, None]:
        drafted, drawn = Drafted(), 0.0
        async with aclosing(batches):
            async for batch in batches:
                bodies = [(number, loads(Json, body)) for number, body in batch]
                told = [(number, body, event_of(body)) for number, body in bodies]
                drafted.due = any([drafted.hears(event) for _, _, event in told]) or drafted.due
                news = [(number, _shown(body, event)) for number, body, event in told if number >= offset]
                whole = any(isinstance(event, Section | Outlined) for _, _, event in told)  # more may not come for a while
                if news and drafted.due and (whole or time.monotonic() - drawn > _DRAWN):
                    news[-1][1]["draft"] = await beside(drafted.html)
                    drawn, drafted.due = time.monotonic(), False
                yield "".join(f"id: {number}\ndata: {json.dumps(shown, ensure_ascii=False)}\n\n" for number, shown in news)

    return EventStream(chunks())


@router.post("/r/{run}/delete")
async def delete(here: Here, run: RunId) -> Response:
    await here.forget(run)
    return RedirectResponse("/history", 303)


@router.get("/history")
async def history(request: Request, q: Annotated[str, Query(max_length=200)] = "") -> Response:
    here = service.of(request)
    threads, names = await here.history.threads(search=q), await here.history.names()
    return page(request, "History", listing(threads, names, q))


@router.get("/docs")
async def docs(request: Request) -> Response:
    """The API described, without anything from elsewhere."""
    return page(request, "HTTP API", describe(request.app.openapi()))


@router.get("/login")
async def login_form(request: Request, next: Annotated[str, Query(max_length=200)] = "/") -> Response:
    return _login(request, next)


@router.post("/login")
async def login(
    request: Request, token: Annotated[str, Form(max_length=1000)], next: Annotated[str, Form(max_length=200)] = "/"
) -> Response:
    access = request.app.state.access
    if not access.is_token(token):
        return _login(request, next, "That is not the token of this server.", 401)
    answer = RedirectResponse(_local(next), 303)
    answer.headers["Set-Cookie"] = access.cookie(secure=request.url.scheme == "https")
    return answer


@router.get("/favicon.ico")
async def favicon() -> Response:
    return FileResponse(STATIC / "mark.svg", media_type="image/svg+xml")


def page(request: Request, title: str, *children: Child, live: bool = False, status: int = 200) -> HTMLResponse:
    """A whole page; a `live` one is fetched again where there is no JavaScript. Titles are texts of others too: `framed` escapes
    them."""
    head = el("noscript", el("meta", http_equiv="refresh", content=2)) if live else None
    shown = title if title == "wellread" else f"{title[:120]} · wellread"
    link = el("a", icon("settings"), el("span", "Settings"), href="/settings", class_="to-settings")
    here = service.of(request)
    whose = link if here.options.has_settings else el("span", here.account, class_="who") if here.account else None
    return HTMLResponse(framed(title=shown, head=head, whose=whose, main=join(*children)), status)


def error(request: Request, status: int, message: str) -> HTMLResponse:
    """A failure, in the page's dress."""
    words = el("div", el("h1", message.capitalize()), el("p", el("a", "Ask a question", href="/")), class_="hero")
    return page(request, "wellread", words, status=status)


def _login(request: Request, following: str, problem: str = "", status: int = 200) -> HTMLResponse:
    form = el(
        "form",
        el("label", "Token", el("input", type="password", name="token", required=True, autocomplete="current-password")),
        el("input", type="hidden", name="next", value=_local(following)),
        el("p", problem, role="alert", class_="problem") if problem else None,
        el("button", "Come in", class_="button primary"),
        method="post", action="/login", class_="login",
    )  # fmt: skip
    body = el("div", el("h1", "wellread"), el("p", "This server asks for its token."), form, class_="hero")
    return page(request, "wellread", body, status=status)


def _local(path: str) -> str:
    """A path on this server; anything that could lead elsewhere becomes the home page."""
    fine = path.startswith("/") and not path.startswith("//") and "\\" not in path
    return quote(path, safe="/") if fine else "/"


def _shown(body: Json, event: Event | None) -> Json:
    shown: Json = {"status": status(event), "step": step(event)} if event else {}
    if body["event"] == "ended":
        shown["ended"] = body.get("state", "failed")
    return {name: value for name, value in shown.items() if value}


async def _article(request: Request, record: Record) -> Safe:
    here, base = service.of(request), str(request.base_url)
    running = here.runs.live.get(record.id)
    if running is not None:
        so_far, waiting = list(running.log), running.ticket.waiting
        return await beside(lambda: article(record, so_far, base, waiting=waiting))
    if record.state == "running":  # when it was read: its page would listen for an end that has come already
        record = await here.history.get(record.id) or record
    log = [body for _, body in await here.history.events(record.id, limit=5_000)]
    return await beside(lambda: article(record, log, base, here.menu))


def describe(schema: Schema) -> Safe:
    intro = [el("p", _words(part)) for part in str(schema["info"]["description"]).strip().split("\n\n")]
    operations = [
        _operation(path, method, one, schema) for path, methods in schema["paths"].items() for method, one in methods.items()
    ]
    document = el("p", "The same for programs: ", el("a", "openapi.json", href="/openapi.json"), ".")
    return el("div", el("h1", "HTTP API"), *intro, document, *operations, class_="reference")


def _operation(path: str, method: str, one: Schema, schema: Schema) -> Safe:
    head = el("h2", el("span", method.upper(), class_=f"method {method}"), " ", el("code", path))
    rows: list[Safe] = []
    for parameter in one.get("parameters", ()):
        about = parameter.get("description") or parameter.get("schema", {}).get("description") or ""
        rows.append(el("li", el("code", parameter["name"]), " ", el("small", parameter["in"]), " ", about))
    table = el("ul", *rows, class_="parameters") if rows else None
    statuses = ", ".join(one.get("responses", {}))
    said, answers = el("p", _words(one.get("description", ""))), el("p", f"Answers: {statuses}", class_="facts")
    return el("section", head, said, table, _example(one, schema), answers)


def _words(text: str) -> Safe:
    """Inline code: what stands between backticks."""
    return join(*(el("code", part) if number % 2 else part for number, part in enumerate(text.split("`"))))


def _example(one: Schema, schema: Schema) -> Safe | None:
    """A body that can be sent as it stands."""
    content: Schema = one.get("requestBody", {}).get("content", {}).get("application/json", {})
    name = str(content.get("schema", {}).get("$ref", "")).rsplit("/", 1)[-1]
    examples: list[Any] = schema.get("components", {}).get("schemas", {}).get(name, {}).get("examples", [])
    if not examples:
        return None
    return el("pre", el("code", json.dumps(examples[0], ensure_ascii=False, indent=2)), tabindex=0, aria_label="Example")


@router.get("/r/{run}/export.md")
async def as_markdown(here: Here, run: RunId, marks: Marks = "text") -> Response:
    name, record = await _thread(here, run)

    async def parts() -> AsyncGenerator[str, None]:
        yield f"# {plain(name)}"
        async for each in here.conversation(record):
            yield "\n\n" + await beside(lambda each=each: _section(each, here.base, marks))
        yield "\n"

    return StreamingResponse(parts(), media_type="text/markdown; charset=utf-8", headers=_download(name, "md"))


@router.get("/r/{run}/export.json")
async def as_json(here: Here, run: RunId) -> Response:
    name, record = await _thread(here, run)

    async def parts() -> AsyncGenerator[str, None]:
        yield f'{{"name": {_json(name)}, "thread": {_json(record.thread)}, "runs": ['
        before = "\n"
        async for each in here.conversation(record):
            yield before + await beside(lambda each=each: _json(shapes.exported(each, here.base)))
            before = ",\n"
        yield "\n]}\n"

    return StreamingResponse(parts(), media_type="application/json", headers=_download(name, "json"))


@router.get("/r/{run}/report.{kind}")
async def as_file(here: Here, run: RunId, kind: Literal["html", "docx"]) -> Response:
    """One answer as a file of its own."""
    record = await here.run(run)
    if record.answer is None:
        raise NotThere(NO_RUN)
    made, answer = files.as_html if kind == "html" else files.as_word, linked(record.answer, here.base)
    body = await beside(lambda: made(answer))
    return Response(body, media_type="application/octet-stream", headers=_download(record.question, kind))


@router.post("/r/{run}/name")
async def rename(here: Here, run: RunId, name: Annotated[str, Form(max_length=200)] = "") -> Response:
    await here.service.history.rename((await here.run(run)).thread, " ".join(name.split()))
    return RedirectResponse(f"/r/{run}", 303)


def tools(record: Record, name: str | None) -> Safe:
    """Export, print and rename a conversation, out of the way until it is wanted."""
    field = el("input", name="name", value=name or "", maxlength=200, placeholder="Name of this conversation", aria_label="Name")
    naming = el("form", field, el("button", "Name it", class_="button"), method="post", action=f"/r/{record.id}/name")
    ways = [
        el("a", icon("page"), f"Save as {label}", href=f"/r/{record.id}/export.{kind}", download=True, class_="button")
        for label, kind in (("Markdown", "md"), ("JSON", "json"))
    ]
    printing = el("button", "Print", type="button", class_="button", data_action="print")
    inside = el("div", *ways, printing, naming, class_="actions")
    return el("details", el("summary", "Keep this conversation"), inside, class_="tools")


async def _thread(here: Session, run: str) -> tuple[str, Record]:
    """The name of the conversation that a run belongs to, and the run."""
    record = await here.run(run)
    if name := (await here.service.history.names()).get(record.thread):
        return name, record
    async with aclosing(here.conversation(record)) as runs:
        return (await anext(runs, record)).question, record  # itself, where all have been removed just now


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _section(record: Record, base: str | None, marks: Marks) -> str:
    answer = record.answer and linked(record.answer, base)
    told = markdown(shown(answer, marks)) if answer else f"This run was {record.state}."
    return f"## {plain(record.question)}\n\n*{plain(' · '.join(facts(record)))}*\n\n{told}"


def _download(name: str, kind: str) -> dict[str, str]:
    """A name for the file that every system takes."""
    words: Sequence[str] = re.findall(r"[a-z0-9]{1,30}", name[:1_000].lower())[:8]
    return {"Content-Disposition": f'attachment; filename="{"-".join(words) or "conversation"}.{kind}"'}


def listing(threads: Sequence[Sequence[Record]], names: Mapping[str, str], search: str) -> Safe:
    form = search_form("/history", search, "Search questions and answers", label="Search the history")
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
