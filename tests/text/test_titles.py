"""Titles as names in running text, and where passages lead."""

from __future__ import annotations

import pytest

from wellread.text.places import bare_title, leads_to
from wellread.types import Passage


@pytest.mark.parametrize(
    ("title", "bare"),
    [
        ("Titan (moon)", "Titan"),
        ("Titan", "Titan"),
        ("(What's the Story) Morning Glory?", "(What's the Story) Morning Glory?"),
        ("(aside)", ""),
    ],
)
def test_a_title_without_its_aside(title: str, bare: str) -> None:
    assert bare_title(title) == bare


@pytest.mark.parametrize(
    ("text", "title", "links", "expected"),
    [
        ("Founded by Steve Jobs.", "Steve Jobs", (), True),
        ("Founded by Steve Jobs.", "Steve Jobs (businessman)", (), True),
        ("Steve Jobsworth was here.", "Steve Jobs", (), False),
        ("The Old-Steve Jobsworth and then Steve Jobs", "Steve Jobs", (), True),
        ("It is made of gold.", "Gold", (), False),  # the word, not the name
        ("It is made of gold.", "Gold", ("Gold",), True),  # but a link is a link
        ("A moon of Jupiter is Io.", "Io (moon)", (), False),  # too short to be sure
        ("A moon of Jupiter is Io.", "Io (moon)", ("Io (moon)",), True),
        ("Пётр жил в Санкт-Петербурге; Москва далеко.", "Москва", (), True),
        ("", "Title", (), False),
        ("Text", "", (), False),
        ("(Text)", "(aside)", (), False),
    ],
)
def test_what_counts_as_a_name(text: str, title: str, links: tuple[str, ...], expected: bool) -> None:
    assert leads_to(Passage("a", text, "A", links=links), title) is expected


def test_a_passage_does_not_name_its_own_document() -> None:
    assert not leads_to(Passage("a1", "Steve Jobs was born.", "Steve Jobs"), "Steve Jobs")
