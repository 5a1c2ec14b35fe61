"""Re-ranking of passages by what they have to do with a question: by a re-ranker, by meaning, or by shared words."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING

from wellread.core.effort import ALLOWED
from wellread.errors import BudgetExhausted, WellreadError
from wellread.events import Notice, Ranked
from wellread.protocols import trained
from wellread.ranking.fusion import reciprocal_ranks
from wellread.run import Run
from wellread.sources.memory import tokens
from wellread.types import Passage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from wellread.embedding.layout import Kind

_COMPARED = 8  # times as many are compared by meaning as are read


@dataclass(frozen=True, slots=True)
class Ranking:
    """One score for each passage, what gave them, and how many pairs the evaluator read for it."""

    by: str
    scores: list[float]
    pairs: int = 0


def content(text: str) -> set[str]:
    """The content words of a text, folded. Rougher than the checker's reading, and several times as fast."""
    return set(tokens(text))


def by_words(question: str, texts: Sequence[str]) -> list[float]:
    """Share of the question's words in each text, rare words counting more."""
    wanted = content(question)
    found = [content(text) & wanted for text in texts]
    spread = Counter(word for words in found for word in words)
    weights = {word: 1.0 + log((1 + len(texts)) / (1 + spread[word])) for word in wanted}
    total = sum(weights.values()) or 1.0
    return [sum(weights[word] for word in words) / total for words in found]


async def vectors(run: Run, failing: str, *rows: tuple[Sequence[str], Kind]) -> list[NDArray[np.float32]] | None:
    """The vectors of texts; None where there is no embedder, and a notice of what is done then."""
    try:
        embedder = run.kit.embedder()
        return await run.timed(asyncio.gather(*(embedder.embed(list(texts), kind=kind) for texts, kind in rows)))
    except BudgetExhausted:
        raise
    except (WellreadError, ImportError) as problem:
        run.emit(Notice(f"{failing}, because the embedder is not there: {problem}"))
        return None


async def by_meaning(run: Run, question: str, texts: Sequence[str], *, kind: Kind = "query") -> tuple[str, list[float]]:
    """Cosine similarity of each text to the question; by words when there is no embedder."""
    made = await vectors(run, "ranking by shared words", ([question], kind), (texts, "passage")) if texts else []
    if made is None:
        return "words", by_words(question, texts)
    return "meaning", (made[1] @ made[0][0]).tolist() if texts else []


async def ranked(
    run: Run, question: str, passages: Sequence[Passage], keep: int, *, ordered: bool = False, most: int | None = None
) -> list[int]:
    """The places of the best passages, best first, reported: see `rerank`."""
    found = await rerank(run, question, passages, ordered=ordered, most=most)
    places = best(found.scores, keep)
    if passages:
        ids = tuple(passages[index].id for index in places)
        scores = tuple(round(found.scores[index], 4) for index in places)
        run.emit(Ranked(found.by, ids, scores, len(passages) - len(places), found.pairs))
    return places


async def rerank(
    run: Run, question: str, passages: Sequence[Passage], *, ordered: bool = False, most: int | None = None
) -> Ranking:
    """Scores from the re-ranker, else by meaning, else by words.

    Reading is slow. Of many passages only the likeliest are read, `most` of them or how many the effort says: the
    first ones where they come `ordered` from an index, else those that are nearest to the question in words and
    meaning. The others keep their order behind these. When the run has read all it may, meaning decides.
    """
    texts = [f"{passage.title}. {passage.text}" for passage in passages]
    allowed = ALLOWED[run.kit.effort].passages
    most = min(allowed, run.pairs_left) if most is None or not allowed else most
    if most == 0:
        return Ranking(*await by_meaning(run, question, texts))
    if ordered:
        first = [-index / len(passages) for index in range(len(passages))]
    else:
        first = await _likeliest(run, question, texts, most)
    chosen = best(first, most)  # best first: the evaluator gives something on the order it finds
    read = await _read(run, question, [passages[index] for index in chosen], [texts[index] for index in chosen])
    behind = min(read.scores, default=0.0) - 2.0  # below everything that was read
    scores = [behind + score for score in first]
    for index, score in zip(chosen, read.scores, strict=True):
        scores[index] = score
    return Ranking(read.by, scores, read.pairs)


async def _likeliest(run: Run, question: str, texts: Sequence[str], most: int) -> list[float]:
    """How near each text is to the question in words and meaning: by its places in the two orders, 1 for the first of both. Of a
    very long document those are compared by meaning that share the most words."""
    words = await run.aside(by_words, question, texts)  # a long document has a thousand of them
    if len(texts) <= most:  # all are read, in that order
        return words
    by_word = best(words, len(texts))
    compared = by_word[: _COMPARED * most]
    _, meaning = await by_meaning(run, question, [texts[index] for index in compared])
    by_meant = [compared[place] for place in best(meaning, len(compared))]
    fused = dict(reciprocal_ranks([by_word, by_meant], smoothing=1))
    return [fused[index] for index in range(len(texts))]


async def _read(run: Run, question: str, passages: Sequence[Passage], texts: Sequence[str]) -> Ranking:
    without = "ranking by meaning, because the re-ranker is not there"
    reranker = trained(run.part(run.kit.reranker, without), run.language) if passages else None
    if reranker is None:
        return Ranking(*await by_meaning(run, question, texts))
    run.budget.pairs(len(passages))  # before reading: what runs at the same time must not spend the same pairs
    scores = await run.timed(reranker.rerank(question, passages))
    return Ranking("evaluator", [float(score) for score in scores], len(passages))


def best(scores: Sequence[float], count: int) -> list[int]:
    """The places of the highest scores, best first."""
    return sorted(range(len(scores)), key=lambda index: -scores[index])[:count]
