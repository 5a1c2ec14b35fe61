"""What speaks against chains of passages."""

from __future__ import annotations

import pytest

from wellread.ranking.answers import NONE, AnswerWeights, Doubt, best_answers, doubts
from wellread.ranking.paths import Verdict, Weights
from wellread.types import Passage

TAJ = Passage("taj", "The Taj Mahal stands in Agra, a city of India.", "Taj Mahal", links=("India",))
INDIA = Passage("india", "The capital of this country is New Delhi.", "India")
DUTCH = Passage("dutch", "The capital is Amsterdam.", "Netherlands")
MORE = Passage("india2", "Cricket is played there.", "India")
QUESTION = "What is the capital of the country where the Taj Mahal stands?"


@pytest.mark.parametrize(
    ("chain", "expected"),
    [
        ([TAJ], NONE),
        ([TAJ, INDIA], NONE),
        ([INDIA, TAJ], NONE),  # whichever comes first
        ([TAJ, DUTCH], Doubt(astray=0.5)),
        ([DUTCH], Doubt(missing=1.0)),
        ([DUTCH, INDIA], Doubt(astray=1.0, missing=1.0)),
        ([INDIA, MORE], Doubt(missing=1.0)),  # of one document: nothing astray
    ],
)
def test_a_chain(chain: list[Passage], expected: Doubt) -> None:
    assert doubts(QUESTION)(chain) == expected


def test_both_sides_of_a_comparison_are_named_by_the_question() -> None:
    suez, panama = Passage("s", "It is long.", "Suez Canal"), Passage("p", "It is short.", "Panama Canal")
    assert doubts("Which is longer, the Suez Canal or the Panama Canal?")([suez, panama]) == NONE


def test_names_are_compared_without_accents_and_case() -> None:
    assert doubts("Where was Žofie born?")([Passage("p", "Zofie was born there.", "Someone")]) == NONE


def test_a_question_without_names_misses_none() -> None:
    assert doubts("what is it made of?")([DUTCH]) == NONE
    assert doubts("")([DUTCH]) == NONE


def test_of_two_answers_that_read_alike_the_one_on_the_way_wins() -> None:
    def says(text: str, relevance: float) -> Verdict:
        return Verdict(relevance, (-4.0, 4.0, -4.0, -4.0), -0.2, 1, 0, len(text), text)

    verdicts = {(TAJ, DUTCH): says("Amsterdam", 3.2), (TAJ, INDIA): says("New Delhi", 3.0)}
    order = [TAJ, DUTCH, INDIA]
    plain = best_answers(order, verdicts, Weights(), AnswerWeights(place=0.0))
    careful = best_answers(order, verdicts, Weights(), AnswerWeights(place=0.0, astray=1.0), doubts(QUESTION))
    assert (plain[0].text, careful[0].text) == ("Amsterdam", "New Delhi")


def test_doubt_lowers_the_confidence() -> None:
    verdict = Verdict(3.0, (-4.0, 4.0, -4.0, -4.0), -0.2, 0, 0, 9, "Amsterdam")
    scoring = AnswerWeights(sure_missing=-2.0)
    sure, unsure = (best_answers([DUTCH], {(DUTCH,): verdict}, Weights(), scoring, doubts(q))[0] for q in ("capital?", QUESTION))
    assert unsure.confidence < sure.confidence
