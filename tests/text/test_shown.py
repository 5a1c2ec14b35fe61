"""Passages taken apart for showing: what was put together comes apart again, at its place."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from wellread.text.blocks import in_pieces

TEXT = (
    "# Lamps\n\nOil burns.\nIt smokes.\n\n- one\n- two\n  goes on\n  - deep\n\n"
    "| a | b |\nc | d\n\n> said\n\n```\ncode\n\n  x\n```\nafter"
)


def test_each_piece_has_its_kind_and_its_text() -> None:
    pieces, in_code = in_pieces(TEXT)
    assert not in_code
    assert [(piece.kind, piece.level, TEXT[piece.start : piece.end]) for piece in pieces] == [
        ("heading", 1, "Lamps"),
        ("paragraph", 0, "Oil burns.\nIt smokes."),
        ("item", 0, "one"),
        ("item", 0, "two\n  goes on"),
        ("item", 1, "deep"),
        ("row", 0, "| a | b |"),
        ("row", 0, "c | d"),
        ("quote", 0, "said"),
        ("code", 0, "code\n\n  x"),
        ("paragraph", 0, "after"),
    ]
    rows = [piece for piece in pieces if piece.kind == "row"]
    assert [[TEXT[start:end] for start, end in row.cells(TEXT)] for row in rows] == [["a", "b"], ["c", "d"]]


def test_code_goes_on_in_the_next_passage() -> None:
    _, in_code = in_pieces("before\n```\nfirst")
    assert in_code
    pieces, in_code = in_pieces("second\n```\nafter", in_code)
    assert [piece.kind for piece in pieces] == ["code", "paragraph"]
    assert not in_code


@given(st.text(alphabet="ab #->|`\n ", max_size=60))
def test_no_word_is_lost_and_none_said_twice(text: str) -> None:
    pieces, _ = in_pieces(text)
    assert all(first.end <= second.start for first, second in itertools.pairwise(pieces))
    kept = "".join(text[piece.start : piece.end] for piece in pieces)
    assert [letter for letter in kept if letter in "ab"] == [letter for letter in text if letter in "ab"]
