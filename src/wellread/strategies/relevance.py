"""How much passages have to do with a question: by a re-ranker, by meaning, or by shared words."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Sequence
from math import log

from wellread.errors import BudgetExhausted, WellreadError
from wellread.events import Notice
from wellread.lexicon import STOPWORDS
from wellread.protocols import Reranker
from wellread.run import Run
from wellread.types import Passage
from wellread.words import fold, stem

_READ = {"low": 16, "normal": 40, "high": 1000}  # passages that the re-ranker reads at most, by effort
_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2,}")


def content(text: str) -> set[str]:
    """The content words of a text, folded. Rougher than the checker's reading, and ten times as fast."""
    forms = {fold(word) for word in _WORD.findall(text)} - STOPWORDS
    pairs = {run[i : i + 2] for run in _UNSPACED.findall(text) for i in range(len(run) - 1)}
    return {stem(form) for form in forms} | pairs


def by_words(question: str, texts: Sequence[str]) -> list[float]:
    """Share of the question's words in each text, rare words counting more."""
    wanted = content(question)
    found = [content(text) & wanted for text in texts]
    spread = Counter(word for words in found for word in words)
    weights = {word: 1.0 + log((1 + len(texts)) / (1 + spread[word])) for word in wanted}
    total = sum(weights.values()) or 1.0
    return [sum(weights[word] for word in words) / total for words in found]


async def by_meaning(run: Run, question: str, texts: Sequence[str], *, kind: str = "query") -> tuple[str, list[float]]:
    """Cosine similarity of each text to the question; by words when there is no embedder."""
    if not texts:
        return "meaning", []
    try:
        embedder = run.kit.embedder()
        asked, given = await run.timed(
            asyncio.gather(
                embedder.embed([question], kind="query" if kind == "query" else "passage"),
                embedder.embed(list(texts), kind="passage"),
            )
        )
    except BudgetExhausted:
        raise
    except (WellreadError, ImportError) as problem:
        run.emit(Notice(f"ranking by shared words, because the embedder is not there: {problem}"))
        return "words", by_words(question, texts)
    return "meaning", [float(score) for score in given @ asked[0]]


async def rerank(run: Run, question: str, passages: Sequence[Passage]) -> tuple[str, list[float]]:
    """One score for each passage, and what gave it: the re-ranker, else meaning, else words.

    The re-ranker reads slowly. Of many passages it reads those that are nearest in meaning, how many by
    the effort asked for; the others keep their order behind these.
    """
    texts = [f"{passage.title}. {passage.text}" for passage in passages]
    reranker = _reranker(run) if passages else None
    if reranker is None:
        return await by_meaning(run, question, texts)
    most = _READ[run.kit.effort]
    first = (await by_meaning(run, question, texts))[1] if len(passages) > most else [0.0] * len(passages)
    chosen = sorted(range(len(passages)), key=lambda index: -first[index])[:most]
    read = await run.timed(reranker.rerank(question, [passages[index] for index in chosen]))
    run.budget.pairs(len(chosen))
    behind = min(read) - 2.0  # below everything that was read: similarities are between -1 and 1
    scores = [behind + score for score in first]
    for index, score in zip(chosen, read, strict=True):
        scores[index] = float(score)
    return "evaluator", scores


def _reranker(run: Run) -> Reranker | None:
    try:
        return run.kit.reranker()
    except (WellreadError, ImportError) as problem:
        run.emit(Notice(f"ranking by meaning, because the re-ranker is not there: {problem}"))
        return None


def best(scores: Sequence[float], count: int) -> list[int]:
    """The places of the highest scores, best first."""
    return sorted(range(len(scores)), key=lambda index: -scores[index])[:count]
