"""Splitting an index into shards and resharding: passages are put apart with their vectors.

Nothing is embedded again. A shard that is done is not made again when the same is asked for after an interruption, and
what the shards are made of is only read.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

import numpy as np

from wellread.cluster import shard, sharded
from wellread.cluster.shard import Shard
from wellread.cluster.sharded import SHARDS, Place, Sharded, shard_name, shard_of
from wellread.errors import IndexFault, UsageError
from wellread.index import manifest
from wellread.index.build import BuildOptions, build
from wellread.index.feed import Batch, Feed
from wellread.index.progress import Progress, silent
from wellread.index.quantize import Floats
from wellread.index.rows import Numbers
from wellread.index.search import LocalIndex
from wellread.questions.languages import ENGLISH

_BATCH = 2_000


class RowsFeed(Feed):
    """Chosen passages of indexes (see `_members`) as the feed of another: nothing is embedded again."""

    def __init__(self, parts: Sequence[LocalIndex], members: Numbers) -> None:
        self._parts, self._members = parts, members
        content = parts[0].manifest
        self.embedder, self.dimensions = content.embedder, content.dimensions
        self.scale = np.asarray(content.scale, np.float32)
        self.origin = f"{len(members)} passages of an index"

    async def batches(self, skip: int, scale: Floats | None) -> AsyncIterator[Batch]:
        for start in range(skip, len(self._members), _BATCH):
            places = [(self._parts[int(part)], int(row)) for _, part, row in self._members[start : start + _BATCH]]
            rows, codes = zip(*(index.vector(row) for index, row in places), strict=True)
            yield Batch([index.passage(row) for index, row in places], np.concatenate(rows), np.concatenate(codes))


async def shard_index(source: Path, folder: Path, count: int, progress: Progress = silent) -> Sharded:
    """An index that is there, in `count` shards."""
    with closing(LocalIndex.open(source)) as index:
        if not index.manifest.finished or not index.manifest.vectors:
            raise IndexFault(f"{source} is not finished: not all its passages have vectors (run: wellread index embed {source})")
        whole = np.arange(index.manifest.rows, dtype=np.int64)
        made, _ = await _put_apart([index], [whole], folder, count, index.manifest.origin, progress)
    return made


async def reshard(source: Path, folder: Path, count: int, progress: Progress = silent) -> tuple[Sharded, int]:
    """A sharded index with another number of shards, in a folder of its own; and how many passages are in another shard now."""
    content = sharded.load(source)
    if (folder / sharded.NAME).exists():
        raise UsageError(f"{folder} holds a sharded index already: choose another folder")
    with ExitStack() as stack:
        shards = [stack.enter_context(closing(Shard(sharded.check_shard(source, entry)))) for entry in content.shards]
        if any(one.index.manifest.scale != shards[0].index.manifest.scale for one in shards):
            raise IndexFault(f"the shards of {source} are not of one index: their vectors have different scales")
        parts, ordinals = [one.index for one in shards], [one.ordinals for one in shards]
        return await _put_apart(parts, ordinals, folder, count, content.origin, progress)


async def _put_apart(
    parts: Sequence[LocalIndex],
    ordinals: Sequence[Numbers],
    folder: Path,
    count: int,
    origin: Mapping[str, str],
    progress: Progress,
) -> tuple[Sharded, int]:
    members = _members(parts, ordinals, count)
    sharded.none_empty(sum(not len(one) for one in members), count)
    content = parts[0].manifest
    language = content.language or ENGLISH
    homes = [folder / SHARDS / shard_name(number) for number in range(count)]
    place, states = Place(folder), [manifest.checksum(part.folder / manifest.NAME).sha256 for part in parts]
    with place.writing():
        work = place.begun(json.dumps({"shards": count, "parts": states}).encode())
        for number, (home, mine) in enumerate(zip(homes, members, strict=True)):
            if work.content(home.name) is None:
                how = BuildOptions(words=content.words, language=language)
                await build(home, RowsFeed(parts, mine), how)
                shard.write_beside(home, mine[:, 0])
                work.put(home.name, b"")
            progress("shards", number + 1, count)
        shard.share_words(homes)
        entries = tuple(sharded.entry_of(home, home.name) for home in homes)
        about = content.embedder, content.dimensions, content.words
        made = sharded.finish(place, Sharded(*about, entries, origin=origin, language=language))
    return made, sum(int((one[:, 1] != number).sum()) for number, one in enumerate(members))


def _members(parts: Sequence[LocalIndex], ordinals: Sequence[Numbers], count: int) -> list[Numbers]:
    """Of each new shard its passages in the order of the whole: the place of each there, from which part, which row."""
    found: list[list[tuple[int, int, int]]] = [[] for _ in range(count)]  # place in the whole, part, row
    for number, part in enumerate(parts):
        for row in range(part.manifest.rows):
            if row not in part.removed:
                passage = part.passage(row)
                home = shard_of(passage.document or passage.id, count)
                found[home].append((int(ordinals[number][row]), number, row))
    return [np.array(sorted(some), np.int64).reshape(-1, 3) for some in found]
