"""Embedded data sets: parquet shards of `_id, title, url, text, emb_ubinary, emb_int8`, and an index's feed from them.

A shard is written under another name and renamed when it is whole, so a finished shard is never done again and
an unfinished one is never seen. What was embedded with what, and the int8 scale, is in every shard's schema.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, cast

import numpy as np

from wellread import codec
from wellread.codec import Meta
from wellread.errors import DamagedFile, IndexFault, optional
from wellread.index.feed import Batch, Feed
from wellread.index.folder import disk_errors, writing
from wellread.index.inputs import hub_rows
from wellread.index.manifest import replace_file
from wellread.index.progress import Progress, silent
from wellread.index.quantize import Bytes, Codes, Floats, pad_codes
from wellread.types import Passage

SHARD_ROWS = 50_000
_ABOUT = "dataset.json"
_KEY = b"wellread"
_READ = 5_000  # rows of a shard in memory at once
_COLUMNS = ("_id", "title", "url", "text", "document", "links", "published", "heading", "page", "anchor")
_VECTORS = {"emb_int8", "emb_ubinary"}
_DAMAGE = (OSError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RuntimeError)  # pyarrow's, and of values


@contextmanager
def _told(named: str | Path) -> Generator[None]:
    """Whatever a file ends in that need not be one of ours, as damage to it."""
    try:
        yield
    except _DAMAGE as problem:
        raise DamagedFile(f"{named} is damaged: {problem}") from problem


@dataclass(frozen=True, slots=True)
class About:
    """What a data set was made with."""

    embedder: str
    dimensions: Annotated[int, Meta(gt=0, le=65_536)]
    origin: str
    scale: tuple[Annotated[float, Meta(ge=0, lt=1e30)], ...] | None = None

    def __post_init__(self) -> None:
        if self.scale and len(self.scale) != self.dimensions:
            raise ValueError("the scale does not fit the dimensions")


async def create(
    folder: Path, feed: Feed, *, shard_rows: int = SHARD_ROWS, resume: bool = True, progress: Progress = silent
) -> int:
    """Write a feed as shards; the number of rows. Goes on where an earlier run with the same inputs stopped."""
    with disk_errors(folder), writing(folder):
        about, done = _begin(folder, About(feed.embedder, feed.dimensions, feed.origin), resume)
        rows = sum(_rows(path) for path in done)
        number = len(done)
        known = np.asarray(about.scale, np.float32) if about.scale else None
        waiting: list[Batch] = []
        held = 0
        async for batch in feed.batches(rows, known):
            while batch.passages:
                waiting.append(batch.part(0, shard_rows - held))
                batch = batch.part(shard_rows - held, len(batch.passages))
                held += len(waiting[-1].passages)
                progress("passages", rows + held, None)
                if held == shard_rows:
                    known = _settled(folder, about, feed, known)
                    await asyncio.to_thread(write_part, folder, number, waiting, about, known)
                    number, rows, waiting, held = number + 1, rows + held, [], 0
        if waiting:
            await asyncio.to_thread(write_part, folder, number, waiting, about, _settled(folder, about, feed, known))
        if rows + held == 0:
            raise IndexFault(f"{feed.origin}: there is no passage in it")
        replace_file(folder / "_SUCCESS", b"")
        return rows + held


def take_parts(folder: Path, made: Sequence[Path]) -> int:
    """A data set of files that were written elsewhere, in this order; the number of its rows. Files that are not there any more
    were taken before an interruption."""
    (folder / "_SUCCESS").unlink(missing_ok=True)
    taken = [part_path(folder, number) for number in range(len(made))]
    for path, target in zip(made, taken, strict=True):
        if path.exists():
            path.replace(target)
    for old in {*folder.glob("part-*.parquet")} - {*taken}:
        old.unlink()
    replace_file(folder / _ABOUT, _encoded(made_of(taken[0])))
    replace_file(folder / "_SUCCESS", b"")
    return sum(_rows(path) for path in taken)


def part_path(folder: Path, number: int) -> Path:
    return folder / f"part-{number:05d}.parquet"


def is_dataset(path: Path) -> bool:
    """Whether a folder holds embedded shards."""
    first = min(path.glob("*.parquet"), default=None) if path.is_dir() else None
    return first is not None and set(_opened(first).schema_arrow.names) >= _VECTORS


def made_with(folder: Path) -> str | None:
    """The embedder that a data set says it was made with."""
    about = _schema_about(min(folder.glob("*.parquet")))
    return about.embedder if about else None


def relative_scale(dimensions: int) -> Floats:
    """Without a recorded range the bytes' own size is unknown: scores are then only relative."""
    return np.full(dimensions, 1 / 127 / float(np.sqrt(dimensions)) * 4, np.float32)


