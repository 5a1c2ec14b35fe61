"""Model calls that end without a completion are counted: whoever cuts them off, the provider bills them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import pytest
from tests.models.bench import ollama_at, openai_at
from tests.strategies.bench import Bench, Shelf
from tests.wire import openai as wire
from tests.wire.server import Response, WireServer

from wellread.budget import Limits
from wellread.engine import Engine
from wellread.errors import BrokenStream, BudgetExhausted, ModelBusy, ModelError, WrongKey
from wellread.events import ModelCalled
from wellread.models.call import LEAST_REPLY
from wellread.models.tokens import estimate
from wellread.protocols import Model
from wellread.run import Run
from wellread.settings import Settings
from wellread.types import Capabilities, Completion, Hit, Message, Prompt

pytestmark = pytest.mark.anyio

FOREVER = 30.0
Line = str | float | Exception | Completion


@dataclass
class Told:
    """Says what the prompt's words are mapped to; a number is a pause, an exception a failure. It knows no price."""

    lines: dict[str, list[Line]]
    name: str = "told"
    capabilities: Capabilities = Capabilities(100_000)

    async def stream(self, prompt: Prompt) -> AsyncIterator[str | Completion]:
        for line in self.lines[prompt.messages[-1].text]:
            if isinstance(line, Exception):
                raise line
            if isinstance(line, float):
                await asyncio.sleep(line)
            else:
                yield line

    def count_tokens(self, text: str) -> int:
        return estimate(text)


class Priced(Told):
    def price(self, input_tokens: int, output_tokens: int) -> float | None:
        return (input_tokens + 5 * output_tokens) / 1000


def asking(text: str, **fields: Any) -> Prompt:
    return Prompt((Message("system", "Be brief."), Message("user", text)), **fields)


def tokens(text: str) -> int:
    return estimate("Be brief.") + estimate(text)


def agree(bench: Bench, run: Run) -> list[ModelCalled]:
    """The events add up to the usage."""
    called, usage = bench.of(ModelCalled), run.budget.usage
    assert len(called) == usage.model_calls
    assert sum(event.input_tokens for event in called) == usage.input_tokens
    assert sum(event.output_tokens for event in called) == usage.output_tokens
    prices = [event.cost for event in called]
    known = [price for price in prices if price is not None]
    assert usage.cost == (pytest.approx(sum(known)) if len(known) == len(prices) else None)
    assert run.budget.known_cost == pytest.approx(sum(known))
    assert not run.budget._reserved
    return called


async def together(run: Run, model: Model, *texts: str) -> None:
    await run.gather([run.complete(asking(text), role="test", model=model) for text in texts])


async def test_calls_cancelled_by_a_sibling_that_fails_are_counted() -> None:
    model = Priced(
        {
            "slow": ["Some words ", "that came", FOREVER],
            "silent": [FOREVER],
            "done": [Completion("yes", input_tokens=100, output_tokens=50, cost=0.5)],
            "fails": [0.05, ModelBusy("told", "later")],
        }
    )
    bench = Bench()
    run = bench.run("?")
    with pytest.raises(ModelBusy):
        await together(run, model, "slow", "silent", "done", "fails")
    called = agree(bench, run)
    assert [event.cut_off for event in called] == [False, True, True]
    by_words = {event.output_tokens: event for event in called}
    heard = estimate("Some words that came")
    assert by_words.keys() == {50, 0, heard}, "the one that was refused is not among them"
    assert by_words[heard].input_tokens == tokens("slow")
    assert by_words[heard].cost == (tokens("slow") + 5 * heard) / 1000
    assert by_words[0].input_tokens == tokens("silent")
    assert 0.05 <= by_words[0].seconds < 5


async def test_a_call_that_is_not_let_in_leaves_the_others_to_their_end() -> None:
    model = Priced({"a": ["words ", 0.01, "and more"], "b": [0.02, "words"], "c": [Completion("never")]})
    limit = 20 + tokens("a") + 20 + tokens("b")
    bench = Bench(limits=Limits(tokens=limit))
    run = bench.run("?")
    jobs = [run.complete(asking(text, max_tokens=20), role="test", model=model) for text in "abc"]
    with pytest.raises(BudgetExhausted, match="tokens"):
        await run.gather(jobs)
    called = agree(bench, run)
    assert [event.input_tokens for event in called] == [tokens("a"), tokens("b")], "the third was not let in"
    assert run.budget.tokens_left() == limit - tokens("a") - tokens("b") - sum(event.output_tokens for event in called)


