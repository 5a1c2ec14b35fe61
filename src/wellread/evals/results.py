"""What one question came to, measured, and the table that many of them make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from wellread import events
from wellread.citations.check import strip_markers
from wellread.core.unicode_safety import Encodable
from wellread.evals import metrics
from wellread.evals.data import Question
from wellread.types import Answer, Passage

DEPTHS = (1, 2, 5, 20)
RANKING = (*(f"recall@{k}" for k in DEPTHS), "mrr", "ndcg@10")
ANSWERS = ("em", "f1", "answer_in_text", "unsure", "partial")
CITATIONS = ("sentences_supported", "citation_precision", "citation_recall", "quotes_verified")
COST = ("tokens", "cost", "searches", "seconds")


@dataclass(frozen=True, slots=True)
class Result(Encodable):
    """One question under one cell of the grid. Scores that do not apply are missing."""

    id: str
    weight: float
    scores: Mapping[str, float]
    kind: str = ""
    answer: str = ""
    outcome: str = ""
    reason: str | None = None
    confidence: float | None = None
    found: tuple[str, ...] = field(default_factory=tuple[str, ...])


class Watch:
    """Follows the events of a run and remembers what it found, best first."""

    def __init__(self) -> None:
        self._found: dict[str, Passage] = {}
        self._ranked: tuple[str, ...] = ()
        self.answer: Answer | None = None

    def event(self, event: events.Event) -> None:
        if isinstance(event, events.Searched):
            for hit in event.hits:
                self._found.setdefault(hit.id, hit.passage())
        elif isinstance(event, events.Ranked):
            self._ranked = tuple(dict.fromkeys(one.rpartition("@")[0] or one for one in event.kept))
        elif isinstance(event, events.Answered):
            self.answer = event.answer

    def result(self, question: Question) -> Result:
        answer = self.answer
        assert answer is not None
        first = [one for one in self._ranked if one in self._found]
        ranking = tuple(dict.fromkeys([*first, *self._found]))
        return Result(
            question.id,
            question.weight,
            {**ranked(question, ranking), **answered(question, answer), **cited(question, answer), **spent(answer)},
            question.kind,
            answer.short or strip_markers(answer.text),
            answer.outcome,
            answer.reason,
            answer.confidence,
            ranking[: DEPTHS[-1]],
        )


def ranked(question: Question, ranking: Sequence[str]) -> dict[str, float]:
    """Nothing for a question without gold passages."""
    if not question.gold:
        return {}
    scores = {f"recall@{k}": metrics.recall(ranking, question.gold, k) for k in DEPTHS}
    return {**scores, "mrr": metrics.reciprocal_rank(ranking, question.gold), "ndcg@10": metrics.ndcg(ranking, question.gold)}


def answered(question: Question, answer: Answer) -> dict[str, float]:
    """EM and F1 of the short answer where there is one; silence is right where nothing can be answered."""
    silent = answer.outcome in ("unsure", "failed")
    given = "" if silent else answer.short or strip_markers(answer.text)
    whole = f"{answer.short or ''} {strip_markers(answer.text)}"
    held = float(silent) if not question.answers else 0.0 if silent else metrics.answer_in_text(whole, question.answers)
    failed = answer.outcome == "failed"
    return {
        "em": 0.0 if failed else metrics.exact_match(given, question.answers),
        "f1": 0.0 if failed else metrics.f1(given, question.answers),
        "answer_in_text": 0.0 if failed else held,
        "unsure": float(answer.outcome == "unsure"),
        "partial": float(answer.outcome == "partial"),
        "failed": float(failed),
    }


def cited(question: Question, answer: Answer) -> dict[str, float]:
    """How far the citations carry the answer; nothing without an answer."""
    scores: dict[str, float] = {}
    if answer.sentences:
        scores["sentences_supported"] = metrics.mean([float(one.supported) for one in answer.sentences])
    if answer.citations:
        numbered = answer.passages
        verified = [c.number in numbered and c.quote != "" and c.quote in numbered[c.number].text for c in answer.citations]
        scores["quotes_verified"] = metrics.mean([float(one) for one in verified])
    if question.gold and answer.text:
        used = {citation.passage.id.partition("~")[0] for citation in answer.citations}
        right = used & set(question.gold)
        scores["citation_precision"] = len(right) / len(used) if used else 0.0
        scores["citation_recall"] = len(right) / len(set(question.gold))
    return scores


def spent(answer: Answer) -> dict[str, float]:
    usage = answer.usage
    found = {
        "tokens": float(usage.input_tokens + usage.output_tokens),
        "searches": float(usage.searches),
        "seconds": answer.seconds,
    }
    return found if usage.cost is None else {**found, "cost": usage.cost}


def summary(results: Sequence[Result]) -> dict[str, Any]:
    """The means of a cell with their intervals."""
    table: dict[str, Any] = {"questions": len(results)}
    intervals: dict[str, tuple[float, float]] = {}
    names = [*RANKING, *ANSWERS, "failed", *CITATIONS, "tokens", "cost", "searches", "judged"]
    for name in names:
        rows = [(result.scores[name], result.weight) for result in results if name in result.scores]
        if not rows:
            table[name] = None
            continue
        values, weights = [value for value, _ in rows], [weight for _, weight in rows]
        table[name] = round(metrics.mean(values, weights), 4)
        if name in RANKING or name in ANSWERS or name in CITATIONS:
            low, high = metrics.interval(values, weights)
            intervals[name] = (round(low, 4), round(high, 4))
    seconds = [result.scores["seconds"] for result in results if "seconds" in result.scores]
    table["seconds_p50"] = round(metrics.percentile(seconds, 0.5), 4)
    table["seconds_p95"] = round(metrics.percentile(seconds, 0.95), 4)
    return {**table, **_sureness(results), "intervals": intervals, "kinds": _kinds(results)}


def _sureness(results: Sequence[Result]) -> dict[str, float | None]:
    """Whether confidence and silence can be believed."""
    sure = [(r.confidence, r.scores["answer_in_text"] > 0) for r in results if r.confidence is not None and r.answer]
    silent = [r for r in results if r.outcome == "unsure"]
    spoken = [r for r in results if r.outcome not in ("unsure", "failed", "")]
    error = metrics.calibration_error([c for c, _ in sure], [right for _, right in sure])
    return {
        "calibration_error": None if error is None else round(error, 4),
        "right_when_answered": round(metrics.mean([r.scores["answer_in_text"] for r in spoken]), 4) if spoken else None,
        "right_to_be_unsure": round(metrics.mean([r.scores["answer_in_text"] for r in silent]), 4) if silent else None,
    }


def _kinds(results: Sequence[Result]) -> dict[str, dict[str, float]]:
    kinds = sorted({result.kind for result in results if result.kind})
    chosen = ("recall@5", "f1", "answer_in_text", "unsure")
    return {
        kind: {
            name: round(metrics.mean(values), 4)
            for name in chosen
            if (values := [r.scores[name] for r in results if r.kind == kind and name in r.scores])
        }
        for kind in kinds
    }


COMPARED = ("recall@5", "f1", "answer_in_text", "sentences_supported")


def paired(first: Sequence[Result], second: Sequence[Result], score: str) -> metrics.Comparison | None:
    """The comparison over the questions that both have this score for."""
    theirs = {result.id: result for result in second}
    both = [(one, theirs[one.id]) for one in first if one.id in theirs and score in one.scores and score in theirs[one.id].scores]
    if not both:
        return None
    weights = [one.weight for one, _ in both]
    return metrics.compare([one.scores[score] for one, _ in both], [other.scores[score] for _, other in both], weights)


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
