"""What follow-ups mean, by rules."""

from __future__ import annotations

import gzip
import json
from itertools import islice
from pathlib import Path

import pytest

from wellread.questions.followups import understand

SQUAD = Path(__file__).parents[3] / "shared" / "data" / "squad" / "questions.jsonl.gz"
TITAN = ("Who discovered Titan?", "Christiaan Huygens\n\nTitan was discovered by Christiaan Huygens on 25 March 1655. [1]")
FRANCE = ("What is the capital of France?", "Paris\n\nParis is the capital of France. [1]")
CARTER = ("Who was president of the United States in 1980?", "Jimmy Carter was. [1]")
POTATOES = ("How do I reheat leftover potatoes?", "Put them into a hot oven. [1]")
MOONS = ("How many moons does Saturn have?", "146")
TOWER = ("Where is the Eiffel Tower?", "It stands in Paris. [1]")


MEANT = [
    (TITAN, "When was he born?", "When was Christiaan Huygens born?"),
    (TITAN, "How large is it?", "How large is Titan?"),
    (TITAN, "What was his profession?", "What was Christiaan Huygens’s profession?"),
    (TITAN, "When?", "When was it that Christiaan Huygens discovered Titan?"),
    (TITAN, "And Rhea?", "Who discovered Rhea?"),
    (FRANCE, "How many people live there?", "How many people live in Paris?"),
    (FRANCE, "what about Germany?", "What is the capital of Germany?"),
    (FRANCE, "Why?", "Why is Paris the capital of France?"),
    (FRANCE, "Which river flows through that city?", "Which river flows through Paris?"),
    (CARTER, "And in 1990?", "Who was president of the United States in 1990?"),
    (CARTER, "1990?", "Who was president of the United States in 1990?"),
    (POTATOES, "What about rice?", "How do I reheat rice?"),
    (POTATOES, "How long do they keep?", "How long do leftover potatoes keep?"),
    (POTATOES, "Is it safe to freeze them?", "Is it safe to freeze leftover potatoes?"),
    (POTATOES, "And in the microwave?", "How do I reheat leftover potatoes in the microwave?"),
    (POTATOES, "Any other suggestions?", "Any other suggestions (leftover potatoes)?"),
    (MOONS, "Why?", "Why does Saturn have so many moons?"),
    (MOONS, "Does it have rings?", "Does Saturn have rings?"),
    (TOWER, "Who built it?", "Who built Eiffel Tower?"),
    (("Is Pluto a planet?", "No."), "Why?", "Why is Pluto a planet?"),
    (("Which is the smallest planet?", "Mercury"), "And the largest?", "Which is the largest planet?"),
]
ALONE = [
    "Who invented the telescope?",
    "How long does it take to reach Saturn?",
    "Is it safe to eat raw potatoes?",
    "When did Apple release its first phone?",
    "How many soldiers did Genghis Khan take with him to Khwarezmia?",
    "Other than his discoveries, what was Tesla famous for?",
    "How do I install the package and configure it?",
    "Why do cats lick themselves?",
    "What kind of pay gap is there?",
    "Which came first, the telescope or the microscope?",
]


def test_what_was_said_is_put_in() -> None:
    """Nine in ten of those that a person has understood; what is found with them is measured by `benchmarks/followups.py`."""
    wrong = [(asked, found) for before, asked, meant in MEANT if (found := understand(asked, [before]).question) != meant]
    assert len(wrong) <= 0.1 * len(MEANT), wrong


def test_questions_that_stand_alone_are_left_as_they_are() -> None:
    meant = [(asked, understand(asked, [before])) for asked in ALONE for before in (TITAN, POTATOES)]
    touched = [(asked, found.question, found.asks) for asked, found in meant if found.question != asked or found.asks]
    assert len(touched) <= 0.1 * len(meant), touched


@pytest.mark.skipif(not SQUAD.is_file(), reason="the sets of questions are not here")
def test_few_questions_of_a_data_set_are_touched_behind_a_conversation_about_something_else() -> None:
    with gzip.open(SQUAD, "rt", encoding="utf-8") as lines:
        asked = [json.loads(line)["question"] for line in islice(lines, 500)]
    touched = [question for question in asked if understand(question, [TITAN]).question != question]
    assert len(touched) <= 0.01 * len(asked), touched


def test_without_a_conversation_nothing_is_touched() -> None:
    assert understand("When was he born?", []).question == "When was he born?"


def test_questions_are_understood_one_after_the_other() -> None:
    talk = [TITAN, ("When was he born?", "14 April 1629")]
    assert understand("Where?", talk).question == "Where was Christiaan Huygens born?"
    assert understand("And his brother?", talk).question == "When was Christiaan Huygens’s brother born?"


@pytest.mark.parametrize(("before", "question"), [(FRANCE, "When was he born?"), (("Hello?", "Hello."), "How large is it?")])
def test_what_nobody_named_is_asked_back(before: tuple[str, str], question: str) -> None:
    meant = understand(question, [before])
    assert meant.question == question
    assert meant.asks.endswith("”?")


def test_she_is_not_the_one_who_was_he() -> None:
    talk = [TITAN, ("When was he born?", "14 April 1629")]
    assert understand("Where did she live?", talk).asks == "Who is meant by “she”?"
    assert understand("Where did he live?", talk).question == "Where did Christiaan Huygens live?"


def test_what_was_asked_back_is_told() -> None:
    talk = [FRANCE, ("When was he born?", "Who is meant by “he”?")]
    assert understand("Victor Hugo", talk).question == "When was Victor Hugo born?"
    assert understand("Who was Victor Hugo?", talk).question == "Who was Victor Hugo?"
