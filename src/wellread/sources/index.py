"""A local index as a source: `index:PATH`, and `library`, the one that comes in the wheel."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from wellread.core.private_files import at_home
from wellread.errors import DamagedFile, IndexFault, SourceError, UsageError, WellreadError
from wellread.parameters import fill
from wellread.protocols import Parts, Source
from wellread.sources.index_options import HINT, Options, embedder_for
from wellread.sources.multi_hop import followed
from wellread.types import Hit, Original, Query, Spec

if TYPE_CHECKING:
    from wellread.index.search import LocalIndex

T = TypeVar("T")
LIBRARY_HINT = (
    "a small encyclopaedia; ask in a full sentence or with the names involved, one fact at a time, "
    "and name the thing itself rather than 'it'"
)
ASKING = "ask in a full sentence or with the names involved, one fact at a time"


class IndexSource(Source):
    """Searches one index. The index is opened and the embedder asked for at the first search."""

    has_documents = True

    def __init__(self, name: str, path: Path, options: Options, kit: Parts, hint: str = "", private: bool | None = None) -> None:
        self.name = name
        self._path = path
        self._options = options
        self._kit = kit
        self.hint = hint or f"{options.about or HINT}; {ASKING}"
        self._index: LocalIndex | None = None
        self._opened: tuple[int, int] | None = None
        self._opening = threading.Lock()
        self.private = private

    @property
    def index(self) -> LocalIndex:
        """The index, as it is on disk now: a changed one is opened again."""
        from wellread.index.search import LocalIndex

        with self._opening:
            version = _version(self._path)
            if self._index is None or version != self._opened:
                self._index, self._opened = LocalIndex.open(self._path), version
            return self._index

    def is_private(self) -> bool:
        """What the operator says; else an index of public pages, data sets of the hub and ZIM files is not."""
        if self.private is None:
            from wellread.index import following, manifest

            with suppress(WellreadError, OSError):
                known = self._index.manifest if self._index else manifest.load(self._path)
                self.private = not following.are_public(known.origin)
        return self.private is not False

    async def search(self, query: Query) -> Sequence[Hit]:
        """Passages with their text, best first."""
        return self._named(await self._looked(lambda index: self._search(index, query)))

    def tuned(self, **options: int) -> IndexSource:
        """The same open index, searched with other options; closing it stays with this one."""
        other = IndexSource(self.name, self._path, replace(self._options, **options), self._kit, self.hint, self.private)
        other._index, other._opened = self.index, self._opened
        return other

    async def passages(self, document: str) -> Sequence[Hit]:
        """All passages of a document, in order."""
        return await self._looked(lambda index: asyncio.to_thread(index.passages, document, self.name))

    async def original(self, document: str, roots: Sequence[Path] | None = None) -> Original:
        """The file that a document was read from."""
        from wellread.index import following

        return await self._looked(
            lambda index: asyncio.to_thread(following.find_original, index.folder, index.manifest, document, roots)
        )

    async def find_title(self, title: str) -> Sequence[Hit]:
        """The passages of the document a cross-reference names; empty when there is none."""
        return self._named(await self._looked(lambda index: asyncio.to_thread(index.find_title, title)))

    async def aclose(self) -> None:
        """Let go of the files."""
        if self._index is not None:
            self._index.close()
            self._index = None

    async def _looked(self, look: Callable[[LocalIndex], Awaitable[T]]) -> T:
        """What a look at the index finds. One index for all of it: numbers of passages belong to it as it is at a moment."""
        version = _version(self._path)
        try:
            return await look(await self._current())
        except (IndexFault, DamagedFile, OSError) as problem:
            if _version(self._path) != version:
                return await self._looked(look)  # it was replaced meanwhile
            if not isinstance(problem, OSError):
                raise
            raise SourceError(self.name, f"the index cannot be read: {problem.strerror or problem}") from problem

    async def _search(self, index: LocalIndex, query: Query) -> list[Hit]:
        wanted = index.manifest.embedder
        embedder = embedder_for(wanted, self._options.embedder, self._kit) if self._options.meaning else None
        found = await index.find(query.text, embedder, query.limit, self._options.searching())
        return await asyncio.to_thread(lambda: [index.hit(item.row, item.score) for item in found])

    async def _current(self) -> LocalIndex:
        """`index`; where it has changed it is opened beside the event loop, since small ones are read as a whole for it."""
        if self._index is not None and _version(self._path) == self._opened:
            return self._index
        return await asyncio.to_thread(lambda: self.index)

    def _named(self, hits: Sequence[Hit]) -> Sequence[Hit]:
        return [replace(hit, source=self.name) for hit in hits]


def from_spec(spec: Spec, kit: Parts) -> Source:
    """An index made with `wellread index build`: index:PATH, or index:ray://NAME in a cluster."""
    if not spec.argument:
        raise UsageError("index needs the folder of an index: index:PATH (make one with: wellread index build)")
    options = fill(Options, spec.options, "index")
    path, name = at_home(spec.argument), options.name or f"index:{spec.argument}"
    if spec.argument.startswith("ray://") or (path / "shards.json").is_file():
        from wellread.sources.cluster import ClusterSource

        return followed(ClusterSource(name, spec.argument, options, kit), options.hops, kit)
    return followed(IndexSource(name, path, options, kit), options.hops, kit)


def library(spec: Spec, kit: Parts) -> Source:
    """The small encyclopaedia that comes with wellread; works offline."""
    options = fill(Options, spec.options, "library")
    return followed(IndexSource("library", library_path(), options, kit, LIBRARY_HINT, private=False), options.hops, kit)


def _version(path: Path) -> tuple[int, int] | None:
    """Changes whenever the manifest is replaced."""
    try:
        found = (path / "manifest.json").stat()
    except OSError:
        return None  # opening says what is wrong
    return found.st_ino, found.st_mtime_ns


def library_path() -> Path:
    """Where the library's index lies."""
    return Path(str(files("wellread"))) / "library" / "index"
