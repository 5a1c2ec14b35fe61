"""`auto` with `polish`: the evaluator of the package on its library, a model that speaks OpenAI's protocol over loopback."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.wire import openai
from tests.wire.server import Response, WireServer, serving

from wellread import events
from wellread.engine import Engine
from wellread.settings import Settings
from wellread.types import Answer

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

QUESTION = "Which planet has the shortest year?"
SENTENCE = "The planet with the shortest year is Mercury."
Reply = Callable[[dict[str, Any]], str | Response]


class Told:
    """A run over the wire: its answer, what it reported and what the model was sent."""

    def __init__(self, seen: list[events.Event], server: WireServer) -> None:
        self.seen = seen
        self.asked = [request.json for request in server.requests if request.method == "POST"]
        last = seen[-1]
        assert isinstance(last, events.Answered)
        self.answer: Answer = last.answer
        assert "".join(one.text for one in seen if isinstance(one, events.AnswerDelta)) == self.answer.text

    @property
    def decisions(self) -> list[tuple[str, str | None]]:
        decided = [(one.decision, one.why) for one in self.seen if isinstance(one, events.Decided)]
        return [pair for pair in decided if pair[0] in ("quote", "polish", "keep the quotes")]


async def ask(reply: Reply, question: str = QUESTION, *, polish: bool = True, **settings: Any) -> Told:
    with serving(openai.chat(reply)) as server:
        async with Engine(Settings(model=f"openai:m@{server.url}/v1", **settings)) as engine:
            params = {"sure": 0.5, "polish": polish}
            seen = [event async for event in engine.stream(question, strategy="auto", params=params)]
        return Told(seen, server)


async def test_the_quotes_become_sentences_in_one_small_call() -> None:
    plain = await ask(lambda asked: "never said", polish=False)
    told = await ask(lambda asked: f"{SENTENCE} [1]")
    assert (plain.asked, plain.answer.usage.model_calls) == ([], 0)
    answer = told.answer
    assert (answer.text, answer.outcome, answer.strategy) == (f"{SENTENCE} [1]", "answered", "auto")
    assert (answer.short, answer.confidence) == (plain.answer.short, plain.answer.confidence)
    assert [sentence.verdict for sentence in answer.sentences] == ["carried"]
    assert answer.citations[0].passage.title == "Mercury (planet)"
    assert [decision for decision, _ in told.decisions] == ["quote", "polish"]
    (call,) = [one for one in told.seen if isinstance(one, events.ModelCalled)]
    assert (call.role, answer.usage.model_calls) == ("polish", 1)
    assert answer.usage.input_tokens < 500
    (sent,) = [str(body["messages"]) for body in told.asked]
    quotes = {citation.quote for citation in plain.answer.citations}
    assert all(" ".join(quote.split())[:60] in " ".join(sent.replace("\\n", " ").split()) for quote in quotes)
    assert "<data-" in sent


async def test_a_number_that_the_model_forgot_is_added() -> None:
    told = await ask(lambda asked: SENTENCE)
    assert told.answer.text == f"{SENTENCE} [1]"


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ("The planet with the shortest year is Venus. [1]", "1 of 1 sentences are not carried"),
        (f"{SENTENCE} [1] It was colonised in 1999. [1]", "1 of 2 sentences are not carried"),
        ("NO ANSWER: nothing fits.", "not"),
        ("", "no words"),
        (openai.failed(500, "down"), ""),
        (openai.failed(401, "wrong key", code="invalid_api_key"), "key"),
    ],
)
async def test_the_quotes_stay_where_the_call_fails_or_the_check_flags_it(reply: str | Response, why: str) -> None:
    plain = await ask(lambda asked: "never said", polish=False)
    told = await ask(lambda asked: reply)
    assert (told.answer.text, told.answer.outcome) == (plain.answer.text, "answered")
    assert [decision for decision, _ in told.decisions] == ["quote", "polish", "keep the quotes"]
    assert why in (told.decisions[-1][1] or "")
    spent = not isinstance(reply, Response)
    assert (told.answer.usage.input_tokens > 0) == spent, "what the call cost is in the sum"


async def test_a_true_sentence_that_leaves_the_answer_out_is_not_taken() -> None:
    told = await ask(lambda asked: "A large core of iron makes up most of the planet's mass. [1]")
    assert told.decisions[-1] == ("keep the quotes", "the sentences do not say “Mercury”")
    assert "88 days" in told.answer.text


@pytest.mark.parametrize("limit", [{"max_tokens": 60}, {"max_cost": 0.0}])
async def test_a_budget_without_room_for_it_leaves_a_whole_answer(limit: dict[str, Any]) -> None:
    told = await ask(lambda asked: f"{SENTENCE} [1]", **limit)
    assert (told.answer.outcome, told.asked) == ("answered", [])
    assert told.decisions[-1][0] == "keep the quotes"
    assert "limit" in (told.decisions[-1][1] or "")
    assert not [one for one in told.seen if isinstance(one, events.Exhausted)]
