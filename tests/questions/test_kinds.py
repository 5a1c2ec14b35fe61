"""Kinds of questions, as bars on a list that a person labelled: most of each kind are told from all others."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Set
from pathlib import Path

import pytest

from wellread.questions.kinds import asks_choice, asks_yes_no, said_at_once, term_asked, to_be_told

LABELLED = [json.loads(line) for line in Path(__file__).with_name("kinds.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(
    ("asks", "kinds", "agreed"),
    [
        (asks_yes_no, {"yes-no"}, 0.97),
        (asks_choice, {"side"}, 0.95),
        (term_asked, {"definition"}, 0.97),
        (to_be_told, {"told"}, 0.88),
    ],
)
def test_kinds_of_questions_are_told_as_a_person_does(asks: Callable[[str], object], kinds: Set[str], agreed: float) -> None:
    wrong = [row["question"] for row in LABELLED if bool(asks(row["question"])) != (row["kind"] in kinds)]
    assert len(wrong) <= (1 - agreed) * len(LABELLED), wrong
    missed = [row["question"] for row in LABELLED if row["kind"] in kinds and not asks(row["question"])]
    assert len(missed) <= 0.3 * sum(row["kind"] in kinds for row in LABELLED), missed


def test_the_term_of_a_definition_is_read() -> None:
    asked = [(row["term"], term_asked(row["question"])) for row in LABELLED if "term" in row]
    assert sum(found is not None and found.words == term for term, found in asked) >= 0.9 * len(asked)


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ("Yes. It is free software.", "yes"),
        ("No, this is not supported.", "no"),
        ("- Yes: see below.", "yes"),
        ("No entry is ever deleted.", None),
        ("Nothing is stored.", None),
        ("You can answer yes.", None),
    ],
)
def test_yes_or_no_in_so_many_words(told: str, said: str | None) -> None:
    assert said_at_once(told) == said


@pytest.mark.parametrize(
    ("sentence", "says"),
    [
        ("A key file is a file that holds a key.", "a file that holds a key."),
        ("In this program, key files (also keyfiles) are the second factor.", "the second factor."),
        ("- “Key file” means what the owner has.", "what the owner has."),
        ("Currently the key file is the only way.", "the only way."),
        ("- 'key file': what holds a key", "what holds a key"),
        ("key file - what holds a key", "what holds a key"),
        ("We call what holds a key a key file.", "what holds a key a key file."),
        ("A stick with a key is called a key file.", "A stick with a key is called a key file."),
        ("Key files are not required.", None),
        ("The key file is stored on a stick.", None),
        ("Every key file is a file.", None),
        ("See the key file.", None),
    ],
)
def test_a_sentence_that_says_what_it_is(sentence: str, says: str | None) -> None:
    term = term_asked("What is a key file?")
    assert term is not None
    begun = term.defined_in(sentence)
    assert (sentence[begun.end() :] if begun else None) == says


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("Cold water immersion (CWI) kills faster than drowning.", "Cold water immersion"),
        ("CWI: cold-water immersion.", "cold-water immersion"),
        ("CWI stands for “Cold Water Immersion”.", "Cold Water Immersion"),
        ("In cold water, immersion (CWI) kills.", None),
        ("CWI (see below) kills.", None),
        ("cwi (cold water immersion)", None),
    ],
)
def test_what_an_abbreviation_is_short_for(sentence: str, said: str | None) -> None:
    term = term_asked("What does CWI stand for?")
    assert term is not None
    assert term.spelt_out_in(sentence) == said


def test_letters_are_spelt_out_where_that_is_asked() -> None:
    asked, defined = term_asked("What does JOE stand for?"), term_asked("What is JOE?")
    assert asked is not None
    assert defined is not None
    assert (asked.letters, defined.letters) == (True, False)


def test_small_words_are_not_in_an_abbreviation_and_ordinary_words_are_none() -> None:
    spelt, plain = term_asked("What does DOD mean?"), term_asked("What does cold mean?")
    assert spelt is not None
    assert plain is not None
    assert spelt.spelt_out_in("the Department of Defense (DOD)") == "Department of Defense"
    assert plain.spelt_out_in("cats on large dogs (cold)") is None


@pytest.mark.parametrize(
    "question", ["what does" + " " * 20_000 + "x", "what is x" + " y" * 10_000, "what is x" + " " * 20_000 + "in y"]
)
def test_a_huge_question_takes_no_time(question: str) -> None:
    begun = time.thread_time()
    assert term_asked(question) is None or len(question.split()) < 6
    asks_yes_no(question)
    assert time.thread_time() - begun < 0.5
