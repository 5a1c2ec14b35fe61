"""Lines inside the main text that are not text: credits, invitations, links, and headings left alone."""

from __future__ import annotations

from collections.abc import Sequence

from wellread.reading.hints import is_about_the_page, points_away
from wellread.reading.tree import HEADINGS, Run

_TEXTS = HEADINGS | {"p", "li", "td", "th", "dd", "dt", "pre", "blockquote"}
_LINE_ENDS = frozenset('.!?"”»。！？…:：')
_SIGNATURE = 3  # lines
_LABEL = 8  # words
_SENTENCE_ENDS = frozenset('.!?"”»。！？…')


def without_noise(runs: list[Run]) -> list[Run]:
    kept: list[Run] = []
    pointing = False  # after "Related stories:", the list that follows is not text
    for run in runs:
        frame = run.node.frame
        if pointing and frame is not None and frame.linked * 4 > frame.words:
            continue
        pointing = points_away(run.text, run.words)
        is_title = run.node.tag == "h1" and not kept  # it stands elsewhere; a later h1 is a heading like others
        if not pointing and not is_title and not _is_noise(run):
            kept.append(run)
    kept = _without_scraps(kept)
    return _without_signature(kept)


def _without_signature(runs: list[Run]) -> list[Run]:
    """Without headings at the end, and without initials, agencies and names; a page of short pieces has more of these."""
    end, signed = len(runs), 0
    while end and (runs[end - 1].is_heading or _signs_off(runs[end - 1])):
        end -= 1
        signed += not runs[end].is_heading
        if signed > _SIGNATURE:
            return runs
    return runs[:end]


def _without_scraps(runs: list[Run]) -> list[Run]:
    """On a page that knows paragraphs, a few words without one are a label or a button."""
    prose = sum(run.words for run in runs if run.weight > 0)
    if sum(run.words for run in runs if run.weight > 0 and run.node.tag in _TEXTS) < 0.8 * prose:
        return runs
    return [run for run in runs if run.weight >= 0 or run.node.tag in _TEXTS or run.text[-1] in _LINE_ENDS]


def _signs_off(run: Run) -> bool:
    return run.node.tag in {"p", "div"} and run.weight < 0 and run.words <= _LABEL and run.text[-1] not in _SENTENCE_ENDS


def _is_noise(run: Run) -> bool:
    if is_about_the_page(run.text, run.words):
        return True
    if run.text.startswith(("http://", "https://")) and " " not in run.text:
        return True
    if run.weight >= -1.5:
        return False
    needed = {"p": 3, "blockquote": 3, "li": 8}.get(run.node.tag)  # words of its own that make a sentence
    return needed is None or run.words - run.linked < needed or run.text[-1] not in _SENTENCE_ENDS


def without_orphans(every: Sequence[Run], kept: Sequence[Run]) -> list[Run]:
    """Without the headings, and the lines that end in a colon, of which all that followed was dropped."""
    wanted = {id(run) for run in kept}
    result: list[Run] = []  # from the end
    dropped: Run | None = None  # just after the one that is looked at
    for run in reversed(every):
        if id(run) not in wanted or (dropped is not None and _is_orphan(run, dropped, result[-1] if result else None)):
            dropped = run
        else:
            result.append(run)
            dropped = None
    return result[::-1]


def _is_orphan(run: Run, dropped: Run, following: Run | None) -> bool:
    if run.is_heading:
        return following is None or (following.is_heading and following.node.tag <= run.node.tag)
    return run.words <= _LABEL and run.text.endswith(":") and dropped.linked * 2 > dropped.words
