"""One event of a run as one step of the timeline. Events are read in their JSON form, live or from the history."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from wellread.server.web.html import Safe, el, icon, join

Body = dict[str, Any]
_LONG = 1_200  # characters of a model's thought that are shown
_KINDS = {"plan": "Plan", "reflection": "Reflection", "information": "Notes", "thought": "Thought", "action": "Action"}


def step(event: Body) -> Safe:
    """The step's HTML; empty for events that make none."""
    draw = _STEPS.get(str(event.get("event")))
    return draw(event) if draw else Safe("")


def status(event: Body) -> str:
    """A line on what is being done now; empty when the event says nothing about that."""
    match event.get("event"):
        case "started":
            return "Getting started"
        case "searching":
            return f"Searching for “{event['query']}”"
        case "reading":
            return f"Reading {site(event['url'])}"
        case "searched" | "page_read" | "graded" | "ranked":
            return "Weighing what was found"
        case "answer_delta":
            return "Writing the answer"
        case _:
            return ""


def site(url: str | None) -> str:
    """The host of an address, or what stands before its colon."""
    if not url:
        return ""
    parts = urlsplit(url)
    return (parts.hostname or parts.scheme or url).removeprefix("www.")


def _row(event: Body, name: str, *children: Any, kind: str = "") -> Safe:
    at = el("time", f"{float(event.get('at') or 0):.1f} s", class_="step-time")
    return el("li", icon(name), el("div", *children, class_="step-body"), at, class_=f"step {kind}".strip())


def _thought(event: Body) -> Safe:
    words = str(event["text"])
    label = _KINDS.get(str(event["kind"]), str(event["kind"]).capitalize())
    shown = words if len(words) <= _LONG else words[:_LONG] + " …"
    folded = el("details", el("summary", label), el("p", shown, class_="step-text"))
    return _row(event, "thought", folded if len(words) > 160 else join(el("b", label), " ", words))


def _searched(event: Body) -> Safe:
    hits: list[Body] = event["hits"]
    count = f"{len(hits)} result" + ("" if len(hits) == 1 else "s")
    items = [el("li", hit["title"] or hit["id"], " ", el("small", site(hit["url"]) or hit["source"])) for hit in hits[:20]]
    failures = [el("p", failure, class_="step-warning") for failure in event.get("failures") or ()]
    found = el("details", el("summary", count), el("ul", *items)) if items else el("p", "nothing found", class_="step-quiet")
    return _row(event, "search", "Searched ", el("q", event["query"]), found, *failures)


def _page_read(event: Body) -> Safe:
    return _row(event, "page", "Read ", el("b", event["title"] or event["url"]), " ", el("small", site(event["url"])))


def _page_failed(event: Body) -> Safe:
    return _row(event, "warning", f"Could not read {event['url']}: {event['reason']}", kind="step-weak")


def _ranked(event: Body) -> Safe:
    dropped = f", {event['dropped']} set aside" if event.get("dropped") else ""
    pairs = f", {event['pairs']} pairs read" if event.get("pairs") else ""
    return _row(event, "rank", f"Ranked {len(event['kept'])} by {event['by']}{dropped}{pairs}")


def _graded(event: Body) -> Safe:
    score = event.get("score")
    shown = f" {float(score):.0%}" if score is not None else ""
    name, word = ("check", "Relevant") if event["relevant"] else ("cross", "Not relevant")
    return _row(event, name, f"{word}: ", el("b", event["title"]), el("small", shown))


def _decided(event: Body) -> Safe:
    why = f": {event['why']}" if event.get("why") else ""
    return _row(event, "fork", f"Decided: {event['decision']}{why}")


def _rewritten(event: Body) -> Safe:
    return _row(event, "fork", "Asked instead ", el("q", event["query"]))


def _model_called(event: Body) -> Safe:
    tokens = int(event["input_tokens"]) + int(event["output_tokens"])
    ending = ", cut off" if event.get("cut_off") else ""
    facts = f"{event['model']}, {tokens:,} tokens, {float(event['seconds']):.1f} s{ending}"
    return _row(event, "model", f"Model ({event['role']}) ", el("small", facts), kind="step-quiet")


def _notice(event: Body) -> Safe:
    return _row(event, "warning", event["message"], kind="step-weak")


def _exhausted(event: Body) -> Safe:
    return _row(event, "warning", f"The limit on {event['limit']} was reached", kind="step-weak")


def _cut(event: Body) -> Safe:
    return _row(event, "warning", f"Shortened {event['what']} to {event['kept_tokens']:,} of {event['of_tokens']:,} tokens")


_STEPS: dict[str, Callable[[Body], Safe]] = {
    "thought": _thought,
    "searched": _searched,
    "page_read": _page_read,
    "page_failed": _page_failed,
    "ranked": _ranked,
    "graded": _graded,
    "decided": _decided,
    "rewritten": _rewritten,
    "model_called": _model_called,
    "notice": _notice,
    "exhausted": _exhausted,
    "cut": _cut,
}
