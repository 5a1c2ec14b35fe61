"""Claims on passages: what training draws, and where an untrue one differs from the true one."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import NamedTuple

Spans = tuple[tuple[int, int], ...]
_WORD = re.compile(r"\w+|[^\w\s]")


class Text(NamedTuple):
    """A passage."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence, whether its passages carry it, and which of its characters they do not; None where nobody knows."""

    text: str
    carried: bool
    astray: Spans | None = ()
    kind: str = ""
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Case:
    """Claims on the same passages, to be told apart."""

    passages: tuple[Text, ...]
    claims: tuple[Claim, ...]


def untrue(true: str, changed: str, kind: str, weight: float = 1.0) -> Claim:
    """A true sentence after a change."""
    return Claim(changed, False, astray(true, changed), kind, weight)


def astray(true: str, changed: str) -> Spans | None:
    """The words of a changed sentence that are not those of the true one; where some were only left out, those beside the gap.
    None where hardly a word is the same."""
    before = [match.group() for match in _WORD.finditer(true)]
    after = [*_WORD.finditer(changed)]
    steps = difflib.SequenceMatcher(None, before, [match.group() for match in after], autojunk=False).get_opcodes()
    marked: set[int] = set()
    for step, _, _, start, end in steps:
        if step in ("replace", "insert"):
            marked.update(range(start, end))
        elif step == "delete":
            marked.update(place for place in (start - 1, start) if 0 <= place < len(after))
    if not marked or len(marked) > 0.45 * len(after):
        return None
    return tuple(after[place].span() for place in sorted(marked))
