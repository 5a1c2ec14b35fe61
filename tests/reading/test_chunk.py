"""Pieces of text: none too long, none torn within a sentence without need, nothing lost."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wellread.errors import UsageError
from wellread.reading.chunk import chunk, estimate
from wellread.text.sentences import sentences

SENTENCE = "The keeper wrote down the wind and the cloud each evening before he went to bed."
PARAGRAPH = " ".join([SENTENCE] * 6)
TEXT = "\n\n".join(f"## Part {n}\n\n{PARAGRAPH}" for n in range(8))


def words(text: str) -> int:
    return len(text.split())


def test_short_text_is_one_piece() -> None:
    (piece,) = chunk(SENTENCE)
    assert (piece.text, piece.start, piece.end) == (SENTENCE, 0, len(SENTENCE))


def test_nothing_is_no_piece() -> None:
    assert chunk("") == []
    assert chunk(" \n\n ") == []


def test_pieces_are_found_where_they_say_and_end_with_sentences() -> None:
    for piece in chunk(TEXT, 60, count=words):
        assert piece.text == TEXT[piece.start : piece.end]
        assert piece.tokens == words(piece.text.replace("#", "")) or piece.tokens == words(piece.text)
        assert piece.text.endswith(("bed.", *map(str, range(8))))


def test_a_heading_goes_with_what_follows() -> None:
    for piece in chunk(TEXT, 60, count=words):
        assert not piece.text.splitlines()[-1].startswith("#")


def test_a_paragraph_is_not_torn_when_the_piece_is_full_enough() -> None:
    pieces = chunk(f"{PARAGRAPH}\n\n{PARAGRAPH}", 120, count=words)
    assert [piece.text for piece in pieces] == [PARAGRAPH, PARAGRAPH]


def test_overlap_repeats_whole_sentences() -> None:
    text = " ".join(f"Sentence number {n} is about the weather on that day." for n in range(60))
    pieces = chunk(text, 60, overlap=25, count=words)
    for before, after in pairwise(pieces):
        shared = text[after.start : before.end]
        assert shared.startswith("Sentence number")
        assert 0 < words(shared) <= 25
        assert after.end > before.end


def test_long_sentences_break_between_words_and_long_words_anywhere() -> None:
    assert all(words(piece.text) <= 10 for piece in chunk("word " * 200, 10, count=words))
    pieces = chunk("x" * 1000, 10, count=len)
    assert "".join(piece.text for piece in pieces) == "x" * 1000
    assert max(len(piece.text) for piece in pieces) <= 10


@pytest.mark.parametrize(("size", "overlap"), [(0, 0), (10, 10), (10, -1)])
def test_sizes_that_make_no_sense(size: int, overlap: int) -> None:
    with pytest.raises(UsageError):
        chunk(TEXT, size, overlap)


SCRAPS = [SENTENCE, "Why?", "# Heading", "- an item", "\n\n", "\n", "天気。", "e.g. this", "x" * 40]


@given(st.lists(st.sampled_from(SCRAPS), max_size=60), st.integers(1, 60), st.integers(0, 20))
@settings(max_examples=200, deadline=None)
def test_whatever_the_text(parts: list[str], size: int, overlap: int) -> None:
    text = " ".join(parts)
    overlap = min(overlap, size - 1)
    pieces = chunk(text, size, overlap)
    covered = [False] * len(text)
    place = -1
    for piece in pieces:
        assert piece.text == text[piece.start : piece.end]
        assert piece.end > place
        assert piece.tokens <= size or len(piece.text) == 1
        place = piece.end
        covered[piece.start : piece.end] = [True] * (piece.end - piece.start)
    for start, end in sentences(text):
        assert all(covered[i] or text[i].isspace() for i in range(start, end))


def test_the_estimate_is_near_what_an_encoder_counts() -> None:
    """Counted once with the tokenizer of MiniLM: 19, 26 and 16."""
    assert 14 <= estimate(SENTENCE) <= 22
    assert 18 <= estimate("In 1969, Apollo 11 travelled 384,400 kilometres; Armstrong's words are known everywhere.") <= 30
    assert 10 <= estimate("灯台の番人は毎晩天気を書いた。") <= 22
