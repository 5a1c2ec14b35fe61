"""`guided` and `auto` with the evaluator of the package, on the library of the package; the model is scripted."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import pytest

from wellread import events
from wellread.engine import Engine
from wellread.models.scripted import ScriptedModel
from wellread.ranking.evaluator import Trail
from wellread.settings import Settings
from wellread.strategies.guided import chained
from wellread.types import Answer, Capabilities, Passage, Prompt

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

TWO_STEPS = "In which town was the author of Hamlet born?"
SURE = "Which planet has the shortest year?"
BORN = "William Shakespeare was born in Stratford-upon-Avon."


def shown(prompt: Prompt) -> str:
    return "\n".join(message.text for message in prompt.messages)


def number_of(prompt: Prompt, words: str) -> str:
    """The number of the passage that holds these words, as the model sees it."""
    return shown(prompt).split(words, maxsplit=1)[0].rpartition("[")[2].partition("]")[0]


class Stage:
    """An engine over the library, its scripted model, and what a run reported."""

    def __init__(self, says: Callable[[Prompt], str], **settings: Any) -> None:
        self.model = ScriptedModel(says, capabilities=Capabilities(32_000), piece=12)
        self.engine = Engine(Settings(**settings), model=self.model)
        self.seen: list[events.Event] = []

    async def ask(self, question: str, strategy: str, **params: object) -> Answer:
        self.seen = [event async for event in self.engine.stream(question, strategy=strategy, params=params)]
        last = self.seen[-1]
        assert isinstance(last, events.Answered)
        assert "".join(one.text for one in self.seen if isinstance(one, events.AnswerDelta)) == last.answer.text
        return last.answer

    @property
    def decisions(self) -> list[str]:
        return [one.decision for one in self.seen if isinstance(one, events.Decided)]


@pytest.fixture
async def stage() -> AsyncIterator[Callable[..., Stage]]:
    made: list[Stage] = []

    def make(says: Callable[[Prompt], str], **settings: Any) -> Stage:
        made.append(Stage(says, **settings))
        return made[-1]

    yield make
    for one in made:
        await one.engine.aclose()


async def test_guided_asks_once_and_shows_the_chain_in_its_order(stage: Callable[..., Stage]) -> None:
    here = stage(lambda prompt: f"{BORN} [{number_of(prompt, 'Stratford-upon-Avon')}]")
    answer = await here.ask(TWO_STEPS, "guided")
    assert len(here.model.prompts) == 1 == answer.usage.model_calls
    material = shown(here.model.prompts[0])
    assert (
        0 <= material.find("Hamlet (play)" if "Hamlet (play)" in material else "Hamlet") < material.rfind("Stratford-upon-Avon")
    )
    assert sum(isinstance(one, events.Numbered) for one in here.seen) <= 6
    assert answer.outcome == "answered"
    assert [sentence.supported for sentence in answer.sentences] == [True]
    assert 0 < answer.usage.pairs <= 60
    few = await here.ask(TWO_STEPS, "guided", passages=2)
    assert len(few.passages) == 2
    most, fewest = [len((await here.ask(TWO_STEPS, "guided", least=least)).passages) for least in (0, 1)]
    assert most > fewest == 2  # however unlikely they are


async def test_guided_without_the_evaluator_answers_from_a_plain_search(stage: Callable[..., Stage]) -> None:
    here = stage(lambda prompt: "Mercury has the shortest year. [1]", effort="low")
    answer = await here.ask(SURE, "guided")
    assert (answer.usage.pairs, answer.usage.model_calls, answer.usage.searches) == (0, 1, 1)


async def test_auto_quotes_where_that_is_sure_and_costs_nothing(stage: Callable[..., Stage]) -> None:
    here = stage(lambda prompt: "never said")
    answer = await here.ask(SURE, "auto", sure=0.5)
    assert (answer.outcome, answer.short, answer.usage.model_calls) == ("answered", "Mercury", 0)
    assert here.decisions[0] == "quote"
    assert answer.strategy == "auto"


async def test_auto_asks_once_from_what_was_read(stage: Callable[..., Stage]) -> None:
    here = stage(lambda prompt: f"{BORN} [{number_of(prompt, 'Stratford-upon-Avon')}]")
    answer = await here.ask(TWO_STEPS, "auto", sure=1)
    assert (answer.outcome, answer.usage.model_calls) == ("answered", 1)
    assert here.decisions[0] == "ask the model"
    queries = [one.query for one in here.seen if isinstance(one, events.Searching)]
    assert len(queries) == len(set(queries)), "nothing is searched twice"


LED = ["NO ANSWER: the birthplace of the writer", "NO ANSWER: the birthplace of William Shakespeare"]


@pytest.mark.parametrize("first", [LED, ["He was born on the far side of the Moon. [1]"]])
async def test_auto_goes_on_searching_where_that_leads_further(stage: Callable[..., Stage], first: list[str]) -> None:
    said = iter(first)

    def says(prompt: Prompt) -> str:
        if "not_carried" in shown(prompt):
            return '{"not_carried": []}'  # lets everything pass, so it is not listened to
        if "Thought, Action, PAUSE" not in shown(prompt):
            return next(said)
        return f"Answer: {BORN} [{number_of(prompt, 'Stratford-upon-Avon')}]"

    here = stage(says)
    answer = await here.ask(TWO_STEPS, "auto", sure=1)
    assert "go on searching" in here.decisions
    assert (answer.outcome, answer.text.partition(" [")[0]) == ("answered", BORN)
    assert "Observation: found before" in shown(here.model.prompts[-1])
    roles = [one.role for one in here.seen if isinstance(one, events.ModelCalled)]
    assert (roles.count("answer"), roles.count("turn")) == (len(first), 1)


async def test_auto_stops_where_asking_again_leads_no_further(stage: Callable[..., Stage]) -> None:
    here = stage(lambda prompt: "NO ANSWER: the birthplace of the writer")
    answer = await here.ask(TWO_STEPS, "auto", sure=1)
    assert (answer.outcome, here.decisions[-2:]) == ("unsure", ["search for what is missing", "stop"])
    assert answer.usage.model_calls == 2


async def test_auto_stops_where_nothing_found_speaks_of_what_was_asked(stage: Callable[..., Stage]) -> None:
    here = stage(lambda prompt: "NO ANSWER: who founded the Zorblax Institute")
    answer = await here.ask("Who founded the Zorblax Institute?", "auto", sure=1)
    assert (answer.outcome, answer.usage.model_calls, here.decisions[-1]) == ("unsure", 1, "stop")
    assert "nothing that was found speaks of “Zorblax Institute”" in (answer.reason or "")
    assert sum(isinstance(one, events.Numbered) for one in here.seen) <= 2, "irrelevant passages are not shown"


async def test_auto_searches_for_what_is_missing_and_asks_once_more(stage: Callable[..., Stage]) -> None:
    def says(prompt: Prompt) -> str:
        if "still open" in shown(prompt):
            return f"Reykjavik is the capital of Iceland. [{number_of(prompt, 'Reykjav')}]"
        return f"{BORN} [{number_of(prompt, 'Stratford-upon-Avon')}]\nMISSING: the capital of Iceland"

    here = stage(says)
    answer = await here.ask("In which town was the author of Hamlet born, and what is the capital of Iceland?", "auto", sure=1)
    assert [one.query for one in here.seen if isinstance(one, events.Searching)][-1] == "the capital of Iceland"
    assert (answer.outcome, answer.usage.model_calls) == ("answered", 2)
    assert answer.text.startswith(BORN)
    assert "Reykjavik is the capital" in answer.text
    assert all(sentence.supported for sentence in answer.sentences)


async def test_auto_streams_what_the_check_carries(stage: Callable[..., Stage]) -> None:
    here = stage(lambda prompt: " ".join([f"{BORN} [{number_of(prompt, 'Stratford-upon-Avon')}]"] * 3))
    await here.ask(TWO_STEPS, "auto", sure=1)
    first = next(place for place, one in enumerate(here.seen) if isinstance(one, events.AnswerDelta))
    assert any(isinstance(one, events.ModelCalled) for one in here.seen[first:]), "before the call has ended"


@pytest.mark.parametrize(("mended", "marks"), [("NOTHING", [True]), ("He was born on Mars. [1]", [True, False])])
async def test_auto_mends_sentences_that_nothing_carries_by_one_call(
    stage: Callable[..., Stage], mended: str, marks: list[bool]
) -> None:
    def says(prompt: Prompt) -> str:
        number = number_of(prompt, "Stratford-upon-Avon")
        if "Write what can stand in their place" in shown(prompt):
            return mended
        return f"{BORN} [{number}] He was born on the far side of the Moon. [{number}]"

    here = stage(says)
    answer = await here.ask(TWO_STEPS, "auto", sure=1)
    assert here.decisions[-1] == "mend"
    assert answer.text.startswith(BORN)
    assert [sentence.supported for sentence in answer.sentences] == marks
    roles = [one.role for one in here.seen if isinstance(one, events.ModelCalled)]
    assert (roles.count("answer"), roles.count("mend"), roles.count("turn")) == (1, 1, 0)


async def test_auto_gives_no_answer_that_nothing_carries(stage: Callable[..., Stage]) -> None:
    def says(prompt: Prompt) -> str:
        if "Thought, Action, PAUSE" in shown(prompt):
            return "Answer: NO ANSWER: the observations do not say it."
        return "He was born on the far side of the Moon. [1]"

    answer = await stage(says).ask(TWO_STEPS, "auto", sure=1)
    assert answer.outcome == "unsure"


async def test_auto_is_quote_without_a_model() -> None:
    async with Engine(Settings(model="none")) as engine:
        answer = await engine.ask(SURE, strategy="auto")
        assert (answer.strategy, answer.short) == ("quote", "Mercury")
        assert engine.strategy() == "quote"


def test_passages_far_less_likely_than_the_best_are_left_out_beyond_the_first_two() -> None:
    passages = [Passage(str(n), f"text {n}", f"title {n}") for n in range(5)]
    found = Trail(tuple(zip(passages, (-0.1, -9.0, -1.0, -9.0, -9.5), strict=True)), (), 5)
    assert [one.id for one in chained(found, 6, 0.1)] == ["0", "1", "2"]
    assert len(chained(found, 6, 0.0)) == 5
    assert len(chained(replace(found, pairs=0), 6, 0.1)) == 5, "places of a plain search are no likelihoods"
