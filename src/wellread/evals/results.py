"""Metrics: of rankings against gold passages, of answers against accepted answers, and how sure a number is; what one question
came to, measured, and the table that many of them make.

Seeded, so that a table is always the same.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import log2
from typing import Any

import numpy as np

from wellread import events
from wellread.core.unicode_safety import Encodable
from wellread.evals.data import Question
from wellread.text.markers import strip_markers
from wellread.types import Answer, Passage

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def recall(ranking: Sequence[str], gold: Sequence[str], k: int) -> float:
    """The share of the gold passages among the first `k`."""
    wanted = set(gold)
    return len(wanted & set(ranking[:k])) / len(wanted) if wanted else 0.0


def reciprocal_rank(ranking: Sequence[str], gold: Sequence[str]) -> float:
    """1 over the place of the first gold passage; 0 without one."""
    wanted = set(gold)
    return next((1 / place for place, one in enumerate(ranking, 1) if one in wanted), 0.0)


def ndcg(ranking: Sequence[str], gold: Sequence[str], k: int = 10) -> float:
    """Discounted gain of the first `k`, as a share of the best possible; a passage is gold or not."""
    wanted = set(gold)
    gain = sum(1 / log2(place + 1) for place, one in enumerate(ranking[:k], 1) if one in wanted)
    best = sum(1 / log2(place + 1) for place in range(1, min(k, len(wanted)) + 1))
    return gain / best if best else 0.0


def normalise(text: str) -> str:
    """SQuAD's rules: lower case, no punctuation, no articles, single blanks."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(given: str, accepted: Sequence[str]) -> float:
    """1 if the answer is one of the accepted ones; with none accepted, silence is right."""
    return _best(given, accepted, lambda one, other: float(normalise(one) == normalise(other)))


def f1(given: str, accepted: Sequence[str]) -> float:
    """The overlap in words with the closest accepted answer."""
    return _best(given, accepted, _overlap)


def answer_in_text(text: str, accepted: Sequence[str]) -> float:
    """1 if an accepted answer stands in the text, as whole words."""
    padded = f" {normalise(text)} "
    return float(any((one := normalise(answer)) and f" {one} " in padded for answer in accepted))


def _best(given: str, accepted: Sequence[str], score: Callable[[str, str], float]) -> float:
    if not accepted:
        return float(not normalise(given))
    return max(score(given, answer) for answer in accepted)


def _overlap(given: str, accepted: str) -> float:
    ours, theirs = normalise(given).split(), normalise(accepted).split()
    if not ours or not theirs:
        return float(ours == theirs)
    shared = sum((Counter(ours) & Counter(theirs)).values())
    if not shared:
        return 0.0
    precision, found = shared / len(ours), shared / len(theirs)
    return 2 * precision * found / (precision + found)


def calibration_error(confidences: Sequence[float], right: Sequence[bool], bins: int = 10) -> float | None:
    """How far confidence and the share of right answers lie apart, averaged over bins; None without confidences."""
    if not confidences:
        return None
    differences = np.asarray(confidences) - np.asarray(right)
    gaps = np.bincount(np.digitize(confidences, np.arange(1, bins) / bins), differences, bins)
    return float(np.abs(gaps).sum()) / len(confidences)


_SEED = 20261115
_DRAWS = 2000


@dataclass(frozen=True, slots=True)
class Comparison:
    """The difference of two runs over the same questions; `p` is how often chance alone does as much."""

    difference: float
    low: float
    high: float
    p: float


