"""A build by many machines against the build of one: the same rows, also when machines die."""

from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.index.embedders import WordEmbedder

from wellread.cluster import building as steps
from wellread.cluster import sharded
from wellread.cluster.building import Order, PiecesFeed, Told, of_shard
from wellread.cluster.merged import open_folder
from wellread.cluster.sharded import Place
from wellread.errors import IndexFault, UsageError
from wellread.index.build import build as build_one
from wellread.index.dataset import About
from wellread.index.feed import EmbeddingFeed
from wellread.index.following import passages
from wellread.index.inputs import InputOptions, origin, parts
from wellread.index.manifest import load
from wellread.index.search import LocalIndex
from wellread.types import Passage

WORDS = ("river", "stone", "cloud", "music", "train", "paper", "green", "north", "salt")


def write_documents(folder: Path, count: int) -> Path:
    folder.mkdir(parents=True)
    for number in range(count):
        chosen = [WORDS[(number * 7 + place * place) % len(WORDS)] for place in range(40 + number % 60)]
        (folder / f"note-{number:04d}.txt").write_text(f"Note {number}\n\n" + " ".join(chosen) + f" and {number}.\n")
    rows = [
        f'{{"id": "row {n}", "title": "Row {n}", "text": "{WORDS[n % 9]} and {WORDS[n % 7]} of row {n}"}}' for n in range(500)
    ]
    (folder / "table.jsonl").write_text("\n".join(rows))
    return folder


def order(folder: Path, shards: int = 3) -> Order:
    return Order((str(folder),), InputOptions(unreadable=[]), shards, "words-64", 64, WordEmbedder)


def rows_of(folder: Path) -> dict[str, tuple[bytes, bytes, str]]:
    index = LocalIndex.open(folder)
    found: dict[str, tuple[bytes, bytes, str]] = {}
    for row in range(index.manifest.rows):
        (vector,), (code,) = index.vector(row)
        passage = index.passage(row)
        found[passage.id] = (vector.tobytes(), code.tobytes(), passage.text)
    return found


class Stopped(Exception):
    """Somebody ends a build."""


def stop_at_the_shards(step: str, done: int, total: int | None) -> None:
    if step == "shards":
        raise Stopped


def build_alone(folder: Path, source: Path) -> None:
    how = InputOptions(unreadable=[])
    inputs = [str(source)]
    asyncio.run(build_one(folder, EmbeddingFeed(lambda: passages(inputs, how), WordEmbedder(), origin(inputs, how))))


def shards_of(many: Path) -> list[Path]:
    return [sharded.check_shard(many, entry) for entry in sharded.load(many).shards]


def equal_to_one(alone: Path, shards: list[Path]) -> bool:
    """Every passage once, with the same bytes and codes."""
    found: dict[str, tuple[bytes, bytes, str]] = {}
    for home in shards:
        mine = rows_of(home)
        assert not mine.keys() & found.keys()
        found |= mine
    assert len({load(home).scale for home in shards}) == 1
    return found == rows_of(alone)


@pytest.mark.slow
def test_parts_together_are_the_input(tmp_path: Path) -> None:
    source = write_documents(tmp_path / "notes", 30)
    how = InputOptions()

    async def everything() -> tuple[list[str], list[str]]:
        whole = [passage.id async for passage in passages([str(source)], how)]
        apart = [passage.id for part in parts([str(source)], how, 7) async for passage in passages((), how, part)]
        return whole, apart

    whole, apart = asyncio.run(everything())
    assert apart == whole
    assert len(whole) >= 530
    with pytest.raises(UsageError, match="in parts"):
        parts(["https://example.org"], how)


@pytest.mark.anyio
async def test_a_file_that_became_a_link_out_of_its_folder_is_not_read_in_a_part(tmp_path: Path) -> None:
    notes, secret, how = tmp_path / "notes", tmp_path / "secret.txt", InputOptions(unreadable=[])
    notes.mkdir()
    for name in ("a.txt", "b.txt"):
        (notes / name).write_text("Titan is a moon.")
    secret.write_text("The key is under the mat.")
    listed = parts([str(notes)], how)
    (notes / "b.txt").unlink()
    (notes / "b.txt").symlink_to(secret)
    assert [passage.id async for passage in passages((), how, listed[0])] == ["a.txt#0"]


