"""Multi-hop retrieval: a search along paths, for passages that only make sense together.

A question with two steps names its first passage and hides its second. So the evaluator first judges the
passages of the first list alone; for the best of them new candidates are collected, with the passage
as part of the query; each candidate is judged after the passage it follows; and passages are read
off the most likely paths, p(first) · p(second | first).

The search does no work of its own. It is a generator that asks (`Score` these chains, `Collect`
candidates for those) and is sent the answers, so that the engine can run it against an index with
threads, and training can run a thousand of them in step on a GPU:

    singles ─► the best firsts ─► candidates ─► pairs ─► reading
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from wellread.core.effort import Plan
from wellread.ranking.fusion import reciprocal_ranks

K = TypeVar("K", bound=Hashable)

RANK_OFFSET = 10.0  # of reciprocal rank fusion: small, since the lists are short and their heads good
# What the lists of candidates after a passage are worth.
MENTIONED, SEARCHED, JUDGED, LISTED = 2.0, 2.0, 0.5, 0.3
_LIKELY = math.log(0.7)  # from here on a passage is taken for the one that is sought, and no more are looked at
_HOPELESS = math.log(0.02)  # below it a passage leads nowhere
_TOLD_ALONE = 2.0  # in logits


@dataclass(frozen=True, slots=True)
class Weights:
    """What the places of a ranking are made of; tuned on questions set aside for it."""

    temperature: float = 1.3  # divides the relevance logits, so that they become probabilities
    bias: float = -1.65  # added after the division
    first_list: float = 0.3  # what first place in the first list is worth to a passage on its own, in log-probability


class Marked(NamedTuple):
    """A sentence of a passage, and the logit that it belongs to what carries the answer."""

    start: int
    end: int
    score: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the model says about one chain: logits, and the best span with its log-likelihood in the row."""

    relevance: float
    kinds: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)  # none, span, yes, no
    span: float = -math.inf  # log-likelihood of the best span
    passage: int = 0  # which passage of the chain holds it
    start: int = 0  # in characters of the passage's text
    end: int = 0
    text: str = ""
    told: float = -math.inf  # beside `kinds`: that the answer is told in sentences rather than named in a few words
    evidence: tuple[Marked, ...] = ()  # the sentences of the last passage that were read
    early: float = 0.0  # after half of the layers: whether it is worth reading on


def hopeless(early: float) -> Verdict:
    """Of a chain that was not read on: nothing is said there."""
    return Verdict(early, (12.0, 0.0, 0.0, 0.0), early=early)


@dataclass(frozen=True, slots=True)
class Score(Generic[K]):
    """Asks for a `Verdict` on each chain, in order."""

    chains: tuple[tuple[K, ...], ...]


@dataclass(frozen=True, slots=True)
class Collect(Generic[K]):
    """Asks for candidates after each chain: for each, lists that are best first; the first holds what the chain mentions."""

    chains: tuple[tuple[K, ...], ...]


@dataclass(frozen=True, slots=True)
class Found(Generic[K]):
    """The end of a search: passages best first with their scores, and everything that was judged."""

    ranking: tuple[tuple[K, float], ...]
    verdicts: Mapping[tuple[K, ...], Verdict]
    settled: bool = False  # after the opening


Request: TypeAlias = "Score[K] | Collect[K]"
Reply: TypeAlias = "Sequence[Verdict] | Sequence[Sequence[Sequence[K]]]"
Settled: TypeAlias = "Callable[[Mapping[tuple[K, ...], Verdict]], bool]"
Search: TypeAlias = "Generator[Score[K] | Collect[K], Sequence[Verdict] | Sequence[Sequence[Sequence[K]]], Found[K]]"


def search_paths(ranked: Sequence[K], plan: Plan, weights: Weights, settled: Settled[K] | None = None) -> Search[K]:
    """Search from the first list `ranked`; returns what it `Found`.

    It judges in rounds, and a round is left out where it cannot change the answer. Where the plan has an opening, the search ends
    there if its verdicts have `settled` the question, or if none of them is anywhere near it; the rest of the list is judged only
    where no passage is likely yet; a passage that leads nowhere is not followed. A row with two passages costs twice as much as
    one with one, and most questions need none.
    """
    verdicts: dict[tuple[K, ...], Verdict] = {}
    ranked = tuple(dict.fromkeys(ranked))  # a source may name a passage twice
    if plan.opening and settled is not None:
        yield from _judge([(key,) for key in ranked[: plan.opening]], verdicts)
        if (sure := settled(verdicts)) or _best(verdicts.values(), weights) < _HOPELESS:
            return Found(tuple(rank_passages(ranked, verdicts, weights)), verdicts, settled=sure)
    if _best(verdicts.values(), weights) < _LIKELY:
        yield from _judge([(key,) for key in ranked[: plan.singles]], verdicts)
    if plan.firsts:
        firsts = [(key,) for key, _ in rank_passages(ranked, verdicts, weights)[: plan.firsts]]
        firsts = [
            first for first in firsts if first in verdicts and log_probability(verdicts[first].relevance, weights) >= _HOPELESS
        ]
        wanted = yield from _next_steps(firsts, plan.seconds + plan.again, ranked, verdicts)
        yield from _judge([chain for chains in wanted for chain in chains[: plan.seconds]], verdicts)
        soon = [verdicts[chain] for chains in wanted for chain in chains[: plan.seconds]]
        if plan.again and _best(soon, weights) < _LIKELY and not _told_alone(verdicts):
            yield from _judge([chain for chains in wanted for chain in chains[plan.seconds :]], verdicts)
    ranking = rank_passages(ranked, verdicts, weights)
    if plan.reads:
        yield from _judge(reading_chains([key for key, _ in ranking], verdicts, weights, plan.reads), verdicts)
    return Found(tuple(ranking), verdicts)


