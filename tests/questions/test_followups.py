"""What follow-ups mean, by rules."""

from __future__ import annotations

import pytest

from wellread.questions.followups import understand

TITAN = ("Who discovered Titan?", "Christiaan Huygens\n\nTitan was discovered by Christiaan Huygens on 25 March 1655. [1]")
FRANCE = ("What is the capital of France?", "Paris\n\nParis is the capital of France. [1]")
CARTER = ("Who was president of the United States in 1980?", "Jimmy Carter was. [1]")
POTATOES = ("How do I reheat leftover potatoes?", "Put them into a hot oven. [1]")
MOONS = ("How many moons does Saturn have?", "146")
TOWER = ("Where is the Eiffel Tower?", "It stands in Paris. [1]")


@pytest.mark.parametrize(
    ("before", "question", "meant"),
    [
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
    ],
)
def test_what_was_said_is_put_in(before: tuple[str, str], question: str, meant: str) -> None:
    assert understand(question, [before]).question == meant


@pytest.mark.parametrize(
    "question",
    [
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
    ],
)
@pytest.mark.parametrize("before", [TITAN, POTATOES])
def test_a_question_that_stands_alone_is_left_as_it_is(question: str, before: tuple[str, str]) -> None:
    meant = understand(question, [before])
    assert (meant.question, meant.asks) == (question, "")


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
