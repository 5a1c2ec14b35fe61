"""HTML pages of collections: create, upload, progress, refresh, stop, remove. All of them are forms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from wellread.core.unicode_safety import encodable
from wellread.errors import UsageError
from wellread.events import counted
from wellread.index.inputs import Item
from wellread.index.ledger import Entry
from wellread.reading.kinds import SUFFIXES
from wellread.reading.registry import by_suffix
from wellread.server import intake, service, viewer
from wellread.server.collections import Collection
from wellread.server.collections_api import Chosen, OfPath, Opened, Progress, View, begin, views
from wellread.server.limits import beside
from wellread.server.options import ServerOptions
from wellread.server.viewer import COLLECTIONS
from wellread.server.web.html import Safe, el, field, icon, join, warning
from wellread.server.web.pages import page

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
_SHOWN = 500  # documents that are listed


@router.get(COLLECTIONS)
async def everything(request: Request) -> Response:
    here = service.of(request)
    if not here.options.takes_documents:
        how = "Its operator can change that with collections = true in the [server] table of the settings."
        told = el("p", "This server takes no documents."), el("p", how)
        return page(request, "Your documents", el("div", el("h1", "Your documents"), *told, class_="history"))
    return await _shelf(request)


@router.post(COLLECTIONS)
async def create(request: Request, here: Opened) -> Response:
    """Documents that were refused are told; the others are in."""
    received = await begin(request, here)
    if received.one is None:
        return await _shelf(request, received.told, dict(received.fields))
    return await _after(request, Chosen(here, received.one), received.told)


@router.get(f"{COLLECTIONS}/{{slug}}")
async def one(request: Request, chosen: OfPath) -> Response:
    return await _shown(request, chosen)


@router.post(f"{COLLECTIONS}/{{slug}}/documents")
async def add(request: Request, chosen: OfPath) -> Response:
    received = await chosen.add(request)
    if received.one is None:
        raise UsageError(received.told)
    return await _after(request, chosen, received.told)


@router.post(f"{COLLECTIONS}/{{slug}}/refresh")
async def refresh(chosen: OfPath) -> Response:
    chosen.here.indexing.begin(chosen.one)
    return _back(chosen)


@router.post(f"{COLLECTIONS}/{{slug}}/stop")
async def stop(chosen: OfPath) -> Response:
    await chosen.here.indexing.stop(chosen.one)
    return _back(chosen)


@router.get(f"{COLLECTIONS}/{{slug}}/remove")
async def question(request: Request, chosen: OfPath, document: Annotated[str, Query(max_length=4_000)] = "") -> Response:
    """The question before: a page, so that it is asked without JavaScript too."""
    view = await chosen.view()
    one, which = view.one, counted(len(view.items), "document", "documents")
    what = f"Remove {document} from {one.name}?" if document else f"Remove {one.name}?"
    if document:
        said = "This server's copy is deleted."
    elif one.folder is None:
        said = f"The collection goes with this server's copies of {which}."
    else:
        said = "What was read from the folder goes; the folder itself stays as it is."
    hidden = el("input", type="hidden", name="document", value=document) if document else None
    remove, keep = el("button", "Remove", class_="button primary"), el("a", "Keep", href=_path(one), class_="button")
    form = el("form", hidden, el("div", remove, keep, class_="actions"), method="post", action=f"{_path(one)}/remove")
    told = el("p", said, " Answers that were given from it stay in the history.")
    return page(request, "Remove?", el("div", el("h1", what), told, form, class_="hero"))


@router.post(f"{COLLECTIONS}/{{slug}}/remove")
async def remove(chosen: OfPath, document: Annotated[str, Form(max_length=4_000)] = "") -> Response:
    if document:
        await chosen.drop(document)
        return _back(chosen)
    await chosen.remove()
    return RedirectResponse(COLLECTIONS, 303)


def _back(chosen: Chosen) -> Response:
    return RedirectResponse(_path(chosen.one), 303)


async def _after(request: Request, chosen: Chosen, refused: str) -> Response:
    return await _shown(request, chosen, refused) if refused else _back(chosen)


async def _shown(request: Request, chosen: Chosen, note: str = "") -> Response:
    view, options = await chosen.view(), chosen.here.options
    return await beside(lambda: page(request, view.one.name, _collection(view, options, note), live=view.told.reading))


async def _shelf(request: Request, problem: str = "", fields: dict[str, str] | None = None) -> Response:
    here = service.of(request)
    there = await views(here)
    listed = await beside(lambda: _all(there, here.options, problem, fields or {}))
    return page(request, "Your documents", listed, status=400 if problem else 200)


def _all(views: Sequence[View], options: ServerOptions, problem: str, fields: Mapping[str, str]) -> Safe:
    named = [(el("h2", el("a", view.one.name, href=_path(view.one))), _brief(view)) for view in views]
    cards = [el("li", name, el("p", brief, class_="facts")) for name, brief in named]
    listed = el("ul", *cards, class_="collections") if views else None
    lead = "Add documents and ask them right away. They are kept and read on this server, nowhere else."
    return el(
        "div",
        el("h1", "Your documents"),
        el("p", lead, class_="lead"),
        warning(problem, role="alert") if problem else None,
        listed,
        el("h2", "A new collection"),
        _new(options, fields),
        _of_folder(options, fields) if options.readable_folders else None,
        class_="history shelf",
    )


def _collection(view: View, options: ServerOptions, note: str) -> Safe:
    one = view.one
    if one.folder is None:
        more = [el("h2", "Add documents"), _sending(f"{_path(one)}/documents", options, None, "Add")]
    else:
        more = [el("p", f"It reads the folder {encodable(one.folder)}.", class_="facts")]
    return el(
        "div",
        el("p", el("a", "Your documents", href=COLLECTIONS), class_="back"),
        el("h1", one.name),
        warning(note, role="alert") if note else None,
        el(
            "div",
            _standing(view),
            _actions(view),
            _documents(view),
            id="collection",
            data_path=_path(one),
            data_working=view.told.reading,
        ),
        *more,
        class_="history shelf",
    )


def _brief(view: View) -> Safe:
    parts = [counted(len(view.items), "document", "documents")]
    if view.told.reading and view.told.files.done < view.told.files.of:
        parts.append(f"reading, {view.told.files.done:,} done")
    elif view.told.passages:
        parts.append(counted(view.told.passages, "passage", "passages"))
    if view.one.folder is not None:
        parts.append("a folder of this machine")
    return join(*(el("span", part) for part in parts))


def _standing(view: View) -> Safe:
    """How far reading is, as the build itself tells it."""
    told, files, vectors = view.told, view.told.files, view.told.vectors
    lines: list[Safe | None] = [el("p", _brief(view), class_="facts")]
    if told.reading and files.done < files.of:
        lines.append(_bar("Reading documents", files, "what has been read can be searched already"))
    elif told.reading and vectors.done < vectors.of:
        lines.append(_bar("Searching by meaning", vectors, "by words everything can be searched already"))
    elif told.reading:
        lines.append(el("p", "Looking what is new …", class_="facts"))
    elif told.problem:
        lines.append(warning(f"Reading has ended early: {told.problem}"))
    elif told.stopped and (files.done < files.of or vectors.done < vectors.of):
        said = f"Reading was stopped: {files.done:,} of {files.of:,} documents can be searched. Refresh to go on."
        lines.append(el("p", icon("stop"), said, class_="note"))
    return el("div", *lines, class_="standing")


def _bar(what: str, far: Progress, meanwhile: str) -> Safe:
    words = f"{what}: {far.done:,} of {far.of:,}; {meanwhile}."
    return el("p", el("progress", value=far.done, max=max(far.of, 1), aria_label=what), el("span", words), class_="bar")


def _actions(view: View) -> Safe:
    one = view.one
    chosen = urlencode({"source": one.name})
    ask = el("a", icon("send"), "Ask it", href=f"/?{chosen}", class_="button primary") if one.searchable else None
    search = el("a", icon("search"), "Search it", href=f"/search?{chosen}", class_="button") if one.searchable else None
    doing: tuple[Literal["stop", "refresh"], str] = ("stop", "Stop") if view.told.reading else ("refresh", "Refresh")
    form = el("form", el("button", doing[1], class_="button"), method="post", action=f"{_path(one)}/{doing[0]}")
    remove = el("a", icon("delete"), "Remove", href=f"{_path(one)}/remove", class_="button")
    return el("div", ask, search, form, remove, class_="actions")


def _documents(view: View) -> Safe:
    rows = [_document(view, item) for item in view.items[:_SHOWN]]
    rest = len(view.items) - _SHOWN
    more = el("p", f"and {rest:,} more", class_="facts") if rest > 0 else None
    empty = el("p", "There is no document in it.", class_="empty")
    return join(el("ul", *rows, class_="files") if rows else empty, more)


def _document(view: View, item: Item) -> Safe:
    name = encodable(item.name)
    entry = view.entries.get(item.name)
    read = entry is not None and entry.passages
    shown = el("a", name, href=viewer.document(view.one.slug, name)) if read else el("span", name)
    remove = el(
        "a", icon("delete"), class_="button quiet", title="Remove", aria_label=f"Remove {name}",
        href=f"{_path(view.one)}/remove?{urlencode({'document': name})}",
    )  # fmt: skip
    return el("li", el("div", shown, el("p", _state(entry), class_="facts")), remove if view.one.folder is None else None)


def _state(entry: Entry | None) -> Safe:
    if entry is None:
        return el("span", "not read yet")
    count = el("span", counted(entry.passages, "passage", "passages")) if entry.passages else None
    notice = entry.notice or ("" if entry.passages else "there is no text in it")
    return join(count, el("span", notice, class_="badge") if notice else None)


def _new(options: ServerOptions, fields: Mapping[str, str]) -> Safe:
    name = el(
        "input", type="text", name="name", value=fields.get("name", ""), required=True, maxlength=intake.LONGEST_NAME,
        autocomplete="off", placeholder="Minutes of the board",
    )  # fmt: skip
    return _sending(COLLECTIONS, options, field("Name", name), "Make it")


def _sending(action: str, options: ServerOptions, first: Safe | None, button: str) -> Safe:
    """A plain form; with JavaScript documents can be dropped on it and one sees how much has been sent."""
    chosen = el("input", type="file", name="documents", multiple=True, accept=",".join(sorted({*by_suffix(), *SUFFIXES})))
    limits = f"PDF, Word, HTML, Markdown, text, tables …; up to {intake.amount(options.max_document)} each"
    drop = el(
        "label",
        icon("page"),
        el("span", "Choose documents", class_="drop-words"),
        chosen,
        el("small", limits),
        class_="drop",
    )
    folder = el(
        "label", "or a whole folder ", el("input", type="file", name="documents", webkitdirectory=True), class_="whole-folder"
    )
    sent = el("div", el("progress", max=100, value=0, aria_label="Sent"), el("button", "Cancel", type="button", class_="button"),
              class_="sent", hidden=True)  # fmt: skip
    problem = el("p", class_="problem", role="alert", hidden=True)
    go = el("button", button, class_="button primary")
    return el(
        "form", first, drop, folder, sent, problem, go, method="post", action=action, enctype="multipart/form-data",
        class_="sending", data_most=options.max_upload,
    )  # fmt: skip


def _of_folder(options: ServerOptions, fields: Mapping[str, str]) -> Safe:
    """Read where it lies, for servers on this machine whose operator allows it."""
    name = el("input", type="text", name="name", required=True, maxlength=intake.LONGEST_NAME, autocomplete="off")
    path = el("input", type="text", name="folder", required=True, value=fields.get("folder", ""), list="folders")
    known = el("datalist", *(el("option", value=root) for root in options.readable_folders), id="folders")
    form = el(
        "form",
        field("Name", name),
        field("Folder", path),
        known,
        el("button", "Read it", class_="button primary"),
        method="post", action=COLLECTIONS, enctype="multipart/form-data", class_="of-folder",
    )  # fmt: skip
    return el("details", el("summary", "Or read a folder of this machine"), form, open=bool(fields.get("folder")))


def _path(one: Collection) -> str:
    return viewer.collection(one.slug)
