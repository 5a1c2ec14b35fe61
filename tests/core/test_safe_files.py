"""What came from others and is no file is told at once: a pipe waits for ever, a device never ends."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from wellread.cluster import sharded
from wellread.core import safe_files
from wellread.errors import WellreadError
from wellread.index import ledger, manifest
from wellread.index.folder import writing
from wellread.index.manifest import FileSum, Listed
from wellread.replay import record
from wellread.trace import timeline


def pipe(path: Path) -> None:
    os.mkfifo(path)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def folder(path: Path) -> None:
    path.mkdir()


Reader = Callable[[Path], object]
READERS: dict[str, Reader] = {
    "manifest.json": lambda path: manifest.load(path.parent),
    "shards.json": lambda path: sharded.load(path.parent),
    "inputs-000001.jsonl": lambda path: ledger.load(path.parent, Listed(path.name, 1, FileSum(10, "0" * 64))),
    "a.jsonl": record.load,
    "b.jsonl.gz": record.load,
    "trace.jsonl": timeline.load,
}


@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", [pipe, device, folder])
@pytest.mark.parametrize("name", READERS)
def test_what_is_no_file_is_told(tmp_path: Path, name: str, kind: Callable[[Path], None]) -> None:
    kind(tmp_path / name)
    with pytest.raises(WellreadError):
        READERS[name](tmp_path / name)


@pytest.mark.parametrize("name", ["manifest.json", "shards.json"])
def test_a_manifest_has_an_end(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest, "LARGEST", 1 << 20)
    with (tmp_path / name).open("wb") as out:
        out.truncate(8 << 30)  # of nothing
    with pytest.raises(WellreadError, match="larger than 1 MB"):
        READERS[name](tmp_path / name)


@pytest.mark.parametrize("read", [record.load, timeline.load])
def test_so_has_a_line_of_a_recording(tmp_path: Path, read: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "_LONGEST_LINE", 1_000_000)
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b" " * 50_000_000))
    with pytest.raises(WellreadError, match="too long"):
        read(path)


def test_a_deep_trace_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("[" * 100_000)
    with pytest.raises(WellreadError):
        timeline.load(path)


def test_a_lock_that_leads_elsewhere_makes_no_file_there(tmp_path: Path) -> None:
    index = tmp_path / "index"
    index.mkdir()
    (index / ".writing.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(WellreadError, match="leads elsewhere"), writing(index):
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_a_link_to_a_file_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("words")
    (tmp_path / "b").symlink_to("a")
    assert safe_files.content(tmp_path / "b", 5) == b"words"
    with pytest.raises(OSError, match="larger"):
        safe_files.content(tmp_path / "b", 4)


def test_folders_in_folders_have_an_end(tmp_path: Path) -> None:
    """Each is opened from the top: a chain of thousands would take quadratic time."""
    deep = tmp_path.joinpath(*["d"] * 200)
    deep.mkdir(parents=True)
    for folder in (tmp_path / "d", deep):
        (folder / "a.txt").touch()
    assert list(safe_files.files_inside(tmp_path)) == [tmp_path / "d" / "a.txt"]
