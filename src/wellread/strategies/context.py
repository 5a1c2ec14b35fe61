"""What fits into a model's window, where text is cut, and how text from outside is fenced."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from wellread.events import Cut
from wellread.prompts.render import render
from wellread.protocols import Model
from wellread.run import Run
from wellread.text.citations import sentences
from wellread.types import Message, Passage

_MARGIN = 64  # tokens for what chat templates add around messages
_BOUND = 4  # tokens a character can take at most: one for each of its bytes
_LEAST = 16  # fewer tokens of a text are not worth showing


def reserve(model: Model, wanted: int) -> int:
    """Tokens to keep free for the reply: what is wanted, but no more than a quarter of the window."""
    window = model.capabilities.context_tokens
    return wanted if window is None else max(1, min(wanted, window // 4))


def room(model: Model, messages: Iterable[Message], reply: int) -> int | None:
    """Tokens left in the window beside these messages and the reply; None when it has no known end."""
    window = model.capabilities.context_tokens
    if window is None:
        return None
    texts = [message.text for message in messages]
    # Counting is the dearest part of a step. Where the window is far larger than the text, a bound will do.
    sure = window - sum(_BOUND * len(text) for text in texts) - reply - _MARGIN
    if 2 * sure >= window:
        return sure
    return max(0, window - sum(map(model.count_tokens, texts)) - reply - _MARGIN)


def foreign(run: Run) -> str:
    """The paragraph that tells a model what the fence means."""
    return render("foreign", marker=run.marker)


def fence(run: Run, text: str) -> str:
    """Text from outside between marks that it cannot know."""
    return f"<data-{run.marker}>\n{text.replace(run.marker, '')}\n</data-{run.marker}>"


def numbered(run: Run, number: int, passage: Passage, text: str | None = None) -> str:
    """A passage as material for an answer: its number outside the fence, its words inside."""
    title = f"{passage.title}\n" if passage.title else ""
    return f"[{number}]\n{fence(run, title + (passage.text if text is None else text))}"


def shortened(run: Run, model: Model, passage: Passage, tokens: int | None) -> Passage:
    """The passage cut to so many tokens at a border of its own; the cut is reported."""
    if tokens is None:
        return passage
    text, kept, total = cut(passage.text, tokens, model.count_tokens)
    if kept == total:
        return passage
    run.emit(Cut(passage.title or passage.id, kept, total))
    return replace(passage, text=text)


def fitting(run: Run, model: Model, texts: Sequence[str], tokens: int | None) -> list[str]:
    """As many of the texts, whole and in order, as fit; the first may be cut. The cut is reported."""
    if tokens is None:
        return list(texts)
    counts = [model.count_tokens(text) + 1 for text in texts]
    kept: list[str] = []
    used = 0
    for text, count in zip(texts, counts, strict=True):
        if used + count > tokens:
            break
        kept.append(text)
        used += count
    if not kept and texts and tokens >= _LEAST:
        text, used, _ = cut(texts[0], tokens, model.count_tokens)
        kept = [_closed(run, text)]
    if sum(counts) > used:
        run.emit(Cut("material", used, sum(counts)))
    return kept


def cut(text: str, tokens: int, count: Callable[[str], int]) -> tuple[str, int, int]:
    """The longest beginning within `tokens`: whole paragraphs, else sentences, else words.

    Returns it with its own count and the count of the whole.
    """
    total = count(text)
    if total <= tokens:
        return text, total, total
    for ends in (_paragraph_ends, _sentence_ends, _word_ends):
        end = _last_within(text, ends(text), tokens, count)
        if end and count(text[:end]) > min(_LEAST, tokens // 2):
            return text[:end], count(text[:end]), total
    return "", 0, total


def _last_within(text: str, ends: list[int], tokens: int, count: Callable[[str], int]) -> int:
    """The last of the places before which no more than `tokens` stand. Counts grow with length."""
    low, high = 0, len(ends)
    while low < high:
        middle = (low + high) // 2
        if count(text[: ends[middle]]) <= tokens:
            low = middle + 1
        else:
            high = middle
    return ends[low - 1] if low else 0


def _paragraph_ends(text: str) -> list[int]:
    return [match.start() for match in re.finditer(r"\s+", text) if match[0].count("\n") > 1]


def _sentence_ends(text: str) -> list[int]:
    return [end for _, end in sentences(text)]


def _word_ends(text: str) -> list[int]:
    ends = [match.end() for match in re.finditer(r"\S+", text)]
    return ends if len(ends) > 1 else list(range(1, len(text) + 1))


def _closed(run: Run, text: str) -> str:
    """A cut may have taken the end of a fence with it."""
    opening, closing = f"<data-{run.marker}>", f"</data-{run.marker}>"
    return f"{text}\n{closing}" if text.count(opening) > text.count(closing) else text
