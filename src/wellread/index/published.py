"""Import of a published faiss and usearch index (recipe 5).

    faiss-ubinary.index             one-bit codes in row order
    usearch-int8.index              int8 rows under their row numbers
    texts                           a table with title, url, text in row order

Which rows are of one document the addresses in the texts say; `document-url-mappings.sqlite`, whose pickles say it again, is
not read. The two indexes are read as the arrays that they are: what a stranger's file says of itself is compared with its size,
and no library follows it.
The int8 scale is not recorded there, so scores are relative to each other, not cosines.
"""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wellread.core import safe_files
from wellread.errors import DamagedFile, IndexFault, os_errors
from wellread.index.dataset import relative_scale
from wellread.index.feed import Batch, Feed, grouped
from wellread.index.following import passages
from wellread.index.inputs import InputOptions, hub, is_table
from wellread.index.quantize import Bytes, Codes, Floats, pad_codes
from wellread.text.split import Splitting
from wellread.types import Passage

CODES, ROWS = "faiss-ubinary.index", "usearch-int8.index"
_BATCH = 5_000
_INT8, _UINT64, _PLACES = 23, 14, {15: 4, 2: 5}  # as usearch calls kinds of numbers; a place takes so many bytes


def texts_in(folder: Path) -> Path | None:
    """The texts that lie beside the published files: a folder or a table with "text" in its name."""
    found = [path for path in sorted(folder.glob("*text*")) if path.is_dir() or is_table(path)]
    return found[0] if found else None


class PublishedFeed(Feed):
    """The published files as the feed of an index."""

    def __init__(self, folder: Path, texts: str, embedder: str) -> None:
        self._texts = texts
        self.embedder = embedder
        self.origin = f"the published index {folder.name} with {texts}"
        self._codes = _codes(folder / CODES)
        self.dimensions = 8 * self._codes.shape[1]
        self._rows = _Rows(folder / ROWS, self.dimensions)
        self.scale = relative_scale(self.dimensions)

    async def batches(self, skip: int, scale: Floats | None) -> AsyncIterator[Batch]:
        how = InputOptions(Splitting(tokens=0))
        start = skip
        async for group in grouped(passages([self._texts], how), skip, _BATCH):
            yield self._batch(start, group).scaled(self.scale, scale)
            start += len(group)
        if start != len(self._codes):
            raise IndexFault(f"{self._texts} has {start} rows, the published index {len(self._codes)}")

    def _batch(self, start: int, group: list[Passage]) -> Batch:
        rows, codes = self._rows.get(start, len(group)), self._codes[start : start + len(group)]
        if rows is None or len(codes) < len(group):
            raise IndexFault(f"row {start} and following are not in the published index: {self._texts} has more rows")
        named = [Passage(str(at), p.text, p.title, p.url, document=p.url or str(at)) for at, p in enumerate(group, start)]
        return Batch(named, rows, pad_codes(codes, self.dimensions))


def _codes(path: Path) -> Codes:
    """The rows of a faiss `IndexBinaryFlat`: a head that says how many and how wide, and the rows after each other."""
    data = _mapped(path)
    head = np.dtype("S4, <i4, <i4, <i8, ?, <i4, <u8")  # its name, dimensions, bytes of a row, rows, trained, metric, bytes of all
    kind, dimensions, width, rows, _, _, size = _values(path, data, 0, 1, head)[0].item()
    if kind != b"IBxF" or dimensions != 8 * width or not 0 < width * rows == size:
        raise DamagedFile(f"{path} cannot be read: it is no flat index of bits")
    return _values(path, data, head.itemsize, width * rows, np.dtype(np.uint8)).reshape(rows, width)


