"""An index that is searched while it is built, killed at any moment, and brought up to date."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.index.embedders import WordEmbedder, postings
from tests.index.test_change import Killed, Tiring, every_file, feed, numbered, sums

from wellread.cli.feeds import shown
from wellread.core.processors import available_processors
from wellread.errors import EmbedderError, IndexFault
from wellread.index import ledger, manifest
from wellread.index.build import BuildOptions, Growing, add, build, update
from wellread.index.feed import EmbeddingFeed
from wellread.index.following import Following, passages, recalled
from wellread.index.inputs import InputOptions, Item, origin, parts
from wellread.index.ledger import Entry, Read
from wellread.index.progress import Gauge
from wellread.index.seal import problems
from wellread.index.search import LocalIndex
from wellread.index.vectors import embed
from wellread.index.write import SegmentWriter
from wellread.types import Passage

pytestmark = pytest.mark.anyio

# Imports once, then builds in a fork for each folder that is named: so that a build can be killed at any of its moments.
BUILDER = """
import asyncio, os, sys, time
from pathlib import Path
from tests.index.embedders import WordEmbedder
from tests.index.test_change import numbered
from wellread.index import build, feed as feeding, vectors
feeding.SAMPLE, vectors._NAMED_EVERY = 512, 0.0
import tantivy
how = build.BuildOptions(checkpoint_seconds=0.05)
print("ready", flush=True)
async def paced(passages, pause):
    for number, passage in enumerate(passages):
        if pause and number % 300 == 0:
            await asyncio.sleep(pause)
        yield passage
for line in sys.stdin:
    seconds, pause, folder = line.strip().split(" ", 2)
    child = os.fork()
    if child == 0:
        rows = feeding.EmbeddingFeed(lambda: paced(numbered(3000), float(pause)), WordEmbedder(), "numbers")
        asyncio.run(build.build(Path(folder), rows, how))
        os._exit(0)
    if float(seconds):
        time.sleep(float(seconds))
        os.kill(child, 9)
    print(os.waitpid(child, 0)[1], flush=True)
"""


class Builder:
    def __init__(self) -> None:
        command = [sys.executable, "-c", BUILDER]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self._process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": os.getcwd()}, text=True, **pipes)
        assert self._line() == "ready"

    def start(self, folder: Path, killed_after: float = 0.0, pause: float = 0.0) -> None:
        """`pause` seconds before every 300 passages: reading that takes long enough to be watched."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{killed_after} {pause} {folder}\n")
        self._process.stdin.flush()

    def ended(self) -> int:
        return int(self._line())

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def close(self) -> None:
        self._process.communicate(timeout=60)


@pytest.fixture
def builder() -> Iterator[Builder]:
    made = Builder()
    yield made
    made.close()


def everything(folder: Path) -> tuple[object, ...]:
    index = LocalIndex.open(folder)
    assert index.manifest.finished
    assert len(index.segments) == 1
    return sums(folder), index.manifest.scale, list(postings(index.segments[0].words))


@pytest.mark.slow
async def test_killed_at_thirty_moments_it_opens_searches_and_ends_the_same(tmp_path: Path, builder: Builder) -> None:
    begun = time.monotonic()
    builder.start(tmp_path / "whole")
    assert builder.ended() == 0
    seconds = time.monotonic() - begun
    whole = everything(tmp_path / "whole")
    chance = random.Random(20)
    seen: set[str] = set()
    kills = 0
    for number in itertools.count():
        folder = tmp_path / str(number)
        builder.start(folder, chance.uniform(0.02, 0.9) * seconds, pause=0.05 * seconds * (number % 2))  # some read slowly
        while builder.ended() == signal.SIGKILL:  # some builds are killed once, some several times
            kills += 1
            seen.add(await stage(folder))
            builder.start(folder, chance.choice((0.0, chance.uniform(0.02, 0.9) * seconds)))
        assert everything(folder) == whole
        assert not (folder / "building").exists()
        if kills >= 30:
            break
    assert {"reading", "vectors"} <= seen  # the moments were not all alike


async def stage(folder: Path) -> str:
    """Where a killed build was; what is there is whole and is found."""
    if not (folder / "manifest.json").exists():
        return "nothing"
    assert list(problems(folder)) == []
    index = LocalIndex.open(folder)
    row = index.manifest.rows - 1
    hits = await index.search(index.passage(row).text, WordEmbedder(), 5)
    assert index.passage(row).text in {hit.text for hit in hits}
    return "done" if index.manifest.finished else "vectors" if index.manifest.vectors else "reading"


