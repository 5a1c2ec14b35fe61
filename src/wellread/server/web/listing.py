"""The history as a page: search, links, delete, export."""

from __future__ import annotations

import time
from collections.abc import Sequence

from wellread.server.history import Record
from wellread.server.web.html import Safe, el, icon

_STATES = {"running": "running", "stopped": "stopped", "interrupted": "interrupted", "failed": "failed"}


def listing(records: Sequence[Record], search: str) -> Safe:
    field = el(
        "input",
        type="search",
        name="q",
        value=search,
        placeholder="Search questions and answers",
        aria_label="Search the history",
    )
    form = el("form", icon("search"), field, class_="search", role="search", action="/history", method="get")
    items = [_item(record) for record in records]
    empty = "Nothing fits these words." if search else "Nothing has been asked yet."
    found = el("ol", *items, class_="runs") if items else el("p", empty, class_="empty")
    export = el("p", el("a", "Export everything as JSON lines", href="/api/export", download=True), class_="export")
    results = el("div", found, id="results", aria_live="polite")
    return el("div", el("h1", "History"), form, results, export if items else None, class_="history")


def _item(record: Record) -> Safe:
    day = time.strftime("%-d %b %Y", time.localtime(record.created))
    words = " ".join(record.text.split())
    preview = words if len(words) <= 180 else words[:179] + "…"
    state = _STATES.get(record.state) or ("in part" if record.outcome == "partial" else None)
    badge = el("span", state, class_="badge") if state else None
    remove = el("button", icon("delete"), class_="button quiet", aria_label=f"Delete: {record.question}", title="Delete")
    form = el("form", remove, method="post", action=f"/r/{record.id}/delete", data_confirm="Delete this question and its answer?")
    link = el("a", record.question, href=f"/r/{record.id}")
    facts = el("p", el("span", day), el("span", record.strategy), badge, class_="facts")
    return el("li", el("div", el("h2", link), el("p", preview, class_="preview") if preview else None, facts), form)
