"""`rerank=evaluator` and the bound on pairs: how much a small local model may read in one run, and what then."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.strategies.bench import FILMS, Bags, Bench, Pages, Shelf, entry, passage
from tests.strategies.test_fanout import QUESTION, replies

from wellread import events
from wellread.core.effort import ALLOWED
from wellread.protocols import Grader, Reranker
from wellread.strategies.corrective import Corrective
from wellread.strategies.digest import Digest
from wellread.strategies.fanout import Fanout
from wellread.strategies.grading import CountedGrader
from wellread.strategies.iterative import Iterative
from wellread.strategies.refine import refine
from wellread.strategies.relevance import rerank
from wellread.types import Completion, Grade, Passage, ToolCall

pytestmark = pytest.mark.anyio


class Fond(Reranker, Grader):
    """Likes one word, takes its time, and remembers what it read."""

    def __init__(self, word: str) -> None:
        self.word = word
        self.read: list[list[str]] = []

    @property
    def pairs(self) -> int:
        return sum(map(len, self.read))

    async def rerank(self, question: str, passages: Sequence[Passage]) -> Sequence[float]:
        self.read.append([one.id for one in passages])
        await asyncio.sleep(0.001)
        return [5.0 if self.word in one.text else -rank / 10 for rank, one in enumerate(passages)]

    async def grade(self, question: str, passages: Sequence[Passage]) -> Sequence[Grade]:
        self.read.append([one.text for one in passages])
        return [Grade(self.word in one.text, 0.9 if self.word in one.text else 0.3) for one in passages]


NEWS = [
    entry(
        f"NBA report {n}",
        None,
        url=f"https://news.example/{n}",
        snippet=f"NBA championship and MVP of the last game, part {n}.",
    )
    for n in range(40)
]


def news(**options: Any) -> Bench:
    return Bench(replies(answer="So it was. [1]"), source=Shelf(NEWS, name="news"), ranks=Fond("part 7."), **options)  # pyright: ignore[reportArgumentType]


async def test_fanout_lets_the_evaluator_choose_among_the_closest() -> None:
    bench = news()
    answer = await bench.ask(Fanout, QUESTION, rerank="evaluator", top_k=3)
    (ranked,) = bench.of(events.Ranked)
    assert ranked.by == "evaluator"
    assert ranked.pairs == answer.usage.pairs == bench.ranks.pairs == 24
    assert len(ranked.kept) == len(ranked.scores) == 3
    assert ranked.dropped == 37
    assert list(ranked.scores) == sorted(ranked.scores, reverse=True)
    assert ranked.kept[0] == "https://news.example/7"
    assert [event.passage.url for event in bench.of(events.Numbered)] == list(ranked.kept)


async def test_fanout_reads_what_is_closest_to_the_hypothetical_answer_first() -> None:
    plain, reread = news(), news()
    await plain.ask(Fanout, QUESTION, top_k=24)
    await reread.ask(Fanout, QUESTION, rerank="evaluator")
    closest = plain.of(events.Ranked)[0].kept
    assert [one.split("~")[0] for one in reread.ranks.read[0]] == list(closest)
    assert plain.of(events.Ranked)[0].pairs == 0
    assert plain.ranks.pairs == 0, "only where it is asked for"


async def test_fanout_at_low_effort_reads_nothing() -> None:
    bench = news(effort="low")
    answer = await bench.ask(Fanout, QUESTION, rerank="evaluator")
    assert bench.ranks.pairs == answer.usage.pairs == bench.of(events.Ranked)[0].pairs == 0
    assert bench.of(events.Ranked)[0].by == "meaning"


async def test_fanout_without_results_has_nothing_to_read() -> None:
    bench = Bench(replies(), source=Shelf(), ranks=Fond("x"))  # pyright: ignore[reportArgumentType]
    answer = await bench.ask(Fanout, QUESTION, rerank="evaluator")
    assert answer.outcome == "unsure"
    assert bench.ranks.read == []


NOTES = "<information>Released on July 21, 2023. [1]</information>"
MANY = [*FILMS, *(entry(f"Film {n}", f"Film number {n} was a film.") for n in range(15)), entry("Hat", "The film Sombrero.")]


def calls(*queries: str) -> Completion:
    return Completion("", tool_calls=tuple(ToolCall(f"call-{n}", "search", {"query": q}) for n, q in enumerate(queries)))


async def test_iterative_shows_what_the_evaluator_prefers() -> None:
    script = ["<search_query>film</search_query>", NOTES, "So. [1]"]
    bench = Bench(script, source=Shelf([MANY[-1], *MANY[3:-1]][::-1][-12:]), ranks=Fond("Sombrero"))
    answer = await bench.ask(Iterative, "Which film?", protocol="text", rerank="evaluator", results_per_search=2)
    (ranked,) = bench.of(events.Ranked)
    assert (ranked.by, ranked.pairs, ranked.kept[0]) == ("evaluator", 12, "Hat")
    assert answer.usage.pairs == 12
    assert next(event.passage.title for event in bench.of(events.Numbered)) == "Hat"
    assert len(bench.of(events.Numbered)) == 2
    plain = Bench(script, source=bench.source, ranks=Fond("Sombrero"))
    await plain.ask(Iterative, "Which film?", protocol="text", results_per_search=2)
    assert plain.ranks.pairs == 0
    assert not plain.of(events.Ranked)


async def test_iterative_reads_no_more_than_a_run_may_however_many_searches_run_at_once() -> None:
    queries = [f"film {n}" for n in range(9)]
    bench = Bench([calls(*queries), NOTES, "So. [1]"], source=Shelf(MANY), ranks=Fond("Sombrero"))
    answer = await bench.ask(Iterative, "Which film?", rerank="evaluator", max_searches=9)
    assert len(bench.source.asked) == 9
    assert bench.ranks.pairs == answer.usage.pairs == ALLOWED["normal"].pairs == 60
    by = [ranked.by for ranked in bench.of(events.Ranked)]
    assert by.count("evaluator") == 5
    assert by.count("meaning") == 4, "then meaning decides"
    assert sum(ranked.pairs for ranked in bench.of(events.Ranked)) == 60


@pytest.mark.parametrize("way", ["text", "tools"])
async def test_iterative_at_low_effort_reads_nothing(way: str) -> None:
    first = "<search_query>film</search_query>" if way == "text" else calls("film")
    bench = Bench([first, NOTES, "So. [1]"], source=Shelf(MANY), ranks=Fond("Sombrero"), effort="low")
    answer = await bench.ask(Iterative, "Which film?", protocol=way, rerank="evaluator")
    assert bench.ranks.pairs == answer.usage.pairs == 0
    assert bench.of(events.Ranked)[0].by == "meaning"


async def test_what_is_read_of_a_long_document_is_chosen_by_meaning_as_well_as_words() -> None:
    class Knowing(Bags):
        async def embed(self, texts: Sequence[str], *, kind: str) -> Any:
            return np.array([[1.0, 0.0] if "movie" in text or kind == "query" else [0.0, 1.0] for text in texts])

    bench = Bench(ranks=Fond("A movie"), embeds=Knowing())
    told = [passage(n, f"Film number {n}, which was shown") for n in range(60)]
    ranking = await rerank(bench.run("Which film?"), "Which film?", [*told, passage(99, "A movie of that year.")])
    assert ranking.pairs == ALLOWED["normal"].passages
    assert max(ranking.scores) == ranking.scores[-1], "the one that shares no word is read as well"


async def test_digest_reads_as_many_passages_of_each_page_as_its_parameters_say() -> None:
    web = [entry(f"Page {n}", None, url=f"https://web.example/{n}", snippet=f"film {n}") for n in range(5)]
    pages = {hit.url or "": [f"Passage {n} of a film." for n in range(40)] for hit in web}
    bench = Bench(lambda prompt: "A film. [1]", source=Shelf(web), page_reader=Pages(pages), ranks=Fond("Passage 7 "))
    answer = await bench.ask(Digest, "Which film?", top_k_documents=5)
    assert bench.ranks.pairs == answer.usage.pairs == 5 * 40
    assert sum(ranked.pairs for ranked in bench.of(events.Ranked)) == answer.usage.pairs


LIST = [passage(n, f"Thing {n} about a film", f"T{n}") for n in range(100)]


@pytest.mark.parametrize(("effort", "most"), [("low", 0), ("normal", 24), ("high", 60)])
async def test_of_a_long_list_only_the_likeliest_are_read_and_all_are_ranked(effort: str, most: int) -> None:
    bench = Bench(ranks=Fond("Thing 5 "), effort=effort)
    run = bench.run("Which film?")
    ranking = await rerank(run, "Which film?", LIST, ordered=True)
    assert len(ranking.scores) == 100
    assert ranking.pairs == bench.ranks.pairs == run.budget.usage.pairs == most
    if most:
        assert bench.ranks.read == [[one.id for one in LIST[:most]]]
        order = sorted(range(100), key=lambda index: -ranking.scores[index])
        assert order[0] == 5
        assert order[most:] == list(range(most, 100)), "what was not read keeps its order behind the rest"
    assert ranking.by == ("evaluator" if most else "meaning")


async def test_a_run_that_has_read_its_pairs_ranks_by_meaning() -> None:
    bench = Bench(ranks=Fond("x"))
    run = bench.run("Which film?")
    run.budget.pairs(55)
    assert run.pairs_left == 5
    assert (await rerank(run, "Which film?", LIST)).pairs == 5
    assert run.pairs_left == 0
    last = await rerank(run, "Which film?", LIST)
    assert (last.by, last.pairs, len(last.scores)) == ("meaning", 0, 100)
    run.budget.pairs(1000)
    assert run.pairs_left == 0, "never below nothing"


STRIPS = " ".join(f"This is the sentence number {n} of a rather long text about films." for n in range(50))


@pytest.mark.parametrize(("spent", "read"), [(0, 48), (40, 20), (60, 0)])
async def test_refining_reads_no_more_strips_than_the_run_has_left(spent: int, read: int) -> None:
    fond = Fond("number 3 ")
    run = Bench(grades=fond).run("Which films?")
    run.budget.pairs(spent)
    long = replace(LIST[0], text=STRIPS)
    (refined,) = await refine(run, CountedGrader(run, fond), "Which films?", [long], 0.5, [()])
    assert fond.pairs == read
    assert run.budget.usage.pairs == spent + read
    if read:
        assert refined.text == "This is the sentence number 3 of a rather long text about films."
    else:
        assert refined.text == STRIPS, "what nobody could read stays whole"


async def test_refining_at_low_effort_reads_nothing() -> None:
    fond = Fond("number 3 ")
    run = Bench(grades=fond, effort="low").run("Which films?")
    (whole,) = await refine(run, CountedGrader(run, fond), "?", [replace(LIST[0], text=STRIPS)], 0.5, [()])
    assert whole.text == STRIPS
    assert fond.read == []


async def test_corrective_keeps_to_the_pairs_of_a_run() -> None:
    posts = [entry(f"Post {n}", f"{STRIPS} Film post {n}.", document=f"post{n}") for n in range(4)]
    bench = Bench(lambda prompt: "So. [1]", source=Shelf(posts, everything=True), grades=Fond("number 3 "))
    answer = await bench.ask(Corrective, "Which films?")
    assert answer.usage.pairs == bench.grades.pairs == 4 + 48
    assert [len(batch) for batch in bench.grades.read] == [4, 48]


async def test_what_leads_to_a_passage_does_not_keep_all_of_it() -> None:
    class Led(Grader):
        async def grade(self, question: str, passages: Sequence[Passage], leads: Any = ()) -> list[Grade]:
            return [Grade(True, 0.9 if "1655" in one.text else 0.5) for one in passages]

    said = ["He was born in a large house by the sea in The Hague.", "He found Titan with a telescope of his own in 1655."]
    said += ["He made a clock with a pendulum that kept good time.", "He wrote of light as of a wave in a medium."]
    run = Bench().run("Who found Titan?")
    text = " ".join(said)
    for leads, kept in (([LIST[1]], 1), ((), 4)):
        (refined,) = await refine(
            run, CountedGrader(run, Led()), run.question, [replace(LIST[0], text=text)], 0.05, [tuple(leads)]
        )  # type: ignore[arg-type]
        assert refined.kept == kept
    assert run.budget.usage.pairs == 8
