"""Conversation memory: the passages of earlier answers as a source of their own, so that a conversation can come back to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from wellread.protocols import Source
from wellread.strategies.relevance import best, by_words
from wellread.types import Answer, Hit, Passage, Query

_LEAST = 0.34  # share of a query's words that a passage must have
_MOST = 200  # passages that are remembered, the latest


@dataclass(slots=True)
class Earlier(Source):
    """Remembers what answers were built on; searched by words."""

    name: str = "earlier"
    hint: str = "passages that earlier answers of this conversation were built on"
    kept: dict[str, Passage] = field(default_factory=dict[str, Passage])

    def remember(self, answer: Answer) -> None:
        """Take over the passages of an answer; the cited ones last, so that they stay longest."""
        cited = {citation.passage.id for citation in answer.citations}
        for passage in sorted(answer.passages.values(), key=lambda passage: passage.id in cited):
            self.kept.pop(passage.id, None)
            self.kept[passage.id] = passage
        for key in list(self.kept)[:-_MOST]:
            del self.kept[key]

    def remembered(self) -> Sequence[Hit]:
        return [Hit.of(passage, 0.0) for passage in self.kept.values()]

    async def search(self, query: Query) -> Sequence[Hit]:
        passages = list(self.kept.values())
        scores = by_words(query.text, [f"{passage.title} {passage.text}" for passage in passages])
        return [Hit.of(passages[index], scores[index]) for index in best(scores, query.limit) if scores[index] >= _LEAST]
