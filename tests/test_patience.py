"""One timer for all that a run waits for, with the manners of `asyncio.timeout`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from wellread.core.timeouts import Limiter, OneTimer

pytestmark = pytest.mark.anyio


@pytest.fixture
def limit() -> Iterator[Limiter]:
    with OneTimer() as limit:
        yield limit


async def cut_off(limit: Limiter, seconds: float = 0.02) -> None:
    patience = limit(seconds, "seconds")
    with pytest.raises(TimeoutError):
        async with patience:
            await asyncio.sleep(5)
    assert patience.expired()


async def test_all_waits_end_together_and_later_ones_at_once(limit: Limiter) -> None:
    async with limit(0.02, "seconds"):
        await asyncio.sleep(0)  # done in time: its task goes on unharmed
    async with asyncio.timeout(1):
        await asyncio.gather(cut_off(limit), cut_off(limit, 60))  # what the later ones say does not move the run's end
        await cut_off(limit, 0)


async def test_no_limit_and_other_limits_have_their_own_time(limit: Limiter) -> None:
    async with limit(60, "seconds"), asyncio.timeout(1):
        with pytest.raises(TimeoutError):
            async with limit(0.01, "query"):
                await asyncio.sleep(5)
    async with limit(None, "seconds"):
        await asyncio.sleep(0)


async def test_a_wait_within_a_wait_ends_both(limit: Limiter) -> None:
    outer, inner = limit(0.02, "seconds"), limit(0.02, "seconds")
    with pytest.raises(TimeoutError):
        async with outer, inner:
            await asyncio.sleep(5)
    current = asyncio.current_task()
    assert current is not None
    assert not current.cancelling(), "nothing of the two cancellations is left over"


async def test_who_cancels_from_outside_is_not_told_of_a_timeout(limit: Limiter) -> None:
    async def wait() -> None:
        async with limit(60, "seconds"):
            await asyncio.sleep(5)

    task = asyncio.create_task(wait())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_the_timer_goes_with_the_run() -> None:
    loop = asyncio.get_running_loop()
    with OneTimer() as limit:
        async with limit(60, "seconds"), limit(60, "seconds"):
            mine = [timer for timer in loop._scheduled if not timer.cancelled() and "OneTimer" in repr(timer)]  # type: ignore[attr-defined]
            assert len(mine) == 1
    assert mine[0].cancelled()
