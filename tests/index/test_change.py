"""Adding, removing, verifying; and that a killed writer harms nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.index.embedders import WordEmbedder, postings
from tests.index.test_search import PASSAGES, make

from wellread.core import codec
from wellread.errors import DamagedFile, IndexFault
from wellread.index import build as building
from wellread.index.build import BuildOptions, add, build, remove
from wellread.index.feed import EmbeddingFeed, streamed
from wellread.index.folder import writing
from wellread.index.following import Following
from wellread.index.inputs import InputOptions
from wellread.index.manifest import Manifest
from wellread.index.seal import problems
from wellread.index.search import LocalIndex, SearchOptions
from wellread.types import Passage

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


def numbered(count: int, start: int = 0) -> list[Passage]:
    words = ["apple", "river", "stone", "cloud", "music", "train", "paper", "green", "north", "salt"]
    return [
        Passage(
            f"n{i}", f"Number {i} speaks of {words[i % 10]} and {words[i // 10 % 10]}.", f"Title {i // 3}", document=f"d{i // 3}"
        )
        for i in range(start, start + count)
    ]


def feed(passages: list[Passage], embedder: WordEmbedder | None = None, origin: str = "numbers") -> EmbeddingFeed:
    return EmbeddingFeed(lambda: streamed(passages), embedder or WordEmbedder(), origin)


def sums(folder: Path) -> dict[str, str]:
    """Checksums of everything but the word index, whose files have random names."""
    segment = LocalIndex.open(folder).manifest.segments[0]
    return {name: entry.sha256 for name, entry in segment.files.items() if not name.startswith("words/")}


async def test_a_power_cut_takes_nothing_that_the_manifest_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: dict[str, int] = {}  # and how long files were then
    sync, replaced = os.fsync, Path.replace

    def noted(handle: int) -> None:
        sync(handle)
        synced[os.readlink(f"/proc/self/fd/{handle}")] = os.fstat(handle).st_size

    def named(self: Path, target: Path) -> Path:
        """At the moment at which a manifest becomes the one that counts."""
        if target.name == "manifest.json":
            content = codec.loads(Manifest, self.read_bytes())
            for segment in content.segments:
                folder = tmp_path.resolve() / "segments" / segment.name
                assert {str(folder), *(str(folder / name) for name in segment.files)} <= synced.keys()
                assert all(synced[str(folder / name)] >= known.bytes for name, known in segment.files.items())
            assert all(str(tmp_path.resolve() / one.name) in synced for one in (content.removed, content.read) if one)
        return replaced(self, target)

    monkeypatch.setattr(os, "fsync", noted)
    monkeypatch.setattr(Path, "replace", named)
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "a.md").write_text("The lamp burns oil.")
    inputs = [str(tmp_path / "documents")]
    following = Following(inputs, InputOptions())
    await build(tmp_path, EmbeddingFeed(following, WordEmbedder(), "a"))
    await add(tmp_path, feed(numbered(30)))
    remove(tmp_path, ["n7"])
    assert synced


async def test_added_passages_are_found_at_once(tmp_path: Path) -> None:
    await make(tmp_path)
    await add(tmp_path, feed([Passage("pluto#0", "Pluto was found in 1930.", "Pluto", document="pluto")]))
    index = LocalIndex.open(tmp_path)
    hits = await index.search("When was Pluto found?", WordEmbedder(), 1)
    assert hits[0].id == "pluto#0"
    assert index.manifest.passages == 5
    assert len(index.manifest.segments) == 1  # small ones are written together
    assert list(problems(tmp_path)) == []


async def test_large_segments_stay_and_new_ones_join(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wellread.index.build.MERGE_BELOW", 0)
    await make(tmp_path)
    before = LocalIndex.open(tmp_path).manifest.segments[0]
    await add(tmp_path, feed(numbered(7)))
    remove(tmp_path, ["d1", "saturn"])
    index = LocalIndex.open(tmp_path)
    assert index.manifest.segments[0] == before
    assert [segment.rows for segment in index.manifest.segments] == [4, 7]
    assert [hit.id for hit in index.passages("d2")] == ["n6"]
    assert list(index.passages("saturn")) == []
    hits = await index.search("Number 5 speaks", WordEmbedder(), 20)
    assert {hit.id for hit in hits} == {"titan#0", "mars#0", "n0", "n1", "n2", "n6"}
    await add(tmp_path, feed(numbered(3, start=50)))
    assert LocalIndex.open(tmp_path).manifest.passages == 9


async def test_an_id_that_is_there_is_refused_and_nothing_changes(tmp_path: Path) -> None:
    await make(tmp_path)
    before = (tmp_path / "manifest.json").read_bytes()
    with pytest.raises(IndexFault, match=r"'mars#0' is in the index already"):
        await add(tmp_path, feed([Passage("mars#0", "again")]))
    assert (tmp_path / "manifest.json").read_bytes() == before
    remove(tmp_path, ["mars"])
    await add(tmp_path, feed([Passage("mars#0", "Mars again, with two moons.", "Mars")]))
    hits = await LocalIndex.open(tmp_path).search("Mars moons", WordEmbedder(), 1)
    assert hits[0].text == "Mars again, with two moons."


async def test_removed_passages_never_come_back(tmp_path: Path) -> None:
    index = await make(tmp_path)
    assert remove(tmp_path, ["saturn", "titan#0"]) == 3
    index = LocalIndex.open(tmp_path)
    hits = await index.search("Titan is the largest moon of Saturn", WordEmbedder(), 10)
    assert [hit.id for hit in hits] == ["mars#0"]
    assert index.find_title("Saturn") == []
    assert index.manifest.passages == 1
    with pytest.raises(IndexFault, match="no document and no passage 'saturn'"):
        remove(tmp_path, ["saturn"])


async def test_wrong_embedder_cannot_add(tmp_path: Path) -> None:
    await make(tmp_path)
    with pytest.raises(IndexFault, match="cannot join"):
        await add(tmp_path, feed([Passage("x", "y")], WordEmbedder(32, "words-32")))


async def test_verify_finds_a_flipped_bit_in_every_file(tmp_path: Path) -> None:
    await make(tmp_path)
    remove(tmp_path, ["mars"])
    assert list(problems(tmp_path)) == []
    for path in every_file(tmp_path):
        intact = path.read_bytes()
        for place in {0, len(intact) // 2, len(intact) - 1}:
            flipped = bytearray(intact)
            flipped[place] ^= 4
            path.write_bytes(flipped)
            try:
                assert any(path.name in line for line in problems(tmp_path)), path
            except DamagedFile as problem:
                assert "manifest.json" in str(problem)  # noqa: PT017
        path.write_bytes(intact)
    every_file(tmp_path)[-1].unlink()
    assert len(list(problems(tmp_path))) == 1


def every_file(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock")


class Killed(Exception):
    pass


class Tiring(WordEmbedder):
    """Stops after so many batches."""

    def __init__(self, batches: int) -> None:
        super().__init__()
        self._left = batches

    async def embed(self, texts: Sequence[str], *, kind: Literal["query", "passage"]) -> NDArray[np.float32]:
        self._left -= 1
        if self._left < 0:
            raise Killed
        return await super().embed(texts, kind=kind)


async def test_a_stopped_build_is_taken_up_and_gives_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wellread.index.feed.SAMPLE", 512)
    passages = numbered(2000)
    await build(tmp_path / "whole", feed(passages))

    def until(stop: int) -> Iterator[Passage]:
        yield from passages[:stop]
        raise Killed

    for stop in (300, 1100, 1999):
        stopping = EmbeddingFeed(lambda stop=stop: streamed(until(stop)), WordEmbedder(), "numbers")
        with pytest.raises(Killed):
            await build(tmp_path / "torn", stopping, BuildOptions(resume=True, checkpoint_seconds=0))
        index = LocalIndex.open(tmp_path / "torn")  # what has come can be found
        assert not index.manifest.complete
        assert len(index.by_words(f"number {stop // 256 * 256 - 1}", 1)[0])
    for stop in (1, 3):  # before and after the scale of the bytes is known
        with pytest.raises(Killed):
            await build(tmp_path / "torn", feed(passages, Tiring(stop)), BuildOptions())
        index = LocalIndex.open(tmp_path / "torn")
        assert index.manifest.complete
        assert index.manifest.vectors > 0
        assert list(problems(tmp_path / "torn")) == []
        hits = await index.search("Number 77 speaks of train", WordEmbedder(), 3)
        assert hits[0].id == "n77"
    embedder = WordEmbedder()
    await build(tmp_path / "torn", feed(passages, embedder), BuildOptions())  # the same command goes on
    assert sum(map(len, embedder.calls)) == len(passages) - 4 * 256  # what was embedded is not embedded again
    assert sums(tmp_path / "whole") == sums(tmp_path / "torn")
    words = [postings(LocalIndex.open(tmp_path / name).segments[0].words) for name in ("whole", "torn")]
    assert list(words[0]) == list(words[1])
    assert not (tmp_path / "torn" / "building").exists()


async def test_an_index_without_words_is_searched_by_meaning(tmp_path: Path) -> None:
    await build(tmp_path / "with", feed(numbered(50)))
    await build(tmp_path / "without", feed(numbered(50)), BuildOptions(words=False))
    with_words, without = (LocalIndex.open(tmp_path / name) for name in ("with", "without"))
    hits = await without.search("Number 7 speaks of train", WordEmbedder(), 3)
    assert len(hits) == 3
    assert hits == await with_words.search("Number 7 speaks of train", WordEmbedder(), 3, SearchOptions(words=False))
    assert not len(without.by_words("train", 3)[0])


async def test_resume_with_something_else_is_refused(tmp_path: Path) -> None:
    def broken() -> Iterator[Passage]:
        yield from numbered(300)
        raise Killed

    with pytest.raises(Killed):
        await build(tmp_path, EmbeddingFeed(lambda: streamed(broken()), WordEmbedder(), "a"), BuildOptions())
    with pytest.raises(IndexFault, match="another origin"):
        await build(tmp_path, feed(numbered(300), origin="b"), BuildOptions(resume=True))
    await build(tmp_path, feed(numbered(300), origin="b"), BuildOptions())
    assert LocalIndex.open(tmp_path).manifest.rows == 300


KILLED_BUILD = """
import asyncio, sys
from pathlib import Path
from tests.index.test_change import feed, numbered
from wellread.index import feed as feeding
from wellread.index.build import BuildOptions, build
feeding.SAMPLE = 512
asyncio.run(build(Path(sys.argv[1]), feed(numbered(4000)), BuildOptions(resume=True, checkpoint_seconds=0.05)))
"""


@pytest.mark.parametrize("seconds", [0.6, 0.9, 1.3, 1.8])
async def test_killed_at_any_moment_the_old_index_stays(tmp_path: Path, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wellread.index.feed.SAMPLE", 512)
    await make(tmp_path)
    process_killed_after(tmp_path, seconds)
    index = LocalIndex.open(tmp_path)
    assert index.manifest.rows in (4, 4000)
    assert list(problems(tmp_path)) == []
    await build(tmp_path, feed(numbered(4000)), BuildOptions(resume=True))
    await build(tmp_path.parent / "fresh", feed(numbered(4000)))
    assert sums(tmp_path) == sums(tmp_path.parent / "fresh")


def process_killed_after(folder: Path, seconds: float) -> None:
    command = [sys.executable, "-c", KILLED_BUILD, str(folder)]
    process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": os.getcwd()})
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    process.wait()


async def test_two_writers_do_not_meet(tmp_path: Path) -> None:
    await make(tmp_path)
    with writing(tmp_path), pytest.raises(IndexFault, match="another process"):
        remove(tmp_path, ["mars"])


@pytest.mark.parametrize(
    ("passages", "message"),
    [
        ([*PASSAGES, PASSAGES[0]], r"'titan#0' comes twice"),
        ([*PASSAGES, Passage("e", " \n")], "'e' has no text"),
        ([], "no passage"),
    ],
)
async def test_bad_passages_are_refused(tmp_path: Path, passages: list[Passage], message: str) -> None:
    await make(tmp_path)
    with pytest.raises(IndexFault, match=message):
        await make(tmp_path, passages)
    assert LocalIndex.open(tmp_path).manifest.rows == 4


async def test_a_text_of_five_megabytes(tmp_path: Path) -> None:
    index = await make(tmp_path, [*PASSAGES, Passage("big", "needle " + "word " * 1_000_000, "Big")])
    hits = await index.search("needle", None, 1)
    assert hits[0].id == "big"
    assert len(hits[0].text or "") == 100_000  # what a run can look at


async def test_read_only_and_full_disks_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await make(tmp_path)

    def full(self: object, *_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(building.SegmentWriter, "checkpoint", full)
    with pytest.raises(IndexFault, match=r"No space left on device; what was there before is unchanged"):
        await build(tmp_path, feed(numbered(600)))
    monkeypatch.undo()
    assert LocalIndex.open(tmp_path).manifest.rows == 4
    with pytest.raises(IndexFault, match="cannot be written"):
        await build(Path("/proc/nowhere/index"), feed(numbered(3)))


async def test_vectors_that_are_no_numbers_are_refused(tmp_path: Path) -> None:
    class Broken(WordEmbedder):
        async def embed(self, texts: object, *, kind: object) -> np.ndarray:  # type: ignore[override]
            return np.full((1, 64), np.nan, np.float32)

    from wellread.errors import EmbedderError

    with pytest.raises(EmbedderError, match="NaN"):
        await build(tmp_path, feed([Passage("a", "b")], Broken()))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=400k", "none", str(folder)], capture_output=True, check=False
    ).returncode:
        pytest.skip("a small disk needs the right to mount one")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


async def test_a_disk_without_room_for_the_words(small_disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from wellread.index.lexical import WordsWriter

    plain = WordsWriter.commit

    def commit(self: WordsWriter) -> None:
        with (small_disk / "filler").open("wb", buffering=0) as filler, suppress(OSError):
            while filler.write(bytes(4096)):
                pass
        plain(self)

    monkeypatch.setattr(WordsWriter, "commit", commit)
    with pytest.raises(IndexFault, match=r"word index cannot be written: .*No space left on device"):
        await build(small_disk / "index", feed(numbered(50)))


async def test_a_list_of_removed_passages_that_is_damaged(tmp_path: Path) -> None:
    index = await make(tmp_path)
    remove(tmp_path, [index.passage(0).document or index.passage(0).id])
    entry = LocalIndex.open(tmp_path).manifest.removed
    assert entry is not None
    path = tmp_path / entry.name
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(DamagedFile, match=rf"{path.name} is damaged"):
        LocalIndex.open(tmp_path).by_words("moon", 3)


async def test_a_build_of_nothing_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(IndexFault, match="no passage"):
        await build(tmp_path / "i", feed([]))
    assert [path.name for path in (tmp_path / "i").iterdir() if not path.name.startswith(".")] == []


async def test_a_disk_that_is_really_full(small_disk: Path) -> None:
    await make(small_disk / "index")
    with pytest.raises(IndexFault, match="No space left on device"):
        await build(small_disk / "index", feed(numbered(5000)))
    hits = await LocalIndex.open(small_disk / "index").search("red rust", WordEmbedder(), 1)
    assert hits[0].id == "mars#0"
    assert list(problems(small_disk / "index")) == []
