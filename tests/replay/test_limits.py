"""Time limits that strike where no call is under way: after an answer was written down and before it was used."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from wellread.replay.play import Player
from wellread.replay.record import Recorder
from wellread.replay.recording import load
from wellread.run import Outside

pytestmark = pytest.mark.anyio


async def test_a_limit_that_strikes_by_itself_strikes_again(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with Recorder(path, {"question": "?", "settings": {}}, Outside(), {}) as recorder:
        timeout = recorder.outside().timeout
        async with timeout(None, "seconds"):
            pass
        with pytest.raises(TimeoutError):
            async with timeout(0.01, "seconds") as limit:
                await asyncio.sleep(5)
        assert limit.expired()  # type: ignore[attr-defined]
    recording = load(path)
    assert list(recording.struck) == [2]
    timeout = Player(recording).outside().timeout
    async with timeout(None, "seconds") as first:
        pass
    assert not first.expired()  # type: ignore[attr-defined]
    with pytest.raises(TimeoutError):
        async with timeout(0.01, "seconds"):
            await asyncio.sleep(0)
    async with timeout(0.01, "seconds"):
        await asyncio.sleep(0.02)  # not measured again


async def test_a_limit_that_cuts_off_a_call_is_told_by_the_call(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with Recorder(path, {"question": "?", "settings": {}}, Outside(), {}) as recorder:
        from wellread.replay import codec

        with pytest.raises(TimeoutError):
            async with recorder.outside().timeout(0.01, "query"):
                await recorder.call("part", "search", {}, lambda: asyncio.sleep(5), codec.SCORES)
    recording = load(path)
    assert not recording.struck
    assert [reply["left"] for reply in recording.replies] == ["timeout"]


async def test_other_errors_pass_a_limit_that_struck(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with Recorder(path, {"question": "?", "settings": {}}, Outside(), {}) as recorder, pytest.raises(TimeoutError):
        async with recorder.outside().timeout(0.01, "seconds"):
            await asyncio.sleep(5)
    with pytest.raises(KeyError):
        async with Player(load(path)).outside().timeout(None, "seconds"):
            raise KeyError("x")
