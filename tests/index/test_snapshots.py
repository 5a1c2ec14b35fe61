"""Readers while documents come and go: each sees one state of the index, never a mixture."""

from __future__ import annotations

import asyncio
import shutil
import threading
import time
from pathlib import Path

import pytest
from tests.index.embedders import WordEmbedder

from wellread.errors import DamagedFile, IndexFault
from wellread.index.build import BuildOptions, add, build, remove
from wellread.index.feed import EmbeddingFeed, streamed
from wellread.index.folder import tidy
from wellread.index.lexical import FOLDER, Words
from wellread.index.manifest import SEGMENTS
from wellread.index.search import LocalIndex, SearchOptions
from wellread.types import Passage

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
SECONDS = 4.0
PARTS = 5  # passages of each document


def feed(*versions: int) -> EmbeddingFeed:
    passages = [
        Passage(f"v{version}#{part}", f"lighthouse version {version} part {part}", f"Version {version}", document=f"v{version}")
        for version in versions
        for part in range(PARTS)
    ]
    return EmbeddingFeed(lambda: streamed(passages), WordEmbedder(), "versions")


def look(folder: Path, faults: list[str]) -> int:
    """One reader's look: what it finds belongs together, unless the index was replaced meanwhile: then it opens again."""
    manifest = folder / "manifest.json"
    before = manifest.stat()
    try:
        index = LocalIndex.open(folder)
        found = asyncio.run(index.search("lighthouse version", WordEmbedder(), 100, SearchOptions()))
        documents = sorted({hit.document or "" for hit in found})
        for document in documents:
            hits = [hit for hit in found if hit.document == document]
            if len(hits) != PARTS or any(f"version {document[1:]} " not in hit.text for hit in hits):
                faults.append(f"{document}: {[hit.text for hit in hits]}")
        if len(found) != index.manifest.passages:
            faults.append(f"{len(found)} of {index.manifest.passages} passages found")
        index.close()
    except (DamagedFile, IndexFault, OSError) as problem:
        after = manifest.stat()
        if (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns):
            faults.append(repr(problem))
        return 0
    return 1


async def test_each_reader_sees_one_state(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    await build(folder, feed(0, 1), BuildOptions())
    ended, faults, looks = threading.Event(), list[str](), [0, 0]

    def reader(number: int) -> None:
        while not ended.is_set():
            looks[number] += look(folder, faults)

    readers = [threading.Thread(target=reader, args=(number,)) for number in range(2)]
    for one in readers:
        one.start()
    version, until = 2, time.monotonic() + SECONDS
    try:
        while time.monotonic() < until or version < 5:
            await add(folder, feed(version))
            await asyncio.to_thread(remove, folder, [f"v{version - 1}"])
            version += 1
    finally:
        ended.set()
        for one in readers:
            one.join(60)
    assert faults == []
    assert min(looks) > 0
    assert LocalIndex.open(folder).manifest.passages == 2 * PARTS


async def test_a_segment_is_gone_at_once_for_who_opens_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """tantivy takes a missing file for an empty one: half a folder must not be found."""
    await build(tmp_path, feed(0), BuildOptions())
    (place,) = (tmp_path / SEGMENTS).iterdir()
    half_done: list[Path] = []

    def slowly(path: Path, **_: object) -> None:
        half_done.append(path)

    monkeypatch.setattr(shutil, "rmtree", slowly)
    tidy(tmp_path)
    assert [path.is_dir() for path in half_done] == [True]
    with pytest.raises(DamagedFile, match="No such file"):
        Words.open(place / FOLDER)


async def test_words_that_cannot_be_read_are_damage(tmp_path: Path) -> None:
    await build(tmp_path, feed(0), BuildOptions())
    index = LocalIndex.open(tmp_path)
    for path in await asyncio.to_thread(lambda: list(tmp_path.rglob("*.pos"))):
        path.unlink()
    with pytest.raises(DamagedFile):
        index.by_words("lighthouse", 5)
