"""Questions and answers are nobody else's business."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from wellread.server.history import History, Record

pytestmark = pytest.mark.anyio


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("before", [None, 0o644, 0o666])
async def test_only_the_owner_reads_the_history(before: int | None, tmp_path: Path) -> None:
    path = tmp_path / "data" / "history.sqlite"
    if before is not None:
        path.parent.mkdir()
        path.touch()
        path.chmod(before)
    old = os.umask(0)
    try:
        history = await History.open(path)
        await history.add(Record("a" * 12, "t", None, "q", "quote", None, (), "running", 1.0))
        found = {file.name: mode(file) for file in path.parent.iterdir()}
        await history.aclose()
    finally:
        os.umask(old)
    assert set(found.values()) == {0o600}
    if before is None:
        assert mode(path.parent) == 0o700
