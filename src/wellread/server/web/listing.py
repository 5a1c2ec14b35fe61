"""The history as a page: conversations with their questions, search, names, delete, export."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from wellread.present.html import plain_text
from wellread.server.record import Record
from wellread.server.web.html import Safe, el, icon

DOORS = {"api": "by the API", "openai": "by the OpenAI-compatible API", "mcp": "by MCP"}
_STATES = {"running": "running", "stopped": "stopped", "interrupted": "interrupted", "failed": "failed"}
_OUTCOMES = {"partial": "in part", "unsure": "no answer found", "exhausted": "cut short", "failed": "failed"}


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
    words = plain_text(record.text[:600])
    preview = words if len(words) <= 180 else words[:179] + "…"
    state = _STATES.get(record.state) or _OUTCOMES.get(record.outcome or "")
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
        el("p", preview, class_="preview") if preview else None,
        facts,
    ]


def _delete(record: Record) -> Safe:
    remove = el("button", icon("delete"), class_="button quiet", aria_label=f"Delete: {record.question}", title="Delete")
    return el("form", remove, method="post", action=f"/r/{record.id}/delete", data_confirm="Delete this question and its answer?")


def _day(record: Record) -> Safe:
    at = time.localtime(record.created)
    return el("time", time.strftime("%-d %b %Y, %H:%M", at), datetime=time.strftime("%Y-%m-%dT%H:%M:%S%z", at))