class DatasetFeed:
    """An embedded data set as the feed of an index: nothing is embedded again."""

    def __init__(self, folder: Path, embedder: str | None = None) -> None:
        self._folder = folder
        self._shards = sorted(folder.glob("*.parquet"))
        if (folder / _ABOUT).exists() and not (folder / "_SUCCESS").exists():
            raise IndexFault(
                f"{folder} is not complete: run the same `wellread dataset create` again, it goes on where it stopped"
            )
        about = _schema_about(self._shards[0])
        if about is None and embedder is None:
            raise IndexFault(f"{folder} does not say which embedder made it: name it with --embedder")
        self.embedder = about.embedder if about else str(embedder)
        self.dimensions = about.dimensions if about else _width(self._shards[0])
        self.origin = f"the data set {folder.name}, {sum(_rows(path) for path in self._shards)} rows"
        known = about.scale if about else None
        self.scale: Floats | None = np.asarray(known, np.float32) if known else relative_scale(self.dimensions)

    async def batches(self, skip: int, scale: Floats | None) -> AsyncIterator[Batch]:
        for shard in self._shards:
            rows = _rows(shard)
            if skip >= rows:
                skip -= rows
                continue
            for batch in read_part(shard, self.dimensions, skip, str(shard)):
                yield batch
            skip = 0


class HubFeed:
    """An embedded data set on the hub as the feed of an index: its vectors come with it."""

    def __init__(self, name: str, config: str | None, embedder: str | None) -> None:
        if embedder is None:
            raise IndexFault(f"hf:{name} does not say which embedder made its vectors: name it with --embedder")
        self._name, self._config = name, config
        self.embedder = embedder
        self.dimensions = len(cast("list[int]", next(hub_rows(name, config))["emb_int8"]))
        self.origin = f"the data set hf:{name}" + (f" ({config})" if config else "")
        self.scale: Floats | None = relative_scale(self.dimensions)

    async def batches(self, skip: int, scale: Floats | None) -> AsyncIterator[Batch]:
        rows = islice(hub_rows(self._name, self._config), skip, None)
        while group := await asyncio.to_thread(lambda: list(islice(rows, _READ))):
            vectors = np.asarray([row["emb_int8"] for row in group], np.int8).reshape(len(group), self.dimensions)
            codes = np.asarray([row["emb_ubinary"] for row in group], np.uint8)
            yield Batch([_passage(row) for row in group], vectors, pad_codes(codes, self.dimensions))


def is_embedded_hub(name: str, config: str | None) -> bool:
    """Whether a data set on the hub brings vectors."""
    first: Mapping[str, object] = next(hub_rows(name, config), dict[str, object]())
    return set(first) >= _VECTORS


def _begin(folder: Path, about: About, resume: bool) -> tuple[About, list[Path]]:
    note, shards = folder / _ABOUT, sorted(folder.glob("part-*.parquet"))
    for torn in folder.glob("*.parquet.tmp"):
        torn.unlink()
    if not resume or not note.exists():
        for path in [*shards, folder / "_SUCCESS"]:
            path.unlink(missing_ok=True)
        replace_file(note, _encoded(about))
        return about, []
    known = _decoded(note.read_bytes(), note)
    if (known.embedder, known.dimensions, known.origin) != (about.embedder, about.dimensions, about.origin):
        raise IndexFault(f"{folder} holds another data set ({known.origin}, {known.embedder}): use another folder or --fresh")
    return known, shards


def _settled(folder: Path, about: About, feed: Feed, known: Floats | None) -> Floats:
    if known is not None:
        return known
    assert feed.scale is not None
    scale = tuple(float(x) for x in feed.scale)
    replace_file(folder / _ABOUT, _encoded(About(about.embedder, about.dimensions, about.origin, scale)))
    return feed.scale


def write_part(folder: Path, number: int, batches: Sequence[Batch], about: About, scale: Floats) -> None:
    """One file of a data set; it is there whole or not at all."""
    path = part_path(folder, number)
    torn = path.with_suffix(".parquet.tmp")
    _write(torn, batches, about, scale)
    torn.replace(path)


def part_of(batches: Sequence[Batch], about: About, scale: Floats) -> bytes:
    """The same in memory."""
    out = BytesIO()
    _write(out, batches, about, scale)
    return out.getvalue()