def test_blocks_begin_where_they_must(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "BLOCK", 10)
    found = [(block.first, block.skip) for block in steps.blocks([4, 0, 17, 3, 25])]
    assert found == [(0, 0), (2, 6), (2, 16), (4, 6), (4, 16)]
    assert steps.blocks([0, 0]) == []
    monkeypatch.setattr(steps, "MOST", 4)  # then they are larger, but for the one that all wait for
    found = [(block.place, block.size, block.first, block.skip) for block in steps.blocks([4, 0, 17, 3, 25])]
    assert found == [(0, 10, 0, 0), (10, 20, 2, 6), (30, 20, 4, 6)]


def test_a_billion_passages_are_few_files() -> None:
    blocks = steps.blocks([100_000] * 10_000)
    assert len(blocks) <= steps.MOST + 2
    assert sum(block.size for block in blocks) >= 1_000_000_000
    assert all(block.size % steps.BLOCK == block.place % steps.BLOCK == 0 for block in blocks)  # batches are those of one machine


@pytest.mark.slow
def test_a_block_is_one_file_however_many_shards_there_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And larger blocks change nothing."""
    source, how = write_documents(tmp_path / "notes", 40), InputOptions(unreadable=[])
    found: list[dict[int, tuple[int, str, bytes]]] = []
    for name, most in (("small", 8_192), ("large", 2)):
        work = Place(tmp_path / name)
        with monkeypatch.context() as patched:
            patched.setattr(steps, "BLOCK", 64)
            patched.setattr("wellread.index.feed.BATCH", 16)
            patched.setattr(steps, "MOST", most)
            counts = [steps.read(work, n, part, how).passages for n, part in enumerate(parts([str(source)], how))]
            about, make, told = About("words-64", 64, "notes"), ("words", WordEmbedder), list[steps.Embedded]()
            for block in steps.blocks(counts):
                told.append(steps.embed(work, block, 7, about, make))
                about = replace(about, scale=told[0].scale)
            assert [steps.embed(work, block, 7, about, make) for block in steps.blocks(counts)] == told  # read, not made again
        assert len(work.names("embedded")) == 2 * len(told) < 2 * 7 * len(told)
        rows: dict[int, tuple[int, str, bytes]] = {}
        for shard in range(7):
            feed = PiecesFeed(work, shard, of_shard([one.pieces for one in told], shard))
            passages, vectors = asyncio.run(read_all(feed))
            places = feed.ordinals().tolist()
            assert places == sorted(places)
            rows |= {place: (shard, p.id, v) for place, p, v in zip(places, passages, vectors, strict=True)}
        assert sorted(rows) == list(range(sum(counts)))
        found.append(rows)
    assert found[0] == found[1]


async def read_all(feed: PiecesFeed) -> tuple[list[Passage], list[bytes]]:
    """In one go, and from the middle on."""
    batches = [batch async for batch in feed.batches(0, None)]
    passages = [passage for batch in batches for passage in batch.passages]
    later = [passage async for batch in feed.batches(len(passages) // 2, None) for passage in batch.passages]
    assert later == passages[len(passages) // 2 :]
    return passages, [row.tobytes() for batch in batches for row in batch.rows]


@pytest.mark.slow
def test_a_shard_is_stemmed_in_the_language_of_everything_that_was_read(tmp_path: Path) -> None:
    """Its own passages may be in another: here all but one of the notes are German, and the shard holds that one alone."""
    work, source = Place(tmp_path / "work"), tmp_path / "notes"
    source.mkdir()
    for number in range(9):
        text = f"Die alten Häuser am Markt wurden im Jahr {1900 + number} nach langen Arbeiten fertig.\n"
        (source / f"{number}.txt").write_text(text if number else "The old houses of the town were ready in the year 1900.\n")
    how = InputOptions(unreadable=[])
    read = [steps.read(work, number, part, how) for number, part in enumerate(parts([str(source)], how, documents=3))]
    language = steps.language_of_all(work, [part.passages for part in read])
    assert language == "de"
    blocks = steps.blocks([part.passages for part in read])
    embedded = steps.embed(work, blocks[0], 64, About("words-64", 64, "notes"), ("words", WordEmbedder))
    alone: list[str] = []
    for number in (piece.shard for piece in embedded.pieces):
        steps.assemble(work, Place(tmp_path / "made"), number, of_shard([embedded.pieces], number), True, language)
        index = LocalIndex.open(tmp_path / "made" / sharded.SHARDS / sharded.shard_name(number))
        assert index.manifest.language == "de"
        alone += [index.passage(0).text] if index.manifest.rows == 1 else []
    assert any(text.startswith("The old houses") for text in alone)


@pytest.mark.slow
def test_a_shard_that_was_stopped_while_it_laid_its_words_aside_is_made_again(tmp_path: Path) -> None:
    work, place, how = Place(tmp_path / "work"), Place(tmp_path / "made"), InputOptions(unreadable=[])
    source = write_documents(tmp_path / "notes", 20)
    counts = [steps.read(work, number, part, how).passages for number, part in enumerate(parts([str(source)], how))]
    about, make = About("words-64", 64, "notes"), ("words", WordEmbedder)
    pieces = of_shard([steps.embed(work, block, 1, about, make).pieces for block in steps.blocks(counts)], 0)
    steps.assemble(work, place, 0, pieces, True, "en")
    (tmp_path / "work/assembled/000000.json").unlink()
    for held in (tmp_path / "work/words").rglob("held"):
        held.write_bytes(b"")  # begun, but not written
    entry = steps.assemble(work, place, 0, pieces, True, "en")
    (told,) = steps.share_words(work, place, [entry])
    assert set(told.beside) > set(entry.beside)


pytest.importorskip("ray")


@pytest.mark.slow
def test_many_machines_make_the_rows_of_one(cluster: Any, tmp_path: Path) -> None:
    from wellread.cluster.building import build

    source = write_documents(tmp_path / "notes", 90)
    (source / "broken.pdf").write_bytes(b"%PDF-1.4 nothing")
    build_alone(tmp_path / "alone", source)
    told = Told()
    made = build(tmp_path / "many", order(source), told=told)
    assert equal_to_one(tmp_path / "alone", shards_of(tmp_path / "many"))
    assert made.passages == load(tmp_path / "alone").rows
    assert told.documents == 91  # the table among them
    assert any("broken.pdf" in line for line in told.unreadable)
    assert not (tmp_path / "many/building").exists()
    index, one = open_folder(tmp_path / "many"), LocalIndex.open(tmp_path / "alone")

    async def compare() -> None:
        for text in ("river stone", "salt 17", "row 300", "green north music"):
            got = (await index.search(text, WordEmbedder(), 10)).hits
            wanted = await one.search(text, WordEmbedder(), 10)
            assert np.allclose([hit.score for hit in got], [hit.score for hit in wanted], rtol=1e-5)

    asyncio.run(compare())
    again = build(tmp_path / "many", order(source, 2))
    assert (len(again.shards), again.generation) == (2, 2)
    assert sorted(path.name for path in (tmp_path / "many/shards").iterdir()) == ["0000", "0001"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(IndexFault, match="no passage"):
        build(tmp_path / "none", order(tmp_path / "empty"))


@pytest.mark.slow
def test_a_node_that_dies_during_a_build_changes_nothing(cluster: Any, tmp_path: Path) -> None:
    from benchmarks.ray_cluster import kill

    from wellread.cluster.building import build

    source = write_documents(tmp_path / "notes", 150)
    build_alone(tmp_path / "alone", source)

    def die() -> None:
        deadline = time.monotonic() + 60
        while not list((tmp_path / "many/building/read").glob("*.json")) and time.monotonic() < deadline:
            time.sleep(0.01)
        kill(sorted(cluster.worker_nodes, key=id)[0])

    killer = threading.Thread(target=die)
    killer.start()
    build(tmp_path / "many", order(source))
    killer.join()
    assert equal_to_one(tmp_path / "alone", shards_of(tmp_path / "many"))


@pytest.mark.slow
def test_an_interrupted_build_goes_on(cluster: Any, tmp_path: Path) -> None:
    from wellread.cluster.building import build

    source = write_documents(tmp_path / "notes", 60)
    build_alone(tmp_path / "alone", source)

    with pytest.raises(Stopped):
        build(tmp_path / "many", order(source), stop_at_the_shards)
    written = {path: path.stat().st_mtime_ns for path in (tmp_path / "many/building/embedded").iterdir()}
    assert written
    seen: list[str] = []

    def watch(step: str, done: int, total: int | None) -> None:
        if step == "blocks":
            seen.append(step)
            now = {path: path.stat().st_mtime_ns for path in (tmp_path / "many/building/embedded").iterdir()}
            assert now == written  # nothing is embedded twice

    build(tmp_path / "many", order(source), watch)
    assert seen
    assert equal_to_one(tmp_path / "alone", shards_of(tmp_path / "many"))
