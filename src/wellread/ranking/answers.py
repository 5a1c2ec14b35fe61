"""Answer selection and calibration: which answer the verdicts speak for, and how sure that is.

Every chain that was judged proposes answers. What speaks for one: how likely the chain is the right one, that it
answers at all, that the answer is these words or told in these sentences, and how far up its passages stand in the ranking;
against it, that the chain
looks doubtful. How often such an answer is right was measured on questions set aside for it; that is the confidence.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, Literal, TypeVar

from wellread.questions.kinds import to_be_told
from wellread.ranking.paths import Marked, Verdict, Weights, log_probability
from wellread.text.lexicon import STOPWORDS
from wellread.text.places import leads_to, mentions
from wellread.text.words import fold
from wellread.types import Passage

K = TypeVar("K", bound=Hashable)
Kind = Literal["span", "yes", "no", "text"]

WIDEST_MARGIN = 6.0
CARRIES = 0.0  # the logit from which a sentence beside the best one belongs to what is told
MOST_TOLD = 900  # characters
APART = 8  # characters between two sentences from which on a heading or a question stands there
# Nothing more is read once an answer is that sure (docs/log/evaluator.md). Longer questions may need two steps, whatever the
# first passages seem to say.
_SETTLED, _SETTLED_TOLD, _ONE_STEP = 0.6, 0.5, 10  # the last in words


_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Doubt:
    """What speaks against a chain of passages before anybody has read it: two shares, from 0 to 1.

    A chain leads somewhere if each of its passages is named by the question, names another one or is named by it. And an answer
    about Eris should stand in passages that mention Eris.
    """

    astray: float = 0.0  # of a chain's passages that nothing leads to
    missing: float = 0.0  # of the question's names that stand nowhere in it


NONE = Doubt()


@dataclass(frozen=True, slots=True)
class AnswerWeights:
    """Weights of an answer's score, and the logistic fit that turns it into a confidence."""

    path: float = 1.0
    kind: float = 1.0
    span: float = 0.3
    place: float = 0.5
    astray: float = 0.0
    missing: float = 0.0
    told: float = 0.0  # added to the logit that the answer is sentences, where the question asks for that
    sure_score: float = 1.0
    sure_margin: float = 0.1
    sure_path: float = 0.0
    sure_kind: float = 0.0
    sure_span: float = 0.0
    sure_astray: float = 0.0
    sure_missing: float = 0.0
    sure_told: float = 0.0
    sure_bias: float = 0.6

    def asked(self, question: str) -> AnswerWeights:
        """The weights for a question: sentences are expected where it asks for an instruction or a reason."""
        return self if to_be_told(question) else replace(self, told=0.0)


@dataclass(frozen=True, slots=True)
class Best(Generic[K]):
    """An answer, the chain that proposes it best, and what speaks for it."""

    text: str
    kind: Kind
    chain: tuple[K, ...]
    verdict: Verdict
    path: float  # the mean step's log-probability
    likelihood: float  # log-probability of this kind of answer
    place: int  # of the last of its passages in the ranking, in the chain where that is best
    doubt: Doubt = NONE
    score: float = 0.0
    margin: float = 0.0  # to the best other answer
    confidence: float = 0.0

    @property
    def span(self) -> float:
        """The log-likelihood of the words, or of the sentence that carries most; yes and no have none."""
        if self.kind == "text":
            return -math.log1p(math.exp(-max(mark.score for mark in self.verdict.evidence)))
        return self.verdict.span if self.kind == "span" else 0.0


def settles(question: str, best: Best[K]) -> bool:
    """Whether an answer out of single passages makes reading on needless."""
    if best.kind == "text":
        return best.confidence >= _SETTLED_TOLD
    one_step = not best.doubt.missing and len(question.split()) <= _ONE_STEP
    return best.kind == "span" and one_step and best.confidence >= _SETTLED


def best_answers(
    order: Sequence[K],
    verdicts: Mapping[tuple[K, ...], Verdict],
    weights: Weights,
    scoring: AnswerWeights,
    doubt: Callable[[tuple[K, ...]], Doubt] = lambda _: NONE,
) -> list[Best[K]]:
    """Different answers, best first; `order` is the ranking of the passages, `doubt` says what speaks against a chain."""
    places = {key: place for place, key in enumerate(order)}
    found: dict[object, Best[K]] = {}
    for chain, verdict in verdicts.items():
        path = _path(chain, verdicts, weights)
        place = max(places.get(key, len(places)) for key in chain)
        doubtful = doubt(chain)
        for kind, proposed, likelihood in _proposals(verdict, len(chain), scoring.told):
            new = Best(proposed.text, kind, chain, proposed, path, likelihood, place, doubtful)
            same = " ".join(fold(word) for word in new.text.split())
            key: object = (chain[-1], proposed.start) if kind == "text" else same
            found[key] = _better(found.get(key), new, scoring)
    scored = [replace(one, score=_worth(one, scoring) - scoring.place * math.log1p(one.place)) for one in found.values()]
    return _sure(sorted(scored, key=lambda best: -best.score), scoring)


