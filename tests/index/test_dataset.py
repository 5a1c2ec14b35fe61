from __future__ import annotations

import asyncio
import json
import random
import sys
from collections.abc import Iterator
from contextlib import suppress
from fnmatch import fnmatch
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.index.embedders import WordEmbedder
from tests.index.test_change import feed, numbered
from tests.index.test_coarse import clustered
from tests.index.test_search import PASSAGES
from typer.testing import CliRunner

from wellread.cli import feeds
from wellread.cli.main import app
from wellread.errors import DamagedFile, IndexFault
from wellread.index.build import add, build
from wellread.index.dataset import DatasetFeed, create, is_dataset, made_with, take_parts
from wellread.index.feed import EmbeddingFeed, embedding_text, streamed
from wellread.index.inputs import InputOptions
from wellread.index.published import PublishedFeed, pull, texts_in
from wellread.index.quantize import calibrate, to_bytes, to_codes
from wellread.index.search import LocalIndex
from wellread.types import Passage

pytestmark = pytest.mark.anyio


async def test_an_index_from_a_data_set_is_the_index_from_its_inputs(tmp_path: Path) -> None:
    passages = [*PASSAGES, *numbered(700)]
    assert await create(tmp_path / "data", feed(passages), shard_rows=300) == 704
    assert [pq.read_metadata(path).num_rows for path in sorted((tmp_path / "data").glob("*.parquet"))] == [300, 300, 104]
    assert is_dataset(tmp_path / "data")
    await build(tmp_path / "one", DatasetFeed(tmp_path / "data"))
    await build(tmp_path / "two", feed(passages))
    one, two = (LocalIndex.open(tmp_path / name).manifest for name in ("one", "two"))
    assert (one.embedder, one.dimensions) == ("words-64", 64)
    assert one.scale == pytest.approx(two.scale)
    for name in ("texts.jsonl", "rows.i8", "codes.bin", "documents.tab"):
        assert one.segments[0].files[name] == two.segments[0].files[name]


async def test_a_data_set_joins_an_index_in_its_scale(tmp_path: Path) -> None:
    await create(tmp_path / "data", feed(PASSAGES))
    await build(tmp_path / "index", feed(numbered(300)))
    scale = LocalIndex.open(tmp_path / "index").manifest.scale
    assert DatasetFeed(tmp_path / "data").scale != pytest.approx(scale)
    await add(tmp_path / "index", DatasetFeed(tmp_path / "data"))
    both = LocalIndex.open(tmp_path / "index")
    assert both.manifest.scale == scale
    vector = (await WordEmbedder().embed([PASSAGES[0].text], kind="query"))[0]
    truth = (await WordEmbedder().embed([embedding_text(PASSAGES[0])], kind="passage"))[0] @ vector
    (row,) = both.find_id(PASSAGES[0].id)
    assert both.likeness(vector, np.array([row]))[0] == pytest.approx(truth, abs=0.02)


async def test_shards_have_the_published_columns(tmp_path: Path) -> None:
    await create(tmp_path, feed(PASSAGES))
    table = pq.read_table(tmp_path / "part-00000.parquet")
    assert {"_id", "title", "url", "text", "emb_ubinary", "emb_int8"} <= set(table.column_names)
    assert len(table.column("emb_int8")[0]) == 64
    assert len(table.column("emb_ubinary")[0]) == 8
    about = json.loads(table.schema.metadata[b"wellread"])
    assert about["embedder"] == "words-64"
    assert len(about["scale"]) == 64


async def test_a_folder_with_a_colon_in_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert await create(Path("notes:old"), feed(PASSAGES)) == len(PASSAGES)
    await build(Path("index:old"), DatasetFeed(Path("notes:old")))
    assert LocalIndex.open(Path("index:old")).manifest.rows == len(PASSAGES)


class Killed(Exception):
    pass