@pytest.mark.slow
async def test_another_process_finds_more_and_more(tmp_path: Path, builder: Builder) -> None:
    from tests.sources.kit import TestKit

    from wellread.sources.index import IndexSource, Options
    from wellread.types import Query

    class Parts(TestKit):
        def embedder(self, spec: str | None = None) -> WordEmbedder:
            return WordEmbedder()

    source = IndexSource("index", tmp_path / "i", Options(), Parts())
    builder.start(tmp_path / "i", pause=0.1)
    counts: list[tuple[int, int]] = []
    while not counts or not manifest.load(tmp_path / "i").finished:
        if not (tmp_path / "i" / "manifest.json").exists():
            await asyncio.sleep(0.01)
            continue
        hits = await source.search(Query("Number 3 speaks of cloud", 3))
        assert hits[0].id == "n3"
        counts.append((source.index.manifest.rows, source.index.manifest.vectors))
    assert builder.ended() == 0
    assert counts == sorted(counts)
    assert len({rows for rows, _ in counts}) > 1
    assert len({vectors for _, vectors in counts}) > 2
    await source.aclose()


async def test_words_alone_and_vectors_later_are_the_same_index(tmp_path: Path) -> None:
    await build(tmp_path / "once", feed(numbered(700)))
    content = await build(tmp_path / "twice", feed(numbered(700)), BuildOptions(vectors=False))
    assert (content.complete, content.vectors) == (True, 0)
    index = LocalIndex.open(tmp_path / "twice")
    embedder = WordEmbedder()
    assert (await index.search("Number 33", embedder, 1))[0].id == "n33"
    assert embedder.calls == []  # there is nothing to compare a question with
    await embed(tmp_path / "twice", tmp_path / "twice", WordEmbedder())
    assert everything(tmp_path / "once") == everything(tmp_path / "twice")
    with pytest.raises(IndexFault, match="cannot go on with it"):
        await embed(tmp_path / "twice", tmp_path / "twice", WordEmbedder(32, "words-32"))


async def test_what_has_no_vector_yet_is_not_behind_what_has_one(tmp_path: Path) -> None:
    from wellread.index.vectors import Embedding

    await build(tmp_path, feed(numbered(60)), BuildOptions(vectors=False))
    with pytest.raises(Killed):
        await embed(tmp_path, tmp_path, Tiring(1), Embedding(batch=20))
    index = LocalIndex.open(tmp_path)
    assert index.manifest.vectors == 20
    hits = await index.search("Number 55 speaks of train and train", WordEmbedder(), 3)
    assert hits[0].id == "n55"


async def test_what_words_find_first_gets_its_vector_before_its_turn(tmp_path: Path) -> None:
    await build(tmp_path, feed(numbered(60)), BuildOptions(vectors=False))
    index, embedder = LocalIndex.open(tmp_path), WordEmbedder()
    early = await index.find("Number 55 speaks of train", embedder, 60, early=24)
    assert [len(texts) for texts in embedder.calls] == [24, 1]
    await embed(tmp_path, tmp_path, WordEmbedder())
    made = {one.row: one for one in await LocalIndex.open(tmp_path).find("Number 55 speaks of train", WordEmbedder(), 60)}
    close = [one for one in early if one.meaning is not None]
    assert len(close) == 24
    assert all(one.meaning == pytest.approx(made[one.row].meaning, abs=0.02) for one in close)


async def test_words_find_without_an_embedder_that_fails(tmp_path: Path) -> None:
    await build(tmp_path, feed(numbered(60)), BuildOptions(vectors=False))

    class Away(WordEmbedder):
        async def embed(self, texts, *, kind):
            raise EmbedderError("nobody there")

    found = await LocalIndex.open(tmp_path).find("Number 55 speaks of train", Away(), 3, early=24)
    assert [one.meaning for one in found] == [None] * 3


def written(folder: Path, **texts: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text)
    return folder


async def made(folder: Path, *inputs: Path) -> LocalIndex:
    how, names = InputOptions(unreadable=[]), [str(path) for path in inputs]
    source = EmbeddingFeed(Following(names, how), WordEmbedder(), origin(names, how))
    await build(folder, source)
    return LocalIndex.open(folder)


async def brought_up(folder: Path) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    inputs = recalled(manifest.load(folder).origin, InputOptions(unreadable=[]))
    done = await update(folder, inputs, WordEmbedder())
    assert done.content.finished
    assert list(problems(folder)) == []
    return done.added, done.changed, done.removed


def texts(folder: Path) -> dict[str, str]:
    index = LocalIndex.open(folder)
    rows = (row for row in range(index.manifest.rows) if row not in index.removed)
    return {index.passage(row).id: index.passage(row).text for row in rows}


