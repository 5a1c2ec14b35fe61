"""What helps where there is no answer, or no sure one: the passages that come nearest, and what else to try."""

from __future__ import annotations

from collections.abc import Sequence

from wellread.run import Run
from wellread.strategies import likely_sentences
from wellread.strategies.likely_sentences import Asked, by_words
from wellread.text.quoting import with_context
from wellread.types import Answer, Near, Passage

_SHOWN = 3


def nearest(question: Asked, passages: Sequence[Passage]) -> tuple[Near, ...]:
    """The first passages, each with the sentence that covers the question best."""
    found: list[Near] = []
    for passage in passages[: 2 * _SHOWN]:
        sentences = likely_sentences.candidates([passage])
        if sentences:
            best = max(sentences, key=lambda one: by_words(question, one))
            found.append(Near(passage, *with_context(passage.text, best.start, best.end)))
    return tuple(found)


def others(run: Run, found: Sequence[Near]) -> tuple[Near, ...]:
    """Those that are not already cited."""
    cited = {passage.id for passage in run.passages.values()}
    return tuple(one for one in found if one.passage.id not in cited)[:_SHOWN]


async def unsure(run: Run, why: str, sure: float | None = None, near: Sequence[Near] = ()) -> Answer:
    """No answer, with the passages that come nearest and what may find one."""
    shown, others_to_try = tuple(near[:_SHOWN]), tries(run, found=bool(near))
    return await run.answer("", outcome="unsure", reason=why, confidence=sure, nearest=shown, tries=others_to_try)


def tries(run: Run, *, found: bool) -> tuple[str, ...]:
    """What else may find an answer, each in a few words."""
    if not found and run.failures and len(run.failures) >= run.budget.usage.searches:
        return ("another source",)  # other words would not help: none of the searches came to anything
    words = "other words for what you mean" if found else "fewer or more common words"
    source = ("another source (--source wikipedia, or your own documents)",) if run.source.name == "library" else ()
    return (words, *source, "a language model (--model), which can put together what no passage says in one place")