async def test_finished_shards_are_never_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wellread.index.feed.SAMPLE", 256)
    passages = numbered(1500)

    def until(stop: int) -> Iterator[Passage]:
        yield from passages[:stop]
        raise Killed

    with pytest.raises(Killed):
        await create(tmp_path, EmbeddingFeed(lambda: streamed(until(1100)), WordEmbedder(), "numbers"), shard_rows=256)
    shards = sorted(tmp_path.glob("*.parquet"))  # noqa: ASYNC240
    kept = {path: path.stat().st_mtime_ns for path in shards}
    assert len(kept) == 4
    with pytest.raises(IndexFault, match="not complete"):
        DatasetFeed(tmp_path)
    (tmp_path / "part-00004.parquet.tmp").write_bytes(b"torn")
    embedder = WordEmbedder()
    assert await create(tmp_path, feed(passages, embedder), shard_rows=256) == 1500
    assert sum(map(len, embedder.calls)) == 1500 - 4 * 256
    assert all(path.stat().st_mtime_ns == when for path, when in kept.items())
    await build(tmp_path / "index", DatasetFeed(tmp_path))
    assert LocalIndex.open(tmp_path / "index").manifest.rows == 1500


async def test_files_made_elsewhere_are_all_taken_also_after_an_interruption(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, taken = tmp_path / "made", tmp_path / "taken"
    await create(made, feed(numbered(900)), shard_rows=256)
    await create(taken, feed(numbered(2_000)), shard_rows=256)  # of an older one more files are there
    parts = sorted(made.glob("*.parquet"))
    real = Path.replace

    def stops(self: Path, target: Path) -> Path:
        if self == parts[1]:
            raise KeyboardInterrupt
        return real(self, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", stops)
        with pytest.raises(KeyboardInterrupt):
            take_parts(taken, parts)
    assert not (taken / "_SUCCESS").exists()
    assert take_parts(taken, parts) == 900
    found = [passage.id async for batch in DatasetFeed(taken).batches(0, None) for passage in batch.passages]
    assert found == [passage.id for passage in numbered(900)]


async def test_another_data_set_is_not_mixed_in(tmp_path: Path) -> None:
    await create(tmp_path, feed(PASSAGES, origin="a"))
    with pytest.raises(IndexFault, match="holds another data set"):
        await create(tmp_path, feed(PASSAGES, origin="b"))
    assert await create(tmp_path, feed(PASSAGES[:2], origin="b"), resume=False) == 2


async def test_data_sets_of_others_need_an_embedder(tmp_path: Path) -> None:
    rows = clustered(50, 64)
    table = pa.table(
        {
            "_id": [str(n) for n in range(50)],
            "title": ["t"] * 50,
            "url": ["u"] * 50,
            "text": [f"text {n}" for n in range(50)],
            "emb_int8": to_bytes(rows, calibrate(rows)).tolist(),
            "emb_ubinary": np.packbits(rows > 0, axis=1).tolist(),
        }
    )
    pq.write_table(table, tmp_path / "x.parquet")
    with pytest.raises(IndexFault, match="--embedder"):
        DatasetFeed(tmp_path)
    await build(tmp_path / "index", DatasetFeed(tmp_path, "some-model"))
    index = LocalIndex.open(tmp_path / "index")
    assert index.by_meaning(rows[7], 1)[0][0] == 7
    assert len(index.passages("u")) == 50


async def published(folder: Path, rows: int = 300) -> np.ndarray:
    """The published layout in small, made with the libraries it was made with."""
    import faiss
    from usearch.index import Index

    vectors = clustered(rows, 64)
    codes = faiss.IndexBinaryFlat(64)
    codes.add(np.packbits(vectors > 0, axis=1))
    faiss.write_index_binary(codes, str(folder / "faiss-ubinary.index"))
    store = Index(ndim=64, metric="ip", dtype="i8")
    store.add(np.arange(rows), to_bytes(vectors, calibrate(vectors)))
    store.save(str(folder / "usearch-int8.index"))
    pq.write_table(
        pa.table(
            {
                "title": [f"Title {n // 3}" for n in range(rows)],
                "url": [f"https://w.example/{n // 3}" for n in range(rows)],
                "text": [f"Passage number {n}." for n in range(rows)],
            }
        ),
        folder / "texts.parquet",
    )
    return vectors


ABOUT = {"embedder": "words", "dimensions": 8, "origin": "somewhere", "scale": [0.1] * 8}
VECTORS = [[1] * 8] * 3
WRONG: dict[str, tuple[dict[str, object], object]] = {
    "no dimensions": ({}, {**ABOUT, "dimensions": 0}),
    "endless dimensions": ({}, {**ABOUT, "dimensions": float("inf")}),
    "too many dimensions": ({}, {**ABOUT, "dimensions": 10**9, "scale": None}),
    "a short scale": ({}, {**ABOUT, "scale": [0.1]}),
    "a scale of nothing": ({}, {**ABOUT, "scale": [float("nan")] * 8}),
    "a list": ({}, []),
    "no id": ({"_id": None}, ABOUT),
    "no text": ({"text": [None, "a", "b"]}, ABOUT),
    "numbers for texts": ({"text": [1, 2, 3]}, ABOUT),
    "bytes for texts": ({"text": pa.array([b"\xff"] * 3, pa.binary()).view(pa.string())}, ABOUT),
    "a time of nobody": ({"published": pa.array([2**59] * 3, pa.timestamp("ms"))}, ABOUT),
    "rows of several lengths": ({"emb_int8": [[1] * 7, [1] * 9, [1] * 8]}, ABOUT),
    "vectors with holes": ({"emb_int8": [[None] * 8, [1] * 8, [1] * 8]}, ABOUT),
    "vectors of large numbers": ({"emb_int8": [[2**40] * 8] * 3}, ABOUT),
    "words for vectors": ({"emb_int8": ["x"] * 3}, ABOUT),
}


@pytest.mark.parametrize("wrong", WRONG)
async def test_data_sets_of_others_that_are_none(tmp_path: Path, wrong: str) -> None:
    columns, about = WRONG[wrong]
    whole = {"_id": ["a", "b", "c"], "text": ["one", "two", "three"], "emb_int8": VECTORS, "emb_ubinary": [[0]] * 3, **columns}
    table = pa.table({name: values for name, values in whole.items() if values is not None})
    pq.write_table(table.replace_schema_metadata({b"wellread": json.dumps(about).encode()}), tmp_path / "part-00000.parquet")
    with pytest.raises((DamagedFile, IndexFault)):
        await build(tmp_path / "index", DatasetFeed(tmp_path))


async def test_a_data_set_that_fills_the_memory_ends_only_the_process_that_reads_it(tmp_path: Path) -> None:
    rows = 5_000
    text = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), ["x" * 1_000_000])
    vectors = {"emb_int8": [[1] * 8] * rows, "emb_ubinary": [[0]] * rows}
    table = pa.table({"_id": ["a"] * rows, "text": text, **vectors})
    pq.write_table(table.replace_schema_metadata({b"wellread": json.dumps(ABOUT).encode()}), tmp_path / "a.parquet")
    with pytest.raises(IndexFault, match="cannot be read"):
        await build(tmp_path / "index", DatasetFeed(tmp_path))


