"""One event of a run as one step of the page's timeline: its own words, with a picture and what can be unfolded."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from wellread import events
from wellread.server.web.html import Child, Safe, el, icon
from wellread.text.places import inside, is_file
from wellread.types import Hit, by_document

_LONG = 1_200  # characters of a model's thought that are shown
_FOLDED = 160  # … and from how many on it has to be unfolded
_STATUS = 120
_ICONS: dict[type[events.Event], str] = {
    events.Thought: "thought",
    events.Searched: "search",
    events.PageRead: "page",
    events.PageFailed: "warning",
    events.Ranked: "rank",
    events.Graded: "check",
    events.Decided: "fork",
    events.Rewritten: "fork",
    events.Understood: "fork",
    events.ModelCalled: "model",
    events.Notice: "warning",
    events.Exhausted: "warning",
    events.Cut: "warning",
}
_CLASSES: dict[type[events.Event], str] = {
    events.PageFailed: "step-weak",
    events.Notice: "step-weak",
    events.Exhausted: "step-weak",
    events.ModelCalled: "step-quiet",
}


def step(event: events.Event) -> Safe:
    """The step's HTML; empty for events that make none."""
    picture, words = _ICONS.get(type(event)), event.said()
    if picture is None or words is None:
        return Safe("")
    if isinstance(event, events.Graded) and not event.relevant:
        picture = "cross"
    body = el("div", *_body(event, words), class_="step-body")
    at = el("time", f"{event.at:.1f} s", class_="step-time")
    return el("li", icon(picture), body, at, class_=f"step {_CLASSES.get(type(event), '')}".strip())


def status(event: events.Event) -> str:
    """A line on what is being done now; empty when the event says nothing about that."""
    words = event.said()
    line = words.short(_STATUS) if words else ""
    return line[:1].upper() + line[1:]


def site(url: str | None) -> str:
    """The host of an address, or what stands before its colon."""
    if not url:
        return ""
    parts = urlsplit(url)
    return (parts.hostname or parts.scheme or url).removeprefix("www.")


def _body(event: events.Event, words: events.Words) -> list[Child]:
    did = words.did.capitalize()
    match event:
        case events.Thought(text=text) if len(text) > _FOLDED:
            shown = text if len(text) <= _LONG else text[:_LONG] + " …"
            return [el("details", el("summary", did), el("p", shown, class_="step-text"))]
        case events.Searched():
            failures = [el("p", failure, class_="step-warning") for failure in event.failures]
            return [f"{did} ", el("q", words.what), _hits(event), *failures]
        case events.PageRead() | events.ModelCalled():
            return [f"{did} ", el("b", words.what), " ", el("small", f"{words.detail}, {event.seconds:.1f} s")]
        case _:
            return [f"{did} ", el("b", words.what), " ", el("small", words.detail)]


def _hits(event: events.Searched) -> Safe:
    progress = f"; {event.number} of {event.of} queries" if event.of else ""
    if not event.hits:
        return el("p", f"nothing found{progress}", class_="step-quiet")
    groups = by_document(event.hits)
    items = [el("li", hits[0].title or hits[0].id, " ", el("small", _where(hits))) for hits in groups[:20]]
    counts = f"{len(event.hits)} found" + (f" in {len(groups)} documents" if 1 < len(groups) < len(event.hits) else "")
    counts += progress
    return el("details", el("summary", counts), el("ul", *items))


def _where(hits: Sequence[Hit]) -> str:
    """A document's name and the places in it, each once."""
    first = hits[0]
    name = first.document if is_file(first.url) else site(first.url) or first.source
    places = dict.fromkeys(inside(hit.heading, hit.page) for hit in hits)
    return ", ".join(part for part in (name, *places) if part)
