"""A local index as a source: `index:PATH`, `index:ray://NAME` in a cluster, and `library`, the one in the wheel."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, fields, replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Generic, Literal, Self, TypeVar
from urllib.parse import parse_qsl

from wellread.core.private_files import at_home
from wellread.errors import DamagedFile, IndexFault, SourceError, UsageError, WellreadError
from wellread.parameters import Count, EmbedderSpec, Hops, Range, fill, param
from wellread.protocols import Embedder, Parts, Source, knowing, trained
from wellread.sources.multi_hop import followed
from wellread.types import Hit, Hits, Original, Query, Spec

if TYPE_CHECKING:
    from wellread.cluster.merged import MergedIndex
    from wellread.index.search import LocalIndex, SearchOptions

T = TypeVar("T")
Opened = TypeVar("Opened", bound="LocalIndex | MergedIndex")
LIBRARY_HINT = (
    "a small encyclopaedia; ask in a full sentence or with the names involved, one fact at a time, "
    "and name the thing itself rather than 'it'"
)
ASKING = "ask in a full sentence or with the names involved, one fact at a time"
HINT = "a local collection of passages"
_RAY = "ray://"
_EARLY = 24  # of the first found by words get a vector at once: their order is then as good as with all vectors


@dataclass(frozen=True, slots=True)
class Options:
    """How the index is searched; the long names are those of the published recipe."""

    mode: Literal["default", "exact", "thorough"] = param("default", "how candidates are found: default, exact or thorough")
    similarity_search_top_k_nodes: Annotated[int, Range(1, 100_000)] = param(100, "passages the similarity search returns")
    similarity_search_rescore_multiplier: Count = param(4, "candidates read again with int8 vectors, times the above")
    words: bool = param(True, "search by words")
    meaning: bool = param(True, "search by meaning")
    fusion: Literal["scores", "ranks"] = param("scores", "words and meaning are put together by scores or by ranks (RRF)")
    hops: Hops | None = param(None, "2: also follow what the first passages lead to; 1: don't; none: unless the effort is low")
    embedder: EmbedderSpec | None = param(None, "the embedder the index was built with, when it is not the default one")
    about: str = param("", "what is in it, as language models are told: the handbooks of a printing works")
    name: str = param("", "what it is called in answers and in the page; its spec if empty")

    def __post_init__(self) -> None:
        if not (self.words or self.meaning):
            raise ValueError("words and meaning cannot both be off")

    def searching(self) -> SearchOptions:
        """The search options, as far as they concern the index itself."""
        from wellread.index.search import SearchOptions

        return SearchOptions(**{one.name: getattr(self, one.name) for one in fields(SearchOptions) if one.name != "share"})


def embedder_spec(wanted: str, given: str | None, kit: Parts) -> str | None:
    """The embedder of an index that was built with `wanted`: the one that was given; else the usual one; else the one it was
    built with, where that is in the package or was downloaded before.

    A manifest may be a stranger's: it decides neither which server hears the questions nor which file is loaded.
    """
    if given or not wanted.startswith("onnx:") or kit.embedder(None).name == wanted:
        return given
    from wellread.embedding.layout import at_hand
    from wellread.embedding.onnx import CHANGES_VECTORS, DEFAULT

    model, _, options = wanted.removeprefix("onnx:").partition("?")
    harmless = {name for name, _ in parse_qsl(options, keep_blank_values=True)} <= set(CHANGES_VECTORS) - {"file"}
    if not harmless or (model != DEFAULT and not at_hand(model, kit.environ)):
        raise IndexFault(
            f"the index needs {wanted}, which it may not load by itself: allow it with ?embedder={wanted} (--embedder)"
        )
    return wanted


def embedder_for(wanted: str, given: str | None, kit: Parts) -> Embedder:
    """The same, made."""
    return kit.embedder(embedder_spec(wanted, given, kit))


def weighed(
    embedder: Embedder | None, options: SearchOptions, asked: str | None, indexed: str | None
) -> tuple[Embedder | None, SearchOptions]:
    """Meaning beside words as far as the embedder knows the language of question and index; between two languages it counts as
    always, and without any knowledge not at all (docs/log/languages.md)."""
    share = knowing(embedder, asked) if asked == indexed else 1.0
    return trained(embedder, asked), replace(options, share=share)


class _Indexed(Source, Generic[Opened]):
    """Base class of indexes as sources: with what one is searched, and the name that its hits go by."""

    has_documents = True

    def __init__(self, name: str, options: Options, kit: Parts, hint: str) -> None:
        self.name, self.hint = name, hint
        self._options, self._kit = options, kit
        self._index: Opened | None = None

    def tuned(self, **options: int) -> Self:
        """The same open index, searched with other options; closing it stays with this one."""
        other = copy(self)
        other._options = replace(self._options, **options)
        return other

    async def aclose(self) -> None:
        """Let go of the files."""
        if self._index is not None:
            self._index.close()
            self._index = None

    def _asked(self, query: Query, built: str, words: bool, language: str | None) -> tuple[Embedder | None, SearchOptions]:
        """The embedder and the options for a query of an index that was built with an embedder, perhaps words of a language."""
        embedder = embedder_for(built, self._options.embedder, self._kit) if self._options.meaning else None
        options = self._options.searching()
        return weighed(embedder, options, query.language, language) if words and options.words else (embedder, options)

    def _named(self, hits: Sequence[Hit]) -> list[Hit]:
        return [replace(hit, source=self.name) for hit in hits]


class IndexSource(_Indexed["LocalIndex"]):
    """Searches one index. The index is opened and the embedder asked for at the first search."""

    def __init__(
        self,
        name: str,
        path: Path,
        options: Options,
        kit: Parts,
        hint: str = "",
        private: bool | None = None,
        early: Path | None = None,
    ) -> None:
        """`early`: a folder where vectors are kept that a question needed before the index had them."""
        super().__init__(name, options, kit, hint or f"{options.about or HINT}; {ASKING}")
        self._path, self._kept = path, early
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
        """As the operator says; else an index of public pages, data sets of the hub and ZIM files is not private."""
        if self.private is None:
            from wellread.index import following, manifest

            with suppress(WellreadError, OSError):
                known = self._index.manifest if self._index else manifest.load(self._path)
                self.private = not following.are_public(known.origin)
        return self.private is not False

    async def search(self, query: Query) -> Sequence[Hit]:
        """Passages with their text, best first."""
        found = self._named(await self._looked(lambda index: self._search(index, query)))
        made = self._index.manifest if self._index else None
        missing = made.rows - made.vectors if made and made.embedder else 0
        self.unfinished = (f"{missing:,} passages of {self.name} are found by their words alone so far",) if missing else ()
        return found

    def tuned(self, **options: int) -> Self:
        self._index = self.index
        return super().tuned(**options)

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

    async def _looked(self, look: Callable[[LocalIndex], Awaitable[T]]) -> T:
        """The result of a look at the index. One index for all of it: numbers of passages belong to it as it is at a moment."""
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
        made = index.manifest
        embedder, options = self._asked(query, made.embedder, bool(made.words), made.language)
        early = min(_EARLY, query.limit) if self._kit.effort != "low" else 0
        if embedder and early and self._kept:
            from wellread.index.early import Kept

            embedder = Kept(embedder, self._kept)
        found = await index.find(query.text, embedder, query.limit, options, early)
        return await asyncio.to_thread(lambda: [index.hit(item.row, item.score) for item in found])

    async def _current(self) -> LocalIndex:
        """`index`; where it has changed it is opened beside the event loop, since small ones are read as a whole for it."""
        if self._index is not None and _version(self._path) == self._opened:
            return self._index
        return await asyncio.to_thread(lambda: self.index)


class ClusterSource(_Indexed["MergedIndex"]):
    """Searches all shards. Those that cannot be reached are named in the result."""

    def __init__(self, name: str, argument: str, options: Options, kit: Parts) -> None:
        super().__init__(name, options, kit, HINT)
        self._argument, self._opening = argument, asyncio.Lock()

    async def search(self, query: Query) -> Sequence[Hit]:
        index = await self._opened()
        made = index.content
        embedder, options = self._asked(query, made.embedder, made.words, made.language)
        outcome = await index.search(query.text, embedder, query.limit, options)
        failures = ()
        if outcome.gone:
            share = f"{outcome.searched:.0%} of the passages were searched"
            failures = (f"{self.name}: {share}; nobody answers for shard {', '.join(outcome.gone)}",)
        return Hits(tuple(self._named(outcome.hits)), failures)

    async def passages(self, document: str) -> Sequence[Hit]:
        return await asyncio.to_thread(self._named, await (await self._opened()).document(document))

    async def find_title(self, title: str) -> Sequence[Hit]:
        return self._named(await (await self._opened()).titled(title))

    async def _opened(self) -> MergedIndex:
        async with self._opening:
            if self._index is None:
                self._index = await asyncio.to_thread(self._open)
            return self._index

    def _open(self) -> MergedIndex:
        if not self._argument.startswith(_RAY):
            from wellread.cluster.merged import open_folder

            return open_folder(at_home(self._argument))
        from wellread.cluster.on_ray import open_index

        name, _, address = self._argument.removeprefix(_RAY).partition("@")
        if not name:
            raise SourceError(self.name, "index:ray://NAME needs the name of a deployed index")
        return open_index(name, address or None)


def from_spec(spec: Spec, kit: Parts) -> Source:
    """An index made with `wellread index build`: index:PATH, or index:ray://NAME in a cluster."""
    if not spec.argument:
        raise UsageError("index needs the folder of an index: index:PATH (make one with: wellread index build)")
    options = fill(Options, spec.options, "index")
    path, name = at_home(spec.argument), options.name or f"index:{spec.argument}"
    if spec.argument.startswith("ray://") or (path / "shards.json").is_file():
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
