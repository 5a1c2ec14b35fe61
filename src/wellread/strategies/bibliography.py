"""An annotated bibliography: what was found on a question, in clusters of what is alike, each passage with its best words.

The report of `research` where there is no language model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from wellread.errors import BudgetExhausted
from wellread.events import AnswerDelta
from wellread.questions.headings import headings
from wellread.run import Run
from wellread.strategies import likely_sentences, relevance, trail
from wellread.strategies.guided import chained
from wellread.strategies.quote import unsure
from wellread.strategies.recipe import by_rules
from wellread.text.inert import inert
from wellread.text.quoting import quoted, with_context
from wellread.types import Answer, Passage

_LEAST = 0.1  # as in guided
_NAMED = 3  # titles in a heading


async def listed(run: Run, most: int, each: int) -> Answer:
    """At most so many clusters of so many passages; nothing in it is anybody's words but the sources'."""
    question, found = by_rules(run).question, list[Passage]()
    with run.until_spent():
        found = chained(await trail.search(run, question, most * each), most * each, _LEAST)
    if not found:
        return await unsure(run, "nothing was found")
    asked, text, called = likely_sentences.asked(question, found), "", headings(run.language)
    for cluster in await _clusters(run, found, most):
        titles = [title for title, _ in Counter(one.title for one in cluster if one.title).most_common(_NAMED)]
        rows = [_entry(run, asked, one) for one in cluster[:each]]
        text += "\n\n".join([f"{text and chr(10) * 2}## {inert('; '.join(titles)) or called.other}", *rows])
    run.emit(AnswerDelta(text))
    run.notes.append("no language model has written this: it lists what the sources say, in their own words")
    return await run.answer(text, short=called.bibliography)


def _entry(run: Run, asked: likely_sentences.Asked, passage: Passage) -> str:
    """The words of a passage that fit best, with what stands beside them."""
    best = max(likely_sentences.candidates([passage]), key=lambda one: likely_sentences.by_words(asked, one), default=None)
    start, end = with_context(passage.text, best.start, best.end) if best else (0, len(passage.text))
    return quoted(passage.text[start:end], f"[{run.number(passage)}]")


async def _clusters(run: Run, found: Sequence[Passage], most: int) -> list[list[Passage]]:
    """Passages that are near each other in meaning, the best first; without an embedder those of one document."""
    texts, made = [f"{one.title}. {one.text}" for one in found], None
    with suppress(BudgetExhausted):
        made = await relevance.vectors(run, "grouped by title", (texts, "passage"))
    groups: list[list[int]] = []
    if made is None:
        titled: dict[str, list[int]] = {}
        for place, one in enumerate(found):
            titled.setdefault(one.title.casefold(), []).append(place)
        groups = list(titled.values())
    else:
        alike, groups = made[0] @ made[0].T, [[place] for place in range(len(found))]
        while len(groups) > most:  # the two that are most alike, on the average of their members
            near = [
                (float(alike[np.ix_(a, b)].mean()), i, j) for i, a in enumerate(groups) for j, b in enumerate(groups) if i < j
            ]
            _, first, second = max(near)
            groups[first] = sorted(groups[first] + groups.pop(second))
    return [[found[place] for place in group] for group in groups[:most]]