@pytest.mark.slow
async def test_flipped_bits_of_a_data_set_are_told_or_make_no_difference(tmp_path: Path) -> None:
    await create(tmp_path / "whole", feed(numbered(300)))
    kept = (tmp_path / "whole" / "part-00000.parquet").read_bytes()
    for seed in range(10):
        chance = random.Random(seed)
        damaged = bytearray(kept)
        for _ in range(20):
            damaged[chance.randrange(len(kept))] ^= 1 << chance.randrange(8)
        folder = tmp_path / f"{seed}"
        folder.mkdir()
        (folder / "part-00000.parquet").write_bytes(damaged)
        with suppress(DamagedFile, IndexFault):
            assert is_dataset(folder)
            await build(tmp_path / f"index{seed}", DatasetFeed(folder))


@pytest.mark.filterwarnings("ignore")
async def test_the_published_layout_is_imported(tmp_path: Path) -> None:
    vectors = await published(tmp_path)
    await build(tmp_path / "index", PublishedFeed(tmp_path, str(tmp_path / "texts.parquet"), "mxbai"))
    index = LocalIndex.open(tmp_path / "index")
    assert index.manifest.rows == 300
    assert [hit.text for hit in index.passages("https://w.example/5")] == [f"Passage number {n}." for n in (15, 16, 17)]
    assert np.array_equal(index.segments[0].coarse.codes, to_codes(vectors))
    for row in (0, 99, 299):
        assert index.by_meaning(vectors[row], 1)[0][0] == row
    short = pq.read_table(tmp_path / "texts.parquet").slice(0, 100)
    pq.write_table(short, tmp_path / "short.parquet")
    with pytest.raises(IndexFault, match="has 100 rows, the published index 300"):
        await build(tmp_path / "other", PublishedFeed(tmp_path, str(tmp_path / "short.parquet"), "mxbai"))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["faiss-ubinary.index", "usearch-int8.index"])
