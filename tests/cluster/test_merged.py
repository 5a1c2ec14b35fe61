"""Shards together against the one index that they were made from."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.index.embedders import WordEmbedder
from tests.index.test_change import feed

from wellread.cluster import sharded
from wellread.cluster.merged import LocalPeer, MergedIndex, Peer, ShardGone, open_folder
from wellread.cluster.reshard import shard_index
from wellread.cluster.shard import Candidates, Shard, Wanted
from wellread.cluster.sharded import shard_of
from wellread.errors import DamagedFile, IndexFault
from wellread.index.build import build, remove
from wellread.index.search import LocalIndex, SearchOptions
from wellread.types import Hit, Passage

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
WORDS = tuple("river stone cloud music train paper green north salt apple winter bridge copper engine garden letter".split())  # noqa: SIM905


def passages(count: int, seed: int = 1) -> list[Passage]:
    """Texts of very different lengths, so that shards have different mean lengths."""
    chance = random.Random(seed)
    made: list[Passage] = []
    for number in range(count):
        text = " ".join(chance.choices(WORDS, [1 / (place + 1) for place in range(len(WORDS))], k=chance.choice((3, 9, 40, 150))))
        made.append(
            Passage(
                f"p{number}", f"{text} {number}.", f"{chance.choice(WORDS).title()} {number // 4}", document=f"d{number // 4}"
            )
        )
    return made


async def both(tmp_path: Path, count: int = 4) -> tuple[LocalIndex, MergedIndex]:
    await build(tmp_path / "one", feed(passages(900)))
    await shard_index(tmp_path / "one", tmp_path / "many", count)
    return LocalIndex.open(tmp_path / "one"), open_folder(tmp_path / "many")


def local(peer: Peer) -> Shard:
    assert isinstance(peer, LocalPeer)
    return peer.shard


def queries(count: int) -> list[str]:
    chance = random.Random(2)
    return [" ".join(chance.sample(WORDS, chance.randint(1, 6))) for _ in range(count)]


def same(got: list[Hit] | tuple[Hit, ...], wanted: list[Hit]) -> bool:
    """Equal scores may stand in another order where they differ by less than float32 can tell."""
    if not np.allclose([hit.score for hit in got], [hit.score for hit in wanted], rtol=1e-5):
        return False
    places = {hit.id: hit.score for hit in wanted}
    last = wanted[-1].score if wanted else 0.0
    return all(abs(places.get(hit.id, last) - hit.score) <= 1e-5 * abs(hit.score) for hit in got)


@pytest.mark.parametrize(
    "options",
    [SearchOptions(), SearchOptions(meaning=False), SearchOptions(words=False), SearchOptions(fusion="ranks")],
    ids=["both", "words", "meaning", "ranks"],
)
async def test_shards_find_what_one_index_finds(tmp_path: Path, options: SearchOptions) -> None:
    one, many = await both(tmp_path)
    for text in queries(150):
        wanted = await one.search(text, WordEmbedder(), 10, options)
        got = await many.search(text, WordEmbedder(), 10, options)
        assert same(got.hits, wanted), text
        assert (got.searched, got.gone) == (1.0, ())


async def test_the_mean_length_of_a_shard_does_not_matter(tmp_path: Path) -> None:
    """Without the statistics of the whole the scores differ: this is what they are for."""
    one, many = await both(tmp_path)
    text = "salt winter bridge"
    _, wanted = one.by_words(text, 20)
    apart = [local(peer).index.by_words(text, 20)[1] for peer in many.peers]
    assert not any(abs(part.max() - wanted.max()) < 1e-4 for part in apart)


async def test_documents_are_not_split_and_titles_are_found(tmp_path: Path) -> None:
    one, many = await both(tmp_path)
    for number in (0, 7, 100):
        hits = await many.document(f"d{number}")
        assert [hit.id for hit in hits] == [f"p{number * 4 + part}" for part in range(4)]
        assert [hit.id for hit in await many.titled(hits[0].title)] == [hit.id for hit in one.find_title(hits[0].title)]
    assert await many.document("nothing") == []


class Odd(LocalPeer):
    """Answers with fewer lines than it was asked for."""

    async def candidates(self, wanted: Wanted) -> Candidates:
        return replace(await super().candidates(wanted), lines=())

    async def lines(self, rows: Sequence[int]) -> Sequence[bytes]:
        return (await super().lines(rows))[1:]


async def test_an_answer_to_another_question_is_told(tmp_path: Path) -> None:
    _, many = await both(tmp_path)
    merged = MergedIndex(many.content, [Odd(local(many.peers[0])), *many.peers[1:]])
    with pytest.raises(IndexFault, match="something else than it was asked for"):
        await merged.search("river stone cloud", WordEmbedder(), 10)
    many.close()


async def test_a_shard_that_is_gone_is_said(tmp_path: Path) -> None:
    _, many = await both(tmp_path)

    class Gone(LocalPeer):
        async def candidates(self, wanted: Wanted) -> Candidates:
            raise ShardGone("no replica of shard 2 answers")

    broken = [Gone(local(peer)) if number == 2 else peer for number, peer in enumerate(many.peers)]
    partial = MergedIndex(many.content, broken)
    outcome = await partial.search("salt winter", WordEmbedder(), 10)
    assert outcome.gone == ("0002",)
    assert outcome.searched == pytest.approx(1 - many.content.shards[2].passages / 900)
    assert len(outcome.hits) == 10
    everywhere = MergedIndex(many.content, [Gone(local(peer)) for peer in many.peers])
    with pytest.raises(ShardGone):
        await everywhere.search("salt", WordEmbedder(), 10)


async def test_removed_passages_stay_removed(tmp_path: Path) -> None:
    await build(tmp_path / "one", feed(passages(300)))
    remove(tmp_path / "one", ["d3"])
    made = await shard_index(tmp_path / "one", tmp_path / "many", 2)
    assert made.passages == 296


async def test_an_unfinished_index_and_too_many_shards_are_refused(tmp_path: Path) -> None:
    await build(tmp_path / "one", feed(passages(8)))
    with pytest.raises(IndexFault, match="would be empty"):
        await shard_index(tmp_path / "one", tmp_path / "many", 40)


def test_a_document_moves_only_to_the_new_shard() -> None:
    names = [f"document {number}" for number in range(20_000)]
    for count in (1, 4, 15):
        before, after = [shard_of(name, count) for name in names], [shard_of(name, count + 1) for name in names]
        moved = [new for old, new in zip(before, after, strict=True) if old != new]
        assert set(moved) == {count}
        assert len(moved) / len(names) == pytest.approx(1 / (count + 1), rel=0.1)
    assert [shard_of(name, 7) for name in ("a", "Zürich", "d\udc80")] == [shard_of(name, 7) for name in ("a", "Zürich", "d?")]


async def test_a_damaged_or_foreign_shard_is_named(tmp_path: Path) -> None:
    await build(tmp_path / "one", feed(passages(200)))
    made = await shard_index(tmp_path / "one", tmp_path / "many", 2)
    assert sharded.load(tmp_path / "many") == made
    (tmp_path / "many/shards/0001/beside/ordinals").write_bytes(b"12345678")
    with pytest.raises(DamagedFile, match="another size"):
        sharded.check_shard(tmp_path / "many", made.shards[1])
    (tmp_path / "many/shards/0000/manifest.json").write_bytes(b"{}")
    with pytest.raises(DamagedFile, match="changed or replaced"):
        sharded.check_shard(tmp_path / "many", made.shards[0])
    text = (tmp_path / "many/shards.json").read_text()
    (tmp_path / "many/shards.json").write_text(text.replace('"0001"', '"../1"'))
    with pytest.raises(DamagedFile, match="checksum"):
        sharded.load(tmp_path / "many")


class Counting(LocalPeer):
    """A shard that counts what it is asked."""

    def __init__(self, shard: Shard) -> None:
        super().__init__(shard)
        self.asked: list[str] = []

    async def candidates(self, wanted: Wanted) -> Candidates:
        self.asked.append("candidates")
        return await super().candidates(wanted)

    async def lines(self, rows: Sequence[int]) -> Sequence[bytes]:
        self.asked.append("lines")
        return await super().lines(rows)


def counting(index: MergedIndex) -> tuple[MergedIndex, list[Counting]]:
    peers = [Counting(local(peer)) for peer in index.peers]
    return MergedIndex(index.content, peers), peers


async def test_a_query_asks_each_shard_once(tmp_path: Path) -> None:
    """Words that were never asked for before, too: each shard knows how frequent its words are in the whole."""
    for count in (1, 4):
        (tmp_path / str(count)).mkdir()
        many, peers = counting((await both(tmp_path / str(count), count))[1])
        for text in queries(60):
            await many.search(text, WordEmbedder(), 10)
        assert all(peer.asked.count("candidates") == 60 for peer in peers)
        assert sum(peer.asked.count("lines") for peer in peers) <= 60 * count // 20


async def test_passages_that_do_not_fit_an_answer_are_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, many = await both(tmp_path)
    many, peers = counting(many)
    monkeypatch.setattr("wellread.cluster.shard._MOST_BYTES", 500)
    for text in queries(20):
        assert same((await many.search(text, WordEmbedder(), 10)).hits, await one.search(text, WordEmbedder(), 10)), text
    assert any("lines" in peer.asked for peer in peers)


async def test_a_shard_that_goes_between_two_calls_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, many = await both(tmp_path)
    monkeypatch.setattr("wellread.cluster.shard._MOST_BYTES", 500)

    class Going(LocalPeer):
        async def lines(self, rows: Sequence[int]) -> Sequence[bytes]:
            raise ShardGone("no replica answers")

    class Generous(LocalPeer):
        async def candidates(self, wanted: Wanted) -> Candidates:
            found = await super().candidates(wanted)
            return replace(found, lines=tuple(self.shard.lines(found.columns["rows"].tolist())))

    for kind in (LocalPeer, Generous):  # also where it is the only one that is asked twice
        peers = [(Going if number == 1 else kind)(local(peer)) for number, peer in enumerate(many.peers)]
        outcome = await MergedIndex(many.content, peers).search("salt winter bridge", WordEmbedder(), 10)
        assert (outcome.gone, len(outcome.hits)) == (("0001",), 10)


async def test_every_shard_knows_the_frequencies_of_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wellread.cluster.shard._AT_ONCE", 50)  # a large vocabulary is added up in pieces
    one, many = await both(tmp_path)
    for text in queries(40):
        got = (await many.search(text, None, 10)).hits
        assert same(got, await one.search(text, None, 10)), text
