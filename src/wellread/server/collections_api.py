"""`/api/collections`: what the page does with documents, for programs. The same checks hold, by the same code."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from wellread.core.unicode_safety import encodable
from wellread.errors import UsageError
from wellread.server import receiving, shapes, viewer
from wellread.server.limits import beside
from wellread.server.receiving import Chosen, OfPath, Opened, Received, View
from wellread.server.service import Service

router = APIRouter(prefix="/api/collections", tags=["collections"])
_GONE = shapes.refusals(404, 422)
_WRONG = shapes.refusals(400, 404, 413, 422, 429, 503)
_FILES = {"type": "array", "items": {"type": "string", "format": "binary"}, "description": "documents, as many as you like"}
_NAME = {"type": "string", "description": "what it is called, also as a source", "examples": ["Minutes of the board"]}
_FOLDER = {"type": "string", "description": "instead of documents: a folder of the server that its operator lets be read"}


def _form(required: list[str], **fields: Any) -> dict[str, Any]:
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
    """What was done with a form: documents that were refused are told, the others are in."""

    collection: CollectionSummary
    refused: list[Refused]


@router.get("", responses=_GONE)
async def everything(here: Opened) -> CollectionList:
    """All collections, and how far they have been read."""
    views = await receiving.views(here)
    return await beside(lambda: CollectionList(collections=[_summary(view) for view in views]))


@router.post("", status_code=201, responses=_WRONG, openapi_extra=_form(["name"], name=_NAME, documents=_FILES, folder=_FOLDER))
async def create(request: Request, here: Opened) -> Taken:
    """A new collection; reading begins at once."""
    return await _taken(here, await receiving.create(request, here))


@router.get("/{slug}", response_model=WholeCollection, responses=_GONE)
async def one(chosen: OfPath) -> Response:
    """A collection with its documents."""
    view = await chosen.view()
    return await beside(lambda: Response(_whole(view).model_dump_json(), media_type="application/json"))


@router.post("/{slug}/documents", responses=_WRONG, openapi_extra=_form(["documents"], documents=_FILES))
async def add(request: Request, chosen: OfPath) -> Taken:
    """More documents; one of the same name takes the place of the one that was there."""
    return await _taken(chosen.here, await chosen.add(request))


@router.delete("/{slug}/documents/{document:path}", responses=_GONE)
async def drop(chosen: OfPath, document: Annotated[str, Path(max_length=4_000)]) -> CollectionSummary:
    """Remove a document that was sent."""
    await chosen.drop(document)
    return _summary(await chosen.view())


@router.post("/{slug}/refresh", status_code=202, responses=_GONE)
async def refresh(chosen: OfPath) -> CollectionSummary:
    """Look for what is new or has changed; goes on where reading was stopped."""
    chosen.here.indexing.begin(chosen.one)
    return _summary(await chosen.view())


@router.post("/{slug}/stop", responses=_GONE)
async def stop(chosen: OfPath) -> CollectionSummary:
    """End reading; what has been read can be searched."""
    await chosen.here.indexing.stop(chosen.one)
    return _summary(await chosen.view())


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
    return Taken(collection=_summary(view), refused=refused)


def _summary(view: View) -> CollectionSummary:
    one = view.one
    return CollectionSummary(
        slug=one.slug,
        name=one.name,
        page=viewer.collection(one.slug),
        created=one.created,
        folder=one.folder is not None,
        searchable=one.searchable,
        reading=view.running,
        stopped=one.stopped,
        problem=view.problem,
        files=Progress(done=view.files[0], of=view.files[1]),
        vectors=Progress(done=view.vectors[0], of=view.vectors[1]),
        passages=view.passages,
    )


def _whole(view: View) -> WholeCollection:
    return WholeCollection(**_summary(view).model_dump(), documents=_documents(view))


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
