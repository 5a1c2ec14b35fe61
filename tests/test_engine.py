"""The engine with strategies made for the test: what every run keeps to, whatever the strategy."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import pytest

import wellread
from wellread import api, events, plugins
from wellread.api import Flags, run_sync
from wellread.engine import Engine, clean_question
from wellread.errors import SourceError, UsageError
from wellread.protocols import Source
from wellread.run import Run
from wellread.settings import Settings
from wellread.types import Answer, Hit, Passage, Query

pytestmark = pytest.mark.anyio


@dataclass(frozen=True, slots=True)
class Params:
    times: int = 1


class Shelf(Source):
    """A source in memory that can be slow or broken."""

    name = "shelf"
    hint = ""

    def __init__(self, hits: Sequence[Hit] = (), seconds: float = 0.0, error: str | None = None) -> None:
        self.hits, self.seconds, self.error = hits, seconds, error
        self.open = 0

    async def search(self, query: Query) -> Sequence[Hit]:
        self.open += 1
        try:
            await asyncio.sleep(self.seconds)
        finally:
            self.open -= 1
        if self.error:
            raise SourceError(self.name, self.error)
        return self.hits


TITAN = Hit("titan#0", title="Titan", text="Titan was discovered by Christiaan Huygens in 1655.", source="shelf")
Body = Callable[[Run, Params], Awaitable[Answer]]


@pytest.fixture
def strategy(monkeypatch: pytest.MonkeyPatch) -> Callable[[Body], None]:
    """Makes a body the strategy that every name loads."""

    def install(body: Body) -> None:
        class Made:
            name: ClassVar[str] = "made"
            summary: ClassVar[str] = "for a test"
            needs_model: ClassVar[bool] = False
            Params: ClassVar[type] = Params

            def __init__(self, params: Params) -> None:
                self.params = params

            async def answer(self, run: Run) -> Answer:
                return await body(run, self.params)

        monkeypatch.setattr(plugins, "load", lambda kind, name: Made)

    return install


async def quoting(run: Run, params: Params) -> Answer:
    for _ in range(params.times):
        hits = await run.search(run.question)
    if not hits:
        return await run.answer("", outcome="unsure", reason="nothing found")
    number = run.number(Hit.passage(hits[0]))
    run.emit(events.AnswerDelta("Titan"))
    return await run.answer(f"Titan was discovered by Christiaan Huygens in 1655. [{number}]")


async def collect(engine: Engine, question: str = "Who found Titan?", **kwargs: Any) -> list[events.Event]:
    return [event async for event in engine.stream(question, strategy="made", **kwargs)]


async def test_events_come_in_order_and_answered_is_last(strategy: Callable[[Body], None]) -> None:
    strategy(quoting)
    seen = await collect(Engine(Settings(), source=Shelf([TITAN])))
    assert [type(event).__name__ for event in seen] == ["Started", "Searching", "Searched", "Numbered", "AnswerDelta", "Answered"]
    assert [event.at for event in seen] == sorted(event.at for event in seen)
    answer = seen[-1].answer
    assert answer.outcome == "answered"
    assert answer.sentences[0].supported
    assert answer.citations[0].quote == TITAN.text
    assert answer.usage.searches == 1


async def test_parameters_come_from_settings_and_the_call(strategy: Callable[[Body], None]) -> None:
    strategy(quoting)
    engine = Engine(Settings(params={"made": {"times": 2}}), source=Shelf([TITAN]))
    assert (await engine.ask("q", strategy="made")).usage.searches == 2
    assert (await engine.ask("q", strategy="made", params={"times": "3"})).usage.searches == 3
    with pytest.raises(UsageError, match="no parameter 'tims'"):
        await engine.ask("q", strategy="made", params={"tims": 3})


async def test_a_failing_source_is_reported_and_survived(strategy: Callable[[Body], None]) -> None:
    strategy(quoting)
    seen = await collect(Engine(Settings(), source=Shelf(error="out of order")))
    searched = next(event for event in seen if isinstance(event, events.Searched))
    assert searched.failures == ("shelf: out of order",)
    assert seen[-1].answer.outcome == "unsure"


@pytest.mark.parametrize(
    ("settings", "limit"),
    [(Settings(max_searches=1), "searches"), (Settings(max_seconds=0.05), "seconds")],
    ids=["searches", "seconds"],
)
async def test_an_exhausted_budget_still_answers_from_what_there_is(
    strategy: Callable[[Body], None], settings: Settings, limit: str
) -> None:
    async def endless(run: Run, params: Params) -> Answer:
        run.number(Hit.passage(TITAN))
        while True:
            await run.search(run.question)
            run.emit(events.Thought("plan", "once more"))

    strategy(endless)
    seen = await collect(Engine(settings, source=Shelf([TITAN], seconds=0.02)), "Who discovered Titan?")
    assert any(isinstance(event, events.Exhausted) and event.limit == limit for event in seen)
    answer = seen[-1].answer
    assert answer.outcome == "exhausted"
    assert "Huygens" in answer.text
    assert answer.citations[0].number == 1


async def test_errors_and_bugs_end_as_failed(strategy: Callable[[Body], None]) -> None:
    async def broken(run: Run, params: Params) -> Answer:
        run.emit(events.Thought("plan", "soon"))
        raise ZeroDivisionError("oops")

    strategy(broken)
    answer = (await collect(Engine(Settings(), source=Shelf())))[-1].answer
    assert answer.outcome == "failed"
    assert "ZeroDivisionError" in answer.reason


async def test_closing_the_stream_stops_the_work(strategy: Callable[[Body], None]) -> None:
    async def wide(run: Run, params: Params) -> Answer:
        await run.gather([run.search(str(n)) for n in range(8)])
        return await run.answer("never")

    strategy(wide)
    shelf = Shelf([TITAN], seconds=30)
    before = asyncio.all_tasks()
    async with aclosing(Engine(Settings(), source=shelf).stream("q", strategy="made")) as stream:
        async for event in stream:
            if isinstance(event, events.Searching) and event.query == "7":
                break
        await asyncio.sleep(0)
        assert shelf.open == 8
    assert shelf.open == 0
    assert asyncio.all_tasks() == before


async def test_one_number_per_passage(strategy: Callable[[Body], None]) -> None:
    async def counting(run: Run, params: Params) -> Answer:
        numbers = [run.number(Passage(name, "x")) for name in ("a", "b", "a", "c", "b")]
        assert numbers == [1, 2, 1, 3, 2]
        return await run.answer("")

    strategy(counting)
    seen = await collect(Engine(Settings(), source=Shelf()))
    assert seen[-1].answer.outcome == "answered"
    assert [event.number for event in seen if isinstance(event, events.Numbered)] == [1, 2, 3]


@pytest.mark.parametrize("question", ["", "   ", "\x00\x07", "\n\t"])
async def test_an_empty_question_is_wrong_usage(question: str) -> None:
    with pytest.raises(UsageError, match="empty"):
        await Engine(Settings(), source=Shelf()).ask(question)


def test_questions_are_cleaned() -> None:
    assert clean_question("  Who\x00 is\n\x1b[31m Ødegård? ") == "Who is [31m Ødegård?"
    with pytest.raises(UsageError, match="100,000 characters"):
        clean_question("x" * 100_000)


async def test_a_strategy_that_needs_a_model_says_so_when_there_is_none() -> None:
    with pytest.raises(UsageError, match="needs a language model"):
        await Engine(Settings(), source=Shelf()).ask("q", strategy="iterative")


async def test_the_default_strategy_follows_from_the_model() -> None:
    assert Engine(Settings()).strategy() == "quote"
    assert Engine(Settings(model="ollama:x")).strategy() == "auto"
    assert Engine(Settings(model="none")).strategy("auto") == "quote"
    assert Engine(Settings(strategy="react")).strategy() == "react"


async def test_sync_works_inside_a_running_loop() -> None:
    async def job() -> int:
        await asyncio.sleep(0)
        return 7

    assert run_sync(job()) == 7


async def test_sync_passes_errors_on() -> None:
    with pytest.raises(UsageError, match="empty"):
        wellread.ask("")


def test_sync_works_without_a_loop() -> None:
    async def job() -> str:
        return "done"

    assert run_sync(job()) == "done"
    assert wellread.ask is api.ask
    with pytest.raises(AttributeError):
        _ = wellread.nothing


def test_a_source_of_no_known_class_is_refused_with_what_to_do() -> None:
    class Plain:
        name = "plain"

    with pytest.raises(UsageError, match=r"Plain is no source: derive it from wellread\.protocols\.Source"):
        Engine(Settings(), source=Plain())


def test_keywords_are_the_settings_and_the_library_exports_what_it_promises() -> None:
    tables = {"strategy", "params", "server", "keys"}
    assert set(Flags.__annotations__) == {one.name for one in fields(Settings)} - tables
    assert all(hasattr(wellread, name) for name in wellread.__all__)


async def test_an_answer_shows_itself_with_its_sources(strategy: Callable[[Body], None]) -> None:
    strategy(quoting)
    hit = replace(TITAN, title="<Titan>", url="https://example.org/?a=1&b=2")
    answer = await Engine(Settings(), source=Shelf([hit])).ask("Who discovered Titan?", strategy="made")
    assert "[1] <Titan>" in str(answer)
    assert r"[1] [\<Titan\>](<https://example.org/?a=1&b=2>)" in answer._repr_markdown_()
    link = '<a href="https://example.org/?a=1&amp;b=2" target="_blank" rel="noopener noreferrer nofollow">&lt;Titan&gt;</a>'
    assert f"<li>[1] {link}" in answer._repr_html_()
    assert all("1 of 1 sentence checked" in told for told in (str(answer), answer._repr_markdown_(), answer._repr_html_()))
