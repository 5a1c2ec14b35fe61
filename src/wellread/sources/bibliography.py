"""`bibliography:FILE`: a `.bib`, `.ris` or CSL-JSON file of references, and the documents that its entries name; `zotero`: a
library of Zotero, asked of the running program; `zotero:FOLDER` reads its database and stored files instead."""

from __future__ import annotations

import asyncio
import calendar
import re
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain
from os.path import relpath
from pathlib import Path
from typing import Annotated, Any, cast
from urllib.parse import quote

from wellread.citations.references import KINDS
from wellread.core.private_files import at_home
from wellread.core.unicode_safety import encodable
from wellread.errors import SourceError, UsageError
from wellread.net.payload import Payload
from wellread.parameters import CountOrZero, Range, fill, param
from wellread.protocols import Parts, Source
from wellread.reading.tex import spelled
from wellread.sources import files
from wellread.sources.hits import fused, lines
from wellread.sources.memory import Memory
from wellread.sources.papers import PaperOptions, Papers, family_first, from_csl, work
from wellread.types import Hit, Hits, Original, Passage, Query, Reference, Spec

_MOST_BYTES = 100 * 1024 * 1024
_ATTACHED = (".pdf", ".epub", ".html", ".htm", ".docx")
_BIBTEX = {entry: kind for kind, (entry, _, _) in KINDS.items()} | {"conference": "paper-conference", "mastersthesis": "thesis"}
_RIS = {tag: kind for kind, (_, _, tag) in KINDS.items()}
_BIBTEX_SAYS = (
    "title title, year year date, volume volume, issue number issue, pages pages, "
    "venue journal journaltitle booktitle school institution publisher organization howpublished"
)
_RIS_SAYS = "title TI T1, year PY Y1 DA, venue T2 JO JF JA PB, doi DO, url UR, volume VL, issue IS"


@dataclass(frozen=True, slots=True)
class Options:
    full_text: bool = param(True, "read the documents too that the entries name")
    meaning: bool = param(True, "search by meaning too, not by words alone")
    max_files: Annotated[int, Range(1, 10_000_000)] = param(2000, "documents read at most")
    name: str = param("", "what it is called in answers and in the page; its spec if empty")


@dataclass(frozen=True, slots=True)
class Entry:
    """A reference, what its abstract says, and its documents."""

    work: Reference
    abstract: str = ""
    documents: tuple[Path, ...] = ()


def from_spec(spec: Spec, kit: Parts) -> Source:
    """A file of references (BibTeX, RIS, CSL-JSON) with the documents that it names."""
    path = at_home(spec.argument)
    if not spec.argument or not path.is_file():
        raise UsageError(f"bibliography needs a .bib, .ris or .json file that is there ({spec.argument or 'none given'})")
    options = fill(Options, spec.options, "source bibliography")
    return Bibliography(options.name or f"bibliography:{spec.argument}", path, options, kit, lambda: entries(path))


class Bibliography(files.Files):
    """Entries by their words and abstracts, and passages of their documents, each with the work that it is from."""

    hint = "References of the user's own, with their documents. Words of titles, abstracts and texts; a whole question works too."

    def __init__(
        self, name: str, path: Path, options: Options, kit: Parts, listed: Callable[[], list[Entry]], file: Path | None = None
    ) -> None:
        """`listed` reads the entries; again, when `file` has changed (`path` itself, where it is one)."""
        read = files.Options(meaning=options.meaning, max_files=options.max_files, max_megabytes=200)
        super().__init__(name, path, read, kit)
        self._inside = None  # the operator's own entries name them
        self._listed, self._full_text, self._file = listed, options.full_text, file or path
        self._known: tuple[int, list[Entry]] = 0, []
        self._memory: tuple[object, Memory] | None = None
        self._works: dict[str, Entry] = {}

    async def search(self, query: Query) -> Sequence[Hit]:
        if not query.text.strip() or query.limit < 1:
            return []
        listed, state = await asyncio.to_thread(self._entries), (self._known[0], asyncio.get_running_loop())
        if self._memory is None or self._memory[0] != state:  # its locks belong to a loop
            passages = [_passage(one, number, self.name) for number, one in enumerate(listed)]
            embedder = self._kit.embedder() if self._options.meaning else None
            self._memory = state, await asyncio.to_thread(Memory, passages, self.name, embedder)
        found = await self._memory[1].search(query.text, query.limit)
        if not self._works:
            return found
        inside = Hits.all_of(await super().search(query))
        hits = [self._attributed(hit) for hit in inside]
        return Hits(fused([hits, found], query.limit), inside.failures)

    async def find_title(self, title: str) -> Sequence[Hit]:
        return [self._attributed(hit) for hit in await super().find_title(title)] if self._works else ()

    async def original(self, document: str) -> Original:
        """The file, wherever it lies."""
        return await asyncio.to_thread(self._located, document)

    def _entries(self) -> list[Entry]:
        changed = self._file.stat().st_mtime_ns
        if self._known[0] != changed:
            listed = self._listed()
            if not listed:
                raise SourceError(self.name, "there is no entry in it")
            root = self._path.parent if self._path.is_file() else self._path
            attached = [(path, one) for one in listed for path in one.documents] if self._full_text else []
            self._works = {encodable(relpath(path, root)): one for path, one in attached}
            self._known = changed, listed
        return self._known[1]

    def _candidates(self) -> Iterator[Path]:
        self._entries()
        yield from dict.fromkeys(path for one in self._works.values() for path in one.documents)

    def _key(self) -> str:
        return f"{super()._key()}\nbibliography"

    def _attributed(self, hit: Hit) -> Hit:
        entry = self._works.get(hit.document or "")
        return replace(hit, title=entry.work.title or hit.title, reference=entry.work) if entry else hit