def _write(where: Path | BytesIO, batches: Sequence[Batch], about: About, scale: Floats) -> None:
    with optional("parquet", "scale"):
        import pyarrow as pa
        import pyarrow.parquet as pq

    arrow = cast("Any", pa)
    passages = [passage for batch in batches for passage in batch.passages]
    rows = np.concatenate([batch.rows for batch in batches])
    codes = np.concatenate([batch.codes for batch in batches])[:, : (about.dimensions + 7) // 8]
    table = arrow.table(
        {
            "_id": [p.id for p in passages],
            "title": [p.title for p in passages],
            "url": arrow.array([p.url for p in passages], arrow.string()),
            "text": [p.text for p in passages],
            "document": arrow.array([p.document for p in passages], arrow.string()),
            "links": arrow.array([list(p.links) for p in passages], arrow.list_(arrow.string())),
            "published": arrow.array([p.published for p in passages], arrow.string()),
            "heading": arrow.array([p.heading for p in passages], arrow.string()),
            "page": arrow.array([p.page for p in passages], arrow.int32()),
            "anchor": arrow.array([p.anchor for p in passages], arrow.string()),
            "emb_ubinary": _lists(arrow, codes, arrow.uint8()),
            "emb_int8": _lists(arrow, rows, arrow.int8()),
        }
    )
    full = About(about.embedder, about.dimensions, about.origin, tuple(float(x) for x in scale))
    cast("Any", pq).write_table(table.replace_schema_metadata({_KEY: _encoded(full)}), _local(where), row_group_size=_READ)


def _local(content: Path | BytesIO) -> Path | BytesIO:
    """What arrow cannot take for an address: `notes:old/part.parquet` would be one."""
    return content if isinstance(content, BytesIO) else content.absolute()


def _lists(arrow: Any, values: Bytes | Codes, kind: Any) -> Any:
    flat = arrow.array(np.ascontiguousarray(values).ravel(), kind)
    return arrow.FixedSizeListArray.from_arrays(flat, values.shape[1])


def read_part(content: Path | BytesIO, dimensions: int, skip: int, named: str) -> Iterator[Batch]:
    """The rows of a part from one on; errors call it so."""
    file = _opened(content)
    with _told(named):
        for record in file.iter_batches(_READ):
            if skip >= record.num_rows:
                skip -= record.num_rows
                continue
            part = record.slice(skip)
            skip = 0
            names = set(part.schema.names)
            plain = part.select([name for name in _COLUMNS if name in names]).to_pylist()
            rows = _matrix(part, "emb_int8", "int8", dimensions, named)
            codes = _matrix(part, "emb_ubinary", "uint8", (dimensions + 7) // 8, named)
            yield Batch([_passage(row) for row in plain], rows, pad_codes(codes, dimensions))


def _matrix(part: Any, name: str, kind: str, width: int, named: str) -> Any:
    """Whole numbers, so many in each row: what is missing in one and too much in the next would shift all between them."""
    rows = part.column(name)
    values = rows.flatten()
    if values.null_count or not set(rows.value_lengths().unique().to_pylist()) <= {width}:
        found = len(values) / max(1, part.num_rows)
        raise IndexFault(f"{named}: {name} has {found:g} values a row, {width} were expected in each")
    return values.cast(kind).to_numpy(zero_copy_only=False).reshape(part.num_rows, width)


def _passage(row: dict[str, Any]) -> Passage:
    if not isinstance(row["text"], str):
        raise TypeError(f"row {row['_id']!r} has no text")
    url, page = _words(row, "url") or None, row.get("page")
    return Passage(
        id=str(row["_id"]),
        text=row["text"],
        title=_words(row, "title"),
        url=url,
        published=_words(row, "published") or None,
        document=_words(row, "document") or url or str(row["_id"]),
        links=tuple(str(link) for link in row.get("links") or () if link is not None),
        heading=_words(row, "heading"),
        page=page if isinstance(page, int) else None,
        anchor=_words(row, "anchor"),
    )


def _words(row: dict[str, Any], name: str) -> str:
    return "" if row.get(name) is None else str(row[name])


def _opened(content: Path | BytesIO) -> Any:
    with optional("parquet", "scale"):
        import pyarrow.parquet as pq

    with _told(_named(content)):
        return pq.ParquetFile(_local(content))


def _named(content: Path | BytesIO) -> Path:
    return content if isinstance(content, Path) else Path("a part of a data set")


def _rows(path: Path) -> int:
    return int(_opened(path).metadata.num_rows)


def _width(path: Path) -> int:
    file = _opened(path)
    with _told(path):
        first = next(file.iter_batches(1, columns=["emb_int8"]), None)
        return len(first.column("emb_int8")[0].as_py()) if first is not None else 0


def made_of(content: Path | BytesIO) -> About:
    """What a part that was written here was made with."""
    about = _schema_about(content)
    assert about is not None
    return about


def _schema_about(content: Path | BytesIO) -> About | None:
    raw = cast("dict[bytes, bytes]", _opened(content).schema_arrow.metadata or {}).get(_KEY)
    return _decoded(raw, _named(content)) if raw else None


def _encoded(about: About) -> bytes:
    return codec.dumps(about).encode()


def _decoded(raw: bytes, path: Path) -> About:
    try:
        return codec.loads(About, raw)
    except ValueError:
        raise DamagedFile(f"{path} is damaged: it does not say how the data set was made") from None
