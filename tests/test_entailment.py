"""The evaluator as a second reader: the questions that sentences ask, and what a contradicting answer does."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from wellread import entailment
from wellread.ranking.evaluator import Evaluator, available
from wellread.text.citations import check
from wellread.text.cloze import clozes
from wellread.types import Passage, ShortAnswer

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

BOXER = Passage(
    "b",
    "Olaf Reed (born 17 April 1982) is a boxer who was born in Swindon and lives in Bath. After he had reached the final against "
    "Gary Groves as an amateur, Reed beat Tim Cooper on points.",
    title="Olaf Reed",
)


class Says:
    """A reader with one answer for every question."""

    def __init__(self, text: str, confidence: float) -> None:
        self.answer = ShortAnswer("span", text, confidence=confidence)
        self.asked: list[str] = []

    async def read(self, question: str, passages: Sequence[Passage]) -> Sequence[ShortAnswer]:
        self.asked.append(question)
        return [self.answer]


def test_each_name_is_asked_for_but_the_passage_s_own_subject() -> None:
    (sentence,) = check("Gary Groves was born in Swindon. [1]", {1: BOXER})
    assert [one.question for one in clozes(sentence)] == ["Who was born in Swindon?", "Gary Groves was born in which place?"]
    (sentence,) = check("Reed once beat Tim Cooper. [1]", {1: BOXER})
    assert [one.question for one in clozes(sentence)] == ["Reed once beat who?"]
    (quoted,) = check("Reed beat Tim Cooper on points. [1]", {1: BOXER})
    assert clozes(quoted) == []
    (unmarked,) = check("Reed once beat Tim Cooper (inference). [1]", {1: BOXER})
    assert clozes(unmarked) == []


@pytest.mark.parametrize(
    ("answer", "confidence", "verdict"),
    [
        ("Olaf Reed", 0.9, "not carried"),
        ("Olaf Reed", 0.5, "carried"),  # not sure enough
        ("Gary Groves", 0.9, "carried"),  # the same
        ("the boxer", 0.9, "carried"),  # names nobody
        ("Swindon", 0.9, "carried"),  # named in the sentence
    ],
)
async def test_another_name_contradicts_where_the_reader_is_sure(answer: str, confidence: float, verdict: str) -> None:
    found = check("Gary Groves was born in Swindon. [1]", {1: BOXER})
    assert [one.verdict for one in found] == ["carried"]
    judged, used = await entailment.reread(found, lambda: Says(answer, confidence), 10)
    assert [one.verdict for one in judged] == [verdict]
    assert used in (1, 2)


async def test_no_more_pairs_are_read_than_allowed() -> None:
    found = check("Gary Groves was born in Swindon. [1]", {1: BOXER})
    reader = Says("Olaf Reed", 0.9)
    judged, used = await entailment.reread(found, lambda: reader, 0)
    assert (list(judged), used, reader.asked) == (found, 0, [])


@pytest.mark.skipif(not available(), reason="the evaluator's file is not here")
async def test_the_shipped_evaluator_reads_who_it_was() -> None:
    wrong = check("Gary Groves was born in Swindon and lives in Bath. [1]", {1: BOXER})
    right = check("Olaf Reed was born in Swindon and lives in Bath. [1]", {1: BOXER})
    reader = Evaluator()
    assert [one.verdict for one in (await entailment.reread(wrong, lambda: reader, 20))[0]] == ["not carried"]
    assert [one.verdict for one in (await entailment.reread(right, lambda: reader, 20))[0]] == ["carried"]
