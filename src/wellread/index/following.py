"""Incremental indexing: inputs are read once, and after that only where they are new or have changed.

A file counts as unchanged by its size and time, or else by its content. A page is fetched again when that is asked for. Of a
table (JSON lines, parquet, a hub data set) the rows are compared.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import stat
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

from wellread.core import codec
from wellread.core.unicode_safety import encodable
from wellread.errors import DamagedFile, ReadError
from wellread.index import inputs, ledger
from wellread.index.feed import Inputs, grouped
from wellread.index.inputs import Columns, InputOptions, Item, Names, items, lasting
from wellread.index.keys import hashed
from wellread.index.ledger import Entry, Read
from wellread.index.manifest import Manifest, checksum
from wellread.index.progress import Progress, silent
from wellread.net.address import is_of_own_network
from wellread.reading import workers
from wellread.reading.documents import MAX_FILE, opened
from wellread.text.places import is_web
from wellread.text.split import Splitting
from wellread.types import Document, Original, OriginalState, Passage

RECORD = "reading"  # under which a manifest remembers what was read, and how


@dataclass(frozen=True, slots=True)
class Recorded:
    """The inputs of an index as its manifest remembers them, and how they were read."""

    inputs: tuple[str, ...]
    splitting: Splitting = field(default_factory=Splitting)
    columns: Columns = field(default_factory=Columns)
    config: str | None = None
    follow_links: bool = False


class Following(Inputs):
    """Inputs by name. With `again` pages and changed tables are read again."""

    def __init__(
        self, names: Sequence[str], how: InputOptions, *, again: bool = False, found: Sequence[Item] | None = None
    ) -> None:
        self.names, self._how, self._again = tuple(map(lasting, names)), how, again
        self.found: Sequence[Item] = found or ()
        self._given = found is not None
        self.rows: set[int] | None = None  # hashes of all rows of tables, where tables were read again
        self._beside: Sequence[str] = ()

    @property
    def recorded(self) -> Mapping[str, str]:
        how = self._how
        return {RECORD: codec.dumps(Recorded(self.names, how.splitting, how.columns, how.config, how.follow_links))}

    async def read(self, known: Mapping[str, Entry], progress: Progress = silent) -> AsyncGenerator[Read]:
        """New and changed inputs, in their order."""
        if not self._given:
            self.found = await asyncio.to_thread(self._look)
        before = await asyncio.to_thread(self._before, known)
        read = len(self.found) - len(before)
        progress("files", read, len(self.found))
        for kind, group in groupby(before, key=lambda pair: pair[0].kind):
            steps = {"document": partial(documents, how=self._how), "table": self._tables, "page": self._pages}[kind]
            async with aclosing(steps(list(group))) as reads:
                async for made in reads:
                    read += made.entry.whole
                    progress("files", read, len(self.found))
                    yield made

    def join(self, origin: Mapping[str, str]) -> None:
        self._beside = recalled(origin, self._how).names if RECORD in origin else ()

    def _look(self) -> list[Item]:
        names, follow = Names(), self._how.follow_links
        for beside in self._beside:
            if Path(beside).exists():
                list(items(beside, follow, names))
        return list(dict.fromkeys(item for name in self.names for item in items(name, follow, names)))

    def gone(self, known: Mapping[str, Entry]) -> list[Entry]:
        """Documents that were read once and are no longer there."""
        there = {item.name for item in self.found}
        return [entry for name, entry in known.items() if name not in there and not entry.table]

    def _before(self, known: Mapping[str, Entry]) -> list[tuple[Item, Entry | None]]:
        """Items to look at, with their ledger entries."""
        changed = [item for item in self.found if self._is_new(item, known.get(item.name))]
        if self._again and any(item.kind == "table" for item in changed):
            self.rows = set()
            changed = [item for item in self.found if item in changed or item.kind == "table"]
        return [(item, known.get(item.name)) for item in changed]

    def _is_new(self, item: Item, entry: Entry | None) -> bool:
        if entry is None or not entry.whole:
            return True
        if item.path is None:
            return self._again and item.kind == "page"
        try:
            about = item.path.stat()
        except OSError:
            return True
        return (about.st_size, about.st_mtime_ns) != (entry.size, entry.changed)

    async def _pages(self, items: Sequence[tuple[Item, Entry | None]]) -> AsyncGenerator[Read]:
        for item, entry in items:
            found = await inputs.page(item.name, self._how)
            digest = hashlib.sha256("\n".join(passage.text for passage in found).encode("utf-8", "replace")).hexdigest()
            fresh = Entry(item.name, sha256=digest, passages=len(found))
            if entry is None:
                yield Read(fresh, found)
            elif found and digest != entry.sha256:
                yield Read(fresh, found, (item.name,))

    async def _tables(self, items: Sequence[tuple[Item, Entry | None]]) -> AsyncGenerator[Read]:
        for item, entry in items:
            fresh = await asyncio.to_thread(_stamped, Entry(item.name, whole=False, table=True), item.path)
            again = self.rows is not None
            same = entry is not None and not entry.whole and (entry.size, entry.changed) == (fresh.size, fresh.changed)
            count = entry.passages if entry is not None and same and not again else 0
            async for part in grouped(inputs.rows(item.name, self._how), count):
                count += len(part)
                if self.rows is not None:
                    self.rows.update(hashed(passage.id) for passage in part)
                yield Read(fresh._replace(passages=count), part, compare=again)
            yield Read(fresh._replace(passages=count, whole=True))


def passages(names: Sequence[str], how: InputOptions, found: Sequence[Item] | None = None) -> AsyncGenerator[Passage]:
    """The passages of all inputs, or of what was `found` in them, one after the other."""
    return Following(names, how, found=found).passages()


async def documents(listing: Sequence[tuple[Item, Entry | None]], how: InputOptions) -> AsyncGenerator[Read]:
    """Files that are read in other processes, several at once, and come in their order."""
    wanted: list[tuple[tuple[Entry, Entry | None, Path], Callable[[], Document]]] = []
    stamped = await asyncio.to_thread(lambda: [_stamped(Entry(item.name), item.path) for item, _ in listing])
    for (item, entry), fresh in zip(listing, stamped, strict=True):
        path = cast("Path", item.path)
        if entry is not None and entry.size == fresh.size and await asyncio.to_thread(_sum, path) == entry.sha256:
            yield Read(entry._replace(changed=fresh.changed))
        else:
            wanted.append(((fresh, entry, path), partial(opened, path, item.folder)))
    async with aclosing(workers.shared().in_order(wanted)) as pages:
        async for (fresh, entry, path), page in pages:
            notice = page.reason if isinstance(page, ReadError) else page.notice or ""
            found = await asyncio.to_thread(inputs.outcome, page, fresh.name, how)
            digest = await asyncio.to_thread(_sum, path)
            if _stamped(fresh, path) != fresh:
                digest = ""  # it has changed while it was read: next time it is read again
            read = fresh._replace(sha256=digest, passages=len(found), notice=notice)
            yield Read(read, found, (fresh.name,) if entry is not None else ())


def recalled(origin: Mapping[str, str], how: InputOptions) -> Following:
    """The inputs that a manifest remembers."""
    if (said := _said(origin)) is None:
        raise DamagedFile("the index does not say what it was read from: build it again")
    read = replace(how, splitting=said.splitting, columns=said.columns, config=said.config, follow_links=said.follow_links)
    return Following(said.inputs, read, again=True)


def joined(origin: Mapping[str, str], added: Mapping[str, str]) -> Mapping[str, str]:
    """The recorded inputs of an index, with those that are added."""
    old, new = _said(origin), _said(added)
    if old is None or new is None:
        return origin
    names = tuple(dict.fromkeys([*old.inputs, *new.inputs]))
    return {**origin, RECORD: codec.dumps(replace(old, inputs=names, follow_links=old.follow_links or new.follow_links))}


def _stamped(entry: Entry, path: Path | None) -> Entry:
    try:
        about = path.stat() if path is not None else None
    except OSError:
        about = None  # reading says what is wrong
    return entry._replace(size=about.st_size, changed=about.st_mtime_ns) if about else entry


def _sum(path: Path) -> str:
    """None of what is larger than a document may be: it is not read either."""
    try:
        return checksum(path).sha256 if path.stat().st_size <= MAX_FILE else ""
    except OSError:
        return ""


def find_original(folder: Path, content: Manifest, document: str, roots: Sequence[Path] | None = None) -> Original:
    """The original of a document, and what has become of it. `roots` are its inputs where the caller knows them better.

    An index may be a stranger's, and its records may name any file of this machine. So a file is handed out only while its
    bytes are those that the index has the checksum of: whoever made the index knew them already.
    """
    entries = ledger.load(folder, content.read)
    entry = next((one for name, one in entries.items() if encodable(name) == document and not one.table), None)
    if entry is None or is_web(entry.name):
        return Original("none")
    known = recorded_paths(content.origin) if roots is None else roots
    paths = [path for root in known if (path := _inside(root, entry.name)) is not None]
    found = [Original(_state(path, entry), str(path), entry.sha256) for path in paths]
    return next((one for one in found if one.state == "same"), found[0] if found else Original("gone"))


def recorded_paths(origin: Mapping[str, str]) -> list[Path]:
    """The files and folders that an index says it was made from."""
    said = _said(origin)
    return [Path(name) for name in said.inputs if name.startswith("/")] if said else []


def are_public(origin: Mapping[str, str]) -> bool:
    """Whether everybody may know what an index says it was made from: web pages, data sets of the hub, ZIM files."""
    said = _said(origin)
    return "hf:" in origin.get("inputs", "") if said is None else bool(said.inputs) and all(map(_is_public, said.inputs))


def _said(origin: Mapping[str, str]) -> Recorded | None:
    try:
        return codec.loads(Recorded, origin[RECORD])
    except (KeyError, ValueError):
        return None


def _is_public(name: str) -> bool:
    if is_web(name):
        return not is_of_own_network(urlsplit(name).hostname or "")
    return name.startswith("hf:") or name.endswith((".zim", ".urls"))


def original_document(original: Original) -> Document:
    """The bytes that were indexed; raises `ReadError` where the file holds others by now."""
    if original.path is None or original.state != "same":
        raise ReadError(original.path or "", "the file is not what was read")
    document = opened(original.path)
    if hashlib.sha256(document.body).hexdigest() != original.sha256:
        raise ReadError(original.path, "the file has changed since it was read")
    return document


def _inside(root: Path, name: str) -> Path | None:
    """A regular file by its name under an input, however it is linked; never one outside of it."""
    if "\0" in name or name.startswith("/") or ".." in name.split("/"):
        return None
    try:
        top = os.path.realpath(root, strict=True)
        if os.path.isfile(top):
            return Path(top) if root.name == name else None
        path = os.path.realpath(os.path.join(top, name), strict=True)
        if os.path.commonpath([top, path]) != top or not stat.S_ISREG(os.stat(path).st_mode):
            return None
    except (OSError, ValueError):
        return None
    return Path(path)


def _state(path: Path, entry: Entry) -> OriginalState:
    try:
        about = path.stat()
    except OSError:
        return "gone"
    if about.st_size != entry.size or about.st_size > MAX_FILE or not entry.sha256:
        return "changed"
    if about.st_mtime_ns == entry.changed:
        return "same"  # whoever wants its bytes compares them
    try:
        return "same" if hashlib.sha256(opened(path).body).hexdigest() == entry.sha256 else "changed"
    except ReadError:
        return "gone"
