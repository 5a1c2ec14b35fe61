"""The routes of collections: make one, send documents, watch them being read, refresh, stop, remove. All of them are forms."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Form, Path, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.requests import ClientDisconnect

from wellread.errors import UsageError
from wellread.server import service
from wellread.server.addresses import COLLECTIONS
from wellread.server.api import client
from wellread.server.collections import Collection
from wellread.server.intake import Arrived, Room, Sent, arriving
from wellread.server.service import Service
from wellread.server.viewer import NotThere
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
    """A new collection, with documents or of a folder. Documents that were refused are told; the others are in."""
    here = _open(request)
    try:
        async with here.sending.place(client(request)), arriving(request, await _room(here), here.collections.incoming) as form:
            folder = form.fields.get("folder", "").strip()
            try:
                made = await _made(here, form, folder)
            except UsageError as problem:
                return await _shelf(here, str(problem), form.fields)
            refused = await _file(here, made, form.files)
    except ClientDisconnect:
        return Response(status_code=400)
    if refused and len(refused) == len(form.files):
        here.collections.remove(made)
        return await _shelf(here, shelf.told(refused), form.fields)
    here.indexing.begin(made)
    return await _after(here, made, refused)


@router.get(f"{COLLECTIONS}/{{slug}}")
async def one(request: Request, slug: Slug) -> Response:
    here = _open(request)
    return await _shown(here, _found(here, slug))


@router.post(f"{COLLECTIONS}/{{slug}}/documents")
async def add(request: Request, slug: Slug) -> Response:
    here = _open(request)
    found = _found(here, slug)
    if found.folder is not None:
        raise UsageError("this collection reads a folder: put documents there, then refresh")
    try:
        async with here.sending.place(client(request)), arriving(request, await _room(here), here.collections.incoming) as form:
            refused = await _file(here, found, form.files)
    except ClientDisconnect:
        return Response(status_code=400)
    if not form.files:
        raise UsageError("no document was sent")
    if len(refused) < len(form.files):
        here.indexing.begin(found)
    return await _after(here, found, refused)


@router.post(f"{COLLECTIONS}/{{slug}}/refresh")
async def refresh(request: Request, slug: Slug) -> Response:
    here = _open(request)
    found = _found(here, slug)
    here.indexing.begin(found)
    return RedirectResponse(f"{COLLECTIONS}/{slug}", 303)


@router.post(f"{COLLECTIONS}/{{slug}}/stop")
async def stop(request: Request, slug: Slug) -> Response:
    here = _open(request)
    await here.indexing.stop(_found(here, slug))
    return RedirectResponse(f"{COLLECTIONS}/{slug}", 303)


@router.get(f"{COLLECTIONS}/{{slug}}/remove")
async def question(request: Request, slug: Slug, document: Annotated[str, Query(max_length=4_000)] = "") -> Response:
    """The question before: a page, so that it is asked without JavaScript too."""
    here = _open(request)
    found = _found(here, slug)
    count = len(await asyncio.to_thread(here.collections.documents, found))
    return page("Remove?", shelf.question(found, count, document))


@router.post(f"{COLLECTIONS}/{{slug}}/remove")
async def remove(request: Request, slug: Slug, document: Annotated[str, Form(max_length=4_000)] = "") -> Response:
    here = _open(request)
    found = _found(here, slug)
    if document:
        if not await asyncio.to_thread(here.collections.drop, found, document):
            raise NotThere("there is no such document")
        here.indexing.begin(found)
        return RedirectResponse(f"{COLLECTIONS}/{slug}", 303)
    await here.indexing.forget(found)
    await asyncio.to_thread(here.collections.remove, found)
    return RedirectResponse(COLLECTIONS, 303)


def _open(request: Request) -> Service:
    here = service.of(request)
    if not here.options.takes_documents:
        raise NotThere("this server takes no documents")
    return here


def _found(here: Service, slug: str) -> Collection:
    found = here.collections.get(slug)
    if found is None:
        raise NotThere("there is no such collection")
    return found


async def _room(here: Service) -> Room:
    left = here.options.max_stored - await asyncio.to_thread(here.collections.stored)
    return Room(here.options.max_documents, here.options.max_document, max(0, left))


async def _made(here: Service, form: Arrived, folder: str) -> Collection:
    if not folder and not form.files:
        raise UsageError("choose documents to begin with")
    taken = [*here.menu.sources, *shelf.names(here.menu)]
    return await asyncio.to_thread(here.collections.create, form.fields.get("name", ""), folder or None, taken=taken)


async def _file(here: Service, into: Collection, files: Sequence[Sent]) -> list[Sent]:
    """Put away what has come; those that were refused."""
    names: set[str] = set()
    for sent in files:
        if sent.path is not None:
            try:
                names.add(await asyncio.to_thread(here.collections.file, into, sent.path, sent.name, sent.size, names))
            except UsageError as problem:
                sent.problem = str(problem)
    return [sent for sent in files if sent.problem]


async def _after(here: Service, one: Collection, refused: Sequence[Sent]) -> Response:
    if not refused:
        return RedirectResponse(f"{COLLECTIONS}/{one.slug}", 303)
    return await _shown(here, one, shelf.told(refused))


async def _shown(here: Service, one: Collection, note: str = "") -> Response:
    view = await asyncio.to_thread(shelf.look, here.collections, here.indexing, one)
    return page(one.name, shelf.collection(view, here.options, note), head=shelf.again(view))


async def _shelf(here: Service, problem: str = "", fields: dict[str, str] | None = None) -> Response:
    found = here.collections.everything()
    views = [await asyncio.to_thread(shelf.look, here.collections, here.indexing, one) for one in found]
    answer = page("Your documents", shelf.everything(views, here.options, problem, fields or {}))
    answer.status_code = 400 if problem else 200
    return answer
