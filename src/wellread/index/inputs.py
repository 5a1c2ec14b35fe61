"""What passages are made from: tables (parquet, JSON lines), folders of files, pages, ZIM files, hub data sets.

Every input gives the same passages in the same order each time it is read, which is what makes an
interrupted build resumable.
"""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import zlib
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

from wellread.core import safe_files
from wellread.core.private_files import at_home
from wellread.core.safe_files import files_inside
from wellread.core.unicode_safety import encodable
from wellread.errors import IndexFault, ReadError, UsageError, optional
from wellread.protocols import PageReader
from wellread.reading import decoder, workers
from wellread.reading.documents import Document, opened
from wellread.reading.kinds import is_decoration
from wellread.text.split import Splitting, part_id, split
from wellread.text.split import passages as of_page
from wellread.types import Page, Passage

_SKIPPED_FOLDERS = (".git", "node_modules", "__pycache__")
_LIST = ".urls"
_TABLES = (".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz", ".parquet", ".arrow", _LIST, ".zim")
_HUB_TABLES = (".parquet", ".jsonl", ".jsonl.gz")
_ID_NAMES = ("_id", "id")
_LONGEST_LINE = decoder.LONGEST_LINE
_LONGEST_LIST = 100 * 1024**2  # bytes of a list of addresses


@dataclass(frozen=True, slots=True)
class Columns:
    """What the columns of a table are called. The defaults fit Cohere's Wikipedia and most corpora."""

    id: str = ""  # "_id" or "id", whichever there is
    title: str = "title"
    text: str = "text"
    url: str = "url"
    document: str = "document"
    links: str = "links"
    published: str = "published"


@dataclass(frozen=True, slots=True)
class InputOptions:
    """How inputs are read."""

    splitting: Splitting = field(default_factory=Splitting)
    columns: Columns = field(default_factory=Columns)
    pages: PageReader | None = None
    config: str | None = None  # of a hub data set: "en" in Cohere's
    unreadable: list[str] | None = None  # files and pages that could not be read are noted here instead of raising
    follow_links: bool = False  # also to files outside of the folder that was named
    documents: set[str] = field(default_factory=set[str])  # names of those that were read
    address: Callable[[str], str] | None = None  # where a document of this name is found, rather than at its file: URL


class Names:
    """What documents are called: by their path in the folder that was named, with more of it where another is called so."""

    def __init__(self) -> None:
        self._taken: dict[str, Path] = {}
        self._known: dict[Path, str] = {}

    def name(self, file: Path, root: Path) -> str:
        path = file.absolute()
        if path not in self._known:
            base = path.parent if file == root else root.absolute()
            called = (path.relative_to(home).as_posix() for home in (base, *base.parents))
            name = next((name for name in called if name not in self._taken), path.as_posix())
            self._taken[name], self._known[path] = path, name
        return self._known[path]

    def new(self, files: Iterable[Path], root: Path) -> list[tuple[str, Path]]:
        """Those that were not named before, as they are where inputs overlap."""
        return [(self.name(file, root), file) for file in files if file.absolute() not in self._known]


async def passages(inputs: Sequence[str], how: InputOptions) -> AsyncIterator[Passage]:
    """The passages of all inputs, one input after the other."""
    names = Names()
    for text in inputs:
        if is_page(text):
            async for passage in _page(text, how):
                yield passage
        elif text.startswith("hf:"):
            async for passage in _tables(hub_tables(text.removeprefix("hf:"), how.config), how):
                yield passage
        else:
            async for passage in _path(text, how, names):
                yield passage


@dataclass(frozen=True, slots=True)
class Part:
    """Some files of an input that are read together. All parts after each other give what the inputs give."""

    files: tuple[str, ...]
    names: tuple[str, ...]
    folder: str | None = None  # that they must lie in when they are read; None: anywhere
    corpus: bool = False  # tables, whose rows are documents


