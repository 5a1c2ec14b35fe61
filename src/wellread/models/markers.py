"""Prompt injection by special tokens: marks of chat templates in the words of others.

A server that fills a template takes `<|im_end|>` for the end of a turn wherever it stands, in a document too, and what follows
it for the words of the system. With a blank after its first sign such a mark is text like any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

# ChatML, Llama, Phi, GPT-OSS and most others; DeepSeek; Gemma; Llama 2 and Mistral
_USUAL = (
    r"<(?=\|?[^\s<>|]{1,60}\|>|\|[^\s<>|]{1,60}>|｜[^\s<>｜]{1,60}｜>|</?SYS>>|/?s>|(?:bos|eos)>|(?:start|end)_of_turn>)",
    r"\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT)\])",
)


def pattern(tokens: Iterable[str] = ()) -> re.Pattern[str]:
    """The first sign of each mark, of those that many models have and of a model's own control tokens."""
    rests: dict[str, list[str]] = {}
    for token in tokens:
        if len(token) > 1:
            rests.setdefault(token[0], []).append(re.escape(token[1:]))
    own = (f"{re.escape(first)}(?={'|'.join(rest)})" for first, rest in rests.items())
    return re.compile("|".join((*_USUAL, *own)))


USUAL = pattern()


def broken(text: str, marks: re.Pattern[str] | None) -> str:
    """The text with no mark in it."""
    return text if marks is None else marks.sub(r"\g<0> ", text)
