"""Sentences of an answer, the passages they cite, and the exact words there that carry them."""

from __future__ import annotations

from collections.abc import Mapping

from wellread.markers import markers, strip_markers
from wellread.sentences import sentences
from wellread.types import Passage, Sentence

__all__ = ["check", "markers", "sentences", "strip_markers"]


def check(text: str, passages: Mapping[int, Passage]) -> list[Sentence]:
    """Every sentence of `text` with the words in `passages` that carry it."""
    raise RuntimeError("being written")
