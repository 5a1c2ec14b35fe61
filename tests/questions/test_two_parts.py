"""Questions of two halves, and such as describe what they ask about, are taken apart where each part can be asked."""

from __future__ import annotations

import pytest

from wellread.questions.two_parts import described, halves, stand_alone


@pytest.mark.parametrize(
    ("question", "first", "second"),
    [
        (
            "What is the anthem of the country where the Vasa was built?",
            "In which country the Vasa was built?",
            "What is the anthem of Sweden?",
        ),
        (
            "How long is the river that flows through Vienna?",
            None,  # "is the river that …" has no plain end
            None,
        ),
        (
            "How many people live in the city whose harbour has an opera house?",
            "Which city's harbour has an opera house?",
            "How many people live in Sweden?",
        ),
        ("Who founded the firm for which Ada worked in 1990?", "For which firm Ada worked in 1990?", "Who founded Sweden?"),
        ("What was the birth name of the poet whom Ada met?", "Which poet Ada met?", "What was the birth name of Sweden?"),
        ("When did the poet who wrote Lamp Songs die?", "Which poet wrote Lamp Songs?", "When did Sweden die?"),
        ("Where was the poet born who wrote Lamp Songs?", "Which poet wrote Lamp Songs?", "Where was Sweden born?"),
        (
            "In what year was the poet  who wrote Lamp Songs born?",
            "Which poet wrote Lamp Songs?",
            "In what year was Sweden born?",
        ),
    ],
)
def test_what_is_described_is_asked_first(question: str, first: str | None, second: str | None) -> None:
    taken = described(question)
    assert (taken.first, taken.second("Sweden")) == (first, second) if taken else first is None


@pytest.mark.parametrize(
    "question",
    [
        "Who was the poet who wrote Lamp Songs?",  # asks for the poet
        "What is the name of the poet who wrote Lamp Songs?",
        "What is the capital of Sweden?",
        "When did the poet who wrote Lamp Songs move to Vienna?",  # where does the description end?
        "Which film is older, Red Lamp or The Man Who Waited?",
        "Who took the view that lamps burn best at night?",
        "Who owned the lamp which burned in what town?",
        "Who lit the lamp that burned in the room where it stood?",
        "The lamp that burns",
        "How do I light the lamp that burns best?",  # an instruction is no name
        "",
        "Who lit the " + "very old " * 100 + "lamp that burned?",
    ],
)
def test_what_is_named_or_not_plain_is_left_whole(question: str) -> None:
    assert described(question) is None


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("Which planet has the most moons, and who found them?", ["Which planet has the most moons", "who found them?"]),
        ("Which key opens it and which one closes it?", ["Which key opens it", "which key closes it?"]),
        ("Which is the shared file and which one is mine?", ["Which is the shared file and which one is mine?"]),
        ("Which bread and butter is best?", ["Which bread and butter is best?"]),
    ],
)
def test_a_half_says_what_it_asks_for(question: str, parts: list[str]) -> None:
    assert halves(question) == parts


@pytest.mark.parametrize(
    ("question", "apart"),
    [
        ("Which key opens it and which key closes the lid?", True),
        ("Who wrote Hamlet, and when did he die?", False),
        ("Which country won, and which city is its capital?", False),
    ],
)
def test_a_half_that_asks_alike_and_does_not_refer_back_stands_alone(question: str, apart: bool) -> None:
    assert stand_alone(halves(question)) is apart