async def test_an_update_reads_what_has_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notes = written(tmp_path / "in", a="Titan is a moon.", b="Mars is red.", c="Venus is hot.", d="Io has sulphur.")
    await made(tmp_path / "i", notes)
    read: list[str] = []
    monkeypatch.setattr("wellread.index.following.opened", spying(read))
    (notes / "b.txt").unlink()
    written(notes, a="Titan is a large moon.", e="Pluto is far.")
    os.utime(notes / "c.txt", (1, 1))
    assert await brought_up(tmp_path / "i") == (("e.txt",), ("a.txt",), ("b.txt",))
    assert sorted(read) == ["a.txt", "e.txt"]
    assert texts(tmp_path / "i") == {
        "c.txt#0": "Venus is hot.",
        "d.txt#0": "Io has sulphur.",
        "a.txt#0": "Titan is a large moon.",
        "e.txt#0": "Pluto is far.",
    }
    before = (tmp_path / "i" / "manifest.json").read_bytes()
    assert await brought_up(tmp_path / "i") == ((), (), ())
    assert (tmp_path / "i" / "manifest.json").read_bytes() == before


async def test_an_update_writes_beside_the_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also what it forgets, and what it publishes when it is stopped: of thousands of documents both take long."""
    notes = written(tmp_path / "in", a="Titan is a moon.", b="Mars is red.")
    await made(tmp_path / "i", notes)
    threads = set[threading.Thread]()
    for name in ("__init__", "_take", "forget", "publish"):
        original = getattr(Growing, name)

        def noted(*given: Any, original: Callable[..., Any] = original, **named: Any) -> Any:
            threads.add(threading.current_thread())
            return original(*given, **named)

        monkeypatch.setattr(Growing, name, noted)
    (notes / "b.txt").unlink()
    written(notes, c="Venus is hot.")
    assert await brought_up(tmp_path / "i") == (("c.txt",), (), ("b.txt",))
    assert threads
    assert threading.current_thread() not in threads
    growing = Growing(tmp_path / "i", tmp_path / "i", manifest.load(tmp_path / "i"))
    threads.clear()
    with pytest.raises(asyncio.CancelledError):
        await growing.take_in(_stopped())
    assert "d.txt" in texts(tmp_path / "i").values()
    assert threading.current_thread() not in threads


async def _stopped() -> AsyncIterator[Read]:
    yield Read(Entry("d.txt", passages=1), [Passage("d.txt#0", "d.txt", document="d.txt")])
    raise asyncio.CancelledError


async def test_a_file_that_became_a_link_out_of_its_folder_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the look at a folder and the reading of its last file minutes may pass, and others may write there."""
    notes = written(tmp_path / "in", a="Titan is a moon.", b="Mars is red.", c="Venus is hot.")
    written(tmp_path / "secret", b="The key is under the mat.", c="So is the other one.")
    inputs = Following([str(notes)], InputOptions(unreadable=[]))
    await made(tmp_path / "i", written(tmp_path / "first", z="Io has sulphur."))
    look = inputs._look

    def swapped() -> list[Item]:
        found = look()
        (notes / "b.txt").unlink()
        (notes / "b.txt").symlink_to(tmp_path / "secret" / "b.txt")
        (notes / "c.txt").unlink()
        (notes / "c.txt").symlink_to("a.txt")
        return found

    monkeypatch.setattr(inputs, "_look", swapped)
    await update(tmp_path / "i", inputs, WordEmbedder())
    assert texts(tmp_path / "i") == {"a.txt#0": "Titan is a moon."}
    entries = ledger.load(tmp_path / "i", manifest.load(tmp_path / "i").read)
    assert entries["b.txt"].notice == entries["c.txt"].notice == "leads out of its folder"


def spying(read: list[str]):
    from wellread.reading.documents import opened

    def spy(path: Path, inside: Path) -> object:
        read.append(path.name)
        return opened(path, inside)

    return spy


async def test_rows_of_a_table_are_compared(tmp_path: Path) -> None:
    table = tmp_path / "rows.jsonl"
    rows = [{"id": f"r{n}", "text": f"Row {n} speaks."} for n in range(5)]
    table.write_text("\n".join(map(json.dumps, rows)))
    notes = written(tmp_path / "in", a="Titan is a moon.")
    await made(tmp_path / "i", notes, table)
    rows[1]["text"] = "Row 1 is silent."
    table.write_text("\n".join(map(json.dumps, [*rows[:3], {"id": "new", "text": "A new row."}])))
    assert (await brought_up(tmp_path / "i"))[1] == (str(table),)
    assert texts(tmp_path / "i") == {
        "a.txt#0": "Titan is a moon.",
        "r0": "Row 0 speaks.",
        "r2": "Row 2 speaks.",
        "r1": "Row 1 is silent.",
        "new": "A new row.",
    }


