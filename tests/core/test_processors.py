"""Threads for long computations."""

from __future__ import annotations

import os
import sys

import pytest

from wellread.core.processors import available_processors, workers


def test_there_are_as_many_threads_as_processors_or_as_were_asked_for() -> None:
    assert workers("tests")._max_workers == available_processors()
    assert workers("tests", 3)._max_workers == 3


@pytest.mark.skipif(sys.platform != "linux", reason="a thread has no priority of its own")
def test_they_step_back_and_nobody_else_does() -> None:
    before = os.nice(0)
    with workers("tests") as pool:
        assert pool.submit(os.nice, 0).result() == min(19, before + 2)
    assert os.nice(0) == before