def parts(inputs: Sequence[str], how: InputOptions, documents: int = 64, most: int = 8_192) -> list[Part]:
    """Files and folders in parts that can be read apart: so many documents each, or more where an input would have more than
    `most` parts; tables alone."""
    found: list[Part] = []
    names = Names()
    for text in inputs:
        if is_page(text) or text.startswith("hf:"):
            raise UsageError(f"{text} cannot be read in parts: make a data set of it first (wellread dataset create)")
        path, files = found_under(text, how.follow_links)
        folder = _bounds(path, how)
        corpus = is_corpus(files)
        size = 1 if corpus else max(documents, -(-len(files) // most))
        named = names.new(files, path)
        for at in range(0, len(named), size):
            some = named[at : at + size]
            paths, called = tuple(str(file) for _, file in some), tuple(name for name, _ in some)
            found.append(Part(paths, called, folder and str(folder), corpus))
    return found


async def passages_of(part: Part, how: InputOptions) -> AsyncIterator[Passage]:
    """The passages of one part."""
    files, folder = [Path(name) for name in part.files], Path(part.folder) if part.folder else None
    some = _tables(files, how) if part.corpus else _documents(zip(part.names, files, strict=True), how, folder)
    async for passage in some:
        yield passage


def origin(inputs: Sequence[str], how: InputOptions) -> str:
    """The inputs in words: names, sizes and how they are split."""
    parts: list[str] = []
    for text in inputs:
        path = Path(text)
        known = not is_page(text) and path.is_file()
        parts.append(f"{text} ({path.stat().st_size} bytes)" if known else text)
    return encodable(f"{', '.join(parts)}; {how.splitting.tokens} tokens, overlap {how.splitting.overlap}")


def is_page(text: str) -> bool:
    return text.startswith(("http://", "https://"))


def _bounds(path: Path, how: InputOptions) -> Path | None:
    """The folder that no file of an input may lead out of."""
    return path if path.is_dir() and not how.follow_links else None


async def _path(text: str, how: InputOptions, names: Names) -> AsyncIterator[Passage]:
    path, found = found_under(text, how.follow_links)
    named = names.new(found, path)
    parts = _tables((file for _, file in named), how) if is_corpus(found) else _documents(named, how, _bounds(path, how))
    async for passage in parts:
        yield passage


def is_corpus(files: Sequence[Path]) -> bool:
    """Whether an input is a table, or a folder of nothing else: then its rows are documents by names of their own. Among
    documents a table is one like them, or its rows could pass for those of the others."""
    return all(map(is_table, files))


def is_table(file: Path) -> bool:
    return file.name.lower().endswith(_TABLES)


async def _tables(files: Iterable[Path], how: InputOptions) -> AsyncIterator[Passage]:
    for file in files:
        name = file.name.lower()
        if name.endswith(_LIST):
            parts = passages(addresses(file), how)
        elif name.endswith(".zim"):
            parts = _zim(file, how)
        else:
            parts = _each(_tabled(_objects(_lines(file), file), how, str(file)))
        async for passage in parts:
            yield passage


def is_list(file: Path) -> bool:
    return file.name.lower().endswith(_LIST)


def addresses(file: Path) -> list[str]:
    """The pages that a list names. It names nothing else: who wrote it need not be who has it read."""
    try:
        lines = safe_files.content(file, _LONGEST_LIST).decode("utf-8-sig").split()
    except (OSError, UnicodeDecodeError) as problem:
        raise IndexFault(f"{file} cannot be read: {problem}") from problem
    for line in lines:
        if not is_page(line):
            raise IndexFault(f"{file}: {line[:200]!r} is no address of a page (http:// or https://)")
    return lines


async def _each(rows: Iterable[Passage]) -> AsyncIterator[Passage]:
    for row in rows:
        yield row


async def _documents(named: Iterable[tuple[str, Path]], how: InputOptions, folder: Path | None = None) -> AsyncIterator[Passage]:
    """Files that are read in other processes, several at once, and come in their order; those of a `folder` must lie in it."""
    wanted = ((name, partial(opened, file, folder)) for name, file in named)
    async with aclosing(workers.shared().in_order(wanted)) as pages:
        async for name, page in pages:
            for passage in await asyncio.to_thread(outcome, page, name, how):
                yield passage


def found_under(text: str, follow_links: bool = False) -> tuple[Path, list[Path]]:
    path = at_home(text)
    if not path.exists():
        raise UsageError(f"{path} does not exist")
    return path, [path] if path.is_file() else files_under(path, follow_links)


def files_under(folder: Path, follow_links: bool = False) -> list[Path]:
    """Files of a folder that a person would mean, sorted. A link out of it may lead to what nobody meant to index, and so may
    a list of addresses, which is read where it is named itself."""
    found = (path for path in files_inside(folder, follow_links) if not is_list(path) and not is_decoration(path.name))
    return sorted(path for path in found if not any(part in _SKIPPED_FOLDERS for part in path.parts))


def outcome(page: Page | ReadError, name: str, how: InputOptions) -> list[Passage]:
    if isinstance(page, ReadError):
        _note(page, how)
        return []
    return _of_page(page, name, how)


async def _page(url: str, how: InputOptions) -> AsyncIterator[Passage]:
    if how.pages is None:
        raise UsageError(f"{url}: pages cannot be read here")
    try:
        page = await how.pages.read(url)
    except ReadError as problem:
        _note(problem, how)
        return
    for passage in await asyncio.to_thread(_of_page, page, url, how):
        yield passage


def _note(problem: ReadError, how: InputOptions) -> None:
    if how.unreadable is None:
        raise problem
    how.unreadable.append(str(problem))


def _of_page(page: Page, name: str, how: InputOptions) -> list[Passage]:
    if page.notice and how.unreadable is not None:
        how.unreadable.append(f"{page.url}: {page.notice}")
    how.documents.add(name)
    return of_page(replace(page, url=how.address(name)) if how.address else page, name, how.splitting)


def _tabled(rows: Iterable[Mapping[str, object]], how: InputOptions, where: str) -> Iterator[Passage]:
    names = how.columns
    for number, row in enumerate(rows):
        text = row.get(names.text)
        if not isinstance(text, str):
            raise IndexFault(f"{where}: row {number} has no text in {names.text!r}; its columns are: {', '.join(map(str, row))}")
        identity = str(_identity(row, names.id) or f"{Path(where).name}:{number}")
        url = _optional(row, names.url)
        parts = split(text.split("\n\n"), how.splitting)
        if not parts:
            raise IndexFault(f"{where}: row {number} ({identity}) has an empty text")
        document = _optional(row, names.document) or url or identity
        links = row.get(names.links)
        for part, content in enumerate(parts):
            yield Passage(
                id=identity if len(parts) == 1 else part_id(identity, part),
                text=content,
                title=_optional(row, names.title) or "",
                url=url,
                published=_optional(row, names.published),
                document=document,
                links=tuple(str(link) for link in cast("list[object]", links)) if isinstance(links, list) else (),
            )


def _identity(row: Mapping[str, object], name: str) -> object:
    return next((row[key] for key in ((name,) if name else _ID_NAMES) if row.get(key) not in (None, "")), None)


def _optional(row: Mapping[str, object], name: str) -> str | None:
    value = row.get(name)
    return str(value) if value not in (None, "") else None


def _lines(path: Path) -> Iterator[str]:
    if reader := {".parquet": "rows", ".arrow": "stream"}.get(path.suffix.lower()):
        yield from decoder.lines(reader, [path], _LONGEST_LINE)
        return
    opener = gzip.open if path.name.endswith(".gz") else open
    try:
        with opener(path, "rt", encoding="utf-8") as lines:
            yield from iter(lambda: lines.readline(_LONGEST_LINE), "")
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as problem:
        raise IndexFault(f"{path} cannot be read: {problem}") from problem


def _objects(lines: Iterator[str], path: Path) -> Iterator[dict[str, object]]:
    for number, line in enumerate(lines, start=1):
        if len(line) == _LONGEST_LINE:
            raise IndexFault(f"{path}: line {number} is longer than {_LONGEST_LINE:,} characters")
        if line.strip():
            yield _object(line, path, number)


def _object(line: str, path: Path, number: int) -> dict[str, object]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict):
        raise IndexFault(f"{path}: line {number} is not a JSON object")
    return cast("dict[str, object]", row)


def hub_tables(name: str, config: str | None) -> Iterator[Path]:
    """The tables of a data set on the hub, brought one by one as they are wanted; where it has a part to train on, those."""
    with optional("reading a Hugging Face data set", "hub"):
        import huggingface_hub
    hub = cast("Any", huggingface_hub)
    try:
        listed: list[str] = sorted(hub.list_repo_files(name, repo_type="dataset"))
        tables = [file for file in listed if file.lower().endswith(_HUB_TABLES) and (not config or config in Path(file).parts)]
        if not tables:
            raise IndexFault(f"hf:{name} has no tables ({', '.join(_HUB_TABLES)}) of that name")
        for file in [file for file in tables if "train" in file] or tables:
            yield Path(hub.hf_hub_download(name, file, repo_type="dataset"))
    except IndexFault:
        raise
    except Exception as problem:  # the client raises errors of many libraries
        raise IndexFault(f"hf:{name} cannot be downloaded: {str(problem).splitlines()[0]}") from problem


async def _zim(path: Path, how: InputOptions) -> AsyncIterator[Passage]:
    async with aclosing(workers.shared().in_order(_entries(path))) as pages:
        async for (place, title), page in pages:
            if isinstance(page, ReadError):
                continue  # an archive holds stubs and navigation pages too
            for passage in _of_page(replace(page, url=place, title=title or page.title), place, how):
                yield passage


def _entries(path: Path) -> Iterator[tuple[tuple[str, str], Document]]:
    for page in _objects(decoder.lines("zim", [path]), path):
        place, title, html = str(page["path"]), str(page["title"]), base64.b64decode(str(page["html"]))
        yield (place, title), Document(html, place, content_type="text/html")
