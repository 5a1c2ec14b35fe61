"""Documents as the page shows them: our own rendering of what was read, with the quoted words marked; and the search for them,
one entry a document with its best passages, each of which opens where it stands.

Nothing of a document is HTML here. Its text goes through `el`, which escapes it; a PDF's page is a picture that we drew.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import HTMLResponse, Response

from wellread.errors import WellreadError
from wellread.present.sections import preview
from wellread.reading.pdfpicture import Picture
from wellread.server import viewer
from wellread.server.api import RunId
from wellread.server.history import Record, numbered
from wellread.server.limits import beside
from wellread.server.menu import label
from wellread.server.session import Here, Session
from wellread.server.viewer import COLLECTIONS, PART, WORDS, NotThere, Place, Span, View, of_hit
from wellread.server.web.articles import site
from wellread.server.web.controls import ticks
from wellread.server.web.html import Safe, el, join, marked_words, search_form, warning
from wellread.server.web.pages import page as whole_page
from wellread.text.blocks import Piece, in_pieces
from wellread.text.places import HEADINGS, at_words, inside, is_file, is_web
from wellread.text.sentences import statements
from wellread.text.words import fold, stem
from wellread.types import Hit, Hits, by_document

_OUTLINE = 400  # headings that are listed
_LOOKED_THROUGH = 2_000  # passages for them
_DEEPEST = 3
_LIMIT = 30  # passages that a search shows
_SHOWN = 3  # of one document
_LONGEST = 320  # characters of a passage there
router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
Name = Annotated[str, Query(max_length=4_000)]
Page = Annotated[int | None, Query(ge=1, le=100_000)]
Words = Annotated[str, Query(max_length=2_000)]
_CHARACTERS = 100_000_000  # places in a passage are smaller


def document(view: View, back: str | None = None) -> Safe:
    """The whole of it; `back` is where it was opened from."""
    here = view.passages[view.at]
    parts = [_pages(view), _picture(view), _text(view), _pages(view) if view.page is None else None]
    return el(
        "article",
        _head(view, here, back),
        *(warning(note) for note in view.notes),
        el("div", _outline(view), el("div", *parts, class_="paper"), class_="reading"),
        class_="document",
    )


def _head(view: View, here: Hit, back: str | None) -> Safe:
    web = here.url if here.url and is_web(here.url) else ""
    words = " ".join(here.text[start:end] for start, end in view.place.spans[:1])
    facts: list[str] = [view.place.document] if is_file(here.url) or not web else []
    facts += [label(view.place.source), f"page {view.page}" if view.page else ""]
    link = el("a", "Open the page itself", href=at_words(web, words, here.anchor), target="_blank", rel="noopener noreferrer")
    return el(
        "header",
        el("p", el("a", "Back to the answer", href=back), class_="back") if back else None,
        el("h1", here.title or view.place.document),
        el("p", *(el("span", fact) for fact in dict.fromkeys(facts) if fact), el("span", link) if web else None, class_="facts"),
    )


def _outline(view: View) -> Safe | None:
    items: list[Safe] = []
    before: list[str] = []
    shown = view.shown
    for number, one in enumerate(view.passages[:_LOOKED_THROUGH]):
        path = one.heading.split(HEADINGS) if one.heading else []
        same = next((depth for depth, (old, new) in enumerate(zip(before, path, strict=False)) if old != new), len(before))
        for depth in range(min(same, len(path)), len(path)):
            near = number in shown
            href = f"#p{number}" if near else replace(view.place, passage=one.id, spans=()).path() + f"#p{number}"
            items.append(el("li", el("a", path[depth], href=href), class_=f"depth-{min(depth, _DEEPEST)}"))
        before = path
        if len(items) > _OUTLINE:
            break
    if len(items) < 2:
        return None
    listed = el("ol", *items[:_OUTLINE])
    return el("nav", el("details", el("summary", "Contents"), listed, open=True), class_="outline", aria_label="Contents")


def _pages(view: View) -> Safe | None:
    """The way to the page before and the one after, or to the other parts of something long."""
    if view.page is not None:
        last = view.picture.pages if view.picture else view.passages[-1].page or 1
        steps = [(view.page - 1, "Page before"), (view.page + 1, "Page after")]
        links = [_step(view.place.path(page=page), name) if 1 <= page <= last else None for page, name in steps]
        return el("p", links[0], el("span", f"Page {view.page} of {last}"), links[1], class_="pages")
    shown = view.shown
    if len(shown) == len(view.passages):
        return None
    whole = el("span", f"Passages {shown.start + 1}–{shown.stop} of {len(view.passages):,}")
    return el("p", _part(view, shown.start - PART, "Earlier"), whole, _part(view, shown.stop, "Later"), class_="pages")


def _part(view: View, first: int, name: str) -> Safe | None:
    if not 0 <= first < len(view.passages):
        return None
    place = Place(view.place.source, view.place.document, view.passages[first].id)
    return _step(f"{place.path()}#p{first}", name)


def _step(href: str, name: str) -> Safe:
    return el("a", name, href=href, class_="button")


def _picture(view: View) -> Safe | None:
    if view.picture is None or view.page is None:
        return None
    picture: Picture = view.picture
    width, height = picture.width, picture.height
    marks = [
        el("rect", x=x - 2, y=y - 3, width=wide + 4, height=high + 6, rx=3, class_="words", id=WORDS if not number else None)
        for number, (x, y, wide, high) in enumerate(picture.boxes)
    ]
    drawn = el("image", href=view.place.picture(view.page), width=width, height=height)
    label = f"Page {view.page} of {view.place.document}"
    return el("svg", drawn, *marks, viewBox=f"0 0 {width} {height}", class_="sheet", role="img", aria_label=label)


def _text(view: View) -> Safe | None:
    in_code, marked = False, bool(view.picture and view.picture.boxes)
    parts: list[Safe] = []
    open_headings: list[int] = []
    for number in view.shown:
        spans = view.place.spans if number == view.at else ()
        pieces, in_code = in_pieces(view.passages[number].text, in_code)
        body = join(*_blocks(view.passages[number].text, _leveled(pieces, open_headings), spans, None if marked else WORDS))
        chosen = number == view.at and bool(view.place.passage)
        parts.append(el("section", body, id=f"p{number}", class_="piece chosen" if chosen else "piece"))
    if not parts:
        return el("p", "There is no text on this page.", class_="empty") if view.picture else None
    if view.picture is None:
        return join(*parts)
    return el("details", el("summary", "The text as it was read"), *parts, class_="as-read", open=not marked)


def _leveled(pieces: Sequence[Piece], above: list[int]) -> Iterator[Piece]:
    """Headings one below the other, whatever levels a document skips: readers of a screen count them."""
    for piece in pieces:
        if piece.kind != "heading":
            yield piece
            continue
        while above and above[-1] >= piece.level:
            above.pop()
        above.append(piece.level)
        yield replace(piece, level=len(above))


def _blocks(text: str, pieces: Iterable[Piece], spans: Sequence[Span], first: str | None) -> Iterator[Safe]:
    """Elements of the pieces; neighbouring items and rows stand in one list and one table."""
    waiting: list[Safe] = []
    kind = ""
    for piece in (*pieces, None):
        if waiting and (piece is None or piece.kind != kind):
            yield el("ul", *waiting) if kind == "item" else el("table", el("tbody", *waiting))
            waiting = []
        if piece is None:
            return
        kind = piece.kind
        words = marked_words(text, piece.start, piece.end, spans, first)
        if kind == "item":
            waiting.append(el("li", words, class_=f"depth-{min(piece.level, _DEEPEST)}"))
        elif kind == "row":
            cells = piece.cells(text)
            waiting.append(el("tr", *(el("td", marked_words(text, *cell, spans, first)) for cell in cells)))
        else:
            tag = {"code": "pre", "quote": "blockquote", "heading": f"h{min(piece.level + 1, 6)}"}.get(piece.kind, "p")
            yield el(tag, words)


@router.get("/r/{run}/source/{number}")
async def cited(request: Request, here: Here, run: RunId, number: Annotated[int, Path(ge=1, le=1_000_000)]) -> Response:
    """The document of a run's source, at the words that were quoted."""
    record = await here.run(run)
    passage = (await numbered(here.service.history, run)).get(number)
    if passage is None:
        raise NotThere(f"this answer has no source {number}")
    async with _turn(here, passage.document or ""):
        view = await viewer.look_again(here.service.menu, passage, quoted(record, number))
        return await beside(lambda: _page_of(request, view, f"/r/{run}#source-{number}"))


