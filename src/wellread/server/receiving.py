"""What the page and the API do with collections: take documents, and tell how far they are read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from fastapi import Request
from starlette.requests import ClientDisconnect

from wellread.errors import UsageError
from wellread.index.inputs import Item
from wellread.index.ledger import Entry
from wellread.server import service
from wellread.server.collections import Collection, Collections, Indexing
from wellread.server.intake import Arrived, Room, Sent, arriving
from wellread.server.limits import in_turn
from wellread.server.menu import label
from wellread.server.security import address
from wellread.server.service import Service
from wellread.server.viewer import NotThere

_FEW = 5  # refused documents that are told by name


@dataclass(frozen=True, slots=True)
class View:
    """A collection as it is at a moment."""

    one: Collection
    items: Sequence[Item]
    entries: Mapping[str, Entry]
    running: bool
    problem: str
    files: tuple[int, int]  # read, wanted
    vectors: tuple[int, int]  # made, wanted

    @property
    def passages(self) -> int:
        return sum(self.entries[item.name].passages for item in self.items if item.name in self.entries)


def look(collections: Collections, indexing: Indexing, one: Collection) -> View:
    """Blocks."""
    from wellread.index.folder import existing

    job, content, items = indexing.job(one), existing(one.index), collections.documents(one)
    entries = indexing.entries(one)
    files = sum(item.name in entries for item in items), len(items)
    vectors = (content.vectors, content.rows) if content else (0, 0)
    if job is None or not job.running:
        return View(one, items, entries, False, job.problem if job else "", files, vectors)
    counts = job.gauge.standing().counts
    return View(one, items, entries, True, "", _counted(counts, "files") or files, _counted(counts, "vectors") or vectors)


def _counted(counts: Mapping[str, tuple[int, int | None]], step: str) -> tuple[int, int] | None:
    done, total = counts.get(step, (0, None))
    return None if total is None else (done, total)


@dataclass(frozen=True, slots=True)
class Received:
    """What became of a form."""

    one: Collection | None  # None: nothing was done, for the reason in `problem`
    refused: Sequence[Sent] = ()
    problem: str = ""
    fields: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def told(self) -> str:
        """What was not taken, and why."""
        if self.problem or not self.refused:
            return self.problem
        few = [f"{sent.name or 'a document'}: {sent.problem}" for sent in self.refused[:_FEW]]
        more = f"; and {len(self.refused) - _FEW} more" if len(self.refused) > _FEW else ""
        return f"Not added: {'; '.join(few)}{more}"


def opened(request: Request) -> Service:
    """The server, where it takes documents."""
    here = service.of(request)
    if not here.options.takes_documents:
        raise NotThere("this server takes no documents")
    return here


def found(here: Service, slug: str) -> Collection:
    one = here.collections.get(slug)
    if one is None:
        raise NotThere("there is no such collection")
    return one


async def create(request: Request) -> Received:
    """A new collection, with the documents of a form or of a folder. Of several documents those that can be are taken."""
    here = opened(request)
    try:
        async with _form(request, here) as form:
            try:
                made = await _made(here, form)
            except UsageError as problem:
                return Received(None, problem=str(problem), fields=form.fields)
            refused = await _file(here, made, form.files)
    except ClientDisconnect:
        return Received(None, problem="the form did not come whole")
    if refused and len(refused) == len(form.files):
        await asyncio.to_thread(here.collections.remove, made)
        return Received(None, refused, fields=form.fields)
    here.indexing.begin(made)
    return Received(made, refused)


async def add(request: Request, slug: str) -> Received:
    """The documents of a form, into a collection that is there."""
    here = opened(request)
    into = found(here, slug)
    if into.folder is not None:
        raise UsageError("this collection reads a folder: put documents there, then refresh")
    try:
        async with _form(request, here) as form:
            refused = await _file(here, into, form.files)
    except ClientDisconnect:
        return Received(None, problem="the form did not come whole")
    if not form.files:
        raise UsageError("no document was sent")
    if len(refused) < len(form.files):
        here.indexing.begin(into)
    return Received(into, refused)


async def drop(here: Service, one: Collection, document: str) -> None:
    """Remove a document that was sent."""
    if not await asyncio.to_thread(here.collections.drop, one, document):
        raise NotThere("there is no such document")
    here.indexing.begin(one)


async def remove(here: Service, one: Collection) -> None:
    async with here.indexing.without(one):
        await asyncio.to_thread(here.collections.remove, one)


async def views(here: Service) -> list[View]:
    return [await view(here, one) for one in here.collections.everything()]


async def view(here: Service, one: Collection) -> View:
    return await in_turn(None, lambda: look(here.collections, here.indexing, one))


@asynccontextmanager
async def _form(request: Request, here: Service) -> AsyncGenerator[Arrived]:
    """What a request sends, once it has a place among those who send."""
    async with here.sending.place(address(request.scope)):
        left = here.options.max_stored - await asyncio.to_thread(here.collections.stored)
        room = Room(here.options.max_documents, here.options.max_document, max(0, left), here.arriving)
        folder = await asyncio.to_thread(here.collections.incoming)
        async with arriving(request, room, folder, lambda: here.sending.wanted) as form:
            yield form


async def _made(here: Service, form: Arrived) -> Collection:
    folder = form.fields.get("folder", "").strip()
    if not folder and not form.files:
        raise UsageError("choose documents to begin with")
    taken = [*here.menu.sources, *map(label, here.menu.sources)]  # nor what a source is called in the page
    return await asyncio.to_thread(here.collections.create, form.fields.get("name", ""), folder or None, taken=taken)


async def _file(here: Service, into: Collection, files: Sequence[Sent]) -> list[Sent]:
    """Put away what has come; those that were refused."""
    await asyncio.to_thread(here.collections.file, into, files)
    return [sent for sent in files if sent.problem]
