"""After the search: order by a reranker, and read on in the best documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from wellread.index.search import LocalIndex
from wellread.protocols import Reranker
from wellread.types import Hit


@dataclass(frozen=True, slots=True)
class Closer:
    """How many passages stay and how many related ones join; the names are those of the published recipe."""

    top_k_nodes: int = 10
    top_k_related_documents: int = 1
    top_k_related_nodes: int = 3


async def read_closer(index: LocalIndex, question: str, hits: Sequence[Hit], reranker: Reranker, how: Closer) -> list[Hit]:
    """The best hits by the reranker, grouped by document, then passages of the best documents that were not found."""
    best = (await _ranked(question, hits, reranker))[: how.top_k_nodes]
    documents = list(dict.fromkeys(hit.document for hit in best if hit.document))
    grouped = [hit for document in documents for hit in best if hit.document == document]
    known = {hit.id for hit in best}
    others = [
        hit for document in documents[: how.top_k_related_documents] for hit in index.passages(document) if hit.id not in known
    ]
    related = (await _ranked(question, others, reranker))[: how.top_k_related_nodes] if others else []
    return [*grouped, *related]


async def _ranked(question: str, hits: Sequence[Hit], reranker: Reranker) -> list[Hit]:
    scores = await reranker.rerank(question, [hit.passage() for hit in hits])
    scored = [replace(hit, score=float(score)) for hit, score in zip(hits, scores, strict=True)]
    return sorted(scored, key=lambda hit: -hit.score)
