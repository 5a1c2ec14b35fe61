"""Embedded data sets: parquet shards of `_id, title, url, text, emb_ubinary, emb_int8`, and an index's feed from them.

A shard is written under another name and renamed when it is whole, so a finished shard is never done again and
an unfinished one is never seen. What was embedded with what, and the int8 scale, is in every shard's schema.
"""

from __future__ import annotations

import asyncio
import json
from abc import abstractmethod
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any, NamedTuple, cast

import numpy as np

from wellread.core import codec
from wellread.core.codec import Meta
from wellread.errors import DamagedFile, IndexFault, optional
from wellread.index.feed import Batch, Feed
from wellread.index.folder import disk_errors, writing
from wellread.index.inputs import hub_tables
from wellread.index.manifest import replace_file, sync
from wellread.index.progress import Progress, silent
from wellread.index.quantize import Bytes, Codes, Floats, pad_codes
from wellread.reading import decoder
from wellread.types import Passage

SHARD_ROWS = 50_000
_ABOUT = "dataset.json"
_KEY = b"wellread"
_READ = 5_000  # rows of a shard in memory at once
_TEXTS = ("title", "url", "text", "document", "published", "heading", "anchor")  # columns that are texts, or nothing


@contextmanager
def _told(named: str | Path) -> Generator[None]:
    """Errors of parsing a row, in a file that need not be one of ours, as damage to it."""
    try:
        yield
    except (ValueError, TypeError, LookupError, AttributeError) as problem:
        raise DamagedFile(f"{named} is damaged: {problem}") from problem


@dataclass(frozen=True, slots=True)
class About:
    """Metadata of a data set: what it was made with."""

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
        rows = sum(one.rows for one in _heads(done))
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
    heads = _heads(taken)
    assert heads[0].made is not None
    replace_file(folder / _ABOUT, _encoded(heads[0].made))
    replace_file(folder / "_SUCCESS", b"")
    return sum(one.rows for one in heads)


def part_path(folder: Path, number: int) -> Path:
    return folder / f"part-{number:05d}.parquet"


def is_dataset(path: Path) -> bool:
    """Whether a folder holds embedded shards."""
    first = min(path.glob("*.parquet"), default=None) if path.is_dir() else None
    return first is not None and _heads([first])[0].is_embedded


def made_with(folder: Path) -> str | None:
    """The embedder that a data set says it was made with."""
    about = _heads([min(folder.glob("*.parquet"))])[0].made
    return about.embedder if about else None


def relative_scale(dimensions: int) -> Floats:
    """Without a recorded range the bytes' own size is unknown: scores are then only relative."""
    return np.full(dimensions, 1 / 127 / float(np.sqrt(dimensions)) * 4, np.float32)


class Part(NamedTuple):
    """One part of an embedded data set: so many rows, opened only where some of them are wanted."""

    rows: int
    open: Callable[[], Path | BytesIO]
    name: str


class EmbeddedFeed(Feed):
    """The parts of an embedded data set, one after the other, as the feed of an index: nothing is embedded again."""

    @abstractmethod
    def parts(self) -> Iterator[Part]: ...

    async def batches(self, skip: int, scale: Floats | None) -> AsyncIterator[Batch]:
        parts = self.parts()
        while part := await asyncio.to_thread(next, parts, None):
            for batch in read_part(part.open(), self.dimensions, skip, part.name) if skip < part.rows else ():
                yield batch.scaled(self.scale, scale)
            skip = max(0, skip - part.rows)


class DatasetFeed(EmbeddedFeed):
    """A folder with an embedded data set."""

    def __init__(self, folder: Path, embedder: str | None = None) -> None:
        if (folder / _ABOUT).exists() and not (folder / "_SUCCESS").exists():
            raise IndexFault(
                f"{folder} is not complete: run the same `wellread dataset create` again, it goes on where it stopped"
            )
        self._shards = sorted(folder.glob("*.parquet"))
        heads = _heads(self._shards)
        about = heads[0].made
        if about is None and embedder is None:
            raise IndexFault(f"{folder} does not say which embedder made it: name it with --embedder")
        self.embedder = about.embedder if about else str(embedder)
        self.dimensions = about.dimensions if about else _width(self._shards[0])
        self._rows = [one.rows for one in heads]
        self.origin = f"the data set {folder.name}, {sum(self._rows)} rows"
        known = about.scale if about else None
        self.scale = np.asarray(known, np.float32) if known else relative_scale(self.dimensions)

    def parts(self) -> Iterator[Part]:
        return (Part(rows, partial(Path, shard), str(shard)) for shard, rows in zip(self._shards, self._rows, strict=True))


