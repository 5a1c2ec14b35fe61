"""Cases as rows of tokens, with what is to be learned of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer
from training.verifier.claims import Case, Claim, Text

from wellread.core.effort import Windows
from wellread.ranking.inputs import Tokens, build_row

WINDOWS = Windows(question=96, title=24, alone=272, known=176, judged=176, total=448)
UNKNOWN = -1
_MOST = 1024  # tokens of a passage


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows and targets; `astray` has one for each token of all rows: 1 not carried, 0 carried, -1 not asked."""

    ids: list[NDArray[np.int32]]
    claim_lengths: list[int]
    carried: NDArray[np.float32]
    weights: NDArray[np.float32]
    lists: NDArray[np.int64]
    astray: NDArray[np.int8]


class Builder:
    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._read = lru_cache(maxsize=4096)(self._read_now)

    def _read_now(self, passage: Text) -> Tokens:
        title, text = self._tokenizer.encode_batch([passage.title, passage.text], add_special_tokens=False)
        return Tokens(np.array(title.ids, np.int32), np.array(text.ids[:_MOST], np.int32))

    def row(self, claim: Claim, passages: Sequence[Text]) -> tuple[NDArray[np.int32], int, NDArray[np.int8]]:
        encoding = self._tokenizer.encode(claim.text, add_special_tokens=False)
        row = build_row(np.array(encoding.ids, np.int32), [self._read(passage) for passage in passages], WINDOWS)
        targets = np.full(len(row.ids), UNKNOWN, np.int8)
        if claim.astray is not None:
            offsets = encoding.offsets[: row.question_length - 2]
            targets[1 : 1 + len(offsets)] = [any(start < b and a < end for a, b in claim.astray) for start, end in offsets]
        return row.ids, row.question_length, targets

    def batch(self, cases: Sequence[Case]) -> Batch:
        rows = [(number, claim, *self.row(claim, case.passages)) for number, case in enumerate(cases) for claim in case.claims]
        untrue = [sum(claim.weight for claim in case.claims if not claim.carried) for case in cases]
        weights = [claim.weight / (1.0 if claim.carried else max(1.0, untrue[number])) for number, claim, *_ in rows]
        return Batch(
            [ids for _, _, ids, _, _ in rows],
            [length for _, _, _, length, _ in rows],
            np.array([claim.carried for _, claim, *_ in rows], np.float32),
            np.array(weights, np.float32),
            np.array([number for number, *_ in rows], np.int64),
            np.concatenate([targets for *_, targets in rows]),
        )
