"""The table of word vectors (gte-small's) that evaluator and verifier share, so that it is stored and loaded once."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wellread.errors import DamagedFile

WORDS = "words.npz"


class Words(NamedTuple):
    """A byte a number, with a scale for each word."""

    codes: NDArray[np.int8]
    scales: NDArray[np.float32]

    def vectors(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        return self.codes[ids].astype(np.float32) * self.scales[ids]


@cache
def words_in(folder: Path) -> Words:
    """The table beside a model's file."""
    try:
        with np.load(folder / WORDS) as table:
            return Words(table["codes"], table["scales"])
    except (OSError, ValueError, KeyError) as problem:
        raise DamagedFile(f"{folder / WORDS} cannot be read: {problem}") from problem
