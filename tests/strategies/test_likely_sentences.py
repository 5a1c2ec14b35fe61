"""Which sentences may carry an answer."""

from __future__ import annotations

import pytest

from wellread.strategies.likely_sentences import candidates
from wellread.types import Passage


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What did we decide about caching? We keep pages for a day.", ["We keep pages for a day."]),
        ("Why? Because.", ["Because."]),
        ("Is it so?", ["Is it so?"]),  # nothing else is there
        ("One. Two.", ["One.", "Two."]),
        ("", []),
    ],
)
def test_a_question_in_a_text_answers_nothing(text: str, expected: list[str]) -> None:
    assert [one.text for one in candidates([Passage("a", text)])] == expected