class _Rows:
    """The int8 rows of a usearch index, by their numbers.

    The rows come first (how many, how wide), then what they are, then the graph: its size and how many neighbours a node
    has, the level of each node, and the nodes, each beginning with the number of its row.
    """

    def __init__(self, path: Path, dimensions: int) -> None:
        data = _mapped(path)
        count, width = _values(path, data, 0, 1, np.dtype("<u4, <u4"))[0].item()
        if width != dimensions:
            raise IndexFault(f"{path}: its vectors do not have the {dimensions} dimensions of the codes")
        self._rows: Bytes = _values(path, data, 8, count * width, np.dtype(np.int8)).reshape(count, width)
        at = 8 + count * width
        head = np.dtype("S7, 3<u2, u1, u1, u1, u1")  # its name, version, metric, kinds of numbers, keys and places
        kind, _, _, numbers, keys, places = _values(path, data, at, 1, head)[0].item()
        graph = np.dtype("<u8, <u8, <u8, <u8, <u8")  # nodes, neighbours above and at the ground, levels, entry
        nodes, above, ground, _, _ = _values(path, data, at + 64, 1, graph)[0].item()
        if (kind, numbers, keys, nodes) != (b"usearch", _INT8, _UINT64, count) or max(above, ground) > 65_536:
            raise DamagedFile(f"{path} cannot be read: it is no index of int8 rows")
        place = _PLACES.get(places, 0)
        at += 64 + graph.itemsize
        levels = _values(path, data, at, count, np.dtype("<i2")).astype(np.int64)
        sizes = 10 + 4 + ground * place + levels * (4 + above * place)  # number and level, then neighbours with their count
        starts = np.cumsum(sizes) - sizes
        if not place or (levels < 0).any() or (count and at + 2 * count + int(starts[-1] + sizes[-1]) > len(data)):
            raise DamagedFile(f"{path} cannot be read: its graph does not fit")
        anywhere = np.ndarray(max(len(data) - at - 2 * count - 7, 0), "<u8", data, at + 2 * count, (1,))
        found = anywhere[starts]
        self._order = np.argsort(found)
        self._numbers = found[self._order]

    def get(self, start: int, count: int) -> Bytes | None:
        """Rows that follow each other; None where one of them is not there."""
        wanted = np.arange(start, start + count, dtype=np.uint64)
        first = int(np.searchsorted(self._numbers, np.uint64(start)))
        if not np.array_equal(self._numbers[first : first + count], wanted):
            return None
        return self._rows[self._order[first : first + count]]


def _mapped(path: Path) -> NDArray[np.uint8]:
    if not path.exists():
        raise IndexFault(f"{path} does not exist")
    with os_errors(DamagedFile, f"{path} cannot be read", ValueError), safe_files.opened(path) as file:
        return np.memmap(file, np.uint8, "r")


def _values(path: Path, data: NDArray[np.uint8], start: int, count: int, kind: np.dtype[Any]) -> NDArray[Any]:
    """So many values from a byte on, where the file has them."""
    if count * kind.itemsize > len(data) - start:
        raise DamagedFile(f"{path} cannot be read: it ends too early")
    return np.ndarray(count, kind, data, start)


_ROW_PARTS = "usearch-int8-index"  # a folder of NNNN.part, where one file would be too large for the hub
_TEXTS = ("*text*/*.parquet", "*text*/*.arrow", "*text*.parquet", "*text*.jsonl.gz")


def pull(repository: str, folder: Path) -> Path | None:
    """The files of the published layout and the texts, where they are. A download that broke off goes on; parts are joined."""
    wanted = [f"*{CODES}", *_TEXTS]
    wanted += [] if (folder / ROWS).exists() else [f"*{ROWS}", f"*{_ROW_PARTS}/*.part"]
    with hub(repository) as client:
        client.snapshot_download(repository, repo_type="dataset", local_dir=folder, allow_patterns=wanted)
    _join(folder)
    # Without a connection the client is content with a folder that is there, whatever is in it.
    missing = [name for name in (CODES, ROWS) if not any(folder.rglob(f"*{name}"))]
    if missing:
        raise IndexFault(f"{repository} cannot be downloaded, or is no published index: {', '.join(missing)} did not come")
    return texts_in(folder)


def _join(folder: Path) -> None:
    """The parts as one file, in their order; they go when it is whole."""
    parts = sorted((folder / _ROW_PARTS).glob("*.part"))
    if not parts:
        return
    numbers = [int(part.stem) if part.stem.isdecimal() else -1 for part in parts]
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
