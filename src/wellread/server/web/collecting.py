"""The routes of collections: make one, send documents, watch them being read, refresh, stop, remove. All of them are forms."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Path, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from wellread.errors import UsageError
from wellread.server import receiving, service
from wellread.server.addresses import COLLECTIONS
from wellread.server.collections import Collection
from wellread.server.receiving import found, opened
from wellread.server.render_thread import beside
from wellread.server.service import Service
from wellread.server.web import shelf
from wellread.server.web.pages import page

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
Slug = Annotated[str, Path(max_length=60)]


@router.get(COLLECTIONS)
async def everything(request: Request) -> Response:
    here = service.of(request)
    if not here.options.takes_documents:
        return page("Your documents", shelf.closed())
    return await _shelf(here)


@router.post(COLLECTIONS)
async def create(request: Request) -> Response:
    """Documents that were refused are told; the others are in."""
    received = await receiving.create(request)
    if received.one is None:
        return await _shelf(service.of(request), received.told, dict(received.fields))
    return await _after(service.of(request), received.one, received.told)


@router.get(f"{COLLECTIONS}/{{slug}}")
async def one(request: Request, slug: Slug) -> Response:
    here = opened(request)
    return await _shown(here, found(here, slug))


@router.post(f"{COLLECTIONS}/{{slug}}/documents")
async def add(request: Request, slug: Slug) -> Response:
    received = await receiving.add(request, slug)
    if received.one is None:
        raise UsageError(received.told)
    return await _after(service.of(request), received.one, received.told)


@router.post(f"{COLLECTIONS}/{{slug}}/refresh")
async def refresh(request: Request, slug: Slug) -> Response:
    here = opened(request)
    here.indexing.begin(found(here, slug))
    return RedirectResponse(f"{COLLECTIONS}/{slug}", 303)


@router.post(f"{COLLECTIONS}/{{slug}}/stop")
async def stop(request: Request, slug: Slug) -> Response:
    here = opened(request)
    await here.indexing.stop(found(here, slug))
    return RedirectResponse(f"{COLLECTIONS}/{slug}", 303)


@router.get(f"{COLLECTIONS}/{{slug}}/remove")
async def question(request: Request, slug: Slug, document: Annotated[str, Query(max_length=4_000)] = "") -> Response:
    """The question before: a page, so that it is asked without JavaScript too."""
    here = opened(request)
    view = await receiving.view(here, found(here, slug))
    return page("Remove?", shelf.question(view.one, len(view.items), document))


@router.post(f"{COLLECTIONS}/{{slug}}/remove")
async def remove(request: Request, slug: Slug, document: Annotated[str, Form(max_length=4_000)] = "") -> Response:
    here = opened(request)
    chosen = found(here, slug)
    if document:
        await receiving.drop(here, chosen, document)
        return RedirectResponse(f"{COLLECTIONS}/{slug}", 303)
    await receiving.remove(here, chosen)
    return RedirectResponse(COLLECTIONS, 303)


async def _after(here: Service, one: Collection, refused: str) -> Response:
    return await _shown(here, one, refused) if refused else RedirectResponse(f"{COLLECTIONS}/{one.slug}", 303)


async def _shown(here: Service, one: Collection, note: str = "") -> Response:
    view = await receiving.view(here, one)
    return await beside(lambda: page(one.name, shelf.collection(view, here.options, note), head=shelf.again(view)))


async def _shelf(here: Service, problem: str = "", fields: dict[str, str] | None = None) -> Response:
    views = await receiving.views(here)
    answer = await beside(lambda: page("Your documents", shelf.everything(views, here.options, problem, fields or {})))
    answer.status_code = 400 if problem else 200
    return answer
