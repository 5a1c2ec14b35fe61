"""A second step: passages that a question leads to only through the first ones.

The first passages found for "When was the founder of Apple born?" name the founder; searching for the question together
with what such a passage says finds the passage about him. A passage that the first one refers to by a
cross-reference counts more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from wellread.index.search import Found, LocalIndex, SearchOptions
from wellread.protocols import Embedder

FIRSTS = 3  # passages that are followed
SECOND_WEIGHT = 0.5
LINK_BONUS = 0.2
_WORDS_OF_FIRST = 60  # of a first passage that join the second query


async def find_twice(index: LocalIndex, text: str, embedder: Embedder | None, limit: int, options: SearchOptions) -> list[Found]:
    """Search, follow the best passages, and add what the second step says to what the first one said."""
    depth = max(limit, 50)
    first = await index.find(text, embedder, depth, options)
    leads = first[:FIRSTS]
    searches = [index.find(_second_query(index, text, lead.row), embedder, depth, options) for lead in leads]
    followed: Sequence[Sequence[Found]] = await asyncio.gather(*searches)
    found = {item.row: item for group in [*followed, first] for item in group}
    scores = {item.row: item.score for item in first}
    gains: dict[int, float] = {}
    for lead, group in zip(leads, followed, strict=True):
        linked = _linked(index, lead.row)
        for item in group:
            if item.row != lead.row:
                gain = lead.score * (SECOND_WEIGHT * item.score + LINK_BONUS * (item.row in linked))
                gains[item.row] = max(gains.get(item.row, 0.0), gain)
    floor = min(scores.values(), default=0.0)  # what the first step did not find is no better than its last
    total = {row: scores.get(row, floor) + gains.get(row, 0.0) for row in found}
    for lead in leads[:1]:
        total[lead.row] = max(total.values())  # the best of the first step stays
    best = sorted(total, key=lambda row: (-total[row], found[row].row != leads[0].row))[:limit]
    return [Found(row, total[row], found[row].words, found[row].meaning) for row in best]


def _second_query(index: LocalIndex, text: str, row: int) -> str:
    passage = index.passage(row)
    return f"{text} {passage.title} {' '.join(passage.text.split()[:_WORDS_OF_FIRST])}"


def _linked(index: LocalIndex, row: int) -> set[int]:
    return {found for title in index.passage(row).links for found in index.find_title_rows(title)}
