"""Sentences that were written by hand on passages of the given sets: true ones, and changes that make them untrue.

After `@ SET:ID` (or `@ SET:ID + SET:ID` where two belong together): `+ sentence` is true; `kind | old => new` changes the last
true one, `- kind | sentence` is untrue as it stands. The sentences are this project's own words; the passages are not kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from training.evaluator.data import read_rows
from training.verifier.claims import Case, Claim, Text


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


def cases_of(paths: Sequence[Path], data: Path) -> list[Case]:
    """Files of such sentences, with their passages."""
    ones = [one for path in paths for one in told(path.read_text(encoding="utf-8").splitlines())]
    wanted = {name for one in ones for name in one.passages}
    known = {
        name: Text(str(row["title"]), str(row["text"]))
        for folder in sorted({name.partition(":")[0] for name in wanted})
        for row in read_rows(data / folder / "corpus.jsonl.gz")
        if (name := f"{folder}:{row['id']}") in wanted
    }
    return [
        Case(
            tuple(known[name] for name in one.passages),
            (Claim(one.true, True), *(Claim(text, False, None, kind) for kind, text in zip(one.kinds, one.untrue, strict=True))),
        )
        for one in ones
    ]
