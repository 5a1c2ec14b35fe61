"""The evaluator: one small model that grades, re-ranks, follows and reads.

`rerank` and `grade` judge passages one by one; `trail` searches along paths, for passages that only make sense together
(see `paths`), and reads the short answer. Work runs in threads; how much is bounded by the
effort (see `wellread.core.effort`).
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from wellread.core.effort import ALLOWED, Effort, Plan
from wellread.core.private_files import at_home
from wellread.embedding.arithmetic import Choice
from wellread.embedding.layout import fitted, read_json, verify_files
from wellread.errors import UsageError
from wellread.protocols import AnswerReader, Grader, Parts, Reranker, trained
from wellread.ranking import verifier
from wellread.ranking.answers import AnswerWeights, Best, best_answers, doubts, settles
from wellread.ranking.judge import SHIPPED, TOKENIZER, Chain, Judge, form_of
from wellread.ranking.paths import (
    Collect,
    Score,
    Verdict,
    Weights,
    leading,
    log_probability,
    place_worth,
    rank_passages,
    search_paths,
)
from wellread.types import Claim, Grade, Judgement, Passage, Spec

T = TypeVar("T")
MODEL, CALIBRATION = "evaluator.onnx", "calibration.json"
# What first place in the first list is worth to a re-ranked passage, in logits. Where the model knows the field its logits
# differ by more than that; where it does not, the first list decides.
RERANK_FIRST_LIST = 10.0
_KEPT = 256  # verdicts: of a few questions

Candidates = Callable[[Sequence[Chain]], Awaitable[Sequence[Sequence[Sequence[Passage]]]]]


@dataclass(frozen=True, slots=True)
class Trail:
    """The result of a search along paths: passages, answers, and what leads to what."""

    passages: tuple[tuple[Passage, float], ...]  # best first
    answers: tuple[Best[Passage], ...]  # best first
    pairs: int  # how many were judged
    leads: Mapping[str, Chain] = field(default_factory=dict[str, Chain])  # by id: what leads to a passage on its best path
    settled: bool = False  # whether the first few passages were enough


def from_spec(spec: Spec, kit: Parts) -> Evaluator:
    """The small model in the package, or one like it in a folder: grades, re-ranks, follows cross-references and reads."""
    if spec.options:
        raise UsageError("evaluator takes no options")
    folder = at_home(spec.argument) if spec.argument else SHIPPED
    if not available(folder):
        raise UsageError(f"{folder}: there is no {MODEL}")
    return Evaluator(folder, kit.effort)


def follower(kit: Parts, language: str | None) -> Evaluator | None:
    """The evaluator, where the effort lets it follow passages and it was trained for the question's language."""
    tracker = trained(kit.answer_reader(), language)
    return tracker if isinstance(tracker, Evaluator) and tracker.plan.singles else None


def available(folder: Path = SHIPPED) -> bool:
    """Whether the weights are installed; without them everything works by words and meaning alone."""
    return (folder / MODEL).is_file()


def verify(folder: Path = SHIPPED) -> None:
    """Raise unless the weights are those of the model card."""
    verify_files(folder, {MODEL: str(_calibration(folder).get("sha256"))})


def _calibration(folder: Path) -> Mapping[str, Any]:
    return read_json(folder / CALIBRATION, needed=True)


