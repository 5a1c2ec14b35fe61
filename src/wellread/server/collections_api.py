"""`/api/collections`: upload documents, progress of indexing, refresh, stop, remove; and what of it the page does by the same
checks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field
from starlette.requests import ClientDisconnect

from wellread.core.unicode_safety import encodable
from wellread.errors import UsageError
from wellread.index.folder import existing
from wellread.index.inputs import Item
from wellread.index.ledger import Entry
from wellread.server import service, shapes, viewer
from wellread.server.collections import Collection, Collections, Indexing
from wellread.server.intake import Arrived, Room, Sent, arriving
from wellread.server.limits import beside, in_turn
from wellread.server.menu import label
from wellread.server.security import address
from wellread.server.service import Service
from wellread.server.viewer import NotThere

_FEW = 5  # refused documents that are told by name
router = APIRouter(prefix="/api/collections", tags=["collections"])
_GONE = shapes.refusals(404, 422)
_WRONG = shapes.refusals(400, 404, 413, 422, 429, 503)
_FILES = {"type": "array", "items": {"type": "string", "format": "binary"}, "description": "documents, as many as you like"}
_NAME = {"type": "string", "description": "what it is called, also as a source", "examples": ["Minutes of the board"]}
_FOLDER = {"type": "string", "description": "instead of documents: a folder of the server that its operator lets be read"}


def _body(required: list[str], **fields: Any) -> dict[str, Any]:
    """How a form is documented whose files go to the disk while they come."""
    schema = {"type": "object", "required": required, "properties": fields}
    return {"requestBody": {"required": True, "content": {"multipart/form-data": {"schema": schema}}}}


class Progress(BaseModel):
    done: int
    of: int


class Document(BaseModel):
    name: str
    url: str = Field(description="where this server shows it")
    passages: int
    state: Literal["waiting", "read", "unreadable"]
    notice: str = Field(description="what is wrong with it, if anything")


class CollectionSummary(BaseModel):
    """A collection as it is now."""

    slug: str
    name: str = Field(description="as a source of questions and searches")
    page: str
    created: float
    folder: bool = Field(description="whether it reads a folder of the server; else documents are sent to it")
    searchable: bool
    reading: bool
    stopped: bool
    problem: str = Field(description="why reading has ended early, if it has")
    files: Progress
    vectors: Progress
    passages: int


class WholeCollection(CollectionSummary):
    documents: list[Document]


class CollectionList(BaseModel):
    collections: list[CollectionSummary]


class Refused(BaseModel):
    name: str
    problem: str


class Taken(BaseModel):
    """Outcome of an upload: documents that were refused are told, the others are in."""

    collection: CollectionSummary
    refused: list[Refused]


@dataclass(frozen=True, slots=True)
class View:
    """A collection as it is at a moment."""

    one: Collection
    items: Sequence[Item]
    entries: Mapping[str, Entry]
    told: CollectionSummary


def look(collections: Collections, indexing: Indexing, one: Collection) -> View:
    """Blocks."""
    job, content, items = indexing.jobs.get(one.slug), existing(one.index), collections.documents(one)
    entries, running = indexing.entries(one), job is not None and job.running
    files = Progress(done=sum(item.name in entries for item in items), of=len(items))
    vectors = Progress(done=content.vectors, of=content.rows) if content else Progress(done=0, of=0)
    counts: Mapping[str, tuple[int, int | None]] = job.gauge.standing().counts if job and running else {}
    told = CollectionSummary(
        slug=one.slug,
        name=one.name,
        page=viewer.collection(one.slug),
        created=one.created,
        folder=one.folder is not None,
        searchable=one.searchable,
        reading=running,
        stopped=one.stopped,
        problem=job.problem if job and not running else "",
        files=_counted(counts, "files") or files,
        vectors=_counted(counts, "vectors") or vectors,
        passages=sum(entries[item.name].passages for item in items if item.name in entries),
    )
    return View(one, items, entries, told)


def _counted(counts: Mapping[str, tuple[int, int | None]], step: str) -> Progress | None:
    done, total = counts.get(step, (0, None))
    return None if total is None else Progress(done=done, of=total)


@dataclass(frozen=True, slots=True)
class Received:
    """Outcome of a form with uploads."""

    one: Collection | None  # None: nothing was done, for the reason in `problem`
    refused: Sequence[Sent] = ()
    problem: str = ""
    fields: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def told(self) -> str:
        """The refused documents, and why, in one line."""
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


async def begin(request: Request, here: Service) -> Received:
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
    """The multipart form of a request, once it has a place among those who send."""
    async with here.sending.place(address(request.scope)):
        left = here.options.max_stored - await asyncio.to_thread(here.collections.stored)
        room = Room(here.options.max_documents, here.options.max_document, max(0, left), here.arriving)
        folder = await asyncio.to_thread(here.collections.incoming)
        async with arriving(request, room, folder, lambda: here.sending.wanted, here.options.max_upload) as form:
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


@router.get("", responses=_GONE)
async def everything(here: Opened) -> CollectionList:
    """All collections, and how far they have been read."""
    return CollectionList(collections=[view.told for view in await views(here)])


@router.post("", status_code=201, responses=_WRONG, openapi_extra=_body(["name"], name=_NAME, documents=_FILES, folder=_FOLDER))
async def create(request: Request, here: Opened) -> Taken:
    """A new collection; reading begins at once."""
    return await _taken(here, await begin(request, here))


@router.get("/{slug}", response_model=WholeCollection, responses=_GONE)
async def one(chosen: OfPath) -> Response:
    """A collection with its documents."""
    view = await chosen.view()

    def body() -> str:
        return WholeCollection(**view.told.model_dump(), documents=_documents(view)).model_dump_json()

    return Response(await beside(body), media_type="application/json")


@router.post("/{slug}/documents", responses=_WRONG, openapi_extra=_body(["documents"], documents=_FILES))
async def add(request: Request, chosen: OfPath) -> Taken:
    """More documents; one of the same name takes the place of the one that was there."""
    return await _taken(chosen.here, await chosen.add(request))


@router.delete("/{slug}/documents/{document:path}", responses=_GONE)
async def drop(chosen: OfPath, document: Annotated[str, Path(max_length=4_000)]) -> CollectionSummary:
    """Remove a document that was sent."""
    await chosen.drop(document)
    return (await chosen.view()).told


@router.post("/{slug}/refresh", status_code=202, responses=_GONE)
async def refresh(chosen: OfPath) -> CollectionSummary:
    """Look for what is new or has changed; goes on where reading was stopped."""
    chosen.here.indexing.begin(chosen.one)
    return (await chosen.view()).told


@router.post("/{slug}/stop", responses=_GONE)
async def stop(chosen: OfPath) -> CollectionSummary:
    """End reading; what has been read can be searched."""
    await chosen.here.indexing.stop(chosen.one)
    return (await chosen.view()).told


@router.delete("/{slug}", responses=_GONE)
async def remove(chosen: OfPath) -> dict[str, str]:
    """Remove a collection with the server's copies. Answers that were given from it stay in the history."""
    await chosen.remove()
    return {"slug": chosen.one.slug, "state": "removed"}


async def _taken(here: Service, received: Received) -> Taken:
    if received.one is None:
        raise UsageError(received.told)
    view = await Chosen(here, received.one).view()
    refused = [Refused(name=sent.name, problem=sent.problem) for sent in received.refused]
    return Taken(collection=view.told, refused=refused)


def _documents(view: View) -> list[Document]:
    listed: list[Document] = []
    for item in view.items:
        entry = view.entries.get(item.name)
        passages = entry.passages if entry else 0
        state = "waiting" if entry is None else "read" if passages else "unreadable"
        url = viewer.document(view.one.slug, item.name)
        listed.append(
            Document(name=encodable(item.name), url=url, passages=passages, state=state, notice=entry.notice if entry else "")
        )
    return listed
