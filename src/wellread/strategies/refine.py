"""Knowledge refinement: passages are split into strips, strips that do not help go, the rest stays in order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from statistics import median

from wellread.core.effort import ALLOWED
from wellread.run import Run
from wellread.strategies.grading import Chain, CountedGrader, ModelGrader
from wellread.strategies.relevance import best, by_meaning, by_words
from wellread.text.sentences import paragraphs
from wellread.types import Passage

_SHORT = 50  # characters; two sentences this short make one strip
_MOST = 40  # strips of one passage that a model is shown
_COMPARED = 24  # strips of a long passage that are compared by meaning
_GAP = " … "
_LAST_WORD = re.compile(r"\s+\S*\Z")


@dataclass(frozen=True, slots=True)
class Refined:
    """A passage with what is left of its text, and how many strips that is."""

    passage: Passage
    text: str
    kept: int
    strips: int


def strips(text: str) -> list[str]:
    """One or two sentences each, never across paragraphs; each is a verbatim part of the text."""
    found: list[str] = []
    for block in paragraphs(text):
        start: int | None = None
        for first, end in block:
            begun = first if start is None else start
            if end - begun < _SHORT and start is None and (first, end) != block[-1]:
                start = first  # short: goes together with the next sentence
                continue
            found.append(text[begun:end])
            start = None
    return found


async def refine(
    run: Run,
    grader: ModelGrader | CountedGrader,
    question: str,
    passages: Sequence[Passage],
    lower: float,
    leads: Sequence[Chain],
) -> list[Refined]:
    """Each passage with the strips that help, judged with what leads to it. All were graded relevant: none loses every strip."""
    # A long page takes long to cut and to look through.
    cut = await run.aside(lambda: [strips(passage.text) for passage in passages])
    if isinstance(grader, ModelGrader):
        shown = await run.aside(lambda: [_likeliest(question, parts, _MOST) for parts in cut])
        kept = await run.gather([_chosen(grader, question, *row) for row in zip(cut, shown, leads, strict=True)])
    else:
        kept = await _scored(grader, question, passages, cut, leads, lower)
    refined: list[Refined] = []
    for passage, parts, helping in zip(passages, cut, kept, strict=True):
        chosen = helping or set(range(len(parts)))
        text = _GAP.join(_runs(parts, chosen)) if len(chosen) < len(parts) else passage.text
        refined.append(Refined(passage, text, len(chosen), len(parts)))
    return refined


def _likeliest(question: str, parts: Sequence[str], most: int) -> list[int]:
    """Where there are too many strips to read, those that share most with the question, in order."""
    if len(parts) <= most:
        return list(range(len(parts)))
    return sorted(best(by_words(question, parts), most))


async def _chosen(grader: ModelGrader, question: str, parts: list[str], shown: list[int], lead: Chain) -> set[int]:
    if len(shown) < 2:  # the passage was graded: its only strip is all of it
        return set(shown)
    kept = await grader.strips(question, [parts[index] for index in shown], lead)
    return {shown[index] for index in kept}


async def _scored(
    grader: CountedGrader,
    question: str,
    passages: Sequence[Passage],
    cut: Sequence[Sequence[str]],
    leads: Sequence[Chain],
    lower: float,
) -> list[set[int]]:
    """All strips of all passages in one batch; the best strip of a passage stays in any case.

    What leads to a passage lends its worth to all strips of it, also to those about something else. The middle one tells how much
    that is: of such a passage those stay that add to it.
    """
    places = [(row, index) for row, parts in enumerate(cut) for index in range(len(parts))]
    most = min(ALLOWED[grader.run.kit.effort].strips, grader.run.pairs_left)
    texts = [cut[row][index] for row, index in places]
    read = [places[i] for i in await grader.run.aside(_likeliest, question, texts, most)]
    pieces = [replace(passages[row], text=cut[row][index]) for row, index in read]
    grades = await grader.grade(question, pieces, [leads[row] for row, _ in read]) if pieces else ()
    scores: list[dict[int, float]] = [{} for _ in cut]
    for (row, index), grade in zip(read, grades, strict=True):
        scores[row][index] = float(grade.relevant) if grade.score is None else grade.score
    kept: list[set[int]] = []
    for of, lead in zip(scores, leads, strict=True):
        lent = median(of.values()) if lead and len(of) > 1 else -inf
        helping = {index for index, score in of.items() if score >= lower}
        adding = {index for index in helping if of[index] > lent}
        kept.append(adding or helping or set(sorted(of, key=lambda index: -of[index])[:1]))
    return kept


async def part(run: Run, text: str, term: str, characters: int) -> str:
    """No more than so many characters of a text: how it begins, and what of it is nearest to a term."""
    found = await run.aside(strips, text) if len(text) > characters else []
    if len(found) < 2 or len(found[0]) >= characters:
        return beginning(text, characters)
    likely = await run.aside(_likeliest, term, found, _COMPARED)
    texts = [found[index] for index in likely]
    scores = by_words(term, texts) if run.kit.effort == "low" else (await by_meaning(run, term, texts))[1]
    chosen, room = {0}, characters - len(found[0])
    for place in best(scores, len(likely)):
        if likely[place] and (room_left := room - len(_GAP) - len(texts[place])) >= 0:
            chosen.add(likely[place])
            room = room_left
    return _GAP.join(_runs(found, chosen))


def beginning(text: str, characters: int) -> str:
    """So many characters at the most, up to the end of a word where there is one."""
    return text if len(text) <= characters else _LAST_WORD.sub("", text[:characters]) or text[:characters]


def _runs(parts: list[str], chosen: set[int]) -> list[str]:
    """Neighbouring strips go together; a gap is shown."""
    runs: list[list[str]] = []
    last = -2
    for index in sorted(chosen):
        if index == last + 1:
            runs[-1].append(parts[index])
        else:
            runs.append([parts[index]])
        last = index
    return [" ".join(run) for run in runs]
