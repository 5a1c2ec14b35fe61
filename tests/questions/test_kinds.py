"""Questions after yes or no, and after what something is."""

from __future__ import annotations

import time

import pytest

from wellread.questions.kinds import (
    asks_choice,
    asks_number,
    asks_time,
    asks_yes_no,
    fits,
    said_at_once,
    tells_number,
    term_asked,
)


@pytest.mark.parametrize(
    "question",
    [
        "Does it support plugins?",
        "Is it possible to import CSV files?",
        "Can I copy or synchronize my repository?",
        "When backing up to a remote server, is encryption done locally?",
        "Won't it overwrite my files?",
        "Were both directors born in Ohio?",
    ],
)
def test_yes_or_no_would_answer(question: str) -> None:
    assert asks_yes_no(question)


@pytest.mark.parametrize(
    "question",
    [
        "Is the Amazon or the Nile the longer river?",
        "Did Ada Lovelace or Charles Babbage die first?",
        "Can you tell me who wrote Hamlet?",
        "Is there a way to change the port?",
        "What does it do?",
        "When was it released?",
        "Canals of Venice: how many are there?",
    ],
)
def test_yes_or_no_would_not_answer(question: str) -> None:
    assert not asks_yes_no(question)


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
    ("question", "term", "certain"),
    [
        ("What is a key file in KeePass?", "key file", True),
        ("What is append-only mode?", "append-only mode", True),
        ("What does the term partition mean in MPD?", "partition", True),
        ("What is the meaning of telecine?", "telecine", True),
        ("What are display filters?", "display filters", True),
        ("What is the poller?", "poller", False),
    ],
)
def test_what_is_to_be_defined(question: str, term: str, certain: bool) -> None:
    found = term_asked(question)
    assert found is not None
    assert (found.words, found.certain) == (term, certain)


@pytest.mark.parametrize(
    "question",
    [
        "What is the capital of France?",
        "What is the default port?",
        "What are the clouds on Venus made of?",
        "What is the largest planet?",
        "What is a young swan called?",
        "What is France's capital?",
        "What is it?",
        "Which port is used?",
    ],
)
def test_a_fact_is_no_definition(question: str) -> None:
    assert term_asked(question) is None


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


def test_a_phrase_beside_its_term_explains_it_and_one_elsewhere_does_not() -> None:
    term = term_asked("What is HTS?")
    assert term is not None
    assert term.stands_beside("high-throughput screening", "They used high-throughput screening (HTS) for it.")
    assert term.stands_beside("fast way of screening", "HTS, a fast way of screening, was used.")
    assert not term.stands_beside("screening", "HTS needs a robot for screening.")
    assert not term.stands_beside("robots", "HTS robots were used.")


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


@pytest.mark.parametrize(
    ("question", "choice"),
    [("Which holds more, a jug or a cup?", True), ("Is it a jug or a cup?", False), ("Which jug or cup holds more?", False)],
)
def test_a_choice_between_two(question: str, choice: bool) -> None:
    assert asks_choice(question) is choice


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


@pytest.mark.parametrize(
    ("question", "asks"),
    [
        ("How many moons has Mars?", True),
        ("What is the default port of the control channel?", True),
        ("On which port does it listen?", True),
        ("In which port was the engineer born?", False),
        ("In which year was the engineer born?", True),
        ("On which TCP port does it listen?", True),
        ("In what year was it founded?", True),
        ("Who built it and in what year?", False),
        ("Which port city lies north of Taipei?", False),
        ("Which number-one single did she sing?", False),
        ("What is the year-round weather in Dubai?", False),
        ("Which version of the story is older?", False),
    ],
)
def test_some_questions_ask_for_a_number(question: str, asks: bool) -> None:
    assert asks_number(question) is asks


def test_a_measure_does_not_tell_how_many_of_something_else_there_are() -> None:
    steps = "How many steps does the tower have?"
    assert not fits(steps, "330 metres high")
    assert fits(steps, "1,665 steps")
    assert fits("How many feet high is it?", "330 metres")
    assert fits("How many people read it?", "45 percent")


def test_what_tells_a_number() -> None:
    assert all(map(tells_number, ("953", "port 53", "twenty-two", "thousands of years", "none", "unmanned")))
    assert not any(map(tells_number, ("TCP", "the tls-port option", "Keelung")))


def test_only_a_time_answers_when_something_was() -> None:
    assert asks_time("When was Galileo Galilei born?")
    assert asks_time("On what date did the war end?")
    assert not asks_time("When does the daemon read its file?")
    assert not asks_time("When was he born and where did he die?")
    assert not fits("When was Galileo Galilei born?", "Pisa")
    assert fits("When did the ferry run?", "on Tuesdays only")
    assert all(
        fits("When was it built?", said) for said in ("1564", "May", "the 12th century", "during the reign of Ramses", "Sunday")
    )
    assert fits("When does the daemon read its file?", "at boot")
    assert fits("Where was Galileo born?", "Pisa")
