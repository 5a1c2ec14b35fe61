"""Looks for garbage stay short: what a long one has found alive is not looked through again."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from wellread.server.serving import ShortLooks


class Round:
    """Refers to itself: only a look frees it."""

    alive = 0

    def __init__(self) -> None:
        self.self = self
        Round.alive += 1

    def __del__(self) -> None:
        Round.alive -= 1


@pytest.fixture
def looks() -> Iterator[ShortLooks]:
    one = ShortLooks(long=0.0, times=2)
    yield one
    one.end()


def test_what_a_long_look_has_found_alive_is_set_apart(looks: ShortLooks) -> None:
    looks.begin()
    before = gc.get_freeze_count()
    kept = [[number] for number in range(10_000)]
    gc.collect()
    assert gc.get_freeze_count() > before + 0.99 * len(kept)  # some of what was set apart before has died


def test_garbage_is_still_found(looks: ShortLooks) -> None:
    looks.begin()
    Round()
    assert Round.alive == 1
    gc.collect()
    assert Round.alive == 0


def test_there_is_an_end_to_it(looks: ShortLooks) -> None:
    looks.begin()
    for _ in range(2):
        gc.collect()
    before = gc.get_freeze_count()
    kept = [[number] for number in range(10_000)]
    gc.collect()
    assert gc.get_freeze_count() < before + len(kept)


def test_short_looks_change_nothing() -> None:
    patient = ShortLooks(long=60.0)
    patient.begin()
    before = gc.get_freeze_count()
    kept = [[number] for number in range(10_000)]
    gc.collect()
    assert gc.get_freeze_count() < before + len(kept)
    patient.end()
    assert patient not in gc.callbacks
    assert gc.get_freeze_count() == 0
