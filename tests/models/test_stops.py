from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellread.models.reply import Stops, unclosed


def cut(pieces: list[str], sequences: list[str]) -> tuple[str, str | None]:
    stops = Stops(sequences)
    out = "".join(stops.feed(piece) for piece in pieces)
    return out + ("" if stops.found else stops.finish()), stops.found


@given(st.lists(st.text("ab<", max_size=4), max_size=12), st.lists(st.text("ab<", min_size=1, max_size=4), max_size=3))
def test_pieces_are_cut_where_the_whole_would_be(pieces: list[str], sequences: list[str]) -> None:
    whole = "".join(pieces)
    assert cut(pieces, sequences) == cut(list(whole), sequences)
    ends = [(whole.find(s) + len(s), whole.find(s), s) for s in sequences if s in whole]
    expected = whole[: min(ends)[1]] if ends else whole
    assert cut(pieces, sequences)[0] == expected


@given(st.lists(st.text("abSTOP ", max_size=5), max_size=10))
def test_nothing_of_a_stop_sequence_ever_comes_out(pieces: list[str]) -> None:
    stops = Stops(["STOP"])
    shown = ""
    for number, piece in enumerate(pieces):
        shown += stops.feed(piece)
        if "STOP" in "".join(pieces[: number + 1]):
            assert shown == "".join(pieces).split("STOP")[0]
            assert stops.found == "STOP"


def test_text_that_cannot_begin_a_stop_sequence_is_not_held_back() -> None:
    stops = Stops(["</search_query>"])
    assert stops.feed("plain words ") == "plain words "
    assert stops.feed("a < b") == "a < b"
    assert stops.feed(" </sea") == " "
    assert stops.feed("l>") == "</seal>"
    assert stops.finish() == ""


def test_held_text_comes_out_at_the_end() -> None:
    stops = Stops(["PAUSE"])
    assert stops.feed("wait PAU") == "wait "
    assert stops.finish() == "PAU"


@pytest.mark.parametrize(
    ("text", "expected"),
    [("<q>a", "</q>"), ("<q>a</q>", None), ("<q>a</q> <q>b", "</q>"), ("nothing", None)],
)
def test_an_open_tag_shows_which_stop_sequence_ended_a_text(text: str, expected: str | None) -> None:
    assert unclosed(text, ("PAUSE", "</q>")) == expected
