"""Sentences that were written by hand on passages of the given sets: true ones, and changes that make them untrue.

After `@ SET:ID` (or `@ SET:ID + SET:ID` where two belong together): `+ sentence` is true; `kind | old => new` changes the last
true one, `- kind | sentence` is untrue as it stands. The sentences are this project's own words; the passages are not kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field


@dataclass(slots=True)
class Told:
    """A true sentence on some passages with untrue ones."""

    passages: tuple[str, ...]
    true: str
    untrue: list[str] = field(default_factory=list[str])
    kinds: list[str] = field(default_factory=list[str])  # of the untrue ones: what was changed

    def add(self, kind: str, untrue: str) -> None:
        self.kinds.append(kind.strip())
        self.untrue.append(untrue)


def told(lines: Iterable[str]) -> Iterator[Told]:
    passages: tuple[str, ...] = ()
    last: Told | None = None
    for line in filter(None, map(str.strip, lines)):
        mark, _, text = line.partition(" ")
        if mark in ("@", "+") and last:
            yield last
            last = None
        if mark == "@":
            passages = tuple(part.strip() for part in text.split(" + "))
        elif mark == "+":
            last = Told(passages, text)
        elif last is None or mark.startswith("#"):
            continue
        elif mark == "-":
            kind, _, untrue = text.partition(" | ")
            last.add(kind, untrue)
        else:
            old, _, new = text.partition("| ")[2].partition(" => ")
            if old and last.true.count(old) == 1:
                last.add(mark, last.true.replace(old, new))
    if last:
        yield last
