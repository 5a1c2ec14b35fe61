"""What the page and the API do with collections: take documents, and tell how far they are read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, Path, Request
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


async def opened(request: Request) -> Service:
    """The server, where it takes documents."""
    here = service.of(request)
    if not here.options.takes_documents:
        raise NotThere("this server takes no documents")
    return here


Opened = Annotated[Service, Depends(opened)]


@dataclass(frozen=True, slots=True)
class Chosen:
    """One collection, and what can be done with it."""

    here: Service
    one: Collection

    async def view(self) -> View:
        return await in_turn(None, lambda: look(self.here.collections, self.here.indexing, self.one))

    async def add(self, request: Request) -> Received:
        """The documents of a form."""
        if self.one.folder is not None:
            raise UsageError("this collection reads a folder: put documents there, then refresh")
        try:
            async with _form(request, self.here) as form:
                refused = await _file(self.here, self.one, form.files)
        except ClientDisconnect:
            return Received(None, problem="the form did not come whole")
        if not form.files:
            raise UsageError("no document was sent")
        if len(refused) < len(form.files):
            self.here.indexing.begin(self.one)
        return Received(self.one, refused)

    async def drop(self, document: str) -> None:
        """Remove a document that was sent."""
        if not await asyncio.to_thread(self.here.collections.drop, self.one, document):
            raise NotThere("there is no such document")
        self.here.indexing.begin(self.one)

    async def remove(self) -> None:
        async with self.here.indexing.without(self.one):
            await asyncio.to_thread(self.here.collections.remove, self.one)


async def chosen(here: Opened, slug: Annotated[str, Path(max_length=60, examples=["minutes-of-the-board"])]) -> Chosen:
    one = here.collections.get(slug)
    if one is None:
        raise NotThere("there is no such collection")
    return Chosen(here, one)


OfPath = Annotated[Chosen, Depends(chosen)]  # the collection that a path names, as a parameter of its route


async def create(request: Request, here: Service) -> Received:
    """A new collection, with the documents of a form or of a folder. Of several documents those that can be are taken."""
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


async def views(here: Service) -> list[View]:
    return [await Chosen(here, one).view() for one in here.collections.everything()]


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
