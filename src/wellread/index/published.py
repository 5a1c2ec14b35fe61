"""Import of the published layout of recipe 5.

    faiss-ubinary.index             one-bit codes in row order
    usearch-int8.index              int8 rows under their row numbers
    document-url-mappings.sqlite    URL → list of row numbers, pickled
    texts                           a table with title, url, text in row order

The int8 scale is not recorded there, so scores are relative to each other, not cosines.
"""

from __future__ import annotations

import io
import pickle
import shutil
import sqlite3
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, NoReturn, cast

import numpy as np

from wellread.errors import DamagedFile, IndexFault, optional
from wellread.index.dataset import relative_scale
from wellread.index.feed import Batch, grouped
from wellread.index.inputs import InputOptions, is_table, passages
from wellread.index.quantize import Bytes, Codes, Floats, pad_codes
from wellread.text.split import Splitting
from wellread.types import Passage

CODES, ROWS, MAPPINGS = "faiss-ubinary.index", "usearch-int8.index", "document-url-mappings.sqlite"
_BATCH = 5_000


def texts_in(folder: Path) -> Path | None:
    """The texts that lie beside the published files: a folder or a table with "text" in its name."""
    found = [path for path in sorted(folder.glob("*text*")) if path.is_dir() or is_table(path)]
    return found[0] if found else None


class PublishedFeed:
    """The published files as the feed of an index."""

    def __init__(self, folder: Path, texts: str, embedder: str) -> None:
        self._texts = texts
        self.embedder = embedder
        self.origin = f"the published index {folder.name} with {texts}"
        self._codes = _codes(folder / CODES)
        self.dimensions = int(cast("Any", self._codes).d)
        self._rows = _int8(folder / ROWS, self.dimensions)
        self._documents = Documents(folder / MAPPINGS)
        self.scale: Floats | None = relative_scale(self.dimensions)

    async def batches(self, skip: int, scale: Floats | None) -> AsyncIterator[Batch]:
        how = InputOptions(Splitting(tokens=0))
        start = skip
        async for group in grouped(passages([self._texts], how), skip, _BATCH):
            yield self._batch(start, group)
            start += len(group)
        total = int(cast("Any", self._codes).ntotal)
        if start != total:
            raise IndexFault(f"{self._texts} has {start} rows, the published index {total}")

    def _batch(self, start: int, group: list[Passage]) -> Batch:
        numbers = np.arange(start, start + len(group), dtype=np.uint64)
        rows = self._rows.get(numbers)
        codes = _slice(self._codes, start, len(group))
        if rows is None or codes is None:
            raise IndexFault(f"row {start} and following are not in the published index: {self._texts} has more rows")
        named = [
            Passage(str(start + i), p.text, p.title, p.url, document=self._documents.of(start + i) or p.url or str(start + i))
            for i, p in enumerate(group)
        ]
        matrix: Bytes = np.asarray(rows, np.int8).reshape(len(group), self.dimensions)
        return Batch(named, matrix, pad_codes(codes, self.dimensions))


class Documents:
    """Which URL a row belongs to, read once into two arrays."""

    def __init__(self, path: Path) -> None:
        self._names: list[str] = []
        numbers: list[int] = []
        owners: list[int] = []
        for url, rows in mappings(path) if path.exists() else ():
            owners.extend([len(self._names)] * len(rows))
            numbers.extend(rows)
            self._names.append(url)
        order = np.argsort(np.asarray(numbers, np.int64))
        self._numbers = np.asarray(numbers, np.int64)[order]
        self._owners = np.asarray(owners, np.int64)[order]

    def of(self, row: int) -> str | None:
        place = int(np.searchsorted(self._numbers, row))
        if place == len(self._numbers) or int(self._numbers[place]) != row:
            return None
        return self._names[int(self._owners[place])]


def mappings(path: Path) -> Iterator[tuple[str, list[int]]]:
    """URL and row numbers of an sqlitedict file; nothing else can come out of its pickles."""
    try:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
            table = connection.execute("SELECT name FROM sqlite_master WHERE type='table'").fetchone()
            for key, value in connection.execute(f'SELECT key, value FROM "{str(table[0]).replace(chr(34), "")}"'):
                yield str(key), plain_numbers(bytes(value), path)
        connection.close()
    except (sqlite3.Error, TypeError) as problem:
        raise DamagedFile(f"{path} cannot be read: {problem}") from problem


