"""Time limits that strike: within a call, between two, and several at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from wellread.core.timeouts import Limiter
from wellread.replay.record import Recorder, load
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
    assert player.outside().clock() == recording.struck[2][0] > 0
    async with timeout(0.01, "seconds"):
        await asyncio.sleep(0.02)  # not measured again


async def nested(tape: Recorder | Player) -> str:
    """Two calls side by side within limits of their own, and one around them: whoever is cut off goes on with another call."""
    timeout = limiter(tape)

    async def call(name: str) -> None:
        try:
            async with timeout(0.01, "seconds"):
                await tape.call("part", name, {}, lambda: asyncio.sleep(5), type(None))
        except TimeoutError:
            await tape.call("part", "instead", {}, lambda: asyncio.sleep(0), type(None))

    try:
        async with timeout(0.01, "seconds"), asyncio.TaskGroup() as group:
            for name in ("one", "other"):
                group.create_task(call(name))
    except TimeoutError:
        return "all cut off"
    return "each cut off"


async def test_limits_that_strike_at_once_do_so_again_as_they_did(tmp_path: Path) -> None:
    for number in range(30):
        path = tmp_path / f"{number}.jsonl"
        with Recorder(path, {"question": "?", "settings": {}}, Environment(), {}) as recorder:
            then = await nested(recorder)
        recording = load(path)
        player = Player(recording, patience=1.0)
        assert await nested(player) == then
        assert recording.struck
        player.finish()


async def test_an_event_between_two_limits_stays_between_them(tmp_path: Path) -> None:
    """Both are due, as nothing was answered between them; what is told of the first has the time that it had."""

    async def told(tape: Recorder | Player, limiting: Limiter, seconds: float) -> tuple[float, float]:
        with pytest.raises(TimeoutError):
            async with limiting(seconds, "sources"):
                await tape.call("part", f"{seconds}", {}, lambda: asyncio.sleep(5), type(None))
        await asyncio.sleep(0)
        outside = tape.outside()
        assert outside.stamp is not None
        return outside.stamp(), outside.clock()

    async def both(tape: Recorder | Player) -> list[tuple[float, float]]:
        timeout = limiter(tape)
        return list(await asyncio.gather(*(told(tape, timeout, seconds) for seconds in (0.01, 0.05))))

    path = tmp_path / "run.jsonl"
    with Recorder(path, {"question": "?", "settings": {}}, Environment(), {}) as recorder:
        first, second = await both(recorder)
    assert second[0] - first[1] > 0.02
    recording = replace(load(path), events=[{"at": first[0]}, {"at": second[0]}])
    assert await both(Player(recording)) == [first, second]


async def test_other_errors_pass_a_limit_that_struck(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with Recorder(path, {"question": "?", "settings": {}}, Environment(), {}) as recorder, pytest.raises(TimeoutError):
        async with limiter(recorder)(0.01, "seconds"):
            await asyncio.sleep(5)
    with pytest.raises(KeyError):
        async with limiter(Player(load(path)))(None, "seconds"):
            raise KeyError("x")


async def test_a_limit_has_struck_when_the_model_has_let_go(tmp_path: Path) -> None:
    """A replay strikes at once: what others were told while the model closed must stand before it."""
    held = asyncio.Event()

    async def slow() -> AsyncIterator[str | Completion]:
        try:
            yield "one"
            await asyncio.sleep(5)
        finally:
            await held.wait()

    async def quick() -> AsyncIterator[str | Completion]:
        yield "two"

    async def cut_off(recorder: Recorder) -> None:
        async with limiter(recorder)(0.01, "seconds"):
            async for _ in recorder.stream("slow", {}, slow):
                pass

    path = tmp_path / "run.jsonl"
    with Recorder(path, {"question": "?", "settings": {}}, Environment(), {}) as recorder:
        waiting = asyncio.create_task(cut_off(recorder))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        other = recorder.stream("quick", {}, quick)
        assert await anext(other) == "two"
        held.set()
        with pytest.raises(TimeoutError):
            await waiting
        await other.aclose()
    recording = load(path)
    assert [reply["piece"] for reply in recording.replies] == ["one", "two"]
    assert recording.struck[1][1] == 2
