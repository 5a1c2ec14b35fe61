"""The evaluator as a second reader: the questions that sentences ask, and what a contradicting answer does."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from wellread import entailment
from wellread.ranking.evaluator import Evaluator, available
from wellread.text.citations import check
from wellread.text.cloze import clozes
from wellread.types import Passage, Rivals, ShortAnswer

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

BOXER = Passage(
    "b",
    "Olaf Reed (born 17 April 1982) is a boxer who was born in Swindon and lives in Bath. After he had reached the final against "
    "Gary Groves as an amateur, Reed beat Tim Cooper on points.",
    title="Olaf Reed",
)


class Says:
    """A reader that thinks the same of every question."""

    def __init__(self, text: str, lead: float) -> None:
        self.found = Rivals(-0.1 - max(lead, 0.0), -0.1 + min(lead, 0.0), text)
        self.asked: list[str] = []

    async def read(self, question: str, passages: Sequence[Passage]) -> Sequence[ShortAnswer]:
        raise AssertionError("nobody asks for an answer here")

    async def rivals(self, question: str, passage: Passage, name: frozenset[str]) -> Rivals:
        self.asked.append(question)
        return self.found


def test_each_name_is_asked_for() -> None:
    (sentence,) = check("Gary Groves was born in Swindon. [1]", {1: BOXER})
    assert [one.question for one in clozes(sentence)] == ["Who was born in Swindon?", "Gary Groves was born in which place?"]
    (sentence,) = check("Olaf Reed once beat Tim Cooper. [1]", {1: BOXER})
    assert [one.question for one in clozes(sentence)] == ["Who once beat Tim Cooper?", "Olaf Reed once beat who?"]
    (quoted,) = check("Reed beat Tim Cooper on points. [1]", {1: BOXER})
    assert clozes(quoted) == []
    (unmarked,) = check("Reed once beat Tim Cooper (inference). [1]", {1: BOXER})
    assert clozes(unmarked) == []


def test_an_article_is_no_part_of_the_name_that_is_asked_for() -> None:
    band = Passage("s", "The Stone Larks of Leeds were joined by Ada Holt in 1990, their guitarist.", title="Ada Holt")
    (sentence,) = check("The Stone Larks had Ada Holt as guitarist. [1]", {1: band})
    assert clozes(sentence)[0].question == "The what had Ada Holt as guitarist?"


@pytest.mark.parametrize(
    ("answer", "lead", "verdict"),
    [
        ("Olaf Reed", 8.0, "not carried"),
        ("Olaf Reed", 1.0, "carried"),  # not likelier by much
        ("Olaf Reed", -3.0, "carried"),  # the name itself is likelier
        ("Tim Cooper", 8.0, "carried"),  # likelier, but not whom the passage is about
    ],
)
async def test_other_words_contradict_where_they_are_much_likelier(answer: str, lead: float, verdict: str) -> None:
    found = check("Gary Groves was born in Swindon. [1]", {1: BOXER})
    assert [one.verdict for one in found] == ["carried"]
    judged, used = await entailment.reread(found, lambda: Says(answer, lead), 10)
    assert [one.verdict for one in judged] == [verdict]
    assert used in (1, 2)


async def test_of_several_passages_the_one_counts_that_knows_the_name_best() -> None:
    """A sentence on two passages has names that only one of them knows."""
    other = Passage("o", "Swindon is a town. Gary Groves grew up in Swindon.", title="Swindon")

    class Knows(Says):
        async def rivals(self, question: str, passage: Passage, name: frozenset[str]) -> Rivals:
            return Rivals(-0.1, -9.0, "town") if passage is other else self.found

    found = check("Gary Groves was born in Swindon. [1][2]", {1: BOXER, 2: other})
    judged, used = await entailment.reread(found, lambda: Knows("Olaf Reed", 8.0), 10)
    assert ([one.verdict for one in judged], used) == (["carried"], 4)


async def test_a_reader_that_weighs_nothing_is_not_asked() -> None:
    class Reads:
        async def read(self, question: str, passages: Sequence[Passage]) -> Sequence[ShortAnswer]:
            raise AssertionError("not asked")

    found = check("Gary Groves was born in Swindon. [1]", {1: BOXER})
    assert await entailment.reread(found, Reads, 10) == (found, 0)


async def test_no_more_pairs_are_read_than_allowed() -> None:
    found = check("Gary Groves was born in Swindon. [1]", {1: BOXER})
    reader = Says("Olaf Reed", 9.0)
    judged, used = await entailment.reread(found, lambda: reader, 0)
    assert (list(judged), used, reader.asked) == (found, 0, [])


@pytest.mark.skipif(not available(), reason="the evaluator's file is not here")
async def test_the_shipped_evaluator_reads_who_it_was() -> None:
    wrong = check("Gary Groves was born in Swindon and lives in Bath. [1]", {1: BOXER})
    right = check("Olaf Reed was born in Swindon and lives in Bath. [1]", {1: BOXER})
    reader = Evaluator()
    assert [one.verdict for one in (await entailment.reread(wrong, lambda: reader, 20))[0]] == ["not carried"]
    assert [one.verdict for one in (await entailment.reread(right, lambda: reader, 20))[0]] == ["carried"]


@pytest.mark.skipif(not available(), reason="the evaluator's file is not here")
async def test_the_shipped_evaluator_weighs_names_by_their_words() -> None:
    reader = Evaluator()
    asked = "Who was born in Swindon and lives in Bath?"
    right = await reader.rivals(asked, BOXER, frozenset(("olaf", "reed")))
    wrong = await reader.rivals(asked, BOXER, frozenset(("gary", "grove")))
    assert right.own > right.other
    assert wrong.own < wrong.other
    assert "Reed" in wrong.text
    nobody = await reader.rivals(asked, BOXER, frozenset(("nobody",)))
    assert nobody.own == -20.0