class _NumbersOnly(pickle.Unpickler):
    """Lists and ints need no class at all, so no class may be loaded."""

    def find_class(self, module_name: str, global_name: str, /) -> NoReturn:
        raise pickle.UnpicklingError(f"{module_name}.{global_name} is not a number")

    def persistent_load(self, pid: Any) -> NoReturn:
        raise pickle.UnpicklingError("references are not numbers")


def plain_numbers(data: bytes, path: Path) -> list[int]:
    """A pickled list of ints; whatever else it holds is refused without being run."""
    try:
        found = _NumbersOnly(io.BytesIO(data)).load()
    except Exception as problem:  # a hostile or torn pickle can raise nearly anything
        raise DamagedFile(f"{path} holds something else than row numbers: {problem}") from problem
    if not isinstance(found, list) or not all(type(item) is int for item in cast("list[object]", found)):
        raise DamagedFile(f"{path} holds something else than row numbers")
    return cast("list[int]", found)


def _codes(path: Path) -> object:
    with optional("importing the published layout", "published"):
        import faiss

    if not path.exists():
        raise IndexFault(f"{path} does not exist")
    try:
        return faiss.read_index_binary(str(path), faiss.IO_FLAG_MMAP_IFC)
    except RuntimeError as problem:
        raise DamagedFile(f"{path} cannot be read: {str(problem).splitlines()[-1]}") from problem


def _slice(index: object, start: int, count: int) -> Codes | None:
    with optional("importing the published layout", "published"):
        import faiss

    any_index = cast("Any", faiss).downcast_IndexBinary(index)
    if start + count > any_index.ntotal:
        return None
    width = int(any_index.code_size)
    flat = cast("Any", faiss).rev_swig_ptr(any_index.xb.data(), any_index.ntotal * width)
    return np.array(flat[start * width : (start + count) * width]).reshape(count, width)


def _int8(path: Path, dimensions: int) -> Any:
    with optional("importing the published layout", "published"):
        from usearch.index import Index
    if not path.exists():
        raise IndexFault(f"{path} does not exist")
    try:
        view = cast("Any", Index.restore(str(path), view=True))
    except Exception as problem:  # usearch raises bare RuntimeErrors and MemoryErrors on damaged files
        raise DamagedFile(f"{path} cannot be read: {problem}") from problem
    if view is None or view.ndim != dimensions:
        raise IndexFault(f"{path}: its vectors do not have the {dimensions} dimensions of the codes")
    return view


_ROW_PARTS = "usearch-int8-index"  # a folder of NNNN.part, where one file would be too large for the hub
_TEXTS = ("*text*/*.parquet", "*text*/*.arrow", "*text*.parquet", "*text*.jsonl.gz")


def pull(repository: str, folder: Path) -> Path | None:
    """The files of the published layout and the texts, where they are. A download that broke off goes on; parts are joined."""
    with optional("downloading from the hub", "hub"):
        import huggingface_hub
    fetch = cast("Any", huggingface_hub).snapshot_download
    wanted = [*(f"*{name}" for name in (CODES, MAPPINGS)), *_TEXTS]
    wanted += [] if (folder / ROWS).exists() else [f"*{ROWS}", f"*{_ROW_PARTS}/*.part"]
    try:
        fetch(repository, repo_type="dataset", local_dir=folder, allow_patterns=wanted)
    except Exception as problem:  # the client raises errors of many libraries
        raise IndexFault(f"{repository} cannot be downloaded: {str(problem).splitlines()[0]}") from problem
    _join(folder)
    # Without a connection the client is content with a folder that is there, whatever is in it.
    missing = [name for name in (CODES, ROWS, MAPPINGS) if not any(folder.rglob(f"*{name}"))]
    if missing:
        raise IndexFault(f"{repository} cannot be downloaded, or is no published index: {', '.join(missing)} did not come")
    return texts_in(folder)


def _join(folder: Path) -> None:
    """The parts as one file, in their order; they go when it is whole."""
    parts = sorted((folder / _ROW_PARTS).glob("*.part"))
    if not parts:
        return
    numbers = [int(part.stem) if part.stem.isdigit() else -1 for part in parts]
    if numbers != list(range(numbers[0], numbers[0] + len(parts))):
        raise IndexFault(f"{folder / _ROW_PARTS} has gaps: a part is missing; run the same command again")
    torn = folder / f"{ROWS}.tmp"
    with torn.open("wb") as whole:
        for part in parts:
            with part.open("rb") as piece:
                shutil.copyfileobj(piece, whole, 1 << 20)
    torn.replace(folder / ROWS)
    for part in parts:
        part.unlink()