async def test_parallel_calls_do_not_share_the_money_of_one() -> None:
    model = Priced({str(n): [0.01, Completion("done", input_tokens=10, output_tokens=20, cost=0.11)] for n in range(20)})
    bench = Bench(limits=Limits(cost=0.25))
    run = bench.run("?")
    jobs = [run.complete(asking(text, max_tokens=20), role="test", model=model) for text in model.lines]
    with pytest.raises(BudgetExhausted, match="cost"):
        await run.gather(jobs)
    agree(bench, run)
    assert run.budget.known_cost < 0.25 + 0.11


async def test_calls_that_wait_for_their_turn_cost_nothing() -> None:
    model = Told({"slow": [FOREVER], **{str(n): [FOREVER] for n in range(31)}, "late": [Completion("never")]})
    bench = Bench()
    run = bench.run("?")

    async def fail() -> None:
        await asyncio.sleep(0.02)
        raise ModelError("told", "enough")

    jobs = [run.complete(asking(text), role="test", model=model) for text in model.lines]
    with pytest.raises(ModelError):
        await run.gather([*jobs, fail()])
    assert len(agree(bench, run)) == 32


async def test_the_time_limit_counts_what_it_cuts_off() -> None:
    bench = Bench(limits=Limits(seconds=0.1))
    run = bench.run("?")
    with pytest.raises(BudgetExhausted, match="seconds"):
        await run.complete(asking("q"), role="answer", model=Told({"q": ["Half an ", FOREVER, "answer"]}))
    (event,) = agree(bench, run)
    assert (event.cut_off, event.input_tokens, event.output_tokens) == (True, tokens("q"), estimate("Half an "))
    assert 0.05 < event.seconds < 5, "the limit counts from the run's begin, the event from the call's"
    assert run.budget.usage.cost is None, "nobody knows its price"


async def test_the_time_limit_in_parallel_counts_every_call_once() -> None:
    model = Told({str(n): ["x " * n, FOREVER] for n in range(1, 6)})
    bench = Bench(limits=Limits(seconds=0.1))
    run = bench.run("?")
    with pytest.raises(BudgetExhausted, match="seconds"):
        await together(run, model, *model.lines)
    assert sorted(event.output_tokens for event in agree(bench, run)) == [estimate("x " * n) for n in range(1, 6)]


@pytest.mark.parametrize(
    ("lines", "counted"),
    [
        (["Some words", BrokenStream("told", "gone")], True),
        (["Some words", WrongKey("told", "no longer")], True),
        ([BrokenStream("told", "gone")], True),
        ([WrongKey("told", "refused")], False),
        ([ModelBusy("told", "later")], False),
        ([ModelError("told", "cannot reach it")], False),
    ],
)
async def test_a_broken_stream_is_counted_and_a_refusal_is_not(lines: list[Line], counted: bool) -> None:
    bench = Bench()
    run = bench.run("?")
    with pytest.raises(ModelError):
        await run.complete(asking("q"), role="test", model=Priced({"q": lines}))
    called = agree(bench, run)
    assert [event.cut_off for event in called] == [True] * counted


async def test_a_failure_that_a_parallel_job_survives_is_reported_at_once() -> None:
    model = Priced({"breaks": ["word", BrokenStream("told", "gone")], "done": [0.05, Completion("yes", input_tokens=9)]})
    bench = Bench()
    run = bench.run("?")

    async def survive() -> None:
        with pytest.raises(BrokenStream):
            await run.complete(asking("breaks"), role="test", model=model)
        assert run.budget.usage.model_calls == 1

    await run.gather([survive(), run.complete(asking("done"), role="test", model=model)])
    assert [event.cut_off for event in agree(bench, run)] == [True, False]


async def test_a_stream_that_somebody_leaves_is_counted() -> None:
    bench = Bench()
    run = bench.run("?")
    async with aclosing(run.generate(asking("q"), role="test", model=Told({"q": ["one ", "two ", "three"]}))) as stream:  # type: ignore[type-var]
        async for item in stream:
            if item == "two ":
                break
    (event,) = agree(bench, run)
    assert (event.cut_off, event.output_tokens) == (True, estimate("one two "))


async def test_a_model_that_forgets_the_completion_is_counted_too() -> None:
    bench = Bench()
    run = bench.run("?")
    done = await run.complete(asking("q"), role="test", model=Priced({"q": ["all ", "there"]}))
    assert done.text == "all there"
    (event,) = agree(bench, run)
    assert (event.cut_off, event.output_tokens) == (True, estimate("all there"))


async def test_a_call_is_paid_even_if_the_end_of_its_stream_is_cancelled() -> None:
    class Clinging(Told):
        async def stream(self, prompt: Prompt) -> AsyncIterator[str | Completion]:
            try:
                yield Completion("yes", input_tokens=7, output_tokens=3)
            finally:
                await asyncio.sleep(FOREVER)

    bench = Bench()
    run = bench.run("?")
    task = asyncio.create_task(run.complete(asking("q"), role="test", model=Clinging({})))
    await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    (event,) = agree(bench, run)
    assert (event.cut_off, run.budget.usage.input_tokens) == (False, 7)