def _passage(one: Entry, number: int, name: str) -> Passage:
    work = one.work
    about = ". ".join(filter(None, ("; ".join(work.authors), str(work.year or ""), work.title, work.venue)))
    place = f"https://doi.org/{work.doi}" if work.doi else work.url or None
    text = lines(one.abstract) or f"{about}."
    published = f"{work.year:04}-01-01" if work.year else None
    who = "; ".join(work.authors[:3])
    return Passage(f"{name}#{number}", text, work.title or about, place, name, published, heading=who, reference=work)


def entries(path: Path) -> list[Entry]:
    """The entries of a file of references."""
    if path.stat().st_size > _MOST_BYTES:
        raise SourceError(str(path), "it is too large")
    raw = path.read_bytes()
    if path.suffix.lower() == ".json":
        try:
            return [Entry(from_csl(one), one.text("abstract")) for one in Payload.parse(raw)]
        except ValueError as problem:
            raise SourceError(str(path), f"it is no CSL-JSON ({problem})") from None
    text = raw.decode("utf-8", errors="replace")
    if path.suffix.lower() == ".ris":
        return [_of_ris(one, path.parent) for one in read_ris(text)]
    return [_of_bibtex(one, path.parent) for one in read_bibtex(text)]


def _of_bibtex(fields: dict[str, str], folder: Path) -> Entry:
    def said(name: str) -> str:
        return spelled(fields.get(name, ""))

    names = re.split(r"\s+and\s+", fields.get("author") or fields.get("editor", ""))
    whole = [spelled(name) if name.strip().startswith("{") else family_first(spelled(name)) for name in names]
    doi, url, kind = fields.get("doi", ""), fields.get("url", ""), _BIBTEX.get(fields["type"], "document")
    found = work(said, _BIBTEX_SAYS, authors=whole, doi=doi, url=url, kind=kind)
    parts = re.split(r"(?<!\\)[;:]", fields.get("file", ""))
    return Entry(found, said("abstract"), _named((re.sub(r"\\(.)", r"\1", part) for part in parts), folder))


def _of_ris(tags: dict[str, list[str]], folder: Path) -> Entry:
    def said(name: str) -> str:
        return next(iter(tags.get(name, [])), "")

    names, pages = [*tags.get("AU", []), *tags.get("A1", [])], "–".join(filter(None, (said("SP"), said("EP"))))
    found = work(said, _RIS_SAYS, authors=names, pages=pages, kind=_RIS.get(said("TY"), "document"))
    return Entry(found, said("AB") or said("N2"), _named(chain(tags.get("L1", []), tags.get("L4", [])), folder))