@router.get("/document")
async def shown(
    request: Request,
    here: Here,
    source: Name,
    document_: Annotated[str, Query(max_length=4_000, alias="document")],
    passage: Annotated[str, Query(max_length=5_000)] = "",
    start: Annotated[int, Query(ge=0, le=_CHARACTERS)] = 0,
    end: Annotated[int, Query(ge=0, le=_CHARACTERS)] = 0,
    page: Page = None,
    words: Words = "",
) -> Response:
    """A document of one of the operator's sources."""
    return await _shown(request, here, Place(source, document_, passage, ((start, end),) if end > start else ()), words, page)


@router.get(f"{COLLECTIONS}/{{slug}}/documents/{{document:path}}")
async def collected(
    request: Request, here: Here, slug: Annotated[str, Path(max_length=60)], document: str, page: Page = None, words: Words = ""
) -> Response:
    """A document of a collection, at the address that its passages carry."""
    found = here.service.collections.get(slug)
    if found is None:
        raise NotThere("there is no such collection, or no more")
    return await _shown(request, here, Place(found.name, document), words, page)


async def _shown(request: Request, here: Session, place: Place, words: str, page: int | None) -> Response:
    menu = here.service.menu
    async with _turn(here, place.document):
        view = await (viewer.look_for(menu, place, words, page) if words else viewer.look(menu, place, page))
        return await beside(lambda: _page_of(request, view))


