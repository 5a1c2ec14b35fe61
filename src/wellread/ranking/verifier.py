"""Entailment: the verifier is a small model that reads a sentence beside the passages it cites and says whether they carry it.

Rows are built as the evaluator's are (`inputs`), the claim in the question's place. The table of words is the
evaluator's, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from wellread.core.effort import Windows
from wellread.core.processors import available_processors, queued
from wellread.embedding.arithmetic import Choice
from wellread.embedding.layout import fitted, read_json, verify_files
from wellread.ranking.inputs import Row, Tokens, build_row
from wellread.ranking.judge import SHIPPED, TOKENIZER, WORDS, batches, encoded, fed, form_of, in_order, opened, readers, run
from wellread.types import Claim, Judgement, Passage

if TYPE_CHECKING:
    from wellread.embedding.session import Session
    from wellread.embedding.wordpiece import Tokenizer

MODEL, FITTED = "verifier.onnx", "verifier.json"
ONE = Windows(question=96, title=24, alone=272)
# Of several passages together no more than of one: where most of the claim's words are is enough, in half the time.
SEVERAL = Windows(question=96, title=24, known=120, judged=120, total=256)
MOST_PASSAGES = 4  # that are read beside one sentence
_MOST = 8.0  # of a logit, either way
Pair: TypeAlias = tuple[str, Sequence[Passage]]


class Belief(NamedTuple):
    """How far a sentence is believed: by what the model says, a logit, and by how much of it the passages hold.

    Fitted by training/verifier/fit.py. From `least` on it is carried, unless the model says less than `floor`: a sentence with
    one word changed has all others in its passages. Nor is it where the same words with two names exchanged are said with more
    right, by `margin`. Within `unsure` somebody who reads better is asked.
    """

    said: float
    share: float
    bias: float
    least: float
    unsure: tuple[float, float] = (0.0, 0.0)
    floor: float = -math.inf
    margin: float = math.inf

    def judge(self, said: float, share: float) -> Judgement:
        score = self.said * min(_MOST, max(-_MOST, said)) + self.share * share + self.bias
        low, high = self.unsure
        return Judgement(score >= self.least and said >= self.floor, not low <= score < high)


def available(folder: Path = SHIPPED) -> bool:
    """Whether the weights are installed; without them the rules judge alone."""
    return (folder / MODEL).is_file() and (folder / WORDS).is_file()


def verify(folder: Path = SHIPPED) -> None:
    """Raise unless the weights are those of the model card."""
    sums = read_json(folder / FITTED, needed=True)
    verify_files(folder, {MODEL: str(sums.get("sha256")), WORDS: str(sums.get("words"))})


class Verifier:
    """Loaded at the first use; may be called from several threads."""

    def __init__(self, folder: Path = SHIPPED, threads: int = 0, arithmetic: Choice = "auto") -> None:
        self._folder = folder
        self._arithmetic: Choice = arithmetic
        self._threads = threads or available_processors()
        self._pool = readers(self._threads)

    @cached_property
    def belief(self) -> Belief:
        """What makes a verdict of its number."""
        return fitted(self._folder / FITTED, "belief", Belief)

    @cached_property
    def _opened(self) -> tuple[Session, Tokenizer]:
        model = self._folder / MODEL
        form = form_of(model, read_json(self._folder / FITTED).get("sha256"), self._arithmetic)
        return opened(model, TOKENIZER, form, self._threads)

    async def carries(self, claims: Sequence[Claim]) -> list[Judgement]:
        """Whether their passages carry the claims, and do so rather than the same with two names exchanged."""
        said = await self._weighed([(one.text, one.passages) for one in claims])
        judged = [self.belief.judge(logit, one.share) for logit, one in zip(said, claims, strict=True)]
        passing = [place for place, one in enumerate(judged) if one.carried]
        exchanged = [(place, (other, claims[place].passages)) for place in passing for other in claims[place].exchanged]
        for (place, _), logit in zip(exchanged, await self._weighed([pair for _, pair in exchanged]), strict=True):
            if logit > said[place] + self.belief.margin:
                judged[place] = Judgement(carried=False, sure=False)
        return judged

    async def _weighed(self, pairs: Sequence[Pair]) -> list[float]:
        rows = await queued(self._pool, self._row, pairs)
        places = batches(rows)
        return in_order(places, await queued(self._pool, self._read, [[rows[place] for place in batch] for batch in places]))

    def weigh(self, claim: str, passages: Sequence[Passage]) -> float:
        """How sure the passages carry the claim, as a logit."""
        (logit,) = self._read([self._row((claim, passages))])
        return logit

    def _row(self, pair: Pair) -> Row:
        _, tokenizer = self._opened
        claim, passages = pair
        told = [Tokens(encoded(tokenizer, one.title), encoded(tokenizer, one.text)) for one in passages[:MOST_PASSAGES]]
        return build_row(encoded(tokenizer, claim), told, SEVERAL if told[1:] else ONE)

    def _read(self, rows: Sequence[Row]) -> list[float]:
        (carried,) = run(self._opened[0], self._folder / MODEL, ["carried"], fed(rows))
        return [float(one) for one in carried]


shared = cache(Verifier)
