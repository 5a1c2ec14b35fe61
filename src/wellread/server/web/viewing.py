"""The routes that show documents: from a citation of a run, from a hit, and a PDF's page as a picture."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, nullcontext
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import HTMLResponse, Response

from wellread.server import follow_up, service, session, viewer
from wellread.server.addresses import COLLECTIONS
from wellread.server.api import RunId
from wellread.server.record import Record
from wellread.server.render_thread import beside
from wellread.server.security import address
from wellread.server.viewer import NotThere, Place, Span, View
from wellread.server.web.documents import document
from wellread.server.web.pages import page as whole_page

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
Name = Annotated[str, Query(max_length=4_000)]
Page = Annotated[int | None, Query(ge=1, le=100_000)]
Words = Annotated[str, Query(max_length=2_000)]
_CHARACTERS = 100_000_000  # places in a passage are smaller


@router.get("/r/{run}/source/{number}")
async def cited(request: Request, run: RunId, number: Annotated[int, Path(ge=1, le=1_000_000)]) -> Response:
    """The document of a run's source, at the words that were quoted."""
    here = service.of(request)
    record = await session.of(request).run(run)
    passage = (await follow_up.numbered(here.history, run)).get(number)
    if passage is None:
        raise NotThere(f"this answer has no source {number}")
    async with _turn(request, passage.document or ""):
        view = await viewer.look_again(here.menu, passage, quoted(record, number))
        return await beside(lambda: _page_of(view, f"/r/{run}#source-{number}"))


@router.get("/document")
async def shown(
    request: Request,
    source: Name,
    document_: Annotated[str, Query(max_length=4_000, alias="document")],
    passage: Annotated[str, Query(max_length=5_000)] = "",
    start: Annotated[int, Query(ge=0, le=_CHARACTERS)] = 0,
    end: Annotated[int, Query(ge=0, le=_CHARACTERS)] = 0,
    page: Page = None,
    words: Words = "",
) -> Response:
    """A document of one of the operator's sources."""
    return await _shown(request, Place(source, document_, passage, ((start, end),) if end > start else ()), words, page)


@router.get(f"{COLLECTIONS}/{{slug}}/documents/{{document:path}}")
async def collected(
    request: Request, slug: Annotated[str, Path(max_length=60)], document: str, page: Page = None, words: Words = ""
) -> Response:
    """A document of a collection, at the address that its passages carry."""
    found = service.of(request).collections.get(slug)
    if found is None:
        raise NotThere("there is no such collection, or no more")
    return await _shown(request, Place(found.name, document), words, page)


async def _shown(request: Request, place: Place, words: str, page: int | None) -> Response:
    here = service.of(request)
    async with _turn(request, place.document):
        looking = viewer.look_for(here.menu, place, words, page) if words else viewer.look(here.menu, place, page)
        view = await looking
        return await beside(lambda: _page_of(view))


@asynccontextmanager
async def _turn(request: Request, document: str) -> AsyncGenerator[None, None]:
    """A place among the readings; who wants several pages drawn gets them one by one, so that others do in between."""
    here, who = service.of(request), address(request.scope)
    async with here.turn(who), here.drawing.turn(who) if viewer.is_pdf(document) else nullcontext():
        yield


def _page_of(view: View, back: str | None = None) -> Response:
    return whole_page(view.passages[view.at].title or view.place.document, document(view, back))


@router.get("/document/page")
async def picture(
    request: Request,
    source: Name,
    document_: Annotated[str, Query(max_length=4_000, alias="document")],
    page: Annotated[int, Query(ge=1, le=100_000)],
) -> Response:
    """A page of a PDF as it looks. We drew it: nothing of the file itself reaches the browser."""
    here = service.of(request)
    async with _turn(request, document_):
        png = await viewer.picture(here.menu, Place(source, document_), page)
    return Response(png, media_type="image/png", headers={"Cache-Control": "private, max-age=300"})


def quoted(record: Record, number: int) -> Sequence[Span]:
    """The words of a source that the answer cites, best carried first."""
    found = [one for one in (record.answer.citations if record.answer else ()) if one.number == number and one.quote]
    return [(one.start, one.end) for one in sorted(found, key=lambda one: -one.support)]
