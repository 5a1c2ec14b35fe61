"""Folders of the operator's own may hold what others put there."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.sources.kit import TestKit

from wellread.core.safe_files import files_inside
from wellread.index.following import passages
from wellread.index.inputs import InputOptions
from wellread.plugins import parse_spec
from wellread.sources.files import from_spec
from wellread.types import Query

pytestmark = pytest.mark.anyio


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    (inside / "sub").mkdir(parents=True)
    outside.mkdir()
    (inside / "lighthouse.txt").write_text("The lighthouse of the north was built in 1874.")
    (inside / "sub" / "more.txt").write_text("A lighthouse keeper lived there.")
    (outside / "secret.txt").write_text("The lighthouse password is swordfish.")
    (inside / "leads-out.txt").symlink_to(outside / "secret.txt")
    (inside / "folder-out").symlink_to(outside)
    (inside / "leads-in.txt").symlink_to(inside / "lighthouse.txt")
    (inside / "loop.txt").symlink_to(inside / "loop.txt")
    os.mkfifo(inside / "pipe.txt")
    (tmp_path / "inside-too").mkdir()
    (tmp_path / "inside-too" / "neighbour.txt").write_text("swordfish")
    (inside / "neighbour.txt").symlink_to(tmp_path / "inside-too" / "neighbour.txt")
    yield inside
    # Deeper than Python's own ways of removing a folder can go: pytest would stumble over it in a later run.
    subprocess.run(["rm", "-rf", str(inside)], check=True)


def deep(folder: Path, levels: int) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d", dir_fd=descriptor)
        below = os.open("d", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = below
    os.close(descriptor)


def test_only_regular_files_inside(folder: Path) -> None:
    deep(folder, 1500)
    found = [path.relative_to(folder).as_posix() for path in files_inside(folder)]
    assert found == ["lighthouse.txt", "sub/more.txt"]


async def test_files_do_not_lead_out(folder: Path) -> None:
    deep(folder, 1200)
    source = from_spec(parse_spec(f"files:{folder}?meaning=false"), TestKit())
    found = await source.search(Query("lighthouse password swordfish", 20))
    assert found
    assert "swordfish" not in str(found)


async def test_an_index_is_not_built_from_elsewhere(folder: Path) -> None:
    texts = [passage.text async for passage in passages([str(folder)], InputOptions())]
    assert any("1874" in text for text in texts)
    assert not any("swordfish" in text for text in texts)
