"""Sentences of an answer, the passages they cite, and the exact words there that carry them."""

from __future__ import annotations

from collections.abc import Mapping

from wellread.types import Passage, Sentence


def sentences(text: str) -> list[tuple[int, int]]:
    """Where each sentence starts and ends."""
    raise RuntimeError("being written")


def check(text: str, passages: Mapping[int, Passage]) -> list[Sentence]:
    """Every sentence of `text` with the words in `passages` that carry it."""
    raise RuntimeError("being written")
