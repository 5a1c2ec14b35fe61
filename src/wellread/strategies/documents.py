"""Documents for `digest`: pages from the internet, or passages of a local index grouped by document."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from wellread.events import Ranked
from wellread.protocols import Shelf, Source
from wellread.run import Run
from wellread.strategies import lookup, relevance
from wellread.types import Hit, Passage

_PARAGRAPH = re.compile(r"\n\s*\n")


@dataclass(frozen=True, slots=True)
class Document:
    """What is summarised together: passages of one document, in its own order."""

    title: str
    passages: tuple[Passage, ...]
    url: str | None = None


async def from_internet(run: Run, question: str, hits: Sequence[Hit], documents: int, nodes: int, keep: int) -> list[Document]:
    """The best pages, each with the passages that matter and with its snippet."""
    ready = [(hit, _nodes(hit.text)) for hit in hits if hit.text]
    if len(ready) < documents:
        unread = [hit for hit in hits if not hit.text]
        ready += [(hit, page.passages) for hit, page in await lookup.read_best(run, unread, documents - len(ready))]
        ready.sort(key=lambda pair: [hit.id for hit in hits].index(pair[0].id))
    return await run.gather([_page(run, question, hit, texts[:nodes], keep) for hit, texts in ready[:documents]])


async def _page(run: Run, question: str, hit: Hit, texts: Sequence[str], keep: int) -> Document:
    passages = [replace(hit.passage(), id=f"{hit.id}#{place}", text=text) for place, text in enumerate(texts) if text.strip()]
    kept = [passages[index] for index in sorted(await _best(run, question, passages, keep))]
    described = lookup.description(hit) if hit.snippet else ""
    if described and not any(described in passage.text for passage in kept):
        kept.append(lookup.excerpt(hit, described))
    return Document(hit.title, tuple(kept), hit.url)


async def from_library(run: Run, question: str, hits: Sequence[Hit], keep: int) -> list[Document]:
    """The best passages, grouped by the document they are from; documents by their best passage."""
    passages = [hit.passage() for hit in lookup.unique(hits)]
    grouped: dict[str, list[Passage]] = {}
    for index in await _best(run, question, passages, keep, ordered=True):
        grouped.setdefault(passages[index].document or passages[index].id, []).append(passages[index])
    return [Document(group[0].title, tuple(group), group[0].url) for group in grouped.values()]


async def with_related(
    run: Run, question: str, library: Source, found: list[Document], documents: int, keep: int
) -> list[Document]:
    """The best documents with further passages of theirs. A source that cannot give them leaves things as they are."""
    if not isinstance(library, Shelf):
        return found
    extended = [await _extended(run, question, library, document, keep) for document in found[:documents]]
    return [*extended, *found[documents:]]


async def _extended(run: Run, question: str, library: Shelf, document: Document, keep: int) -> Document:
    known = {passage.id for passage in document.passages}
    everything = [hit.passage() for hit in await library.passages(document.passages[0].document or "")]
    others = [passage for passage in everything if passage.id not in known]
    chosen = [others[index] for index in await _best(run, question, others, keep)]
    order = {passage.id: place for place, passage in enumerate(everything)}
    together = sorted([*document.passages, *chosen], key=lambda passage: order.get(passage.id, -1))
    return replace(document, passages=tuple(together))


async def _best(run: Run, question: str, passages: list[Passage], keep: int, *, ordered: bool = False) -> list[int]:
    """The places of the best passages, best first, reported."""
    found = await relevance.rerank(run, question, passages, ordered=ordered)
    places = relevance.best(found.scores, keep)
    if passages:
        ids = tuple(passages[index].id for index in places)
        scores = tuple(round(found.scores[index], 4) for index in places)
        run.emit(Ranked(found.by, ids, scores, len(passages) - len(places), found.pairs))
    return places


def _nodes(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in _PARAGRAPH.split(text) if part.strip())
