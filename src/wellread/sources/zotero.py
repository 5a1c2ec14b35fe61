"""`zotero`: a library of Zotero, asked of the running program; `zotero:FOLDER` reads its database and stored files instead."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import defaultdict
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from wellread.core.private_files import at_home
from wellread.errors import SourceError, UsageError
from wellread.net.payload import Payload
from wellread.parameters import CountOrZero, fill, param
from wellread.protocols import Parts, Source
from wellread.sources.bibliography import Bibliography, Entry, documents
from wellread.sources.bibliography import Options as FileOptions
from wellread.sources.hits import lines
from wellread.sources.papers import PaperOptions, Papers, from_csl, reference
from wellread.types import Hit, Query, Reference, Spec

_KINDS = {
    "journalArticle": "article-journal",
    "conferencePaper": "paper-conference",
    "bookSection": "chapter",
    "preprint": "article",
    **{kind: kind for kind in ("book", "thesis", "report", "webpage")},
}
_VENUES = ("publicationTitle", "proceedingsTitle", "bookTitle", "university", "institution", "websiteTitle", "publisher")
_FIELDS = """SELECT d.itemID, f.fieldName, v.value FROM itemData d JOIN fields f USING (fieldID)
JOIN itemDataValues v USING (valueID)"""
_CREATORS = """SELECT c.itemID, p.lastName, p.firstName FROM itemCreators c JOIN creators p USING (creatorID)
ORDER BY c.itemID, c.orderIndex"""
_ITEMS = """SELECT i.itemID, t.typeName FROM items i JOIN itemTypes t USING (itemTypeID)
WHERE i.itemID NOT IN (SELECT itemID FROM deletedItems) AND t.typeName NOT IN ('attachment', 'note', 'annotation')"""
_FILES = """SELECT a.parentItemID, i.key, a.path FROM itemAttachments a JOIN items i USING (itemID)
WHERE a.parentItemID IS NOT NULL AND a.path IS NOT NULL AND i.itemID NOT IN (SELECT itemID FROM deletedItems)"""
_COLLECTED = """ AND i.itemID IN
(SELECT itemID FROM collectionItems JOIN collections USING (collectionID) WHERE collectionName = ?)"""


@dataclass(frozen=True, slots=True)
class Options(PaperOptions):
    base: str = param("http://127.0.0.1:23119", "where the running Zotero listens")
    full_text: CountOrZero = param(5, "entries of a search whose attached text comes along")
    collection: str | None = param(None, "only entries of this collection: its name in a folder, its key in the program")


def from_spec(spec: Spec, kit: Parts) -> Source:
    """A Zotero library: of the running program, or zotero:FOLDER by its database and stored files."""
    folder = at_home(spec.argument)
    if not spec.argument or spec.argument.startswith(("groups/", "users/")):
        return Zotero(spec, kit)
    if not (folder / "zotero.sqlite").is_file():
        raise UsageError(f"zotero needs a folder with zotero.sqlite, groups/ID, or nothing for the running program ({folder})")
    rest = {name: value for name, value in spec.options.items() if name != "collection"}
    options, collection = fill(FileOptions, rest, "source zotero"), spec.options.get("collection")
    name = options.name or f"zotero:{spec.argument}"
    return Bibliography(name, folder, options, kit, lambda: _entries(folder, collection), folder / "zotero.sqlite")


class Zotero(Papers[Options]):
    """A Zotero library, of the running program."""

    Params = Options
    public = False
    argument = "groups/ID"
    results = ()
    page_size = 50
    hint = "References of the user's own, with their documents. Words of titles, authors, abstracts and texts."

    async def find(self, query: Query) -> list[Hit]:
        return list(await super(Papers, self).find(query))

    async def page(self, query: Query, number: int) -> Payload:
        inside = f"/collections/{self.options.collection}" if self.options.collection else ""
        asked = {"q": query.text, "qmode": "everything", "itemType": "-attachment", "include": "data,csljson"}
        found = await self.get(f"{self._library}{inside}/items/top", {**asked, "limit": min(query.limit, self.page_size)})
        items = found.items()
        texts = await asyncio.gather(*(self._text(item.text("key")) for item in items[: self.options.full_text]))
        rest = [""] * (len(items) - len(texts))
        return Payload([{"item": item.value, "text": text} for item, text in zip(items, [*texts, *rest], strict=True)])

    @property
    def _library(self) -> str:
        return f"/api/{self.given or 'users/0'}"

    async def _text(self, key: str) -> str:
        """The text that Zotero has read in the first document of an entry; it need not have read any."""
        try:
            for child in await self.get(f"{self._library}/items/{quote(key)}/children"):
                if child.text("data", "contentType") in ("application/pdf", "application/epub+zip", "text/html"):
                    return (await self.get(f"{self._library}/items/{quote(child.text('key'))}/fulltext")).text("content")
        except SourceError:
            pass
        return ""

    def hit(self, item: Payload, rank: int) -> Hit | None:
        entry = item.at("item")
        made = self.paper(rank, from_csl(entry.at("csljson")), entry.text("data", "abstractNote"))
        said = lines(item.text("text"))
        return replace(made, text=f"{made.text}\n\n{said}".strip()) if made and said else made


def _entries(folder: Path, collection: str | None) -> list[Entry]:
    """What the database says. It is opened as it lies there: the program may be running and hold it."""
    place = f"file:{quote(str(folder / 'zotero.sqlite'))}?mode=ro&immutable=1"
    fields, names, files = (defaultdict[int, Any](kind) for kind in (dict, list, list))
    try:
        with closing(sqlite3.connect(place, uri=True)) as database:
            for item, name, value in database.execute(_FIELDS):
                fields[item][name] = str(value)
            for item, last, first in database.execute(_CREATORS):
                names[item].append(", ".join(filter(None, (last, first))))
            for item, key, path in database.execute(_FILES):
                stored = path.startswith("storage:")
                files[item].append(folder / "storage" / key / path.removeprefix("storage:") if stored else Path(path))
            items = database.execute(_ITEMS + (_COLLECTED if collection else ""), (collection,) if collection else ()).fetchall()
    except sqlite3.Error as problem:
        raise SourceError(f"zotero:{folder}", f"its database cannot be read: {problem}") from None
    said = ((fields[item], _work(fields[item], names[item], kind), files[item]) for item, kind in items)
    return [Entry(work, known.get("abstractNote", ""), documents(paths)) for known, work, paths in said]


def _work(said: dict[str, str], names: list[str], kind: str) -> Reference:
    return reference(
        title=said.get("title", ""),
        authors=names,
        year=said.get("date", ""),
        venue=next((said[name] for name in _VENUES if said.get(name)), ""),
        doi=said.get("DOI", ""),
        url=said.get("url", ""),
        volume=said.get("volume", ""),
        issue=said.get("issue", ""),
        pages=said.get("pages", ""),
        kind=_KINDS.get(kind, "document"),
    )
