"""Time limits that strike where no call is under way: after an answer was written down and before it was used."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from wellread.core.timeouts import Limiter
from wellread.replay.one_at_a_time import settle
from wellread.replay.record import Recorder
from wellread.replay.recording import load
from wellread.replay.runs import Player
from wellread.run import Environment
from wellread.types import Completion

pytestmark = pytest.mark.anyio


def limiter(tape: Recorder | Player) -> Limiter:
    with tape.outside().patience() as timeout:
        return timeout


async def test_a_limit_that_strikes_by_itself_strikes_again(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with Recorder(path, {"question": "?", "settings": {}}, Environment(), {}) as recorder:
        timeout = limiter(recorder)
        async with timeout(None, "seconds"):
            pass
        with pytest.raises(TimeoutError):
            async with timeout(0.01, "seconds") as limit:
                await asyncio.sleep(5)
        assert limit.expired()  # type: ignore[attr-defined]
    recording = load(path)
    assert list(recording.struck) == [2]
    player = Player(recording)
    timeout = limiter(player)
    async with timeout(None, "seconds") as first:
        pass
    assert not first.expired()  # type: ignore[attr-defined]
    with pytest.raises(TimeoutError):
        async with timeout(0.01, "seconds"):
            await asyncio.sleep(0)
    assert player.outside().clock() == recording.struck[2] > 0
    async with timeout(0.01, "seconds"):
        await asyncio.sleep(0.02)  # not measured again


async def test_a_limit_that_cuts_off_a_call_is_told_by_the_call(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with Recorder(path, {"question": "?", "settings": {}}, Environment(), {}) as recorder, pytest.raises(TimeoutError):
        async with limiter(recorder)(0.01, "query"):
            await recorder.call("part", "search", {}, lambda: asyncio.sleep(5), type(None))
    recording = load(path)
    assert not recording.struck
    assert [reply["left"] for reply in recording.replies] == ["timeout"]


async def test_other_errors_pass_a_limit_that_struck(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with Recorder(path, {"question": "?", "settings": {}}, Environment(), {}) as recorder, pytest.raises(TimeoutError):
        async with limiter(recorder)(0.01, "seconds"):
            await asyncio.sleep(5)
    with pytest.raises(KeyError):
        async with limiter(Player(load(path)))(None, "seconds"):
            raise KeyError("x")


async def test_a_call_is_left_when_its_model_has_let_go(tmp_path: Path) -> None:
    """A replay leaves it at once: what others were told while the model closed must stand before it."""
    held = asyncio.Event()

    async def slow() -> AsyncIterator[str | Completion]:
        try:
            yield "one"
        finally:
            await held.wait()

    async def quick() -> AsyncIterator[str | Completion]:
        yield "two"

    path = tmp_path / "run.jsonl"
    with Recorder(path, {"question": "?", "settings": {}}, Environment(), {}) as recorder:
        async with recorder._turn:  # pyright: ignore[reportPrivateUsage]  its piece has come and waits
            waiting = asyncio.create_task(anext(recorder.stream("slow", {}, slow)))
            await settle()
            waiting.cancel()
            await settle()
        other = recorder.stream("quick", {}, quick)
        assert await anext(other) == "two"
        held.set()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await other.aclose()
    assert [(reply["reply"], reply.get("piece")) for reply in load(path).replies][:2] == [(2, "two"), (1, None)]