async def test_the_cost_limit_holds_after_a_call_of_unknown_price() -> None:
    model = Told({"paid": [Completion("", cost=0.006)], "cut": ["words", BrokenStream("told", "gone")]})
    bench = Bench(limits=Limits(cost=0.01))
    run = bench.run("?")
    await run.complete(asking("paid"), role="test", model=model)
    with pytest.raises(BrokenStream):
        await run.complete(asking("cut"), role="test", model=model)
    await run.complete(asking("paid"), role="test", model=model)
    with pytest.raises(BudgetExhausted, match="cost"):
        await run.complete(asking("paid"), role="test", model=model)
    agree(bench, run)
    assert run.budget.usage.cost is None


async def test_what_calls_that_were_cut_off_cost_counts_against_the_limit() -> None:
    model = Priced({"cut": ["words", BrokenStream("told", "gone")], "more": [Completion("never")]})
    bench = Bench(limits=Limits(cost=(tokens("cut") + 5 * LEAST_REPLY) / 1000))
    run = bench.run("?")
    with pytest.raises(BrokenStream):
        await run.complete(asking("cut"), role="test", model=model)
    with pytest.raises(BudgetExhausted, match="cost"):
        await run.complete(asking("more"), role="test", model=model)


async def test_attempts_that_nobody_saw_count_against_the_limit() -> None:
    error = BrokenStream("told", "gone")
    error.input_tokens, error.output_tokens = 4000, 8000
    bench = Bench(limits=Limits(tokens=10_000))
    run = bench.run("?")
    with pytest.raises(BrokenStream):
        await run.complete(asking("cut"), role="test", model=Priced({"cut": [error]}))
    (event,) = agree(bench, run)
    assert (event.input_tokens, event.output_tokens, event.cost) == (4000, 8000, 44)
    with pytest.raises(BudgetExhausted, match="tokens"):
        await run.complete(asking("more"), role="test", model=Priced({"more": [Completion("never")]}))


def reply(request: Any) -> Response:
    """One question gets an error, one half a reply; the others are answered very slowly."""
    asked = str(request.json["messages"][-1]["content"])
    if asked == "fails":
        return Response(status=401)
    if asked == "breaks":
        return Response([wire.chunk({"content": "Paris is "})], headers=wire.SSE, ending="cut")
    return wire.said("Paris ", "is the ", "capital", FOREVER, "of France.")


@pytest.mark.parametrize(
    ("make", "price"),
    [
        (lambda url: openai_at(url, {"input_price": "200000", "output_price": "300000"}), lambda i, o: 0.2 * i + 0.3 * o),
        (lambda url: openai_at(url), lambda i, o: None),
        (lambda url: ollama_at(url), lambda i, o: 0.0),
    ],
    ids=["prices given", "prices unknown", "on this machine"],
)
async def test_over_the_wire(make: Callable[[str], Any], price: Callable[[int, int], float | None]) -> None:
    async with WireServer(reply) as server:
        model = make(server.url)
        bench = Bench()
        run = bench.run("?")
        heard = asyncio.Event()

        async def listen() -> None:
            async for item in run.generate(asking("slow"), role="test", model=model):
                if "capital" in str(item):
                    heard.set()

        async def fail() -> None:
            await heard.wait()
            await run.complete(asking("fails"), role="test", model=model)

        with pytest.raises(WrongKey):
            await run.gather([listen(), fail()])
        await server.idle()
        assert server.left == 1, "the slow reply was not waited for"
        with pytest.raises(BrokenStream):
            await run.complete(asking("breaks"), role="test", model=model)
        await model.aclose()
    slow, broken = agree(bench, run)
    said = estimate("Paris is the capital")
    assert (slow.cut_off, slow.input_tokens, slow.output_tokens) == (True, tokens("slow"), said)
    assert slow.cost == price(tokens("slow"), said)
    assert (broken.cut_off, broken.output_tokens) == (True, estimate("Paris is "))


async def test_an_answer_says_what_could_not_be_found_yet() -> None:
    shelf = Shelf([Hit("s", "Saturn has 146 moons, the most of any planet.", "Saturn")])
    shelf.unfinished = ("60 passages of shelf are found by their words alone so far; ask again later",)
    async with Engine(Settings(effort="low", model="none"), source=shelf) as engine:
        answer = await engine.ask("How many moons has Saturn?", strategy="quote")
    assert answer.notes == shelf.unfinished
