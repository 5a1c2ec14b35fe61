"""How sure an answer is, in words: the same ones wherever a confidence is shown."""

from __future__ import annotations

SURE = 0.7  # below this an answer is shown with what else came near
_WORDS = ((0.9, "very sure"), (SURE, "fairly sure"), (0.5, "not very sure"), (0.0, "unsure"))


def how_sure(confidence: float) -> str:
    """`fairly sure, 0.78`: how often such an answer is right, where that was measured (docs/log/evaluator.md)."""
    words = next(words for least, words in _WORDS if confidence >= least or least == 0.0)
    return f"{words}, {confidence:.2f}"
