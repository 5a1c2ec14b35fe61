"""One place, one passage, by merging neighbours: what strategies show and cite under one number.

Passages of one document stand together, where the first of them stood; those that follow each other under the same
heading on the same page are joined to one, so that a document is not two sources for what is one place in it. A
passage keeps its heading and page, so that a citation still says where its words are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from wellread.text.split import number_in_document
from wellread.types import Passage

_REPEATED = 20  # characters that two passages must share at their border to be taken for an overlap
_LONGEST = 4_000


def by_place(passages: Iterable[Passage]) -> list[Passage]:
    """Each place once, the documents in the order of their first passages."""
    return list({place.id: place for place in places(passages).values()}.values())


def places(passages: Iterable[Passage]) -> dict[str, Passage]:
    """By the id of each passage the one that stands for its place."""
    grouped: dict[str, dict[str, Passage]] = {}
    for passage in passages:
        document = f"{passage.source}\n{passage.document or passage.url or passage.id}"
        grouped.setdefault(document, {}).setdefault(passage.id, passage)
    return {passage.id: whole for group in grouped.values() for run, whole in _runs(group) for passage in run}


def _runs(group: Mapping[str, Passage]) -> list[tuple[list[Passage], Passage]]:
    """The passages of one document, neighbours together and joined; a place stands where the first of its passages did."""
    rank = {identity: place for place, identity in enumerate(group)}
    runs: list[list[Passage]] = []
    for passage in sorted(group.values(), key=lambda one: (number_in_document(one) is None, number_in_document(one) or 0)):
        last, number = runs[-1][-1] if runs else passage, number_in_document(passage)
        before, same_place = number_in_document(last), (last.heading, last.page) == (passage.heading, passage.page)
        if before is not None and number == before + 1 and same_place:
            runs[-1].append(passage)
        else:
            runs.append([passage])
    runs.sort(key=lambda run: min(rank[passage.id] for passage in run))
    return [(run, _joined(run)) for run in runs]


def _joined(run: Sequence[Passage]) -> Passage:
    text = run[0].text
    for passage in run[1:]:
        again = _overlap(text, passage.text)
        text = text + passage.text[again:] if again else f"{text}\n\n{passage.text}"
    return run[0] if len(run) == 1 else replace(run[0], text=text)


def _overlap(before: str, after: str) -> int:
    """How many characters the second repeats of the end of the first."""
    most = min(len(before), len(after), _LONGEST)
    return next((size for size in range(most, _REPEATED - 1, -1) if before.endswith(after[:size])), 0)