def mean(values: Sequence[float], weights: Sequence[float] | None = None) -> float:
    """The weighted mean; 0 without values."""
    if not values:
        return 0.0
    return float(np.average(values, weights=weights)) if weights is None or sum(weights) else 0.0


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` (0 to 1) of them lie."""
    return float(np.quantile(values, share)) if values else 0.0


def interval(values: Sequence[float], weights: Sequence[float] | None = None, level: float = 0.95) -> tuple[float, float]:
    """A bootstrap interval of the mean."""
    if not values:
        return 0.0, 0.0
    means = _resampled(np.asarray(values, float), np.ones(len(values)) if weights is None else np.asarray(weights, float))
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def compare(first: Sequence[float], second: Sequence[float], weights: Sequence[float] | None = None) -> Comparison:
    """Second minus first, question by question, with its interval and a sign-flip test."""
    weighting = np.ones(len(first)) if weights is None else np.asarray(weights, float)
    differences = np.asarray(second, float) - np.asarray(first, float)
    seen = float(np.average(differences, weights=weighting)) if len(differences) else 0.0
    if not np.any(differences):
        return Comparison(0.0, 0.0, 0.0, 1.0)
    low, high = np.quantile(_resampled(differences, weighting), [0.025, 0.975])
    random = np.random.default_rng(_SEED)
    total, extreme = weighting.sum(), 0
    for _ in range(_DRAWS):
        signs = random.integers(0, 2, len(differences)) * 2 - 1
        extreme += abs(float((signs * differences * weighting).sum() / total)) >= abs(seen) - 1e-12
    return Comparison(seen, float(low), float(high), (extreme + 1) / (_DRAWS + 1))


def _resampled(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    random = np.random.default_rng(_SEED)
    means = np.empty(_DRAWS)
    for draw in range(_DRAWS):
        chosen = random.integers(0, len(values), len(values))
        total = weights[chosen].sum()
        means[draw] = (values[chosen] * weights[chosen]).sum() / total if total else 0.0
    return means


DEPTHS = (1, 2, 5, 20)
RANKING = (*(f"recall@{k}" for k in DEPTHS), "mrr", "ndcg@10")
ANSWERS = ("em", "f1", "answer_in_text", "unsure", "partial")
CITATIONS = ("sentences_supported", "citation_precision", "citation_recall", "quotes_verified")


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
        self._model: str | None = None
        self.answer: Answer | None = None

    def event(self, event: events.Event) -> None:
        if isinstance(event, events.Started):
            self._model = event.model
        elif isinstance(event, events.Searched):
            for hit in event.hits:
                self._found.setdefault(hit.id, hit.passage())
        elif isinstance(event, events.Ranked):
            self._ranked = tuple(dict.fromkeys(one.rpartition("@")[0] or one for one in event.kept))
        elif isinstance(event, events.Answered):
            self.answer = told = event.answer
            if self._model and not told.model and told.text:  # quoted, as the model failed: no answer of what is measured
                self.answer = replace(told, outcome="failed", reason=told.notes[0], text="", short=None, sentences=())

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
    scores = {f"recall@{k}": recall(ranking, question.gold, k) for k in DEPTHS}
    return {**scores, "mrr": reciprocal_rank(ranking, question.gold), "ndcg@10": ndcg(ranking, question.gold)}


def answered(question: Question, answer: Answer) -> dict[str, float]:
    """EM and F1 of the short answer where there is one; silence is right where nothing can be answered."""
    silent = answer.outcome in ("unsure", "failed")
    given = "" if silent else answer.short or strip_markers(answer.text)
    whole = f"{answer.short or ''} {strip_markers(answer.text)}"
    held = float(silent) if not question.answers else 0.0 if silent else answer_in_text(whole, question.answers)
    failed = answer.outcome == "failed"
    return {
        "em": 0.0 if failed else exact_match(given, question.answers),
        "f1": 0.0 if failed else f1(given, question.answers),
        "answer_in_text": 0.0 if failed else held,
        "unsure": float(answer.outcome == "unsure"),
        "partial": float(answer.outcome == "partial"),
        "failed": float(failed),
    }


def cited(question: Question, answer: Answer) -> dict[str, float]:
    """How far the citations carry the answer; nothing without an answer."""
    scores: dict[str, float] = {}
    if answer.sentences:
        scores["sentences_supported"] = mean([float(one.supported) for one in answer.sentences])
    if answer.citations:
        numbered = answer.passages
        verified = [c.number in numbered and c.quote != "" and c.quote in numbered[c.number].text for c in answer.citations]
        scores["quotes_verified"] = mean([float(one) for one in verified])
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
        table[name] = round(mean(values, weights), 4)
        if name in RANKING or name in ANSWERS or name in CITATIONS:
            low, high = interval(values, weights)
            intervals[name] = (round(low, 4), round(high, 4))
    seconds = [result.scores["seconds"] for result in results if "seconds" in result.scores]
    table["seconds_p50"] = round(percentile(seconds, 0.5), 4)
    table["seconds_p95"] = round(percentile(seconds, 0.95), 4)
    kinds = {
        kind: {
            name: round(mean(values), 4)
            for name in ("recall@5", "f1", "answer_in_text", "unsure")
            if (values := [r.scores[name] for r in results if r.kind == kind and name in r.scores])
        }
        for kind in sorted({result.kind for result in results if result.kind})
    }
    return {**table, **_sureness(results), "intervals": intervals, "kinds": kinds}


def _sureness(results: Sequence[Result]) -> dict[str, float | None]:
    """Whether confidence and silence can be believed."""
    sure = [(r.confidence, r.scores["answer_in_text"] > 0) for r in results if r.confidence is not None and r.answer]
    silent = [r for r in results if r.outcome == "unsure"]
    spoken = [r for r in results if r.outcome not in ("unsure", "failed", "")]
    error = calibration_error([c for c, _ in sure], [right for _, right in sure])
    return {
        "calibration_error": None if error is None else round(error, 4),
        "right_when_answered": round(mean([r.scores["answer_in_text"] for r in spoken]), 4) if spoken else None,
        "right_to_be_unsure": round(mean([r.scores["answer_in_text"] for r in silent]), 4) if silent else None,
    }


COMPARED = ("recall@5", "f1", "answer_in_text", "sentences_supported")


def paired(first: Sequence[Result], second: Sequence[Result], score: str) -> Comparison | None:
    """The comparison over the questions that both have this score for."""
    theirs = {result.id: result for result in second}
    both = [(one, theirs[one.id]) for one in first if one.id in theirs and score in one.scores and score in theirs[one.id].scores]
    if not both:
        return None
    weights = [one.weight for one, _ in both]
    return compare([one.scores[score] for one, _ in both], [other.scores[score] for _, other in both], weights)


def against_first(names: Sequence[str], results: Sequence[Sequence[Result]]) -> Iterator[tuple[str, str, Comparison]]:
    """How each further run differs from the first: its name, the score, the difference."""
    for name, others in zip(names[1:], results[1:], strict=True):
        for score in COMPARED:
            if (found := paired(results[0], others, score)) is not None:
                yield name, score, found
