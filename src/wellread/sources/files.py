"""`files:PATH`: a folder (or one file) of your own, kept as an index under the user's cache.

Each search looks for what has changed and reads only that. Words can be searched at once; what they find first gets its vector
then, the others theirs when nobody waits: at the end of a command, while a person reads the answer, or in a process that stays.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from wellread.core.private_files import at_home
from wellread.core.safe_files import files_inside
from wellread.core.unicode_safety import encodable
from wellread.errors import SourceError, UsageError, WellreadError
from wellread.parameters import Hops, Range, fill, param
from wellread.protocols import Parts, Source
from wellread.reading.kinds import is_readable
from wellread.sources import index
from wellread.sources.hits import without_headings
from wellread.sources.memory import few
from wellread.sources.multi_hop import followed
from wellread.types import Hit, Hits, Original, Query, Spec
from wellread.version import __version__

if TYPE_CHECKING:
    from wellread.index.inputs import Item
    from wellread.index.ledger import Entry
    from wellread.index.manifest import Manifest
    from wellread.index.progress import Progress

_AT_ONCE = 32  # vectors that are made before the first answer: a second's work
_IDLE = 3.0  # seconds without a search after which the others are made
_SLICE = 2.0  # seconds of making them before looking whether somebody asks
_SHARE = 0.05  # of its time that a command spends on them at its end
_PATIENCE = 10.0  # seconds that a search waits for another process to finish reading
Stamp = tuple[tuple[str, int, int], ...]


@dataclass(frozen=True, slots=True)
class Options:
    pattern: str | None = param(None, "only files whose name fits, with * and ?: *.md")
    meaning: bool = param(True, "search by meaning too, not by words alone")
    max_files: Annotated[int, Range(1, 10_000_000)] = param(2000, "files read at most")
    max_megabytes: Annotated[float, Range(0, 100_000)] = param(50.0, "larger files are left out")
    hops: Hops | None = param(None, "2: also follow what the first passages lead to; 1: don't; none: unless the effort is low")
    name: str = param("", "what it is called in answers and in the page; its spec if empty")


def from_spec(spec: Spec, kit: Parts) -> Source:
    """A folder of documents: indexed by itself, kept up to date."""
    options = fill(Options, spec.options, "source files")
    path = at_home(spec.argument)
    if not spec.argument or not path.exists():
        raise UsageError(f"files needs a folder or a file that is there: files:PATH ({spec.argument or 'none given'})")
    files = Files(options.name or f"files:{spec.argument}", path, options, kit)
    return followed(files, options.hops, kit)


class Files(Source):
    """Passages of files as hits; what could not be read is said with every search."""

    has_documents = True
    hint = "A few documents of the user's own. Ask with the words they are likely to use; a whole question works too."

    def __init__(self, name: str, path: Path, options: Options, kit: Parts) -> None:
        self.name = name
        self._path = path
        self._inside: Path | None = path  # where files must lie; None: anywhere
        self._options = options
        self._kit = kit
        self._stamp: Stamp | None = None
        self._failures: tuple[str, ...] = ()
        self._place: Path | None = None
        self._inner: index.IndexSource | None = None
        self._reading = asyncio.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._later: asyncio.Task[None] | None = None
        self._begun = self._asked = time.monotonic()

    async def search(self, query: Query) -> Sequence[Hit]:
        if not query.text.strip() or query.limit < 1:
            return []
        inner = await self._ready()
        self._asked = time.monotonic()
        hits = await inner.search(query)
        more = "; each question makes some of their vectors, and wellread serve makes all while nobody asks"
        self.unfinished = tuple(why + more for why in inner.unfinished)
        self._asked = time.monotonic()
        found = tuple(replace(hit, snippet=without_headings(hit.text)[:300]) for hit in hits)
        return Hits(found, self._failures)

    async def passages(self, document: str) -> Sequence[Hit]:
        """All passages of a file, in order."""
        return await (await self._ready()).passages(document)

    async def find_title(self, title: str) -> Sequence[Hit]:
        return await (await self._ready()).find_title(title)

    async def original(self, document: str) -> Original:
        """The file itself; this folder is the operator's, whatever the index under the cache says."""
        if self._inner is None:  # nothing has been read in this process, and nothing needs to be
            return await asyncio.to_thread(self._located, document)
        return await (await self._ready()).original(document, [self._path.absolute()])

    async def catch_up(self, seconds: float, progress: Progress) -> None:
        """Make vectors, which stay whatever ends that."""
        if self._later is not None and not self._later.done():
            await self._alone(self._later)
            await self._embed(seconds, progress=progress)

    async def aclose(self) -> None:
        """Make a few vectors more, and let go of the files."""
        if self._later is not None:
            await self._alone(self._later)
            if self._loop is asyncio.get_running_loop():
                await self._embed(_SHARE * (time.monotonic() - self._begun), batch=4)
            self._later = None
        if self._inner is not None:
            await self._inner.aclose()

    async def _ready(self) -> index.IndexSource:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:  # locks and tasks belong to a loop
            self._loop, self._reading, self._later = loop, asyncio.Lock(), None
        async with self._reading:  # searches at once must not read everything twice
            if self._place is None:
                self._place = await asyncio.to_thread(self._placed)
            items, stamp = await asyncio.to_thread(self._stamped)
            if stamp != self._stamp:
                await self._refresh(items)
                self._stamp = stamp
        if self._inner is None:
            how = index.Options(meaning=self._options.meaning)
            self._inner = index.IndexSource(self.name, self._place, how, self._kit, self.hint, early=self._place)
        return self._inner

    def _placed(self) -> Path:
        """In the user's cache; where there must or can be none, in a folder that goes with this object."""
        from wellread.index import kept

        if self._kit.cache:
            with suppress(OSError):
                place = kept.place_for(self._key(), self._kit.environ)
                kept.keep_within(kept.MOST, place, self._kit.environ)
                return place
        place = Path(tempfile.mkdtemp(prefix="wellread-files-"))
        weakref.finalize(self, shutil.rmtree, place, ignore_errors=True)
        return place

    def _key(self) -> str:
        o = self._options
        embedder = self._kit.embedder().name if o.meaning else ""
        # another version may read the same files better
        return f"{__version__}\n{self._path.resolve()}\n{o.pattern}\n{o.max_files}\n{o.max_megabytes}\n{embedder}"

    async def _refresh(self, items: Sequence[Item]) -> None:
        """Read what is new or has changed; one process does, others wait for it."""
        from wellread.index.folder import BeingWritten

        assert self._place is not None
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                content = await self._update(self._place, items)
                break
            except BeingWritten:
                if time.monotonic() > until:
                    raise SourceError(self.name, "another process is still reading these files: ask again in a while") from None
                await asyncio.sleep(0.1)
        if content.vectors < content.rows and self._options.meaning:
            if content.rows - content.vectors <= _AT_ONCE:
                await self._embed(None)
            elif self._later is None:
                self._later = asyncio.create_task(self._catch_up())

    async def _update(self, place: Path, items: Sequence[Item]) -> Manifest:
        from wellread.index.build import update
        from wellread.index.following import Following
        from wellread.index.inputs import InputOptions

        content, known, same = await asyncio.to_thread(_known, place, items)
        if content is None or not same:
            following = Following((), InputOptions(unreadable=[]), found=items)
            made = await update(place, following, None, start=content or self._empty())
            content, known = made.content, made.entries
        failures = [f"{name}: {entry.notice}" for name, entry in known.items() if entry.notice]
        if not content.rows:
            raise SourceError(self.name, few(failures) or "there is no file to read")
        self._failures = (f"{self.name}: {few(failures)}",) if failures else ()
        return content

    def _empty(self) -> Manifest:
        from wellread.index.kept import ROOT
        from wellread.index.manifest import Manifest

        embedder = self._kit.embedder() if self._options.meaning else None
        name, dimensions = (embedder.name, embedder.dimensions) if embedder else ("", 0)
        origin = {ROOT: str(self._path.resolve()).encode("utf-8", "replace").decode()}
        return Manifest(name, dimensions, (), "sign", (), generation=0, origin=origin)

    async def _catch_up(self) -> None:
        """Make the vectors while nobody asks."""
        done = False
        while not done:
            await asyncio.sleep(_IDLE)
            if time.monotonic() - self._asked >= _IDLE:
                done = await self._embed(_SLICE)

    async def _alone(self, later: asyncio.Task[None]) -> None:
        """Stop what is done while nobody asks."""
        later.cancel()
        await asyncio.gather(later, return_exceptions=True)

    async def _embed(self, seconds: float | None, batch: int = 32, progress: Progress | None = None) -> bool:
        """Some vectors; whether that was all."""
        from wellread.index import early
        from wellread.index.folder import writing
        from wellread.index.progress import silent
        from wellread.index.vectors import Embedding, embed

        place = self._place
        assert place is not None
        until = None if seconds is None else time.monotonic() + seconds
        try:
            how = Embedding(batch, until, turn=lambda: writing(place))
            done = (await embed(place, place, self._kit.embedder(), how, progress or silent)).finished
            if done:
                (place / early.FILE).unlink(missing_ok=True)
            return done
        except (WellreadError, OSError):
            return False  # another process is at it, or the files have changed: later

    def _look(self) -> list[Item]:
        """List the files to read."""
        from wellread.index.inputs import Item

        root = self._path if self._path.is_dir() else self._path.parent
        found: list[Item] = []
        for path in self._candidates():
            item = Item(os.path.relpath(path, root), "document", path, self._inside if path != self._path else None)
            if 0 <= _state(item)[0] <= self._options.max_megabytes * 1024 * 1024:
                found.append(item)
            if len(found) >= self._options.max_files:
                break
        return found

    def _stamped(self) -> tuple[list[Item], Stamp]:
        items = self._look()
        return items, tuple((item.name, *_state(item)) for item in items)

    def _located(self, document: str) -> Original:
        path = next((item.path for item in self._look() if encodable(item.name) == document), None)
        return Original("same", str(path.absolute())) if path is not None else Original("gone")

    def _candidates(self) -> Iterator[Path]:
        if self._path.is_file():
            yield self._path
            return
        pattern = self._options.pattern
        for path in files_inside(self._path):
            if fnmatch(path.name, pattern) if pattern else is_readable(path.name):
                yield path


def _known(place: Path, items: Sequence[Item]) -> tuple[Manifest | None, dict[str, Entry], bool]:
    """The index as it was read, and whether it is up to date."""
    from wellread.index import ledger
    from wellread.index.folder import existing

    content = existing(place)
    known = ledger.load(place, content.read) if content else {}
    return content, known, {name: (e.size, e.changed) for name, e in known.items()} == {i.name: _state(i) for i in items}


def _state(item: Item) -> tuple[int, int]:
    """Size and time of a file; of one that is gone, none."""
    try:
        about = os.stat(item.path or "")
    except OSError:
        return -1, -1
    return about.st_size, about.st_mtime_ns
