"""An index may come from anyone, and disks forget bits: what it says is checked before it is believed."""

from __future__ import annotations

import asyncio
import json
import random
import shutil
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

import pytest
from tests.index.embedders import WordEmbedder
from tests.index.test_search import make
from tests.sources.kit import TestKit
from typer.testing import CliRunner

from wellread.cli.main import app
from wellread.embedding import onnx
from wellread.errors import DamagedFile, IndexFault
from wellread.index import following, ledger, manifest, texts
from wellread.index.following import RECORD, recalled
from wellread.index.inputs import InputOptions
from wellread.index.manifest import Listed
from wellread.index.search import LocalIndex, SearchOptions
from wellread.plugins import parse_spec
from wellread.sources.index import from_spec
from wellread.types import Passage, Query

pytestmark = pytest.mark.anyio


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(str(files("wellread") / "library" / "index"), tmp_path / "index")
    return tmp_path / "index"


def rewrite(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """A manifest that says something else and signs it: its checksum is no secret."""
    path = folder / manifest.NAME
    data = json.loads(path.read_text())
    del data["sha256"]
    change(data)
    path.write_text(json.dumps({"sha256": manifest._own_sum(data), **data}))  # pyright: ignore[reportPrivateUsage]


CHANGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "negative rows": lambda data: data["segments"][0].update(rows=-1),
    "no rows": lambda data: data["segments"][0].update(rows=0),
    "fewer rows than there are": lambda data: data["segments"][0].update(rows=5, vectors=5),
    "no offsets": lambda data: data["segments"][0]["files"].pop("offsets.u64"),
    "more vectors than rows": lambda data: data["segments"][0].update(vectors=10**6),
    "negative vectors": lambda data: data["segments"][0].update(vectors=-1),
    "endless rows": lambda data: data["segments"][0].update(rows=10**30),
    "negative lists": lambda data: data["segments"][0].update(lists=-1),
    "a segment above": lambda data: data["segments"][0].update(name="../../elsewhere"),
    "a segment of two dots": lambda data: data["segments"][0].update(name=".."),
    "a segment at the root": lambda data: data["segments"][0].update(name="/etc"),
    "a file above": lambda data: data["segments"][0]["files"].update({"../x": {"bytes": 1, "sha256": "0" * 64}}),
    "a file at the root": lambda data: data["segments"][0]["files"].update({"/etc/passwd": {"bytes": 1, "sha256": "0" * 64}}),
    "a removed file above": lambda data: data.update(
        removed={"name": "../x.npy", "count": 1, "sum": {"bytes": 1, "sha256": "0" * 64}}
    ),
    "more removed than there are": lambda data: data.update(
        removed={"name": "x.npy", "count": 10**9, "sum": {"bytes": 1, "sha256": "0" * 64}}
    ),
    "a list of inputs above": lambda data: data.update(
        read={"name": "../x.jsonl", "count": 1, "sum": {"bytes": 1, "sha256": "0" * 64}}
    ),
    "a list of inputs of a negative size": lambda data: data.update(
        read={"name": "x.jsonl", "count": 1, "sum": {"bytes": -9, "sha256": "0" * 64}}
    ),
    "no dimensions": lambda data: data.update(dimensions=0, scale=[]),
    "many dimensions": lambda data: data.update(dimensions=10**9),
    "a scale that does not fit": lambda data: data.update(scale=data["scale"][:-1]),
    "a scale without end": lambda data: data.update(scale=[float("inf")] * data["dimensions"]),
    "a negative size": lambda data: data["segments"][0]["files"]["rows.i8"].update(bytes=-1),
    "a checksum that is none": lambda data: data["segments"][0]["files"]["rows.i8"].update(sha256="x"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_manifest_is_not_believed(change: str, folder: Path) -> None:
    rewrite(folder, CHANGES[change])
    with pytest.raises(DamagedFile):
        LocalIndex.open(folder)


@pytest.mark.parametrize("name", ["documents.tab", "titles.tab", "rows.i8", "codes.bin", "offsets.u64", "texts.jsonl"])
async def test_a_file_of_another_size_with_its_checksum_is_damage(folder: Path, name: str) -> None:
    segment = json.loads((folder / manifest.NAME).read_text())["segments"][0]
    path = folder / "segments" / segment["name"] / name
    path.write_bytes(path.read_bytes()[:-3])
    made = manifest.checksum(path)
    rewrite(folder, lambda data: data["segments"][0]["files"].update({name: {"bytes": made.bytes, "sha256": made.sha256}}))
    with pytest.raises(DamagedFile):  # noqa: PT012
        index = LocalIndex.open(folder)
        index.find_title("Titan")
        index.passages("titan")
        embedder = WordEmbedder(name=index.manifest.embedder, dimensions=384)
        await index.find("moon", embedder, 400, SearchOptions(mode="exact"))
        for row in range(index.manifest.rows):
            index.hit(row, 1.0)


def test_saving_does_not_follow_a_link(folder: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("keep this")
    (folder / "manifest.json.new").symlink_to(precious)
    manifest.save(folder, manifest.load(folder))
    assert precious.read_text() == "keep this"
    assert not (folder / manifest.NAME).is_symlink()
    manifest.load(folder)


@pytest.mark.slow
def test_every_flipped_bit_is_noticed(folder: Path) -> None:
    chance = random.Random(19)
    parts = [path for path in sorted((folder / "segments").rglob("*")) if path.is_file() and path.stat().st_size]
    for _ in range(200):
        path = chance.choice(parts)
        whole = path.read_bytes()
        damaged = bytearray(whole)
        damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        with pytest.raises(DamagedFile, match="damaged"):
            LocalIndex.open(folder)
        path.write_bytes(whole)
    LocalIndex.open(folder)


@pytest.mark.parametrize(
    "name",
    [
        "onnx:someone/model", "onnx:../model", "onnx:/nowhere/model", "onnx:model", "onnx:beside/model", "onnx:{}/model",
        f"onnx:{onnx.DEFAULT}?file=../../../../x.onnx", f"onnx:{onnx.DEFAULT}?fil%65=x",
        f"onnx:{onnx.DEFAULT}?batch_tokens=9999999",
    ],
)  # fmt: skip
async def test_a_manifest_downloads_and_loads_no_model(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        pytest.fail("something was downloaded or loaded")

    monkeypatch.setattr(onnx, "fetch", fail)
    monkeypatch.setattr(onnx.OnnxEmbedder, "load", fail)
    for place in (folder, folder.parent, folder.parent / "beside"):
        (place / "model").mkdir(parents=True)
    monkeypatch.chdir(folder.parent)
    rewrite(folder, lambda data: data.update(embedder=name.format(folder)))
    source = from_spec(parse_spec(f"index:{folder}"), cast("Any", TestKit()))
    with pytest.raises(IndexFault, match="may not load by itself"):
        await source.search(Query("planets", 3))
    added = await asyncio.to_thread(CliRunner().invoke, app, ["index", "add", str(folder), __file__])
    assert isinstance(added.exception, IndexFault)


def test_the_embedder_of_the_package_is_no_folder_of_that_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / onnx.DEFAULT).mkdir()
    monkeypatch.chdir(tmp_path)
    assert onnx.from_spec(parse_spec(f"onnx:{onnx.DEFAULT}?pooling=cls"), cast("Any", TestKit())).dimensions == 384


ODD_ROWS: dict[str, object] = {
    "a number for a text": ["p", "Light", 5, None, "d", [], None],
    "nothing for a title": ["p", None, "lighthouse", None, "d", [], None],
    "a list for an id": [[1], "Light", "lighthouse", None, "d", [], None],
    "a number for an address": ["p", "Light", "lighthouse", 5, "d", [], None],
    "a list for a document": ["p", "Light", "lighthouse", None, [1], [], None],
    "numbers for links": ["p", "Light", "lighthouse", None, "d", [1, {}], None],
    "a number for a date": ["p", "Light", "lighthouse", None, "d", [], 2023],
    "a list for a heading": ["p", "Light", "lighthouse", None, "d", [], None, [1], None, ""],
    "a page without an end": ["p", "Light", "lighthouse", None, "d", [], None, "", 1e308, ""],
    "a number for an anchor": ["p", "Light", "lighthouse", None, "d", [], None, "", 1, 5],
}


@pytest.mark.parametrize("odd", [*ODD_ROWS, "brackets in brackets"])
def test_passages_with_values_of_other_types_are_damage(tmp_path: Path, odd: str) -> None:
    line = json.dumps(ODD_ROWS[odd]).encode() if odd in ODD_ROWS else b"[" * 100_000
    (tmp_path / texts.TEXTS).write_bytes(line)
    (tmp_path / texts.OFFSETS).write_bytes(len(line).to_bytes(8, "little"))
    with pytest.raises(DamagedFile):
        texts.TextStore(tmp_path, 1).passage(0)


@pytest.mark.parametrize("row", ["[5]", '["a", "b"]', '["a", 1, 1, 5]', "[" * 100_000, '{"a": 1}'])
def test_a_list_of_inputs_with_values_of_other_types_is_damage(tmp_path: Path, row: str) -> None:
    path = tmp_path / "inputs-000001.jsonl"
    path.write_text(row + "\n")
    with pytest.raises(DamagedFile):
        ledger.load(tmp_path, Listed(path.name, 1, manifest.checksum(path)))


@pytest.mark.parametrize("said", ["[" * 100_000, "5", '{"inputs": [5], "splitting": {}, "columns": {}, "config": null}'])
def test_inputs_that_a_manifest_cannot_mean(said: str) -> None:
    assert following.recorded_paths({RECORD: said}) == []
    with pytest.raises(DamagedFile):
        recalled({RECORD: said}, InputOptions())


async def test_of_values_without_end_a_search_hands_on_what_can_be_looked_at(tmp_path: Path) -> None:
    long = "Titan is the largest moon of Saturn. " * 4_000
    endless = Passage("t#0", long, long, long, document="t", links=("Saturn",) * 5_000, heading=long, anchor=long, published=long)
    index = await make(tmp_path, [endless])
    found = (*await index.search("Which moon of Saturn is the largest?", WordEmbedder(), 1), *index.passages("t"))
    for hit in found:
        assert (len(hit.text), len(hit.title), len(hit.heading), len(hit.links)) == (100_000, 1_000, 1_000, 1_000)
        assert (hit.url, hit.published, hit.anchor, hit.document) == (None, None, "", "t")
    assert index.title(0) == long[:1_000]


async def test_a_line_without_end_is_damage_and_none_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(IndexFault, match="more than 1,000,000"):
        await make(tmp_path / "own", [Passage("t" * 2_000_000, "Titan.")])
    own = await make(tmp_path / "own", [Passage("t#0", "Titan.", links=("",) * 400_000)])
    assert len(own.passage(0).links) == 1_000
    monkeypatch.setattr(texts, "LONGEST_LINE", 10_000_000)
    index = await make(tmp_path / "others", [Passage("t#0", "Titan.", links=("",) * 400_000)])
    monkeypatch.undo()
    for look in (index.passage, index.title, index.line):
        with pytest.raises(DamagedFile, match="longer than any"):
            look(0)
    for row in ('["' + "x" * 200_000 + '", 1]\n', "[" + "[]," * 100_000 + "[]]\n"):
        (tmp_path / "inputs.jsonl").write_text(row)
        with pytest.raises(DamagedFile, match="is damaged"):
            ledger.load(tmp_path, Listed("inputs.jsonl", 1, manifest.checksum(tmp_path / "inputs.jsonl")))