class HubFeed(EmbeddedFeed):
    """An embedded data set on the hub: its vectors come with it."""

    def __init__(self, name: str, config: str | None, embedder: str | None) -> None:
        if embedder is None:
            raise IndexFault(f"hf:{name} does not say which embedder made its vectors: name it with --embedder")
        self._tables = partial(hub_tables, name, config)
        self.embedder = embedder
        self.dimensions = _width(next(self._tables()))
        self.origin = f"the data set hf:{name}" + (f" ({config})" if config else "")
        self.scale = relative_scale(self.dimensions)

    def parts(self) -> Iterator[Part]:
        return (Part(_heads([table])[0].rows, partial(Path, table), str(table)) for table in self._tables())


def is_embedded_hub(name: str, config: str | None) -> bool:
    """Whether a data set on the hub brings vectors."""
    first = next(hub_tables(name, config))
    return first.suffix == ".parquet" and _heads([first])[0].is_embedded


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
    sync(torn)
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
            **{name: arrow.array([getattr(p, name) for p in passages], arrow.string()) for name in _TEXTS},
            "links": arrow.array([list(p.links) for p in passages], arrow.list_(arrow.string())),
            "page": arrow.array([p.page for p in passages], arrow.int32()),
            "emb_ubinary": _lists(arrow, codes, arrow.uint8()),
            "emb_int8": _lists(arrow, rows, arrow.int8()),
        }
    )
    full = About(about.embedder, about.dimensions, about.origin, tuple(float(x) for x in scale))
    local = where.absolute() if isinstance(where, Path) else where  # or arrow would take `notes:old/part.parquet` for an address
    cast("Any", pq).write_table(table.replace_schema_metadata({_KEY: _encoded(full)}), local, row_group_size=_READ)


def _lists(arrow: Any, values: Bytes | Codes, kind: Any) -> Any:
    flat = arrow.array(np.ascontiguousarray(values).ravel(), kind)
    return arrow.FixedSizeListArray.from_arrays(flat, values.shape[1])


def read_part(content: Path | BytesIO, dimensions: int, skip: int, named: str) -> Iterator[Batch]:
    """The rows of a part from one on; errors call it so. One in memory is of our own making, a file may be anybody's."""
    lines = decoder.lines("embedded", [content]) if isinstance(content, Path) else chain(*decoder.embedded(content))
    rows = (cast("dict[str, Any]", json.loads(line)) for line in islice(lines, skip, None))
    with _told(named):
        while group := list(islice(rows, _READ)):
            vectors: Bytes = _matrix(group, "emb_int8", np.int8, dimensions, named)
            codes: Codes = _matrix(group, "emb_ubinary", np.uint8, (dimensions + 7) // 8, named)
            yield Batch([_passage(row) for row in group], vectors, pad_codes(codes, dimensions))


def _matrix(group: Sequence[Mapping[str, str]], name: str, kind: type[np.int8 | np.uint8], width: int, named: str) -> Any:
    """So many numbers in each row: what is missing in one and too much in the next would shift all between them."""
    values = [row[name] for row in group]
    for value in values:
        if len(value) != 2 * width:
            raise IndexFault(f"{named}: {name} has {len(value) / 2:g} values in a row, {width} were expected in each")
    return np.frombuffer(bytearray.fromhex("".join(values)), kind).reshape(len(group), width)


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


@dataclass(frozen=True, slots=True)
class _Head:
    """Header of a parquet file."""

    rows: int
    columns: tuple[str, ...]
    about: str | None = None

    @property
    def is_embedded(self) -> bool:
        return decoder.VECTORS.keys() <= set(self.columns)

    @property
    def made(self) -> About | None:
        return _decoded(self.about.encode(), "a data set") if self.about else None


def _heads(paths: Sequence[Path]) -> list[_Head]:
    with _told(paths[0] if paths else "a data set"):
        return [codec.loads(_Head, line) for line in decoder.lines("head", paths)]


def _width(path: Path) -> int:
    """How long the vectors of a file are; 0 where it has none."""
    lines = decoder.lines("embedded", [path])
    with closing(lines), _told(path):
        return len(json.loads(next(lines, '{"emb_int8": ""}'))["emb_int8"]) // 2


def made_of(content: BytesIO) -> About:
    """Metadata of a part that was written here."""
    about = codec.loads(_Head, next(decoder.head(content))[0]).made
    assert about is not None
    return about


def _encoded(about: About) -> bytes:
    return codec.dumps(about).encode()


def _decoded(raw: bytes, path: Path | str) -> About:
    try:
        return codec.loads(About, raw)
    except ValueError:
        raise DamagedFile(f"{path} is damaged: it does not say how the data set was made") from None
