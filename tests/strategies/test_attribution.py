"""Numbers added to sentences that a passage carries, however the text arrives."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellread.strategies.attribution import Attribution, attributed
from wellread.text.markers import strip_markers
from wellread.types import Passage

PASSAGES = {
    1: Passage(
        "a",
        "England is a country that is part of the United Kingdom. It shares land borders with Wales to its west and "
        "Scotland to its north. The Irish Sea lies northwest.",
        "England",
    ),
    2: Passage(
        "b",
        "I've been keeping up my streak of adding at least one new museum to a list every day. This week I added the "
        "Pirates Museum in Antananarivo, Madagascar, and the David Rumsey Map Center at Stanford.",
        "Weeknotes",
    ),
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("England shares borders with Wales and Scotland.", "England shares borders with Wales and Scotland. [1]"),
        ("England shares borders with Wales and Scotland. [1]", "England shares borders with Wales and Scotland. [1]"),
        (
            "The U.S. is far away. England is part of the United Kingdom, e.g. on maps. Dr. Who says so.",
            "The U.S. is far away. England is part of the United Kingdom, e.g. on maps. [1] Dr. Who says so.",
        ),
        ("- England borders Wales\n- It is big\n", "- England borders Wales\n- It is big\n"),
        ("England borders Spain.", "England borders Spain."),
        (
            "England is part of the United Kingdom. [England](https://x) England shares borders with Wales.",
            "England is part of the United Kingdom. [England](https://x) England shares borders with Wales.",
        ),
        (
            "“England is part of the United Kingdom.” (So it is.) It borders Wales. [2] It's part of the United Kingdom.",
            "“England is part of the United Kingdom.” [1] (So it is.) It borders Wales. [2] It's part of the United Kingdom. [1]",
        ),
        ("Yes.", "Yes."),
        ("", ""),
    ],
)
@pytest.mark.parametrize("size", [1, 3, 8, 1000])
def test_numbers_are_added_where_the_checker_agrees(text: str, expected: str, size: int) -> None:
    attribution = Attribution(PASSAGES)
    pieces = [attribution.feed(text[i : i + size]) for i in range(0, len(text), size)]
    assert "".join(pieces) + attribution.close() == expected


def test_a_conclusion_that_the_passage_does_not_draw_gets_no_number() -> None:
    text = "Yes, Simon has been to Madagascar and visited the Pirates Museum located in Antananarivo."
    assert attributed(text, PASSAGES) == text


def test_words_are_not_held_back_within_a_sentence() -> None:
    attribution = Attribution(PASSAGES)
    assert attribution.feed("England shares borders with") == "England shares borders with"


@given(st.text(alphabet="Ab .!?\n[1](…", max_size=80), st.integers(1, 9))
def test_nothing_is_lost_or_reordered(text: str, size: int) -> None:
    attribution = Attribution({1: Passage("a", "Ab Ab b.")})
    shown = "".join(attribution.feed(text[i : i + size]) for i in range(0, len(text), size)) + attribution.close()
    assert strip_markers(shown).split() == strip_markers(text).split() or shown == text
