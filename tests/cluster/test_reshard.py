"""More shards, or fewer, of an index that is in shards."""

from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np
import pytest
from tests.cluster.test_merged import passages, queries
from tests.index.embedders import WordEmbedder
from tests.index.test_change import feed
from typer.testing import CliRunner

from wellread.cli.main import app
from wellread.cluster import reshard as resharding
from wellread.cluster import shard, sharded
from wellread.cluster.merged import open_folder
from wellread.cluster.reshard import reshard, shard_index
from wellread.errors import IndexFault, UsageError
from wellread.index.build import build
from wellread.index.search import LocalIndex

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@pytest.fixture
async def four(tmp_path: Path) -> Path:
    await build(tmp_path / "one", feed(passages(600)))
    await shard_index(tmp_path / "one", tmp_path / "four", 4)
    return tmp_path / "four"


def documents(folder: Path) -> dict[str, str]:
    """Document → its shard."""
    found: dict[str, str] = {}
    for entry in sharded.load(folder).shards:
        index = LocalIndex.open(folder / "shards" / entry.name)
        mine = {str(index.passage(row).document) for row in range(index.manifest.rows)}
        assert not mine & found.keys()  # none is in two
        found |= dict.fromkeys(mine, entry.name)
    return found


def state(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


async def found_in(folder: Path) -> list[list[tuple[str, float]]]:
    index = open_folder(folder)
    outcomes = [await index.search(text, WordEmbedder(), 10) for text in queries(80)]
    index.close()
    return [[(hit.id, hit.score) for hit in outcome.hits] for outcome in outcomes]


def equal(got: list[list[tuple[str, float]]], wanted: list[list[tuple[str, float]]]) -> bool:
    scores = [np.allclose([s for _, s in a], [s for _, s in b], rtol=1e-6) for a, b in zip(got, wanted, strict=True)]
    return all(scores) and [[name for name, _ in one] for one in got] == [[name for name, _ in one] for one in wanted]


@pytest.mark.parametrize("count", [5, 3])
async def test_documents_move_to_the_new_shard_only_and_searches_find_the_same(four: Path, tmp_path: Path, count: int) -> None:
    before, untouched = documents(four), state(four)
    made, moved = await reshard(four, tmp_path / "other", count)
    after = documents(tmp_path / "other")
    went = {name: after[name] for name in before if before[name] != after[name]}
    if count == 5:
        assert set(went.values()) == {"0004"}
    else:
        assert {before[name] for name in went} == {"0003"}  # those of the shard that is no more
    assert len(went) / len(before) == pytest.approx(1 / max(4, count), rel=0.35)
    assert (moved, made.passages, len(made.shards)) == (4 * len(went), 600, count)
    assert equal(await found_in(tmp_path / "other"), await found_in(four))
    assert state(four) == untouched


async def test_one_that_was_interrupted_goes_on(four: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, made_for = resharding.build, []

    async def stops_at_the_third(home: Path, *rest: object) -> object:
        made_for.append(home.name)
        if len(made_for) == 3:
            raise KeyboardInterrupt
        return await real(home, *rest)  # pyright: ignore

    untouched = state(four)
    monkeypatch.setattr(resharding, "build", stops_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        await reshard(four, tmp_path / "five", 5)
    assert state(four) == untouched
    with pytest.raises(IndexFault, match="not a sharded index"):
        open_folder(tmp_path / "five")
    await reshard(four, tmp_path / "five", 5)
    assert made_for == ["0000", "0001", "0002", "0002", "0003", "0004"]  # what was done is not done again
    assert equal(await found_in(tmp_path / "five"), await found_in(four))
    assert not (tmp_path / "five/building").exists()


async def test_an_unfinished_one_of_another_number_is_begun_anew(
    four: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stops(homes: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(shard, "share_words", stops)
        with pytest.raises(KeyboardInterrupt):
            await reshard(four, tmp_path / "other", 6)
    await reshard(four, tmp_path / "other", 5)
    assert sorted(path.name for path in (tmp_path / "other/shards").iterdir()) == [f"{n:04d}" for n in range(5)]
    assert equal(await found_in(tmp_path / "other"), await found_in(four))


async def test_what_is_there_is_not_written_over(four: Path) -> None:
    with pytest.raises(UsageError, match="choose another folder"):
        await reshard(four, four, 5)


async def test_an_index_is_not_published_over_another(four: Path, tmp_path: Path) -> None:
    """A node that fetches shard after shard would get some of each."""
    place = f"file://{tmp_path}/far"
    sharded.publish(four, place)
    sharded.publish(four, place)  # the same again: after an interruption, say
    await reshard(four, tmp_path / "five", 5)
    with pytest.raises(UsageError, match="holds another sharded index"):
        sharded.publish(tmp_path / "five", place)
    assert len(sharded.load(place).shards) == 4


async def test_the_command_says_what_moved(four: Path, tmp_path: Path) -> None:
    words = ["cluster", "reshard", str(four), "-o", str(tmp_path / "five"), "-n", "5"]
    done = await asyncio.to_thread(CliRunner().invoke, app, words)
    assert done.exit_code == 0, (done.output, done.exception)
    assert "600 passages in 5 shards" in done.stdout
    moved = sum(name == "0004" for name in documents(tmp_path / "five").values()) * 4
    assert f"{moved} of them in another shard" in done.stdout
