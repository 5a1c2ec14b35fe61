"""Titles that the question or the best passages name: who moves up, how far, and who does not."""

from __future__ import annotations

import re
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from wellread.index import keys, texts
from wellread.index.titles import ASKED_BONUS, LOOKED_AT, NAMED_BONUS, weigh_titles
from wellread.text.places import bare_title
from wellread.types import Passage

APPLE = Passage("apple", "Apple was founded by Steve Jobs and Steve Wozniak in 1976.", "Apple Inc.")
JOBS = Passage("jobs", "He was born in San Francisco in 1955.", "Steve Jobs (businessman)")
PEAR = Passage("pear", "A pear is a fruit.", "Pear")
ORCHARD = Passage("orchard", "Fruit grows there.", "Orchard")


def weighed(question: str, passages: list[Passage], scores: list[float]) -> list[tuple[str, float]]:
    found = weigh_titles(question, list(enumerate(scores)), lambda row: passages[row].title, passages.__getitem__)
    return [(passages[row].id, round(score, 6)) for row, score in found]


def test_what_the_best_passage_names_comes_behind_it_and_no_further() -> None:
    assert weighed("When was the founder born?", [APPLE, PEAR, ORCHARD, JOBS], [0.9, 0.8, 0.7, 0.6]) == [
        ("apple", 0.9),
        ("jobs", 0.9),
        ("pear", 0.8),
        ("orchard", 0.7),
    ]


def test_what_is_far_behind_moves_up_a_little() -> None:
    assert dict(weighed("When?", [APPLE, PEAR, JOBS], [0.9, 0.8, 0.1]))["jobs"] == round(0.1 + NAMED_BONUS, 6)


def test_only_the_two_best_are_searched_for_names() -> None:
    assert weighed("When?", [PEAR, ORCHARD, APPLE, JOBS], [0.9, 0.8, 0.7, 0.1])[-1] == ("jobs", 0.1)


def test_a_title_in_the_question_counts_for_its_passage() -> None:
    assert weighed("Where was steve jobs born?", [PEAR, JOBS], [0.5, 0.4]) == [
        ("jobs", round(0.4 + ASKED_BONUS, 6)),
        ("pear", 0.5),
    ]


def test_beyond_those_looked_at_nothing_is_read() -> None:
    looked: list[int] = []
    read: list[int] = []

    def title(row: int) -> str:
        looked.append(row)
        return passage_at(row).title

    def passage(row: int) -> Passage:
        read.append(row)
        return passage_at(row)

    def passage_at(row: int) -> Passage:
        return JOBS if row == LOOKED_AT else APPLE

    found = weigh_titles("When?", [(row, 1.0 - row / 1000) for row in range(LOOKED_AT + 5)], title, passage)
    assert [row for row, _ in found] == list(range(LOOKED_AT + 5))
    assert sorted(set(looked)) == list(range(LOOKED_AT))
    assert read == [0, 1]  # of the others the titles are enough


@given(st.lists(st.tuples(st.sampled_from([APPLE, JOBS, PEAR, ORCHARD]), st.floats(0, 1)), max_size=30), st.text(max_size=40))
def test_nothing_is_lost_and_the_best_stays_unless_the_question_names_another(
    items: list[tuple[Passage, float]], question: str
) -> None:
    items.sort(key=lambda item: -item[1])
    scores = list(enumerate(score for _, score in items))
    found = weigh_titles(question, scores, lambda row: items[row][0].title, lambda row: items[row][0])
    assert sorted(row for row, _ in found) == list(range(len(items)))
    assert all(before[1] >= after[1] for before, after in pairwise(found))
    plain = weigh_titles(question, scores, lambda row: items[row][0].title, lambda row: Passage("", "", items[row][0].title))
    assert [row for row, _ in found[:1]] == [row for row, _ in plain[:1]]


@given(st.text(max_size=30), st.text(max_size=30))
def test_a_title_is_asked_for_where_its_words_stand_in_the_question(before: str, title: str) -> None:
    """The quick way past most titles changes nothing."""
    question = f"{before} {title} ?"
    words = re.sub(r"\W+", " ", keys.plain(bare_title(title))).strip()
    ((_, score),) = weigh_titles(question, [(0, 0.0)], lambda _: title, lambda _: PEAR)
    asked = re.sub(r"\W+", " ", keys.plain(question)).strip()
    assert (score > 0) == (len(words) >= 4 and f" {words} " in f" {asked} ")


@given(st.text(max_size=600), st.text(max_size=600), st.text(max_size=20))
def test_a_title_is_read_without_its_passage(identity: str, title: str, text: str) -> None:
    line = texts.encode(Passage(identity, text, title, document="d"))
    assert texts.title_of(line) == texts.decode(line).title
