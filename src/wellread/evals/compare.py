"""Two runs over the same questions: is one better, or is it luck?"""

from __future__ import annotations

from collections.abc import Sequence

from wellread.evals.results import Result
from wellread.evals.statistics import Comparison, compare

COMPARED = ("recall@5", "f1", "answer_in_text", "sentences_supported")


def paired(first: Sequence[Result], second: Sequence[Result], score: str) -> Comparison | None:
    """The comparison over the questions that both have this score for."""
    theirs = {result.id: result for result in second}
    both = [(one, theirs[one.id]) for one in first if one.id in theirs and score in one.scores and score in theirs[one.id].scores]
    if not both:
        return None
    weights = [one.weight for one, _ in both]
    return compare([one.scores[score] for one, _ in both], [other.scores[score] for _, other in both], weights)


def against_first(names: Sequence[str], results: Sequence[Sequence[Result]]) -> list[str]:
    """Lines on how each further run differs from the first."""
    lines: list[str] = []
    for name, others in zip(names[1:], results[1:], strict=True):
        for score in COMPARED:
            found = paired(results[0], others, score)
            if found is not None and found.difference:
                sure = "more than chance" if found.p < 0.05 else "may be chance"
                span = f"{found.low:+.3f} to {found.high:+.3f}"
                lines.append(f"{name} against {names[0]}: {score} {found.difference:+.3f} ({span}, p = {found.p:.3f}: {sure})")
    return ["", *lines] if lines else []
