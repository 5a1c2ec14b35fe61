"""The context window: what fits into it, where text is cut, and how text from outside is fenced (prompt injection)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from wellread.events import Cut
from wellread.prompts.render import render
from wellread.protocols import Model
from wellread.run import Run
from wellread.text.sentences import sentences
from wellread.types import Message, Passage

_MARGIN = 64  # tokens for what chat templates add around messages
_BOUND = 4  # tokens a character can take at most: one for each of its bytes
_PIECE = 2_000  # characters that are counted at once
_LOOK_BACK = 2_000  # characters in which a paragraph, a sentence, a word has to end
_LOOK_AHEAD = 200  # characters by which a full stop is told from a point
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
    """Text from outside between marks that it cannot know. Where it does (a model may have told), what is left of one in it
    must not close up to another."""
    return f"<data-{run.marker}>\n{text.replace(run.marker, '-')}\n</data-{run.marker}>"


def numbered(run: Run, number: int, passage: Passage, text: str | None = None) -> str:
    """A passage as material for an answer: its number outside the fence, its words inside."""
    title = f"{passage.title}\n" if passage.title else ""
    return f"[{number}]\n{fence(run, title + (passage.text if text is None else text))}"


def material(run: Run, passages: Iterable[Passage]) -> list[str]:
    """Passages as material; those without a number get one."""
    return [numbered(run, run.number(passage), passage) for passage in passages]


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
        text, used, _ = cut(texts[0], tokens, model.count_tokens, counts[0] - 1)
        opening, closing = f"<data-{run.marker}>", f"</data-{run.marker}>"  # a cut may have taken the end of a fence with it
        kept = [f"{text}\n{closing}" if text.count(opening) > text.count(closing) else text]
    if sum(counts) > used:
        run.emit(Cut("material", used, sum(counts)))
    return kept


def filled(run: Run, model: Model, reply: int, name: str, hole: str, blocks: Sequence[str], **frame: str) -> str:
    """A prompt with as many blocks in its hole as the window has room for beside the reply."""
    bare = room(model, [], reserve(model, reply))
    limit = None if bare is None else max(0, bare - model.count_tokens(render(name, **frame, **{hole: ""})))
    return render(name, **frame, **{hole: "\n\n".join(fitting(run, model, blocks, limit))})


def cut(text: str, tokens: int, count: Callable[[str], int], total: int | None = None) -> tuple[str, int, int]:
    """The longest beginning within `tokens`: whole paragraphs, else sentences, else words.

    Returns it with its own count and the count of the whole, which may be known already.
    """
    total = count(text) if total is None else total
    if total <= tokens:
        return text, total, total
    reach = _reach(text, tokens, count)
    for end in _ends(text, reach):
        kept = text[:end]
        used = count(kept)
        if used > min(_LEAST, tokens // 2):
            return kept, used, total
    return "", 0, total


def _reach(text: str, tokens: int, count: Callable[[str], int]) -> int:
    """How many characters fit. Counted piece by piece, so that a long text is not counted again and again."""
    start, left = 0, tokens
    while start < len(text) and (needed := count(text[start : start + _PIECE])) <= left:
        start, left = start + _PIECE, left - needed
    low, high = start, min(start + _PIECE, len(text))
    while low < high:
        middle = (low + high + 1) // 2
        if count(text[start:middle]) <= left:
            low = middle
        else:
            high = middle - 1
    return min(low, len(text))


def _ends(text: str, reach: int) -> Iterator[int]:
    """Where a text may end within reach: after a paragraph, else a sentence, else a word; 0 where there is no such place."""
    start = max(0, reach - _LOOK_BACK)
    gaps = [(start + gap.start(), gap[0].count("\n")) for gap in re.finditer(r"\s+", text[start : reach + 2])]
    yield max((at for at, breaks in gaps if breaks > 1), default=0)
    ends = (start + end for _, end in sentences(text[start : reach + _LOOK_AHEAD]))
    yield max((end for end in ends if end <= reach), default=0)
    yield max((at for at, _ in gaps if at <= reach), default=0 if re.search(r"\s", text) else reach)