async def test_an_unfinished_build_that_is_damaged_begins_again(tmp_path: Path) -> None:
    await build(tmp_path, feed(numbered(300)), BuildOptions(vectors=False))
    next(path for path in every_file(tmp_path) if path.name == "texts.jsonl").unlink()
    await build(tmp_path, feed(numbered(300)))
    assert list(problems(tmp_path)) == []
    assert LocalIndex.open(tmp_path).manifest.finished


async def test_a_finished_index_stays_while_it_is_built_again(tmp_path: Path) -> None:
    await build(tmp_path, feed(numbered(300)))

    def seen(step: str, done: int, total: int | None) -> None:
        assert LocalIndex.open(tmp_path).manifest.rows == 300
        assert len(LocalIndex.open(tmp_path).by_words("Number 299", 1)[0])

    await build(tmp_path, feed(numbered(400)), BuildOptions(checkpoint_seconds=0), seen)
    assert LocalIndex.open(tmp_path).manifest.rows == 400
    assert len(list((tmp_path / "segments").iterdir())) == 1


def test_the_rate_is_that_of_the_last_seconds() -> None:
    now = 0.0
    gauge = Gauge(lambda: now)
    for second in range(100):
        now = float(second)
        gauge("vectors", second * (1000 if second < 60 else 10) + (59_400 if second >= 60 else 0), 70_000)
    standing = gauge.standing()
    assert standing.rate == pytest.approx(10, rel=0.05)
    assert standing.left == pytest.approx((70_000 - 60_390) / 10, rel=0.05)


@pytest.mark.parametrize(("share", "load", "slowed"), [(0.1, 1e6, True), (1.0, 1e6, False), (0.1, 0.0, False)])
def test_work_that_others_slow_says_so(share: float, load: float, slowed: bool) -> None:
    now = 0.0
    gauge = Gauge(lambda: now, lambda: share * now * available_processors(), lambda: load)
    for second in range(10):
        now = float(second)
        gauge("vectors", second, 100)
    assert ("slowed by other work" in shown(gauge.standing())) == slowed


def test_a_segment_that_was_given_up_says_so(tmp_path: Path) -> None:
    """On a full disk a part is closed and tried once more: that is an error with a name, too."""
    writer = SegmentWriter(tmp_path / "part", 4, vectors=False)
    writer.append([Passage("1", "words")])
    writer.close()
    with pytest.raises(IndexFault, match="given up"):
        writer.checkpoint()


def twins(tmp_path: Path) -> tuple[Path, Path]:
    """Two folders with a file of the same name, as manuals have an index.html each."""
    return written(tmp_path / "goats", index="Goats climb."), written(tmp_path / "ferries", index="Ferries sail.")


async def test_files_of_the_same_name_in_two_folders_are_two_documents(tmp_path: Path) -> None:
    goats, ferries = twins(tmp_path)
    await made(tmp_path / "i", goats, ferries)
    assert texts(tmp_path / "i") == {"index.txt#0": "Goats climb.", "ferries/index.txt#0": "Ferries sail."}
    written(ferries, index="Ferries sail daily.")
    assert await brought_up(tmp_path / "i") == ((), ("ferries/index.txt",), ())
    told = [passage.id async for passage in passages([str(goats), str(ferries)], InputOptions())]
    assert told == ["index.txt#0", "ferries/index.txt#0"]


async def test_a_folder_that_is_added_leaves_files_of_the_same_name_alone(tmp_path: Path) -> None:
    goats, ferries = twins(tmp_path)
    await made(tmp_path / "i", goats)
    names, how = [str(ferries)], InputOptions(unreadable=[])
    for _ in range(2):  # the second time there is nothing to do
        await add(tmp_path / "i", EmbeddingFeed(Following(names, how), WordEmbedder(), "ferries"))
        assert texts(tmp_path / "i") == {"index.txt#0": "Goats climb.", "ferries/index.txt#0": "Ferries sail."}
    assert await brought_up(tmp_path / "i") == ((), (), ())


async def test_inputs_that_overlap_are_read_once(tmp_path: Path) -> None:
    goats, _ = twins(tmp_path)
    await made(tmp_path / "i", goats, goats / "index.txt", goats)
    assert list(texts(tmp_path / "i")) == ["index.txt#0"]
    assert len(parts([str(goats), str(goats)], InputOptions())) == 1
