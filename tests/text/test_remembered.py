"""What is remembered of foreign texts is measured in characters: a few long ones must not fill the memory."""

from __future__ import annotations

import pytest

from wellread.citations import arrangement, evidence
from wellread.questions import languages
from wellread.strategies import likely_sentences
from wellread.text import words
from wellread.text.weighted_cache import Remembered, remembered
from wellread.types import Passage

asked: list[str] = []


@remembered(100)
def shout(text: str, mark: str = "!") -> str:
    asked.append(text)
    return text.upper() + mark


def test_it_remembers_until_there_is_too_much_text() -> None:
    asked.clear()
    for text in ("a" * 40, "b" * 40, "a" * 40, "c" * 40, "a" * 40, "b" * 40):
        assert shout(text) == text.upper() + "!"
    assert [text[0] for text in asked] == ["a", "b", "c", "b"]  # a was asked for later than b, which went
    assert shout("a" * 40, mark="?").endswith("?")
    asked.clear()
    assert shout("d" * 1_000) == shout("d" * 1_000)  # longer than everything may be, and asked for again at once
    assert len(asked) == 1
    shout.clear()
    shout("d" * 1_000)
    assert len(asked) == 2


@pytest.mark.parametrize(
    ("function", "make"),
    [
        (evidence.source, lambda text: Passage("1", text, "Title", "")),
        (likely_sentences.read, str),
        (likely_sentences._taken_apart, str),  # pyright: ignore[reportPrivateUsage]
        (arrangement.arranged, str),
    ],
)
def test_long_passages_do_not_stay(monkeypatch: pytest.MonkeyPatch, function: object, make: type[str]) -> None:
    assert isinstance(function, Remembered)
    function.clear()
    monkeypatch.setattr(function, "_characters", 20_000)
    for number in range(10):
        function(make(f"{number} words of a passage. " * 500))
    assert len(function._kept) <= 2  # pyright: ignore[reportPrivateUsage]
    function.clear()


def test_of_a_word_that_is_none_little_is_kept() -> None:
    assert words.fold("É" * 100_000) == "e" * 100
    assert words.fold("Élan’s") == "elan"
    assert languages.language_of("The harbour office keeps the books of the lighthouse. " * 10_000) == "en"
