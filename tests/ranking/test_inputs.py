"""Rows of tokens: what stands where, which part of a long passage is read, and what never grows too long."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellread.core.effort import Windows
from wellread.ranking.inputs import (
    CLS,
    DOT,
    PAD,
    SEP,
    STRIDE,
    Ids,
    Tokens,
    best_window,
    build_row,
    pad_rows,
)

QUESTION = np.array([11, 12, 13], np.int32)
FILLER = 900


def ids(*numbers: int) -> Ids:
    return np.array(numbers, np.int32)


def passage(title: int, text: int, length: int = 4, words: int = 2) -> Tokens:
    """Tokens that can be told apart: the title counts up from one number, the text from another."""
    return Tokens(np.arange(title, title + words, dtype=np.int32), np.arange(text, text + length, dtype=np.int32))


CHAIN = [passage(1000 * n, 1000 * n + 500) for n in (2, 3, 4, 5)]
lengths = st.integers(0, 700)
tokens = st.builds(lambda title, text: passage(2000, 5000, text, title), st.integers(0, 60), lengths)


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_a_chain_of_up_to_four_passages_stands_as_it_was_trained(count: int) -> None:
    row = build_row(QUESTION, CHAIN[:count], Windows())
    expected = [CLS, 11, 12, 13, SEP]
    for n in (2, 3, 4, 5)[:count]:
        expected += [1000 * n, 1000 * n + 1, DOT, *range(1000 * n + 500, 1000 * n + 504), SEP]
    assert row.ids.tolist() == expected
    assert row.question_length == 5
    for placed, told in zip(row.passages, CHAIN, strict=False):
        assert row.ids[placed.title_at : placed.title_at + placed.title_length].tolist() == told.title.tolist()
        assert row.ids[placed.text_at : placed.text_at + placed.length].tolist() == told.text.tolist()
        assert placed.window == 0


def test_types_part_the_question_from_all_the_passages_and_padding_is_masked() -> None:
    short, long = build_row(QUESTION, CHAIN[:1], Windows()), build_row(QUESTION, CHAIN[:2], Windows())
    numbers, types, mask = pad_rows([short, long])
    assert numbers.shape == types.shape == mask.shape == (2, len(long.ids))
    rest = len(long.ids) - len(short.ids)
    assert types[0].tolist() == [0] * 5 + [1] * (len(short.ids) - 5) + [0] * rest
    assert types[1].tolist() == [0] * 5 + [1] * (len(long.ids) - 5), "the second passage has the type of the first"
    assert mask[0].tolist() == [1] * len(short.ids) + [0] * rest
    assert numbers[0, len(short.ids) :].tolist() == [PAD] * rest
    assert pad_rows([short], 64)[0].shape == (1, 64)


def test_a_passage_without_a_title_or_a_text_has_its_place_all_the_same() -> None:
    row = build_row(QUESTION, [Tokens(ids(), ids())], Windows())
    assert row.ids.tolist() == [CLS, 11, 12, 13, SEP, DOT, SEP]
    (placed,) = row.passages
    assert (placed.title_length, placed.length) == (0, 0)
    assert placed.position(0) is None


def test_long_parts_are_cut_each_to_its_own_length() -> None:
    limits = Windows(question=2, title=3, alone=20, known=10, judged=15)
    long = passage(2000, 5000, 300, 40)
    alone = build_row(QUESTION, [long], limits)
    assert alone.question_length == 4
    assert len(alone.ids) == 4 + 20
    assert alone.passages[0].title_length == 3
    pair = build_row(QUESTION, [long, long], limits)
    assert len(pair.ids) == 4 + 10 + 15
    assert [placed.length for placed in pair.passages] == [10 - 3 - 2, 15 - 3 - 2]


@given(st.integers(0, 100), st.lists(tokens, min_size=1, max_size=4), st.booleans())
def test_no_limit_is_ever_exceeded(asked: int, chain: list[Tokens], small: bool) -> None:
    limits = Windows(alone=160, known=112, judged=160, total=256) if small else Windows()
    question = np.arange(5000, 5000 + asked, dtype=np.int32)
    row = build_row(question, chain, limits)
    assert len(row.ids) <= limits.total
    assert row.question_length <= limits.question + 2
    assert row.ids[-1] == SEP
    assert len(row.passages) == len(chain)
    for rank, (placed, told) in enumerate(zip(row.passages, chain, strict=True)):
        most = limits.alone if len(chain) == 1 else limits.judged if rank == len(chain) - 1 else limits.known
        assert placed.title_length <= limits.title
        assert placed.title_length + placed.length + 2 <= most
        window = told.text[placed.window : placed.window + placed.length]
        assert row.ids[placed.text_at : placed.text_at + placed.length].tolist() == window.tolist()
        if len(told.text) + min(len(told.title), limits.title) + 2 <= min(most, (limits.total - 66) // len(chain)):
            assert placed.length == len(told.text), "what fits is not cut"


def test_a_token_of_the_text_is_found_again_unless_the_window_leaves_it_out() -> None:
    text = np.full(400, FILLER, np.int32)
    text[320:323] = QUESTION
    row = build_row(QUESTION, [Tokens(ids(), text)], Windows(alone=208))
    (placed,) = row.passages
    assert placed.window > 0
    for offset, token in enumerate(QUESTION):
        at = placed.position(320 + offset)
        assert at is not None
        assert row.ids[at] == token
    assert placed.position(placed.window - 1) is None
    assert placed.position(placed.window + placed.length) is None


def test_the_window_is_where_the_questions_words_are() -> None:
    text = np.full(400, FILLER, np.int32)
    assert best_window(QUESTION, text, 100) == 0, "with nothing to choose by, the beginning"
    text[250:253] = QUESTION
    start = best_window(QUESTION, text, 100)
    assert start <= 250
    assert start + 100 >= 253
    assert start % STRIDE == 0 or start == 300


def test_the_beginning_is_worth_a_word_and_common_words_are_worth_little() -> None:
    text = np.full(400, FILLER, np.int32)
    text[250] = 11
    assert best_window(QUESTION, text, 100) == 0, "one word is no reason to leave the beginning"
    text[255] = 12
    assert best_window(QUESTION, text, 100) > 0
    common = np.full(400, FILLER, np.int32)
    common[150:350:2] = 11
    common[360] = 12
    common[10] = 13
    assert best_window(QUESTION, common, 100) == 0, "a hundred times the same word count as one"


@given(st.lists(st.integers(0, 50), max_size=40), st.lists(st.integers(0, 60), max_size=300), st.integers(0, 120))
def test_a_window_always_lies_in_the_text(question: list[int], text: list[int], room: int) -> None:
    start = best_window(ids(*question), ids(*text), room)
    assert 0 <= start <= max(0, len(text) - room)
    if len(text) <= room:
        assert start == 0