def _better(old: Best[K] | None, new: Best[K], scoring: AnswerWeights) -> Best[K]:
    """The better proposal of the same answer, with the better place of the two."""
    if old is None:
        return new
    first, second = sorted((old, new), key=lambda best: -_worth(best, scoring))
    return replace(first, place=min(first.place, second.place))


def _worth(best: Best[K], scoring: AnswerWeights) -> float:
    doubt = scoring.astray * best.doubt.astray + scoring.missing * best.doubt.missing
    return scoring.path * best.path + scoring.kind * best.likelihood + scoring.span * best.span - doubt


def _sure(ranked: Sequence[Best[K]], scoring: AnswerWeights) -> list[Best[K]]:
    """Margins and confidences; the first has its margin to the second, the others to the first."""
    sure: list[Best[K]] = []
    for rank, best in enumerate(ranked):
        rival = ranked[1 if rank == 0 else 0].score if len(ranked) > 1 else -math.inf
        margin = max(-WIDEST_MARGIN, min(WIDEST_MARGIN, best.score - rival))
        logit = scoring.sure_bias + sum(
            weight * value
            for weight, value in (
                (scoring.sure_score, best.score),
                (scoring.sure_margin, margin),
                (scoring.sure_path, best.path),
                (scoring.sure_kind, best.likelihood),
                (scoring.sure_span, best.span),
                (scoring.sure_astray, best.doubt.astray),
                (scoring.sure_missing, best.doubt.missing),
                (scoring.sure_told, float(best.kind == "text")),
            )
        )
        sure.append(replace(best, margin=margin, confidence=1 / (1 + math.exp(min(30.0, max(-30.0, -logit))))))
    return sure


def _proposals(verdict: Verdict, length: int, told: float) -> list[tuple[Kind, Verdict, float]]:
    """The span, yes and no, and what is told, each with the log-probability of its kind.

    What is told stands in the last of `length` passages; its words are put in where the passages are known.
    """
    logits = (*verdict.kinds, verdict.told + told)
    most = max(logits)
    total = most + math.log(sum(math.exp(logit - most) for logit in logits))
    _, span, yes, no, text = (logit - total for logit in logits)
    said = verdict.text.strip().lower()
    found: list[tuple[Kind, Verdict, float]] = [("span", verdict, span)] if said and said not in STOPWORDS else []
    found.append(("yes", replace(verdict, text="yes"), yes))
    found.append(("no", replace(verdict, text="no"), no))
    if verdict.evidence and math.isfinite(text):
        start, end = told_in(verdict.evidence)
        found.append(("text", replace(verdict, passage=length - 1, start=start, end=end, text=""), text))
    return found


def told_in(evidence: Sequence[Marked]) -> tuple[int, int]:
    """The characters from the first to the last of the sentences around the best one that carry the answer with it."""
    marks = sorted(evidence)
    best = max(range(len(marks)), key=lambda place: marks[place].score)
    first = last = best
    while first and _joins(marks[first - 1], marks[first], marks[last].end - marks[first - 1].start):
        first -= 1
    while last + 1 < len(marks) and _joins(marks[last + 1], marks[last], marks[last + 1].end - marks[first].start):
        last += 1
    return marks[first].start, marks[last].end


def _joins(new: Marked, old: Marked, length: int) -> bool:
    """Whether a sentence tells the answer together with its neighbour: nothing else is between them, and it is not too long."""
    between = max(old.start - new.end, new.start - old.end)
    return new.score > CARRIES and between < APART and length <= MOST_TOLD


def _path(chain: tuple[K, ...], verdicts: Mapping[tuple[K, ...], Verdict], weights: Weights) -> float:
    """The mean step's log-probability; a step that nobody judged counts as the last."""
    steps = [verdicts.get(chain[: length + 1], verdicts[chain]) for length in range(len(chain))]
    return sum(log_probability(step.relevance, weights) for step in steps) / len(steps)


def doubts(question: str) -> Callable[[Sequence[Passage]], Doubt]:
    """How doubtful chains are as ways to the answer of a question."""
    words = (word for word in _WORD.findall(question) if word.lower() not in STOPWORDS)
    names = frozenset(fold(word) for word in words if word[0].isupper() or word[0].isdigit())
    held: dict[str, frozenset[str]] = {}

    def holds(passage: Passage) -> frozenset[str]:
        if passage.id not in held:
            held[passage.id] = names & {fold(word) for word in _WORD.findall(f"{passage.title} {passage.text}")}
        return held[passage.id]

    def doubt(chain: Sequence[Passage]) -> Doubt:
        found = frozenset[str]().union(*map(holds, chain))
        astray = sum(not _is_led_to(question, passage, chain) for passage in chain) if len(chain) > 1 else 0
        return Doubt(astray / len(chain), 1 - len(found) / len(names) if names else 0.0)

    return doubt


def _is_led_to(question: str, passage: Passage, chain: Sequence[Passage]) -> bool:
    if mentions(question, passage.title):
        return True
    others = (other for other in chain if other.id != passage.id)
    return any(
        other.title == passage.title or leads_to(other, passage.title) or leads_to(passage, other.title) for other in others
    )