async def test_a_published_index_that_lies_about_itself_is_told(tmp_path: Path, name: str) -> None:
    await published(tmp_path)
    whole = (tmp_path / name).read_bytes()
    rows = 8 + 300 * 64
    heads = range(40) if name.startswith("faiss") else [*range(8), *range(rows, rows + 104), *range(rows + 104, rows + 120)]
    for at in heads:
        for value in (0x00, 0x7F, 0xFF):
            (tmp_path / name).write_bytes(whole[:at] + bytes([value]) + whole[at + 1 :])
            with suppress(DamagedFile, IndexFault):
                made = PublishedFeed(tmp_path, str(tmp_path / "texts.parquet"), "mxbai")
                assert made._batch(0, [Passage("a", "text")] * 300).rows.shape == (300, 64)
    (tmp_path / name).write_bytes(whole[: len(whole) // 2])
    with pytest.raises((DamagedFile, IndexFault)):
        PublishedFeed(tmp_path, str(tmp_path / "texts.parquet"), "mxbai")


def foreign(folder: Path, rows: int = 50) -> np.ndarray:
    """A data set of somebody else's, which does not say what made its vectors."""
    vectors = clustered(rows, 64)
    table = {
        "_id": [str(n) for n in range(rows)],
        "title": ["t"] * rows,
        "url": ["u"] * rows,
        "text": [f"text number {n}" for n in range(rows)],
        "emb_int8": to_bytes(vectors, calibrate(vectors)).tolist(),
        "emb_ubinary": np.packbits(vectors > 0, axis=1).tolist(),
    }
    pq.write_table(pa.table(table), folder / "x.parquet")
    return vectors


@pytest.mark.slow
async def test_a_data_set_is_embedded_anew_where_an_embedder_is_named_and_an_index_takes_its_vectors(tmp_path: Path) -> None:
    folder = tmp_path / "given"
    folder.mkdir()
    vectors = foreign(folder)

    class Shop:
        def embedder(self, spec: str | None = None) -> WordEmbedder:
            return WordEmbedder(name=str(spec)) if spec == "some-model" else WordEmbedder()

    kit: Any = Shop()
    await create(tmp_path / "data", feeds.feed([str(folder)], kit, "words", InputOptions(), embed=True))
    made = next(DatasetFeed(tmp_path / "data")._shards.__iter__())
    before, after = (pq.read_table(path).column("emb_int8").to_pylist() for path in (folder / "x.parquet", made))
    assert before != after
    assert made_with(tmp_path / "data") == WordEmbedder().name
    await build(tmp_path / "index", feeds.feed([str(folder)], kit, "some-model", InputOptions()))
    index = LocalIndex.open(tmp_path / "index")
    assert (index.manifest.embedder, index.by_meaning(vectors[7], 1)[0][0]) == ("some-model", 7)


@pytest.mark.slow
async def test_an_embedded_data_set_of_the_hub_brings_its_vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = foreign(tmp_path)
    listed = ["README.md", "en/test/0.parquet", "en/train/x.parquet", "de/train/0.parquet"]
    monkeypatch.setattr("huggingface_hub.list_repo_files", lambda *_, **__: listed)
    monkeypatch.setattr("huggingface_hub.hf_hub_download", lambda _, file, **__: str(tmp_path / Path(file).name))
    kit: Any = SimpleNamespace(embedder=lambda spec: WordEmbedder(name=spec))
    with pytest.raises(IndexFault, match="--embedder"):
        feeds.feed(["hf:owner/name"], kit, None, InputOptions(config="en"))
    await build(tmp_path / "index", feeds.feed(["hf:owner/name"], kit, "some-model", InputOptions(config="en")))
    index = LocalIndex.open(tmp_path / "index")
    assert (index.manifest.embedder, index.manifest.rows, index.by_meaning(vectors[7], 1)[0][0]) == ("some-model", 50, 7)


@pytest.mark.filterwarnings("ignore")
async def test_a_published_index_in_parts_is_pulled_with_its_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    away, here = tmp_path / "away", tmp_path / "here"
    away.mkdir()
    vectors = await published(away)
    whole = (away / "usearch-int8.index").read_bytes()
    (away / "usearch-int8.index").unlink()
    (away / "usearch-int8-index").mkdir()
    third = len(whole) // 3 + 1
    for number in range(3):
        (away / "usearch-int8-index" / f"{number:04d}.part").write_bytes(whole[number * third : (number + 1) * third])
    (away / "wikipedia-en-text").mkdir()
    texts = pq.read_table(away / "texts.parquet")
    (away / "texts.parquet").unlink()
    with (
        pa.OSFile(str(away / "wikipedia-en-text" / "data-00000.arrow"), "wb") as file,
        pa.ipc.new_stream(file, texts.schema) as out,
    ):
        out.write_table(texts)

    def fetch(repository: str, *, local_dir: Path, allow_patterns: list[str], **_: object) -> None:
        for path in (one for one in away.rglob("*") if one.is_file()):
            name = path.relative_to(away).as_posix()
            if any(fnmatch(name, pattern) for pattern in allow_patterns):
                (local_dir / name).parent.mkdir(parents=True, exist_ok=True)
                (local_dir / name).write_bytes(path.read_bytes())

    client = ModuleType("huggingface_hub")
    client.snapshot_download = fetch  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "huggingface_hub", client)
    assert pull("owner/name", here) == here / "wikipedia-en-text"
    assert (here / "usearch-int8.index").read_bytes() == whole
    assert not list(here.rglob("*.part"))
    table = texts_in(here)
    assert table is not None
    await build(tmp_path / "index", PublishedFeed(here, str(table), "mxbai"))
    index = LocalIndex.open(tmp_path / "index")
    assert (index.manifest.rows, index.by_meaning(vectors[99], 1)[0][0]) == (300, 99)
    assert [hit.text for hit in index.passages("https://w.example/5")] == [f"Passage number {n}." for n in (15, 16, 17)]
    (here / "usearch-int8.index").unlink()
    (away / "usearch-int8-index" / "0001.part").unlink()
    with pytest.raises(IndexFault, match="has gaps"):
        pull("owner/name", here)


def test_a_published_index_is_pulled_in_one_step_and_names_its_embedder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def snapshot(repository: str, *, local_dir: Path, **_: object) -> None:
        local_dir.mkdir(exist_ok=True)
        asyncio.run(published(local_dir))

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot)
    output = tmp_path / "index"
    done = CliRunner().invoke(app, ["index", "pull", "someone/wiki", "--output", str(output), "--embedder", "onnx"])
    assert done.exit_code == 0, done.output
    assert "searched with onnx:all-minilm-l6-v2" in " ".join(done.output.split())
    assert LocalIndex.open(output).manifest.embedder == "onnx:all-minilm-l6-v2", "and not the spec that was written"
    assert [path.name for path in tmp_path.iterdir()] == ["index"]