@asynccontextmanager
async def _turn(here: Session, document: str) -> AsyncGenerator[None, None]:
    """A place among the readings; who wants several pages drawn gets them one by one, so that others do in between."""
    drawing = here.service.drawing.turn(here.client) if viewer.is_pdf(document) else nullcontext()
    async with here.service.searching.place(here.client), drawing:
        yield


def _page_of(request: Request, view: View, back: str | None = None) -> Response:
    return whole_page(request, view.passages[view.at].title or view.place.document, document(view, back))


@router.get("/document/page")
async def picture(
    here: Here,
    source: Name,
    document_: Annotated[str, Query(max_length=4_000, alias="document")],
    page: Annotated[int, Query(ge=1, le=100_000)],
) -> Response:
    """A page of a PDF as it looks. We drew it: nothing of the file itself reaches the browser."""
    async with _turn(here, document_):
        png = await viewer.picture(here.service.menu, Place(source, document_), page)
    return Response(png, media_type="image/png", headers={"Cache-Control": "private, max-age=300"})


def quoted(record: Record, number: int) -> Sequence[Span]:
    """The words of a source that the answer cites, best carried first."""
    found = [one for one in (record.answer.citations if record.answer else ()) if one.number == number and one.quote]
    return [(one.start, one.end) for one in sorted(found, key=lambda one: -one.support)]


@router.get("/search")
async def search(
    request: Request,
    here: Here,
    q: Annotated[str, Query(max_length=2_000)] = "",
    source: Annotated[list[str] | None, Query(max_length=50)] = None,
) -> Response:
    wanted = " ".join(q.split())
    results = await _found(here, wanted, source or ()) if wanted else None
    form = search_form("/search", wanted, "Search your sources", ticks(here.service.menu, source or ()), required=True)
    body = el("div", el("h1", "Search"), form, results, class_="history finding")
    return whole_page(request, wanted or "Search", body)


async def _found(here: Session, q: str, sources: Sequence[str]) -> Safe:
    engine = here.service.menu.searching(sources)
    async with here.service.searching.place(here.client):
        try:
            hits = await engine.search(q, limit=_LIMIT)
        except WellreadError as problem:
            return warning(str(problem))
    return await beside(lambda: _listed(hits, _keys(q)))


def _listed(hits: Hits, wanted: set[str]) -> Safe:
    """Search results as HTML, by document."""
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
