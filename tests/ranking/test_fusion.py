from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellread.ranking.fusion import reciprocal_ranks


def test_first_everywhere_scores_one() -> None:
    fused = reciprocal_ranks([["a", "b"], ["a", "c"]])
    assert fused[0] == ("a", pytest.approx(1.0))
    assert {key for key, _ in fused[1:]} == {"b", "c"}


def test_twice_middling_beats_once_good() -> None:
    fused = reciprocal_ranks([["x", "m", "b"], ["y", "m", "c"]])
    assert fused[0][0] == "m"


def test_weights_decide_between_equal_places() -> None:
    assert [key for key, _ in reciprocal_ranks([["a"], ["b"]], [1.0, 2.0])] == ["b", "a"]


def test_nothing_to_fuse() -> None:
    assert reciprocal_ranks([]) == []
    assert reciprocal_ranks([[], []]) == []


@given(st.lists(st.lists(st.integers(0, 30), unique=True), max_size=4))
def test_every_thing_once_and_in_order(rankings: list[list[int]]) -> None:
    fused = reciprocal_ranks(rankings)
    keys = [key for key, _ in fused]
    assert sorted(keys) == sorted({key for ranking in rankings for key in ranking})
    scores = [score for _, score in fused]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1.0000001 for score in scores)
