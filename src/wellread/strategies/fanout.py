"""`fanout`: many queries in parallel, ranked by a hypothetical answer, cited answer.

Recipe: works on top of any search service, nothing is embedded ahead of time.

    ask the model for many different queries; add the question itself
    search all of them at once, while the model writes what an answer could look like, without facts
    each result once
    rank the results by how close they are to that hypothetical answer; keep the best
    answer from their titles and descriptions, with links

Departures from the original. The hypothetical answer is written while the searches run, not after them.
A query that fails or takes too long is left out and reported. Markup is taken out of descriptions before
anything else. Passages of a local index are used whole: they have no description; neighbours are one source. Without an embedder
the ranking counts shared words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from wellread.errors import BadOutput
from wellread.events import Notice, Ranked, Thought
from wellread.models.structured import texts
from wellread.parameters import Count, Length, Range, Seconds, param
from wellread.prompts.render import render
from wellread.run import Run, Together
from wellread.sources.hits import plain
from wellread.strategies import calls, context, lookup, relevance
from wellread.strategies.compose import Brief, compose
from wellread.strategies.recipe import AnsweringRoles, Recipe, stand_alone
from wellread.text.neighbours import by_place
from wellread.types import Answer, Hit, Passage

_QUERIES = texts("queries", "a query")
_DESCRIPTION = 300  # characters that stand for a description where there is none
_CONTENT = 100  # characters of the content that are embedded with title and description


@dataclass(frozen=True, slots=True)
class FanoutParams(AnsweringRoles):
    temperature: Annotated[float, Range(0, 2)] = param(
        0.5, "how freely queries, the hypothetical answer and the answer are written"
    )
    top_k: Count = param(5, "results the answer is written from")
    min_score: Annotated[float, Range(-1, 1)] | None = param(None, "results less similar to the hypothetical answer are left out")
    rerank: Literal["none", "evaluator"] = param("none", "evaluator: the small local model reads the results and orders them")
    detail: Literal["brief", "full"] = param("full", "how much the answer says")
    max_queries: Count = param(24, "at most so many queries, whatever the model thinks of")
    results_per_query: Count = param(50, "results asked for with each query")
    query_seconds: Seconds = param(20.0, "a query that takes longer is left out")
    since: str | None = param(None, "only results from this date on (ISO), where the source can filter")
    until: str | None = param(None, "only results up to this date (ISO), where the source can filter")
    answer_tokens: Length = param(1500, "tokens for the answer")


@dataclass(slots=True)
class _Results:
    """The results that were found so far. Mutable and private to one run."""

    question: str
    queries: list[str] = field(default_factory=list[str])
    found: dict[int, Sequence[Hit]] = field(default_factory=dict[int, Sequence[Hit]])
    hypothesis: str = ""
    best: list[Hit] = field(default_factory=list[Hit])

    @property
    def hits(self) -> tuple[Hit, ...]:
        """Every result once, in the order of the queries; first seen wins."""
        return lookup.unique([hit for index in sorted(self.found) for hit in self.found[index]])


class Fanout(Recipe[FanoutParams]):
    """Search many queries at once, rank the results by a hypothetical answer, answer with links."""

    async def answer(self, run: Run) -> Answer:
        results = _Results(run.question)
        with run.until_spent():
            results.question = await stand_alone(run, self.params)
            results.queries = await self._queries(run, results.question)
            run.emit(Thought("queries", "\n".join(results.queries)))
            among = Together(len(results.queries))
            searches = [self._search(run, results, place, among) for place in range(len(results.queries))]
            await run.gather([self._hypothesis(run, results), *searches])
            run.emit(Thought("hypothesis", results.hypothesis))
            await self._rank(run, results)
        if run.spent and not results.best:  # ranked in a way that costs nothing
            hits = results.hits
            scores = relevance.by_words(results.question, [embedding_text(hit) for hit in hits])
            results.best = [hits[index] for index in relevance.best(scores, self.params.top_k)]
        return await compose(run, self._brief(run, results))

    async def _queries(self, run: Run, question: str) -> list[str]:
        """The model's queries and the question itself, each once. The question alone if the model fails at it."""
        most = max(1, self.params.max_queries)
        text = render(
            "fanout-queries",
            today=run.today,
            hint=run.source.hint,
            most=str(most),
            question=question,
        )
        written: list[str] = []
        try:
            written = await calls.data(run, text, _QUERIES, role="queries", max_tokens=60 + 20 * most, **self._manner(run))
        except BadOutput as problem:
            run.emit(Notice(f"only the question itself is searched: {problem}"))
        queries = [" ".join(query.split()) for query in written]
        unique = {query.casefold(): query for query in reversed([*queries[: most - 1], question]) if query}
        return list(reversed(unique.values()))

    async def _search(self, run: Run, results: _Results, index: int, among: Together) -> None:
        """One of the queries. Whatever happens to it, the others go on."""
        params, query = self.params, results.queries[index]
        try:
            async with run.timeout(params.query_seconds, "query"):
                with run.until_spent():
                    results.found[index] = await run.search(
                        query,
                        limit=params.results_per_query,
                        since=params.since,
                        until=params.until,
                        read=False,
                        among=among,
                    )
        except TimeoutError:
            slow = f"the search for “{query}” took longer than {params.query_seconds:g} s and is left out"
            run.failures.append(slow)
            run.emit(Notice(slow))

    async def _hypothesis(self, run: Run, results: _Results) -> None:
        """Write a hypothetical answer (HyDE); the question itself if the model fails at it."""
        results.hypothesis = results.question
        text, failing = render("fanout-hypothesis", today=run.today, question=results.question), "ranking by the question itself"
        with run.until_spent():
            reply = await calls.words(run, text, role="hypothesis", max_tokens=200, failing=failing, **self._manner(run))
            results.hypothesis = reply or results.question

    async def _rank(self, run: Run, results: _Results) -> None:
        """The results closest to the hypothetical answer."""
        hits = results.hits
        by, scores = await relevance.by_meaning(run, results.hypothesis, [embedding_text(hit) for hit in hits], kind="passage")
        least = self.params.min_score
        close = [index for index in relevance.best(scores, len(hits)) if least is None or scores[index] >= least]
        by, pairs = f"{by}, against the hypothetical answer", 0
        if self.params.rerank == "evaluator" and close:
            # What the question itself says comes after what a likely answer looks like.
            read = await relevance.rerank(run, results.question, [_excerpt(hits[index]) for index in close], ordered=True)
            by, pairs, scores = read.by, read.pairs, dict(zip(close, read.scores, strict=True))
            close = sorted(close, key=lambda index: -scores[index])
        kept = close[: self.params.top_k]
        results.best = [hits[index] for index in kept]
        listed = [f"{place}. {plain(hits[index].title)} ({scores[index]:.2f})" for place, index in enumerate(kept, 1)]
        if listed:
            run.emit(Thought("results", "\n".join(listed)))
        ids, shown = tuple(hit.id for hit in results.best), tuple(round(scores[index], 4) for index in kept)
        run.emit(Ranked(by, ids, shown, len(hits) - len(kept), pairs))

    def _brief(self, run: Run, results: _Results) -> Brief:
        found = by_place(_excerpt(hit) for hit in results.best if lookup.description(hit) or hit.title)
        why = f"{len(results.hits)} results were found and none is close enough" if results.hits else "nothing was found"
        known = {"links": any(hit.url for hit in results.best), "missing": why, "tried": results.queries}
        return self.params.brief(run, results.question, [_material(run, passage) for passage in found], **known)

    def _manner(self, run: Run) -> dict[str, Any]:
        return {"model": self.params.writer(run), "temperature": self.params.temperature}


def _material(run: Run, passage: Passage) -> str:
    """Title, description and address: what the answer is written from."""
    rows = [f"Title: {plain(passage.title)}", f"Description: {passage.text}"]
    rows += [f"Outlet: {passage.heading}"] if passage.heading and passage.document is None else []
    rows += [f"Published: {passage.published}"] if passage.published else []
    rows += [f"Address: {passage.url}"] if passage.url else []
    return f"[{run.number(passage)}]\n{context.fence(run, chr(10).join(rows))}"


def _excerpt(hit: Hit) -> Passage:
    """The passage that the answer may be written from and cites: the description, or the title where there is none."""
    return lookup.excerpt(hit, lookup.description(hit) or plain(hit.title))


def embedding_text(hit: Hit) -> str:
    """The text of a result that is embedded: title, description, and how its content begins."""
    described, content = plain(hit.snippet), plain(hit.text or hit.beginning)
    if not described:  # a passage of a local index: its beginning stands for a description
        described, content = content[:_DESCRIPTION], ""
    begins = content[:_CONTENT]
    return " ".join(filter(None, (plain(hit.title), described, "" if described.startswith(begins) else begins)))
