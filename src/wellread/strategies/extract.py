"""An answer without a model: the sentences of passages that are closest to the question."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

from wellread.citations.check import sentences
from wellread.strategies.relevance import content
from wellread.types import Passage

_MOST = 3  # sentences in the answer
_READ = 1500  # sentences looked at: this runs when time is already up


def extractive(question: str, passages: Sequence[Passage]) -> list[tuple[Passage, str]]:
    """Verbatim sentences with the passages they stand in, in the order of these."""
    wanted = content(question)
    found: list[tuple[float, int, int, str]] = []
    for number, passage in enumerate(passages):
        about = content(passage.title) & wanted
        for start, end in sentences(passage.text):
            words = content(sentence := passage.text[start:end])
            shared = len(words & wanted) + 0.5 * len(about - words)
            found.append((shared / sqrt(len(words) + 4) if words else 0.0, number, start, sentence))
        if len(found) > _READ:
            break
    best = sorted(found, key=lambda item: -item[0])[:_MOST]
    if best and best[0][0] > 0:
        best = [item for item in best if item[0] > best[0][0] / 3]
    else:  # nothing shares a word with the question, perhaps for its language: how the best passages begin
        firsts = {item[1]: item for item in reversed(found)}
        best = [firsts[number] for number in sorted(firsts)][:2]
    ordered = sorted(best, key=lambda item: (item[1], item[2]))
    return [(passages[number], sentence) for _, number, _, sentence in ordered]
