"""The search as a page: one entry a document with its best passages, each of which opens where it stands."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response

from wellread.errors import WellreadError
from wellread.present.sections import preview
from wellread.server import service
from wellread.server.addresses import WORDS
from wellread.server.limits import beside
from wellread.server.menu import Menu
from wellread.server.security import address
from wellread.server.viewer import Span, of_hit
from wellread.server.web.articles import site
from wellread.server.web.controls import ticks
from wellread.server.web.html import Safe, el, icon, join, warning
from wellread.server.web.pages import page
from wellread.text.blocks import in_pieces
from wellread.text.places import inside, is_file, is_web
from wellread.text.sentences import statements
from wellread.text.words import fold, stem
from wellread.types import Hit, Hits, by_document

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
_LIMIT = 30  # passages
_SHOWN = 3  # of one document
_LONGEST = 320  # characters of a passage


@router.get("/search")
async def search(
    request: Request,
    q: Annotated[str, Query(max_length=2_000)] = "",
    source: Annotated[list[str] | None, Query(max_length=50)] = None,
) -> Response:
    here = service.of(request)
    wanted = " ".join(q.split())
    results = await _found(request, wanted, source or ()) if wanted else None
    body = el("div", el("h1", "Search"), _form(here.menu, wanted, source or ()), results, class_="history finding")
    return page(request, wanted or "Search", body)


async def _found(request: Request, q: str, sources: Sequence[str]) -> Safe:
    here = service.of(request)
    engine = here.menu.searching(sources)
    async with here.turn(address(request.scope)):
        try:
            hits = await engine.search(q, limit=_LIMIT)
        except WellreadError as problem:
            return warning(str(problem))
    return await beside(lambda: _listed(hits, _keys(q)))


def _listed(hits: Hits, wanted: set[str]) -> Safe:
    """What was found, by document."""
    notes = [warning(failure) for failure in hits.failures]
    items = [_document(group, wanted) for group in by_document(hits)]
    listed = el("ol", *items, class_="documents") if items else el("p", "Nothing fits these words.", class_="empty")
    return join(*notes, listed)


def _document(group: Sequence[Hit], wanted: set[str]) -> Safe:
    first = group[0]
    title = el("h2", _link(first, first.title or first.document or first.id, _best(first, wanted)))
    where = first.document if is_file(first.url) else site(first.url) or first.source
    rest = len(group) - _SHOWN
    more = el("p", f"{rest} more {'passage' if rest == 1 else 'passages'}", class_="facts") if rest > 0 else None
    passages = (_passage(hit, wanted) for hit in group[:_SHOWN])
    return el("li", title, el("p", el("span", where), class_="facts"), *passages, more)


def _passage(hit: Hit, wanted: set[str]) -> Safe:
    """Its place, and its words from the best sentence on."""
    place, best = inside(hit.heading, hit.page, hit.anchor), _best(hit, wanted)
    pieces, _ = in_pieces(hit.words)
    kept = [
        hit.words[max(piece.start, best[0]) : piece.end] for piece in pieces if piece.kind != "heading" and piece.end > best[0]
    ]
    shown = preview(" ".join(kept), _LONGEST)
    return el("p", _link(hit, place, best) if place else None, " " if place else None, shown, class_="preview")


def _best(hit: Hit, wanted: set[str]) -> Span:
    """The sentence that has most of the words that were looked for; the first among equals."""
    spans = statements(hit.words) or [(0, len(hit.words))]
    return max(spans, key=lambda span: len(wanted & _keys(hit.words[span[0] : span[1]])))


def _keys(text: str) -> set[str]:
    return {stem(fold(word)) for word in re.findall(r"\w+", text)}


def _link(hit: Hit, text: str, words: Span) -> Safe:
    """To its words in our viewer, or at its address, or nowhere."""
    if hit.text and (place := of_hit(hit)):
        return el("a", text, href=f"{replace(place, spans=(words,)).path()}#{WORDS}")
    return el("a", text, href=hit.url, target="_blank", rel="noopener noreferrer") if is_web(hit.url) else el("span", text)


def _form(menu: Menu, q: str, sources: Sequence[str]) -> Safe:
    field = el(
        "input",
        type="search",
        name="q",
        value=q,
        placeholder="Search your sources",
        aria_label="Search your sources",
        required=True,
    )
    picker = ticks(menu, sources)
    return el("form", icon("search"), field, picker, class_="search", role="search", action="/search", method="get")
