"""Several sources at once: fused, each page once, one that fails reported and skipped."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace

import pytest
from tests.strategies.bench import Bench

from wellread.budget import Budget, Limits
from wellread.errors import SourceBusy, SourceError
from wellread.events import Event, Searched
from wellread.parameters import fill
from wellread.parts import Parts
from wellread.protocols import Source
from wellread.run import Run
from wellread.settings import Settings
from wellread.sources.multi_hop import Several
from wellread.strategies.iterative import Iterative
from wellread.types import Hit, Hits, Query

pytestmark = pytest.mark.anyio


class Fixed(Source):
    """Answers with what it was given: hits, or an error."""

    hint = "ask anything"

    def __init__(self, name: str, answer: Sequence[Hit] | Exception, wait: float = 0.0) -> None:
        self.name = name
        self.answer = answer
        self.wait = wait

    async def search(self, query: Query) -> Sequence[Hit]:
        await asyncio.sleep(self.wait)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def web(url: str, source: str = "s", **more: object) -> Hit:
    return Hit(id=url, title=url, url=url, source=source, **more)


A = [web("https://a.org/1"), web("https://a.org/2"), web("https://both.org/page?utm_source=x", snippet="")]
B = [web("http://www.both.org/page/", snippet="words", text="text"), web("https://b.org/1")]


async def test_what_two_sources_find_comes_first_and_once() -> None:
    hits = await Several([Fixed("a", A), Fixed("b", B)]).search(Query("x"))
    assert [hit.url for hit in hits] == [A[2].url, "https://a.org/1", "https://a.org/2", "https://b.org/1"]
    assert (hits[0].snippet, hits[0].text) == ("words", "text")  # the first seen takes what it lacks
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


async def test_the_limit_holds_for_all_together() -> None:
    assert len(await Several([Fixed("a", A), Fixed("b", B)]).search(Query("x", limit=2))) == 2


async def test_passages_of_one_document_stay_apart() -> None:
    parts = [Hit(f"d#{n}", title="D", url="https://d.org", document="d", source="index") for n in range(3)]
    assert len(await Several([Fixed("a", parts), Fixed("b", B)]).search(Query("x"))) == 5


async def test_one_that_fails_is_reported_and_skipped() -> None:
    broken = Fixed("b", SourceError("b", "out of order"))
    odd = Fixed("c", ValueError("a plugin's bug"))
    hits = await Several([Fixed("a", A), broken, odd]).search(Query("x"))
    assert len(hits) == 3
    assert isinstance(hits, Hits)
    assert hits.failures == ("b: out of order", "c: unexpected ValueError")


async def test_failures_inside_a_source_are_passed_on() -> None:
    partly = Fixed("a", Hits(tuple(A), ("a: one engine is down",)))
    hits = await Several([partly, Fixed("b", B)]).search(Query("x"))
    assert hits.failures == ("a: one engine is down",)


async def test_all_failing_is_an_error_with_every_reason() -> None:
    both = Several([Fixed("a", SourceError("a", "down")), Fixed("b", SourceBusy("b", "busy", 3))])
    with pytest.raises(SourceError, match="a: down; b: busy"):
        await both.search(Query("x"))


async def test_nothing_found_anywhere_is_no_error() -> None:
    assert not await Several([Fixed("a", []), Fixed("b", SourceError("b", "down"))]).search(Query("x"))


async def test_they_run_at_the_same_time_and_stop_together() -> None:
    slow = Several([Fixed(str(n), A, wait=0.3) for n in range(5)])
    async with asyncio.timeout(1.0):
        await slow.search(Query("x"))
    task = asyncio.create_task(Several([Fixed("a", A, wait=60)]).search(Query("x")))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_run_reports_the_failures() -> None:
    told: list[Event] = []
    source = Several([Fixed("a", A), Fixed("b", SourceError("b", "out of order"))])
    kit = SimpleNamespace(effort="low")
    run = Run("q", "test", source, kit, Budget(Limits(), lambda: 0.0), told.append, lambda: 0.0, "2024-01-01", "m")  # type: ignore[arg-type]
    assert len(await run.search("x")) == 3
    assert [event.failures for event in told if isinstance(event, Searched)] == [("b: out of order",)]


def test_name_and_hint_are_those_of_all() -> None:
    both = Several([Fixed("a", A), Fixed("b", B)])
    assert both.name == "a + b"
    assert both.hint == "- ask anything\n- ask anything"


async def test_examples_of_queries_survive_a_group() -> None:
    kit = Parts(Settings(), environ={})
    group = kit.several(("library", "wikipedia"))
    assert "Suez Canal opening" in group.examples
    bench = Bench(["<information></information>"], source=group)
    await Iterative(fill(Iterative.Params, {"protocol": "text", "max_searches": 0}, "iterative")).retrieve(bench.run("Who?"))
    assert "Suez Canal opening" in bench.prompt(0)
