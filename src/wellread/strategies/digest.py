"""`digest`: read pages, rank passages, summarise each document, answer.

Recipe: two tools in one. Hits with address and snippet go the internet way, passages of a local index
the Wikipedia way; with both kinds of source, both.

    internet: search; read the best pages; re-rank the first passages of each and keep the best;
        further results may join with their snippet alone
    local index: search many passages, in two steps; re-rank and keep the best, grouped by document;
        the best documents bring further passages of theirs
    leave out the documents that the evaluator finds irrelevant
    summarise the others, all at once: what matters for the question, in their own words, numbered
    answer from the summaries

Departures from the original. Passages keep their numbers through the summaries, so that the answer cites
words of a page and not a summary. A page that cannot be read is replaced by the next. Small documents share a call
of the model, and each call is told what the others are about. At low effort passages are ranked by meaning alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated

from wellread.core.effort import ALLOWED
from wellread.events import Decided, Thought
from wellread.parameters import Count, CountOrZero, Length, Range, param
from wellread.prompts.render import render
from wellread.protocols import Source, trained
from wellread.run import Run
from wellread.strategies import calls, context, lookup, relevance, trail
from wellread.strategies.attribution import with_numbers
from wellread.strategies.compose import Brief, compose
from wellread.strategies.grading import CountedGrader
from wellread.strategies.recipe import JudgingRoles, Recipe, stand_alone
from wellread.text.neighbours import by_place
from wellread.text.split import number_in_document, part_id
from wellread.types import Answer, Hit, Passage

_SPARE = 3  # hits beyond those read, in case pages fail to load
_BEGINNING = 100  # characters that say what a document is about
_NEAREST = 1_000  # passages of a document that further ones are chosen from
_PARAGRAPH = re.compile(r"\n\s*\n")


@dataclass(frozen=True, slots=True)
class Document:
    """Passages of one document, in its own order, that are summarised together."""

    title: str
    passages: tuple[Passage, ...]
    url: str | None = None
    likelihood: float | None = None  # that it helps, where the evaluator has read it


@dataclass(frozen=True, slots=True)
class DigestParams(JudgingRoles):
    top_k_documents: Count = param(3, "pages read")
    num_nodes_rerank_per_document: Count = param(100, "passages of a page that are ranked, from its beginning")
    top_k_nodes_per_document: Count = param(5, "passages of a page that are kept")
    top_k_snippets_per_document: CountOrZero | None = param(None, "further results that join with their snippet alone")
    similarity_search_top_k_nodes: Count = param(100, "passages asked of a local index")
    similarity_search_rescore_multiplier: Annotated[int, Range(1, 100)] = param(4, "times as many candidates are re-scored there")
    top_k_nodes: Count = param(10, "passages of a local index that are kept")
    top_k_related_documents: CountOrZero = param(1, "best documents that bring further passages")
    top_k_related_nodes: CountOrZero = param(3, "further passages of each of these")
    shared_tokens: Length = param(1500, "documents share a call up to so many tokens; 1: each has its own")
    summary_tokens: Length = param(400, "tokens for each summary")


@dataclass(slots=True)
class _Reading:
    """The documents that were read so far. Mutable and private to one run."""

    question: str
    documents: list[Document] = field(default_factory=list[Document])
    shares: list[list[Document]] = field(default_factory=list[list[Document]])  # what is summarised in one call
    summaries: dict[int, str] = field(default_factory=dict[int, str])
    snippets: list[Hit] = field(default_factory=list[Hit])
    found: int = 0


class Digest(Recipe[DigestParams]):
    """Read the best pages or index passages, summarise each document, answer from the summaries."""

    async def answer(self, run: Run) -> Answer:
        reading = _Reading(run.question)
        with run.until_spent():
            reading.question = await stand_alone(run, self.params)
            await run.gather([self._collect(run, reading, source) for source in run.source.members])
            reading.documents = relevant(run, together(reading.documents))
            reading.shares = self._shares(run, reading.documents)
            await run.gather([self._summarise(run, reading, place) for place in range(len(reading.shares))])
            for place in sorted(reading.summaries):
                said = reading.summaries[place] or "nothing on the question"
                titles = ", ".join(document.title for document in reading.shares[place])
                run.emit(Thought("summary", f"{titles}: {said}"))
        return await compose(run, self._brief(run, reading))

    async def _collect(self, run: Run, reading: _Reading, source: Source) -> None:
        """Documents from one source, by the way that fits its hits."""
        p = self.params
        hits = await self._search(run, reading.question, source)
        reading.found += len(hits)
        local = [hit for hit in hits if hit.document is not None and hit.text]
        if local:
            found = await from_library(run, reading.question, source, local, p.top_k_nodes)
            first = p.top_k_related_documents if source.has_documents else 0
            keep = p.top_k_related_nodes
            reading.documents += [await _extended(run, reading.question, source, one, keep) for one in found[:first]]
            reading.documents += found[first:]
        remote = [hit for hit in hits if hit.document is None]
        nodes, keep = p.num_nodes_rerank_per_document, p.top_k_nodes_per_document
        pages = await from_internet(run, reading.question, remote, p.top_k_documents, nodes, keep)
        reading.documents += [page for page in pages if page.passages]
        read = {page.url for page in pages}
        unread = [hit for hit in remote if hit.url not in read and lookup.description(hit)]
        reading.snippets += unread[: p.top_k_snippets_per_document or 0]

    async def _search(self, run: Run, question: str, source: Source) -> tuple[Hit, ...]:
        p = self.params
        if not source.has_documents:
            limit = p.top_k_documents + (p.top_k_snippets_per_document or 0) + _SPARE
            return await run.search(question, limit=limit, source=source)
        source = source.tuned(
            similarity_search_top_k_nodes=p.similarity_search_top_k_nodes,
            similarity_search_rescore_multiplier=p.similarity_search_rescore_multiplier,
        )
        return await run.search(question, limit=p.similarity_search_top_k_nodes, source=source, read=False)

    def _shares(self, run: Run, documents: Sequence[Document]) -> list[list[Document]]:
        """Documents in their order, as many in one call as fit; a large one has its own."""
        count = self.params.judge(run).count_tokens
        shares: list[list[Document]] = []
        used = self.params.shared_tokens
        for document in documents:
            size = sum(count(f"{passage.title} {passage.text}") for passage in document.passages)
            if used + size > self.params.shared_tokens:
                shares.append([])
                used = 0
            shares[-1].append(document)
            used += size
        return shares

    async def _summarise(self, run: Run, reading: _Reading, place: int) -> None:
        """Summarise what documents say on the question; "" when they say nothing."""
        documents = reading.shares[place]
        model = self.params.judge(run)
        frame = {
            "today": run.today,
            "foreign": context.foreign(run),
            "documents": "one document" if len(documents) == 1 else f"{len(documents)} documents",
            "others": self._others(run, reading, place),
            "question": reading.question,
        }
        blocks = context.material(run, (one for document in documents for one in document.passages))
        tokens, heat = self.params.summary_tokens, self.params.temperature
        prompt = context.filled(run, model, tokens, "summary", "passages", blocks, **frame)
        text = await calls.words(run, prompt, role="summary", model=model, temperature=heat, max_tokens=tokens)
        # the passages themselves where the model gave nothing that can be cited
        reading.summaries[place] = "" if calls.is_nothing(text) else with_numbers(text, run.passages) or "\n\n".join(blocks)

    def _others(self, run: Run, reading: _Reading, place: int) -> str:
        """The beginnings of the documents of other calls."""
        others = [document for number, share in enumerate(reading.shares) if number != place for document in share]
        beginnings = [f"{document.title}: {document.passages[0].text[:_BEGINNING]} …" for document in others]
        return render("summary-others", beginnings=context.fence(run, "\n".join(beginnings))) if others else ""

    def _brief(self, run: Run, reading: _Reading) -> Brief:
        material: list[str] = []
        for place, share in enumerate(reading.shares or [reading.documents]):
            if place in reading.summaries:
                material.append(reading.summaries[place])
            else:  # a budget ended the run before these were summarised
                material += context.material(run, (one for document in share for one in document.passages))
        material += context.material(run, (lookup.excerpt(hit, lookup.description(hit)) for hit in reading.snippets))
        known = {"missing": self._missing(reading), "notes": any(reading.summaries.values()), "tried": (reading.question,)}
        return self.params.brief(run, reading.question, [block for block in material if block], **known)

    def _missing(self, reading: _Reading) -> str:
        if not reading.found:
            return "nothing was found"
        if not reading.documents:
            return f"{reading.found} results were found and none of their pages could be read"
        return f"{len(reading.documents)} documents were read and say nothing about it"


async def from_internet(run: Run, question: str, hits: Sequence[Hit], documents: int, nodes: int, keep: int) -> list[Document]:
    """The best pages, each with the passages that matter and with its snippet."""
    ready = [(hit, [part.strip() for part in _PARAGRAPH.split(hit.text)]) for hit in hits if hit.text]
    if len(ready) < documents:
        unread = [hit for hit in hits if not hit.text]
        ready += [(hit, page.passages) for hit, page in await lookup.read_best(run, unread, documents - len(ready))]
        ready.sort(key=lambda pair: [hit.id for hit in hits].index(pair[0].id))
    chosen = [(hit, texts[:nodes]) for hit, texts in ready[:documents]]
    return await run.gather([_page(run, question, hit, texts, keep) for hit, texts in chosen])


async def _page(run: Run, question: str, hit: Hit, texts: Sequence[str], keep: int) -> Document:
    passages = [replace(hit.passage(), id=part_id(hit.id, place), text=text) for place, text in enumerate(texts) if text.strip()]
    best = await relevance.ranked(run, question, passages, keep, most=len(passages))
    kept = [passages[index] for index in sorted(best)]
    likelihood = await _likelihood(run, question, [passages[index] for index in best[:1]])
    described = lookup.description(hit) if hit.snippet else ""
    if described and not any(described in passage.text for passage in kept):
        kept.append(lookup.excerpt(hit, described))
    return Document(hit.title, tuple(kept), hit.url, likelihood)


async def _likelihood(run: Run, question: str, passages: Sequence[Passage]) -> float | None:
    """That the best passage of a page helps; None where the evaluator is not there or the effort lets it read nothing."""
    grader = trained(run.kit.grader(), run.language) if passages and ALLOWED[run.kit.effort].pairs else None
    if grader is None:
        return None
    (grade,) = await CountedGrader(run, grader).grade(question, passages)
    return grade.score


async def from_library(run: Run, question: str, source: Source, hits: Sequence[Hit], keep: int) -> list[Document]:
    """The best passages, grouped by the document they are from; documents by their best passage."""
    passages = [hit.passage() for hit in lookup.unique(hits)]
    if follower := trail.follower(run):
        tracker, plan = follower
        followed = await trail.follow(run, tracker, question, passages, replace(plan, singles=len(passages), reads=0), source)
        run.emit(trail.ranking(followed, keep))
        scored = [(passage, math.exp(min(0.0, score / 2))) for passage, score in followed.passages[:keep]]
    else:
        scored = [(passages[index], None) for index in await relevance.ranked(run, question, passages, keep, ordered=True)]
    grouped: dict[str, list[tuple[Passage, float | None]]] = {}
    for passage, likelihood in scored:
        grouped.setdefault(passage.document or passage.id, []).append((passage, likelihood))
    whole = ((group[0], tuple(passage for passage, _ in group)) for group in grouped.values())  # the first is the best
    return [Document(first.title, together, first.url, likelihood) for (first, likelihood), together in whole]


def together(documents: Sequence[Document]) -> list[Document]:
    """Documents of the same name as one: they are parts of one, or the same from two sources. Neighbours are joined."""
    named: dict[str, Document] = {}
    for place, document in enumerate(documents):
        key = document.title.strip().casefold() or str(place)
        known = named.get(key)
        if known is None:
            named[key] = document
            continue
        passages = {passage.id: passage for passage in (*known.passages, *document.passages)}
        judged = [one for one in (known.likelihood, document.likelihood) if one is not None]
        named[key] = replace(known, passages=tuple(passages.values()), likelihood=max(judged, default=None))
    return [replace(one, passages=tuple(by_place(one.passages))) for one in named.values()]


def relevant(run: Run, documents: Sequence[Document]) -> list[Document]:
    """Without those that the evaluator finds irrelevant; the likeliest stays in any case."""
    best = max((one.likelihood for one in documents if one.likelihood is not None), default=0.0)
    kept = [one for one in documents if one.likelihood is None or one.likelihood >= min(trail.IRRELEVANT, best)]
    if len(kept) < len(documents):
        left_out = ", ".join(one.title for one in documents if one not in kept)
        run.emit(Decided("leave out", f"{len(documents) - len(kept)} of {len(documents)} documents are irrelevant: {left_out}"))
    return kept


async def _extended(run: Run, question: str, library: Source, document: Document, keep: int) -> Document:
    """A document with further passages of its own."""
    known = {passage.id for passage in document.passages}
    everything = await run.aside(_around, await library.passages(document.passages[0].document or ""), document)
    others = [passage for passage in everything if passage.id not in known]
    chosen = [others[index] for index in await relevance.ranked(run, question, others, keep)]
    order = {passage.id: place for place, passage in enumerate(everything)}
    together = sorted([*document.passages, *chosen], key=lambda passage: order.get(passage.id, -1))
    return replace(document, passages=tuple(together))


def _around(passages: Sequence[Hit], document: Document) -> list[Passage]:
    """All of them, or of a very long document those around the first that was found."""
    at = number_in_document(document.passages[0]) or 0
    first = max(0, min(at - _NEAREST // 2, len(passages) - _NEAREST))
    return [hit.passage() for hit in passages[first : first + _NEAREST]]