def documents(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Those that there are, of the kinds that people attach; a name from elsewhere may be of another machine, or of anything."""
    return tuple(path for path in paths if path.suffix.lower() in _ATTACHED and path.is_file())


def _named(names: Iterable[str], folder: Path) -> tuple[Path, ...]:
    return documents(folder / one.strip().removeprefix("file://") for one in names if one.strip() and "\0" not in one)


Fields = dict[str, str]
_ENTRY = re.compile(r"@\s*(\w+)\s*[{(]\s*")
_FIELD = re.compile(r"\s*,?\s*([\w:+-]+)\s*=\s*")
_BARE = re.compile(r"[^\s,#{}()\"]+")
_MONTHS = {name.lower(): "" for name in calendar.month_abbr}  # macros that all styles have
_TAG = re.compile(r"([A-Z][A-Z0-9])  ?- ?(.*)")


def read_bibtex(text: str) -> Iterator[Fields]:
    """The entries, with `type` and `key` beside their fields; what is broken is passed over. Braces are still in the values."""
    macros = dict(_MONTHS)
    at = 0
    while found := _ENTRY.search(text, at):
        kind, at = found[1].lower(), found.end()
        if kind in ("comment", "preamble"):
            continue
        fields: Fields = {"type": kind}
        if kind != "string":
            key = _BARE.match(text, at)
            fields["key"], at = (key[0], key.end()) if key else ("", at)
        while named := _FIELD.match(text, at):
            value, at = _value(text, named.end(), macros)
            fields.setdefault(named[1].lower(), value)
        if kind == "string":
            macros |= {name: value for name, value in fields.items() if name != "type"}
        else:
            yield fields


def _value(text: str, at: int, macros: dict[str, str]) -> tuple[str, int]:
    """A value and where it ends: texts in braces or quotes, numbers and macros, joined by `#`."""
    parts: list[str] = []
    while True:
        if text[at : at + 1] in ("{", '"'):
            end = _closed(text, at)
            parts.append(text[at + 1 : end])
            at = end + 1
        elif bare := _BARE.match(text, at):
            parts.append(macros.get(bare[0].lower(), bare[0]))
            at = bare.end()
        joint = re.compile(r"\s*#\s*").match(text, at)
        if not joint:
            return "".join(parts), at
        at = joint.end()


def _closed(text: str, at: int) -> int:
    """Where what begins at a brace or a quote ends; at the end of the text if nowhere."""
    quoted, depth = text[at] == '"', 0
    for place in range(at + 1, len(text)):
        sign = text[place]
        if text[place - 1] == "\\" and text[place - 2 : place - 1] != "\\":
            continue
        if depth == 0 and sign == ('"' if quoted else "}"):
            return place
        depth += (sign == "{") - (sign == "}")
    return len(text)


def read_ris(text: str) -> Iterator[dict[str, list[str]]]:
    """The entries, as the values of each tag in order."""
    entry: dict[str, list[str]] = {}
    for line in text.splitlines():
        found = _TAG.fullmatch(line.strip("\ufeff").rstrip())
        if found and found[1] == "ER":
            yield entry
            entry = {}
        elif found:
            entry.setdefault(found[1], []).append(found[2].strip())


_ZOTERO_KINDS = {
    "journalArticle": "article-journal",
    "conferencePaper": "paper-conference",
    "bookSection": "chapter",
    "preprint": "article",
    **{kind: kind for kind in ("book", "thesis", "report", "webpage")},
}
_ZOTERO_SAYS = (
    "title title, year date, doi DOI, url url, volume volume, issue issue, pages pages, "
    "venue publicationTitle proceedingsTitle bookTitle university institution websiteTitle publisher"
)
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
class ZoteroOptions(PaperOptions):
    base: str = param("http://127.0.0.1:23119", "where the running Zotero listens")
    full_text: CountOrZero = param(5, "entries of a search whose attached text comes along")
    collection: str | None = param(None, "only entries of this collection: its name in a folder, its key in the program")


def zotero(spec: Spec, kit: Parts) -> Source:
    """A Zotero library: of the running program, or zotero:FOLDER by its database and stored files."""
    folder = at_home(spec.argument)
    if not spec.argument or spec.argument.startswith(("groups/", "users/")):
        return Zotero(spec, kit)
    if not (folder / "zotero.sqlite").is_file():
        raise UsageError(f"zotero needs a folder with zotero.sqlite, groups/ID, or nothing for the running program ({folder})")
    rest = {name: value for name, value in spec.options.items() if name != "collection"}
    options, collection = fill(Options, rest, "source zotero"), spec.options.get("collection")
    name = options.name or f"zotero:{spec.argument}"
    return Bibliography(name, folder, options, kit, lambda: _entries(folder, collection), folder / "zotero.sqlite")


cast("Any", zotero).Params = ZoteroOptions


class Zotero(Papers[ZoteroOptions]):
    """A Zotero library, of the running program."""

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

    def hit(self, item: Payload) -> Hit | None:
        entry = item.at("item")
        made = self.paper(from_csl(entry.at("csljson")), entry.text("data", "abstractNote"))
        said = lines(item.text("text"))
        return replace(made, text=f"{made.text}\n\n{said}".strip()) if made and said else made


def _entries(folder: Path, collection: str | None) -> list[Entry]:
    """Entries of the database. It is opened as it lies there: the program may be running and hold it."""
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
    return [_of_zotero(fields[item], names[item], kind, files[item]) for item, kind in items]


def _of_zotero(said: dict[str, str], names: list[str], kind: str, paths: list[Path]) -> Entry:
    kind = _ZOTERO_KINDS.get(kind, "document")
    found = work(lambda name: said.get(name, ""), _ZOTERO_SAYS, authors=names, kind=kind)
    return Entry(found, said.get("abstractNote", ""), documents(paths))
