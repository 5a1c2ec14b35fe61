"""An answer without a model: the sentences of the numbered passages that are closest to the question."""

from __future__ import annotations

from math import sqrt

from wellread.run import Run
from wellread.strategies.relevance import content
from wellread.text.citations import sentences
from wellread.text.quoting import one_after_another, quoted

_MOST = 3  # sentences in the answer
_READ = 1500  # sentences looked at: this runs when time is already up


def extractive(run: Run) -> str:
    """Verbatim sentences with their numbers, or "" when nothing was found."""
    wanted = content(run.question)
    found: list[tuple[float, int, int, str]] = []
    for number, passage in run.passages.items():
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
    return one_after_another([quoted(sentence, f"[{number}]") for _, number, _, sentence in ordered])
