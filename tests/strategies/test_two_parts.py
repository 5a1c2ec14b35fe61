"""Two-part questions, and two readers that agree or don't."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellread.core.effort import ALLOWED, Effort
from wellread.engine import Engine
from wellread.errors import SourceError
from wellread.protocols import Source
from wellread.questions.two_parts import resolved
from wellread.ranking.answers import Best
from wellread.ranking.paths import Verdict
from wellread.settings import Settings
from wellread.strategies import likely_sentences, trail
from wellread.types import Hit, Passage, Query


@pytest.mark.parametrize(
    ("part", "answer", "whole"),
    [
        ("who discovered its largest one?", "Saturn", "who discovered Saturn’s largest one?"),
        ("who discovered it?", "Triton", "who discovered Triton?"),
        ("in which city was he born?", "Euler", "in which city was Euler born?"),
        ("what is that country's highest mountain?", "Germany", "what is Germany’s highest mountain?"),
        ("what is the capital there?", "Peru", "what is the capital in Peru?"),
        ("how long is a day on the planet of that name?", "Mercury", "how long is a day on the planet of that name? (Mercury)"),
        ("who discovered it?", "", "who discovered it?"),
    ],
)
def test_the_first_answer_takes_the_place_of_it(part: str, answer: str, whole: str) -> None:
    assert resolved(part, answer) == whole


def test_both_parts_together_read_no_more_than_allowed() -> None:
    for effort in ("normal", "high"):
        assert 2 * trail.shared(ALLOWED[effort].plan).pairs <= ALLOWED[effort].pairs


def test_a_described_question_reads_no_more_than_allowed_even_if_it_is_read_as_a_whole_after_all() -> None:
    for effort in ("normal", "high"):
        plan = ALLOWED[effort].plan
        assert 0 < 2 * trail.plain(plan).pairs + plan.pairs <= ALLOWED[effort].pairs


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 0.2))
def test_surer_readers_make_a_surer_answer(reader: float, words: float, more: float) -> None:
    assert 0 < trail.joint(reader, words) < 1
    assert trail.joint(min(1, reader + more), words) >= trail.joint(reader, words)
    assert trail.joint(reader, min(1, words + more)) >= trail.joint(reader, words)


URANUS = Passage("uranus", "The largest moon of Uranus is Titania.", "Uranus")
SATURN = Passage("saturn", "Saturn is famous for its rings. Saturn has 146 moons, the most of any planet.", "Saturn")


def best(text: str, passage: Passage, score: float, kind: str = "span") -> Best[Passage]:
    start = passage.text.index(text) if text in passage.text else 0
    verdict = Verdict(0.0, start=start, end=start + len(text), text=text)
    return Best(text, kind, (passage,), verdict, -0.1, -0.1, 0, score=score)  # type: ignore[arg-type]


def test_the_best_fitting_sentence_decides_between_answers_that_are_nearly_as_good() -> None:
    moons = likely_sentences.candidates([SATURN])[1]
    sure, unsure = (likely_sentences.Scored(moons, 1.0, confidence) for confidence in (0.96, 0.5))
    answers = [best("Titania", URANUS, -0.5), best("Saturn", SATURN, -1.0)]
    far_behind = [answers[0], best("Saturn", SATURN, -9.0)]
    chosen = [trail._agreeing(*given) for given in ((answers, unsure), (far_behind, sure), (answers, sure))]
    assert [one.text if one else None for one in chosen] == ["Titania", "Titania", "Saturn"]
    assert trail._agreeing([], sure) is None


def test_yes_and_no_do_not_stand_in_a_sentence() -> None:
    fitting = likely_sentences.Scored(likely_sentences.candidates([Passage("x", "There is no other.", "X")])[0], 1.0, 1.0)
    answers = [best("Titania", URANUS, -0.5), best("no", SATURN, -1.0, "no")]
    assert (trail._agreeing(answers, fitting) or answers[1]).text == "Titania"


def test_a_sentence_that_holds_the_answer_too_replaces_the_other_of_its_passage() -> None:
    rings, moons = likely_sentences.candidates([SATURN])
    answer = best("Saturn", SATURN, -1.0)
    assert trail._joined([rings], answer, moons) == [moons]
    assert trail._joined([moons], answer, moons) == [moons]
    elsewhere = likely_sentences.candidates([URANUS])[0]
    assert trail._joined([rings], answer, elsewhere) == [rings, elsewhere]
    (usage,) = likely_sentences.candidates([Passage("usage", "```\nmoons [-h] PLANET, Saturn unless one is named\n```", "Usage")])
    assert trail._joined([rings], answer, usage) == [rings], "code is no sentence beside another"


@pytest.mark.anyio
@pytest.mark.parametrize("effort", ["low", "normal"])
async def test_a_source_that_cannot_be_asked_is_part_of_the_reason(effort: Effort) -> None:
    class Dead(Source):
        name, hint = "dead", "nothing"

        async def search(self, query: Query) -> list[Hit]:
            raise SourceError("dead", "no network")

    async with Engine(Settings(strategy="quote", model="none", effort=effort), source=Dead()) as engine:
        answer = await engine.ask("Who wrote Hamlet?")
    assert answer.outcome == "unsure"
    assert "no network" in (answer.reason or "")


@pytest.mark.anyio
async def test_it_behind_how_is_what_the_first_half_speaks_of_and_not_what_answers_it() -> None:
    class Keeper(Source):
        name, hint = "keeper", "a handbook"
        queries: list[str] = []

        async def search(self, query: Query) -> list[Hit]:
            self.queries.append(query.text)
            told = "To light the lamp, press the red key and wait. To dim the lamp, turn the wheel to the left."
            return [Hit(id="a", title="Handbook of the light", text=told)]

    async with Engine(Settings(strategy="quote", model="none"), source=Keeper()) as engine:
        await engine.ask("How do I light the lamp, and how do I dim it?")
    assert Keeper.queries[-1] == "how do I dim lamp?"
