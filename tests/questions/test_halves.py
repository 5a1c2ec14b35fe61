"""Questions of two halves are taken apart where each half can be asked."""

from __future__ import annotations

import pytest

from wellread.questions.halves import halves, stand_alone


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("Which planet has the most moons, and who found them?", ["Which planet has the most moons", "who found them?"]),
        ("Which key opens it and which one closes it?", ["Which key opens it", "which key closes it?"]),
        ("Which is the shared file and which one is mine?", ["Which is the shared file and which one is mine?"]),
        ("Which bread and butter is best?", ["Which bread and butter is best?"]),
    ],
)
def test_a_half_says_what_it_asks_for(question: str, parts: list[str]) -> None:
    assert halves(question) == parts


@pytest.mark.parametrize(
    ("question", "apart"),
    [
        ("Which key opens it and which key closes the lid?", True),
        ("Who wrote Hamlet, and when did he die?", False),
        ("Which country won, and which city is its capital?", False),
    ],
)
def test_a_half_that_asks_alike_and_does_not_refer_back_stands_alone(question: str, apart: bool) -> None:
    assert stand_alone(halves(question)) is apart
