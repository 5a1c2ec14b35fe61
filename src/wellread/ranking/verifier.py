"""The verifier: a small model that reads a sentence beside the passages it cites and says whether they carry it.

Rows are built as the evaluator's are (`inputs`), the claim in the question's place. The table of words is the
evaluator's, too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wellread.core.effort import Windows
from wellread.core.processors import workers
from wellread.core.unicode_safety import encodable
from wellread.embedding.batches import padded
from wellread.embedding.layout import read_json, verify_files
from wellread.errors import DamagedFile, EmbedderError, panics_as
from wellread.ranking.inputs import Ids, Tokens, build_row, pad_rows
from wellread.ranking.judge import MAX_CHARACTERS, MAX_TOKENS, STEP, opened
from wellread.ranking.words import WORDS, words_in
from wellread.types import Judgement, Passage

if TYPE_CHECKING:
    from tokenizers import Tokenizer


MODEL, FITTED = "verifier.onnx", "verifier.json"
SHIPPED = Path(__file__).parent / "weights"
EMBEDDER = Path(__file__).parents[1] / "embedding" / "weights" / "all-minilm-l6-v2"
WINDOWS = Windows(question=96, title=24, alone=272, known=176, judged=176, total=448)
MOST_PASSAGES = 4  # that are read beside one sentence
_MOST = 8.0  # of a logit, either way


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
    fitted = _fitted(folder)
    verify_files(folder, {MODEL: str(fitted.get("sha256")), WORDS: str(fitted.get("words"))})


def _fitted(folder: Path) -> Mapping[str, Any]:
    return read_json(folder / FITTED, needed=True)


class Verifier:
    """Loaded at the first use; may be called from several threads."""

    def __init__(self, folder: Path = SHIPPED, threads: int = 0) -> None:
        self._folder = folder
        # Sentences are read side by side, each on a thread of its own; all runs of a process stand in one queue.
        self.pool = workers("wellread-verifier", threads)

    @cached_property
    def belief(self) -> Belief:
        """What makes a verdict of its number."""
        content = _fitted(self._folder)
        try:
            weights, (low, high) = content["weights"], content["unsure"]
            fitted = weights["carried"], weights["share"], weights["bias"], content["carried"], (low, high)
            return Belief(*fitted, content["floor"], content["margin"])
        except (KeyError, TypeError, ValueError) as problem:
            raise DamagedFile(f"{self._folder / FITTED} holds no weights that fit this version") from problem

    def carries(self, claim: str, passages: Sequence[Passage], share: float, exchanged: Sequence[str] = ()) -> Judgement:
        """Whether the passages carry the claim, and do so rather than the same with two names exchanged."""
        said = self.weigh(claim, passages)
        judgement = self.belief.judge(said, share)
        if judgement.carried and any(self.weigh(other, passages) > said + self.belief.margin for other in exchanged):
            return Judgement(carried=False, sure=False)
        return judgement

    def weigh(self, claim: str, passages: Sequence[Passage]) -> float:
        """How sure the passages carry the claim, as a logit."""
        session, tokenizer = opened(self._folder / MODEL, EMBEDDER / "tokenizer.json")
        chain = [Tokens(_ids(tokenizer, one.title), _ids(tokenizer, one.text)) for one in passages[:MOST_PASSAGES]]
        row = build_row(_ids(tokenizer, claim), chain, WINDOWS)
        ids, types, mask = pad_rows([row], padded(len(row.ids), STEP))
        words = words_in(self._folder).vectors(ids)
        feed = {"input_ids": ids, "token_type_ids": types, "attention_mask": mask, "words": words}
        try:
            (carried,) = session.run(["carried"], feed)
        except Exception as problem:  # onnxruntime's errors have no common root but this
            raise EmbedderError(f"{self._folder / MODEL} failed: {problem}") from problem
        return float(carried[0])


shared = cache(Verifier)


def _ids(tokenizer: Tokenizer, text: str) -> Ids:
    with panics_as(EmbedderError, "cutting a sentence or passage into tokens"):
        encoding = tokenizer.encode(encodable(text[:MAX_CHARACTERS]), add_special_tokens=False)
    return np.array(encoding.ids[:MAX_TOKENS], np.int32)