class Evaluator(Reranker, Grader, AnswerReader):
    """Re-ranks, grades, follows paths, reads answers and says what passages carry; also on a recording."""

    name = "evaluator"

    def __init__(self, folder: Path = SHIPPED, effort: Effort = "normal", threads: int = 0, arithmetic: Choice = "auto") -> None:
        self._folder = folder
        self._effort: Effort = effort
        self._threads = threads
        self._arithmetic: Choice = arithmetic
        self._known: dict[tuple[str, Chain], Verdict] = {}
        self._asking: MutableMapping[object, asyncio.Lock] = WeakValueDictionary()  # by what is being judged, and where

    @cached_property
    def _judge(self) -> Judge:
        model = self._folder / MODEL
        form = form_of(model, _calibration(self._folder).get("sha256"), self._arithmetic)
        own = self._folder / TOKENIZER.name
        floor = float(_calibration(self._folder).get("floor", -math.inf))
        tokenizer = own if own.is_file() else TOKENIZER
        return Judge(model, tokenizer, self._threads, ALLOWED[self._effort].windows, form, floor)

    @cached_property
    def _verifier(self) -> verifier.Verifier:
        return verifier.shared(self._folder, self._threads)

    @cached_property
    def weights(self) -> Weights:
        """The fitted weights of rankings and probabilities."""
        return fitted(self._folder / CALIBRATION, "weights", Weights)

    @cached_property
    def scoring(self) -> AnswerWeights:
        """The fitted weights of an answer's score and confidence."""
        return fitted(self._folder / CALIBRATION, "answers", AnswerWeights)

    @cached_property
    def languages(self) -> frozenset[str]:
        """The languages it was trained for: English, unless its files name others."""
        return frozenset(_calibration(self._folder).get("languages") or ("en",))

    def knows(self, language: str) -> bool:
        return language in self.languages

    @property
    def plan(self) -> Plan:
        """How much may be judged at this effort."""
        return ALLOWED[self._effort].plan

    async def rerank(self, question: str, passages: Sequence[Passage]) -> Sequence[float]:
        """Relevance and the place in the first list together, so that it never ruins a good list."""
        verdicts = await self.judge(question, [(passage,) for passage in passages])
        return [verdict.relevance + RERANK_FIRST_LIST * place_worth(rank) for rank, verdict in enumerate(verdicts)]

    async def grade(self, question: str, passages: Sequence[Passage]) -> Sequence[Grade]:
        """Calibrated probabilities of relevance."""
        return await self.grade_chains(question, [(passage,) for passage in passages])

    async def grade_chains(self, question: str, chains: Sequence[Sequence[Passage]]) -> Sequence[Grade]:
        """The same for the last passage of each chain, after those that lead to it."""
        verdicts = await self.judge(question, [tuple(chain) for chain in chains])
        probabilities = [math.exp(log_probability(verdict.relevance, self.weights)) for verdict in verdicts]
        return [Grade(probability >= 0.5, probability) for probability in probabilities]

    async def carries(self, claims: Sequence[Claim]) -> Sequence[Judgement]:
        """Whether passages carry sentences; nothing where the verifier's weights are not installed."""
        return await self._verifier.carries(claims) if verifier.available(self._folder) else ()

    async def trail(self, question: str, ranked: Sequence[Passage], candidates: Candidates, plan: Plan | None = None) -> Trail:
        """Search along paths that start in the first list; `candidates` finds what may follow a chain."""
        chosen = plan or self.plan

        def sure(verdicts: Mapping[Chain, Verdict]) -> bool:
            order = [passage for passage, _ in rank_passages(ranked, verdicts, self.weights)]
            return any(settles(question, best) for best in self._answers(question, order, verdicts)[:1])

        search = search_paths(tuple(ranked), chosen, self.weights, sure)
        request = next(search, None)
        pairs = 0
        try:
            while request is not None:
                if isinstance(request, Score):
                    pairs += len(request.chains)
                    request = search.send(await self.judge(question, request.chains))
                else:
                    assert isinstance(request, Collect)
                    request = search.send(await candidates(request.chains))
        except StopIteration as end:
            found = end.value
            order = [passage for passage, _ in found.ranking]
            leads = {passage.id: chain for passage, chain in leading(found.verdicts, self.weights).items()}
            answers = tuple(self._answers(question, order, found.verdicts))
            return Trail(found.ranking, answers, pairs, leads, found.settled)
        return Trail(tuple((passage, -float(rank)) for rank, passage in enumerate(ranked)), (), 0)

    def _answers(self, question: str, order: Sequence[Passage], verdicts: Mapping[Chain, Verdict]) -> list[Best[Passage]]:
        """The answers in words, also those that sentences tell; each words once."""
        scoring, doubt = self.scoring.asked(question), doubts(question)
        answers = best_answers(order, verdicts, self.weights, scoring, doubt)
        worded: dict[str, Best[Passage]] = {}
        for best in answers:
            if best.kind == "text":
                best = replace(best, text=best.chain[-1].text[best.verdict.start : best.verdict.end])
            worded.setdefault(best.text.casefold(), best)
        return list(worded.values())

    async def judge(self, question: str, chains: Sequence[Chain]) -> list[Verdict]:
        """The model's verdict on each chain; cancelling stops it between batches.

        Verdicts are kept for a while: where the first few passages were not enough, they are asked for again with the others.
        Who asks the same at the same time as another waits for that one's.
        """
        same = asyncio.get_running_loop(), question, tuple(chains)
        async with self._asking.setdefault(same, asyncio.Lock()):
            return await self._judged(question, chains)

    async def _judged(self, question: str, chains: Sequence[Chain]) -> list[Verdict]:
        known = {chain: verdict for chain in chains if (verdict := self._known.get((question, chain))) is not None}
        new = [chain for chain in dict.fromkeys(chains) if chain not in known]
        if new:
            known |= zip(new, await self._judge.judged(question, new), strict=True)
            self._known |= {(question, chain): known[chain] for chain in new}
            for oldest in [*islice(self._known, max(0, len(self._known) - _KEPT))]:
                self._known.pop(oldest, None)
        return [known[chain] for chain in chains]
