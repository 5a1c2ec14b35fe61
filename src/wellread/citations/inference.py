"""The mark of a sentence that draws a conclusion: `(inference)`, before or behind its citations.

The answer prompt asks for it. It stays in the text, so that every reader sees it wherever the text is shown.
"""

from __future__ import annotations

import re

_MARK = re.compile(
    r"[ \t]?[(\[](?:an )?(?:inference|inferred|conclusion|deduction|schlussfolgerung|abgeleitet|inférence|déduction|inferencia"
    r"|deducción|inferenza|deduzione|推論|推论)[)\]]",
    re.IGNORECASE,
)


def is_marked(sentence: str) -> bool:
    return _MARK.search(sentence) is not None


def unmarked(sentence: str) -> str:
    return _MARK.sub("", sentence)