def _best(verdicts: Iterable[Verdict], weights: Weights) -> float:
    return max((log_probability(verdict.relevance, weights) for verdict in verdicts), default=-math.inf)


def _told_alone(verdicts: Mapping[tuple[K, ...], Verdict]) -> bool:
    """Whether a passage by itself holds an answer, by far more likely than none."""
    return any(max(*one.kinds[1:], one.told) - one.kinds[0] >= _TOLD_ALONE for chain, one in verdicts.items() if len(chain) == 1)


def _judge(chains: Iterable[tuple[K, ...]], verdicts: dict[tuple[K, ...], Verdict]) -> Generator[Request[K], Reply[K], None]:
    new = tuple(chain for chain in dict.fromkeys(chains) if chain not in verdicts)
    if new:
        replies = yield Score(new)
        for chain, verdict in zip(new, replies, strict=True):
            assert isinstance(verdict, Verdict)
            verdicts[chain] = verdict


def _next_steps(
    chains: Sequence[tuple[K, ...]], width: int, ranked: Sequence[K], verdicts: Mapping[tuple[K, ...], Verdict]
) -> Generator[Request[K], Reply[K], list[list[tuple[K, ...]]]]:
    """For each chain what may follow it, best first."""
    if not chains:
        return []
    replies = yield Collect(tuple(chains))
    singles = sorted((chain for chain in verdicts if len(chain) == 1), key=lambda chain: -verdicts[chain].relevance)
    alone = [key for (key,) in singles]
    wanted: list[list[tuple[K, ...]]] = []
    for chain, lists in zip(chains, replies, strict=True):
        assert not isinstance(lists, Verdict)
        fused = reciprocal_ranks([*lists, alone, ranked], _list_weights(len(lists)), RANK_OFFSET - 1)
        wanted.append([(*chain, key) for key, _ in fused if key not in chain][:width])
    return wanted


def _list_weights(lists: int) -> list[float]:
    """What is mentioned counts most, then what searches found; what was judged or listed before counts little."""
    searches = max(lists - 1, 1)
    return [*([MENTIONED] * min(lists, 1)), *([SEARCHED / searches] * (lists - 1)), JUDGED, LISTED]


def log_probability(logit: float, weights: Weights) -> float:
    """The calibrated log-probability behind a relevance logit."""
    scaled = logit / weights.temperature + weights.bias
    return -math.log1p(math.exp(-scaled)) if scaled > -30 else scaled


def rank_paths(verdicts: Mapping[tuple[K, ...], Verdict], weights: Weights) -> list[tuple[tuple[K, ...], float]]:
    """Paths of two and more, most likely first; a path's score is the mean step's log-probability times two.

    The mean lets paths of different lengths compete; twice it is, for two steps, log p(first) + log p(second | first).
    """
    paths: list[tuple[tuple[K, ...], float]] = []
    for chain in verdicts:
        steps = [chain[: length + 1] for length in range(len(chain))]
        if len(chain) > 1 and all(step in verdicts for step in steps):
            total = sum(log_probability(verdicts[step].relevance, weights) for step in steps)
            paths.append((chain, 2 * total / len(chain)))
    return sorted(paths, key=lambda path: -path[1])


def rank_passages(ranked: Sequence[K], verdicts: Mapping[tuple[K, ...], Verdict], weights: Weights) -> list[tuple[K, float]]:
    """Every passage that was listed or judged, best first.

    A passage is as good as the better of two: its own likelihood, with what its place in the first list is worth, and
    that of the best path it is on. Passages nobody judged follow in the first list's order.
    """
    best: dict[K, float] = {}
    for rank, key in enumerate(ranked):
        if (verdict := verdicts.get((key,))) is not None:
            best[key] = 2 * log_probability(verdict.relevance, weights) + weights.first_list * place_worth(rank)
    for path, score in rank_paths(verdicts, weights):
        for place, key in enumerate(path):
            # The path's own order breaks ties.
            best[key] = max(best.get(key, -math.inf), score - place * 1e-6)
    floor = min(best.values(), default=0.0) - 1.0
    rest = [(key, floor - rank) for rank, key in enumerate(key for key in ranked if key not in best)]
    return [*sorted(best.items(), key=lambda item: -item[1]), *rest]


def leading(verdicts: Mapping[tuple[K, ...], Verdict], weights: Weights) -> dict[K, tuple[K, ...]]:
    """What leads to a passage, for those that a path makes likelier than they are alone."""
    chosen: dict[K, tuple[K, ...]] = {}
    for path, score in rank_paths(verdicts, weights):
        for place, key in enumerate(path):
            alone = verdicts.get((key,))
            if key not in chosen and (alone is None or score > 2 * log_probability(alone.relevance, weights)):
                chosen[key] = path[:place]
    return {key: lead for key, lead in chosen.items() if lead}


def place_worth(rank: int) -> float:
    """1 for the first place of a list, a half for the eleventh."""
    return RANK_OFFSET / (RANK_OFFSET + rank)


def reading_chains(
    order: Sequence[K], verdicts: Mapping[tuple[K, ...], Verdict], weights: Weights, count: int
) -> list[tuple[K, ...]]:
    """Chains worth reading that nobody judged yet: the best two, three and four passages, the best path the other way round."""
    paths = [path for path, _ in rank_paths(verdicts, weights) if len(path) == 2]
    wanted = [tuple(order[:length]) for length in (2, 3, 4) if len(order) >= length]
    wanted += [(second, first) for first, second in paths[:3]]
    return [chain for chain in dict.fromkeys(wanted) if chain not in verdicts][:count]
