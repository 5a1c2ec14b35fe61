"""Documents for `digest`: pages from the internet, or passages of a local index grouped by document."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from wellread.effort import ALLOWED
from wellread.events import Decided, Ranked
from wellread.protocols import Source, trained
from wellread.ranking.evaluator import Evaluator
from wellread.run import Run
from wellread.strategies import lookup, relevance, trail
from wellread.strategies.grading import CountedGrader
from wellread.text.neighbours import by_place
from wellread.text.split import number_in_document, part_id
from wellread.types import Hit, Passage

IRRELEVANT = 0.05  # documents that are less likely to help get no call
_NEAREST = 1_000  # passages of a document that further ones are chosen from
_PARAGRAPH = re.compile(r"\n\s*\n")


@dataclass(frozen=True, slots=True)
class Document:
    """What is summarised together: passages of one document, in its own order."""

    title: str
    passages: tuple[Passage, ...]
    url: str | None = None
    likelihood: float | None = None  # that it helps, where the evaluator has read it


async def from_internet(run: Run, question: str, hits: Sequence[Hit], documents: int, nodes: int, keep: int) -> list[Document]:
    """The best pages, each with the passages that matter and with its snippet."""
    ready = [(hit, _nodes(hit.text)) for hit in hits if hit.text]
    if len(ready) < documents:
        unread = [hit for hit in hits if not hit.text]
        ready += [(hit, page.passages) for hit, page in await lookup.read_best(run, unread, documents - len(ready))]
        ready.sort(key=lambda pair: [hit.id for hit in hits].index(pair[0].id))
    chosen = [(hit, texts[:nodes]) for hit, texts in ready[:documents]]
    return await run.gather([_page(run, question, hit, texts, keep) for hit, texts in chosen])


async def _page(run: Run, question: str, hit: Hit, texts: Sequence[str], keep: int) -> Document:
    passages = [replace(hit.passage(), id=part_id(hit.id, place), text=text) for place, text in enumerate(texts) if text.strip()]
    best = await _best(run, question, passages, keep, most=len(passages))
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
    tracker = trained(run.kit.answer_reader(), run.language)
    if isinstance(tracker, Evaluator) and tracker.plan.singles and run.pairs_left >= tracker.plan.pairs:
        followed = await trail.follow(
            run, tracker, question, passages, replace(tracker.plan, singles=len(passages), reads=0), source
        )
        run.emit(trail.ranking(followed, keep))
        scored = [(passage, math.exp(min(0.0, score / 2))) for passage, score in followed.passages[:keep]]
    else:
        scored = [(passages[index], None) for index in await _best(run, question, passages, keep, ordered=True)]
    grouped: dict[str, list[tuple[Passage, float | None]]] = {}
    for passage, likelihood in scored:
        grouped.setdefault(passage.document or passage.id, []).append((passage, likelihood))
    return [_of_passages(group) for group in grouped.values()]


def _of_passages(group: Sequence[tuple[Passage, float | None]]) -> Document:
    first, likelihood = group[0]  # the best: they come in that order
    return Document(first.title, tuple(passage for passage, _ in group), first.url, likelihood)


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
    kept = [one for one in documents if one.likelihood is None or one.likelihood >= min(IRRELEVANT, best)]
    if len(kept) < len(documents):
        left_out = ", ".join(one.title for one in documents if one not in kept)
        run.emit(Decided("leave out", f"{len(documents) - len(kept)} of {len(documents)} documents are irrelevant: {left_out}"))
    return kept


async def with_related(
    run: Run, question: str, library: Source, found: list[Document], documents: int, keep: int
) -> list[Document]:
    """The best documents with further passages of theirs. A source that cannot give them leaves things as they are."""
    if not library.has_documents:
        return found
    extended = [await _extended(run, question, library, document, keep) for document in found[:documents]]
    return [*extended, *found[documents:]]


async def _extended(run: Run, question: str, library: Source, document: Document, keep: int) -> Document:
    known = {passage.id for passage in document.passages}
    everything = await run.aside(_around, await library.passages(document.passages[0].document or ""), document)
    others = [passage for passage in everything if passage.id not in known]
    chosen = [others[index] for index in await _best(run, question, others, keep)]
    order = {passage.id: place for place, passage in enumerate(everything)}
    together = sorted([*document.passages, *chosen], key=lambda passage: order.get(passage.id, -1))
    return replace(document, passages=tuple(together))


def _around(passages: Sequence[Hit], document: Document) -> list[Passage]:
    """All of them, or of a very long document those around the first that was found."""
    at = number_in_document(document.passages[0]) or 0
    first = max(0, min(at - _NEAREST // 2, len(passages) - _NEAREST))
    return [hit.passage() for hit in passages[first : first + _NEAREST]]


async def _best(
    run: Run, question: str, passages: list[Passage], keep: int, *, ordered: bool = False, most: int | None = None
) -> list[int]:
    """The places of the best passages, best first, reported."""
    found = await relevance.rerank(run, question, passages, ordered=ordered, most=most)
    places = relevance.best(found.scores, keep)
    if passages:
        ids = tuple(passages[index].id for index in places)
        scores = tuple(round(found.scores[index], 4) for index in places)
        run.emit(Ranked(found.by, ids, scores, len(passages) - len(places), found.pairs))
    return places


def _nodes(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in _PARAGRAPH.split(text) if part.strip())
