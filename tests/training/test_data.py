"""Data preparation: what is held out, where candidates come from, what synthetic questions look like."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from training.evaluator import data
from training.evaluator.cloze import answers_in, bridge, claim, cloze, sentences_of
from training.evaluator.compose import as_noun, compose
from training.evaluator.data import Passage, Question, closed_corpus, load_collection
from training.evaluator.lexical import Bm25, fuse_ranks
from training.evaluator.mentions import Mentions
from training.evaluator.prepare import GIVEN, find_lists, read_collection, save_collection


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "HELD_OUT", {"hotpotqa": (1, 2), "2wiki": (1, 2), "nq_open_oracle": (1, 1)})


@pytest.mark.usefixtures("small_parts")
def test_the_same_questions_are_held_out_every_time(data_folder: Path) -> None:
    first, second = load_collection(data_folder), load_collection(data_folder)
    assert first == second
    assert len(first.of("hotpotqa", "tune")) == 1
    assert len(first.of("hotpotqa", "report")) == 2
    assert {q.part for q in first.of("musique_train100")} == {"report"}


@pytest.mark.usefixtures("small_parts")
def test_squad_is_held_out_by_whole_articles(data_folder: Path) -> None:
    collection = load_collection(data_folder)
    parts: dict[str, set[str]] = {}
    for question in collection.of("squad"):
        parts.setdefault(collection.passages[question.gold[0]].title, set()).add(question.part)
    assert all(len(found) == 1 for found in parts.values())
    assert sum(found == {"report"} for found in parts.values()) == data.HELD_OUT_ARTICLES[1]


@pytest.mark.usefixtures("small_parts")
def test_a_closed_corpus_holds_what_its_questions_need(data_folder: Path) -> None:
    collection = load_collection(data_folder)
    members = closed_corpus(collection, "hotpotqa", size=14)
    needed = {n for q in collection.of("hotpotqa") if q.part != "train" for n in (*q.gold, *q.context)}
    assert needed <= set(members)
    assert len(members) == len(set(members)) == max(14, len(needed))


@pytest.mark.usefixtures("small_parts")
def test_a_collection_survives_the_way_to_the_gpu(data_folder: Path, tmp_path: Path) -> None:
    collection = load_collection(data_folder)
    save_collection(collection, tmp_path / "collection.jsonl.xz")
    assert read_collection(tmp_path / "collection.jsonl.xz") == collection


@pytest.mark.usefixtures("small_parts")
def test_lists_hold_candidates_for_training_questions_alone(data_folder: Path) -> None:
    collection = load_collection(data_folder)
    lists = find_lists(collection)
    for row, question in enumerate(collection.questions):
        found = set(lists.questions[row][lists.questions[row] >= 0].tolist())
        if question.part != "train" or question.data in GIVEN:
            assert not found
        else:
            assert found <= set(collection.ranges[question.data])
            assert set(question.gold) & found  # the words lead there
    painter = next(p for p in collection.passages if p.title == "Painter Number3")
    linked = [collection.passages[n].title for n in lists.links[painter.number] if n >= 0]
    assert linked == ["Drina"]


def test_bm25_prefers_rare_words() -> None:
    index = Bm25(["the cat sat", "the dog sat", "the dog and the axolotl", "the bird"])
    assert index.search("the axolotl sat", 2)[0] == 2
    assert index.search("nothing of this", 5) == []


@given(st.lists(st.lists(st.integers(0, 20), unique=True), min_size=1, max_size=4))
def test_fusing_ranks_keeps_everything_once(lists: list[list[int]]) -> None:
    fused = fuse_ranks(lists)
    assert sorted(fused) == sorted({key for entries in lists for key in entries})


def test_mentions_take_the_longest_title_and_skip_plain_words() -> None:
    titles = ["New York", "New York City (film)", "Rain", "It"]
    found = Mentions([Passage(n, title, "") for n, title in enumerate(titles)])
    assert found.find("She moved to New York City when it was raining. Rain fell on rain.") == [1, 2]


PASSAGE = Passage(0, "Ada Byron", "Ada Byron was born in London in 1815. She wrote about the engine of Charles Babbage.")


def test_sentences_and_answers() -> None:
    first, second = sentences_of(PASSAGE.text)
    assert first.endswith("1815.")
    assert {first[a:b]: kind for a, b, kind in answers_in(first)} == {"1815": "date", "Ada Byron": "name", "London": "name"}
    assert "Charles Babbage" in [second[a:b] for a, b, _ in answers_in(second)]


def test_a_cloze_question_leaves_its_answer_out() -> None:
    asked = [question for seed in range(40) for question in cloze(PASSAGE, random.Random(seed), 2)]
    assert asked
    for question in asked:
        assert question.answers[0] in PASSAGE.text
        assert question.gold == (0,)
    assert sum(question.answers[0].lower() in question.text.lower() for question in asked) < len(asked) / 10


def test_a_claim_has_no_short_answer() -> None:
    statement = claim(PASSAGE, random.Random(1))
    assert statement is not None
    assert statement.answers == ()


def test_a_bridge_names_its_second_passage_only_through_the_first() -> None:
    first = Passage(1, "Difference Engine", "The machine was first described by Ada Byron in a long letter.")
    made = [question for seed in range(40) if (question := bridge(first, PASSAGE, random.Random(seed)))]
    assert made
    for question in made:
        assert question.gold == (1, 0)
        assert "ada byron" not in question.text.lower()
        assert "the one that" in question.text.lower()


@pytest.mark.parametrize(
    ("question", "noun"),
    [
        ("Who wrote Faust?", "the person who wrote Faust"),
        ("Which city hosts the fair?", "the city that hosts the fair"),
        ("What is the capital of Peru?", "the capital of Peru"),
        ("Is it raining?", None),
    ],
)
def test_questions_become_nouns(question: str, noun: str | None) -> None:
    assert as_noun(question) == noun


def test_two_questions_become_one() -> None:
    first = Question("a", "squad", "Who wrote the letter?", ("Charles Babbage",), (1,))
    second = Question("b", "squad", "When was Charles Babbage born?", ("1791",), (2,))
    (made,) = compose([first, second], seed=1, limit=10)
    assert made.text == "When was the person who wrote the letter born?"
    assert made.answers == ("1791",)
    assert made.gold == (1, 2)
