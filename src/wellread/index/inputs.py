"""Inputs of an index: tables (parquet, JSON lines), folders of files, pages, ZIM files, hub data sets.

Every input gives the same passages in the same order each time it is read, which is what makes an
interrupted build resumable.
"""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import zlib
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, cast

from wellread.core import safe_files
from wellread.core.private_files import at_home
from wellread.core.safe_files import files_inside
from wellread.core.unicode_safety import encodable
from wellread.errors import IndexFault, ReadError, UsageError, optional, os_errors
from wellread.protocols import PageReader
from wellread.reading import decoder, workers
from wellread.reading.kinds import is_decoration
from wellread.text.places import is_web
from wellread.text.split import Splitting, part_id, split
from wellread.text.split import passages as of_page
from wellread.types import Document, Page, Passage

_SKIPPED_FOLDERS = (".git", "node_modules", "__pycache__")
_LIST = ".urls"
_TABLES = (".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz", ".parquet", ".arrow", _LIST, ".zim")
_HUB_TABLES = (".parquet", ".jsonl", ".jsonl.gz")
_ID_NAMES = ("_id", "id")
_LONGEST_LINE = decoder.LONGEST_LINE
_LONGEST_LIST = 100 * 1024**2  # bytes of a list of addresses


@dataclass(frozen=True, slots=True)
class Columns:
    """Column names of a table. The defaults fit Cohere's Wikipedia and most corpora."""

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
    """Document names: by the path in the folder that was named, with more of it where another is called so."""

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


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to read."""

    name: str
    kind: Literal["document", "table", "page"]
    path: Path | None = None
    folder: Path | None = field(default=None, compare=False)  # that it must lie in when it is read; None: anywhere


def items(name: str, follow_links: bool, names: Names) -> Iterator[Item]:
    """Lists files, tables and pages of one input."""
    if is_web(name) or name.startswith("hf:"):
        yield Item(name, "page" if is_web(name) else "table")
        return
    root = at_home(name)
    if not root.exists():
        raise UsageError(f"{root} does not exist")
    found = [root] if root.is_file() else files_under(root, follow_links)
    # The rows of a table, or of a folder of nothing else, are documents by names of their own. Among documents a table is one
    # like them, or its rows could pass for those of the others.
    corpus = all(map(is_table, found))
    for path in found:
        if is_list(path):
            yield from (Item(address, "page") for address in addresses(path))
        elif corpus:
            yield Item(str(path), "table", path)
        else:
            yield Item(names.name(path, root), "document", path, root if path != root and not follow_links else None)


def parts(inputs: Sequence[str], how: InputOptions, documents: int = 64, most: int = 8_192) -> list[tuple[Item, ...]]:
    """Files and folders in parts that can be read apart and give, after each other, what the inputs give: so many documents each,
    or more where an input would have more than `most` parts; tables alone."""
    found: list[tuple[Item, ...]] = []
    names, before = Names(), set[Item]()
    for text in inputs:
        if is_web(text) or text.startswith("hf:"):
            raise UsageError(f"{text} cannot be read in parts: make a data set of it first (wellread dataset create)")
        some = [item for item in items(lasting(text), how.follow_links, names) if item not in before]
        before.update(some)
        size = max(documents, -(-len(some) // most)) if any(item.kind == "document" for item in some) else 1
        found += [tuple(some[at : at + size]) for at in range(0, len(some), size)]
    return found


def origin(inputs: Sequence[str], how: InputOptions) -> str:
    """The inputs in words: names, sizes and how they are split."""
    parts: list[str] = []
    for text in inputs:
        path = Path(text)
        known = not is_web(text) and path.is_file()
        parts.append(f"{text} ({path.stat().st_size} bytes)" if known else text)
    return encodable(f"{', '.join(parts)}; {how.splitting.tokens} tokens, overlap {how.splitting.overlap}")


def lasting(name: str) -> str:
    """A name that means the same from any folder."""
    return name if is_web(name) or name.startswith("hf:") else str(at_home(name).absolute())


def is_table(file: Path) -> bool:
    return file.name.lower().endswith(_TABLES)


async def rows(table: str, how: InputOptions) -> AsyncIterator[Passage]:
    """The passages of a table: a file, or those of a data set on the hub."""
    for file in hub_tables(table.removeprefix("hf:"), how.config) if table.startswith("hf:") else (Path(table),):
        if file.name.lower().endswith(".zim"):
            async for passage in _zim(file, how):
                yield passage
        else:
            for passage in _tabled(_objects(_lines(file), file), how, str(file)):
                yield passage


def is_list(file: Path) -> bool:
    return file.name.lower().endswith(_LIST)


def addresses(file: Path) -> list[str]:
    """The pages that a list names, but for lines that begin with #. It names nothing else: who wrote it need not be who has it
    read."""
    with os_errors(IndexFault, f"{file} cannot be read", UnicodeDecodeError):
        lines = safe_files.content(file, _LONGEST_LIST).decode("utf-8-sig").splitlines()
    found = [one for line in lines if not line.lstrip().startswith("#") for one in line.split()]
    for one in found:
        if not is_web(one):
            raise IndexFault(f"{file}: {one[:200]!r} is no address of a page (http:// or https://)")
    return found


def files_under(folder: Path, follow_links: bool = False) -> list[Path]:
    """Files of a folder that a person would mean, sorted. A link out of it may lead to what nobody meant to index, and so may
    a list of addresses, which is read where it is named itself."""
    found = (path for path in files_inside(folder, follow_links) if not is_list(path) and not is_decoration(path.name))
    return sorted(path for path in found if not any(part in _SKIPPED_FOLDERS for part in path.parts))


def outcome(page: Page | ReadError, name: str, how: InputOptions) -> list[Passage]:
    """The passages of what was read; of what could not be, none and a note."""
    if not isinstance(page, ReadError):
        return _of_page(page, name, how)
    if how.unreadable is None:
        raise page
    how.unreadable.append(str(page))
    return []


async def page(url: str, how: InputOptions) -> list[Passage]:
    """The passages of a page."""
    if how.pages is None:
        raise UsageError(f"{url}: pages cannot be read here")
    try:
        read = await how.pages.read(url)
    except ReadError as problem:
        return outcome(problem, url, how)
    return await asyncio.to_thread(outcome, read, url, how)


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
        known = next((row[key] for key in ((names.id,) if names.id else _ID_NAMES) if row.get(key) not in (None, "")), None)
        identity = str(known or f"{Path(where).name}:{number}")
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


def _optional(row: Mapping[str, object], name: str) -> str | None:
    value = row.get(name)
    return str(value) if value not in (None, "") else None


def _lines(path: Path) -> Iterator[str]:
    if reader := {".parquet": "rows", ".arrow": "stream"}.get(path.suffix.lower()):
        yield from decoder.lines(reader, [path], _LONGEST_LINE)
        return
    opener = gzip.open if path.name.endswith(".gz") else open
    unreadable = os_errors(IndexFault, f"{path} cannot be read", EOFError, UnicodeDecodeError, zlib.error)
    with unreadable, opener(path, "rt", encoding="utf-8") as lines:
        yield from iter(lambda: lines.readline(_LONGEST_LINE), "")


def _objects(lines: Iterator[str], path: Path) -> Iterator[dict[str, object]]:
    for number, line in enumerate(lines, start=1):
        if len(line) == _LONGEST_LINE:
            raise IndexFault(f"{path}: line {number} is longer than {_LONGEST_LINE:,} characters")
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict):
            raise IndexFault(f"{path}: line {number} is not a JSON object")
        yield cast("dict[str, object]", row)


def hub_tables(name: str, config: str | None) -> Iterator[Path]:
    """The tables of a data set on the hub, brought one by one as they are wanted; where it has a part to train on, those."""
    with hub(f"hf:{name}") as client:
        listed: list[str] = sorted(client.list_repo_files(name, repo_type="dataset"))
        tables = [file for file in listed if file.lower().endswith(_HUB_TABLES) and (not config or config in Path(file).parts)]
        if not tables:
            raise IndexFault(f"hf:{name} has no tables ({', '.join(_HUB_TABLES)}) of that name")
        for file in [file for file in tables if "train" in file] or tables:
            yield Path(client.hf_hub_download(name, file, repo_type="dataset"))


@contextmanager
def hub(what: str) -> Generator[Any]:
    """The client of the Hugging Face hub, whose errors, those of many libraries, become one of ours."""
    with optional(f"downloading {what}", "hub"):
        import huggingface_hub
    try:
        yield huggingface_hub
    except IndexFault:
        raise
    except Exception as problem:
        raise IndexFault(f"{what} cannot be downloaded: {str(problem).splitlines()[0]}") from problem


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
