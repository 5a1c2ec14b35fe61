"""One turn of a `react` model, read tolerantly: thoughts, the first action, the answer, nothing invented."""

from __future__ import annotations

import re
from dataclasses import dataclass

_LABEL = re.compile(r"^[ \t>#*_-]*(Thought|Action|Observation|Answer|Final Answer|PAUSE)\b[ \t*_]*(:|$)[ \t*_]*", re.I | re.M)
_ACTION = re.compile(r"`?\s*([\w-]+)\s*(?:`\s*)?(?::|$)\s*(.*)")
_MAYBE_LABEL = re.compile(r"[A-Za-z]{0,11}(?: [A-Za-z]{0,6})?")
_LONGEST_LABEL = 18  # characters


@dataclass(frozen=True, slots=True)
class Turn:
    """What counts of a turn. After an action nothing counts: the model could not know what it returns."""

    thought: str = ""
    action: str | None = None
    given: str = ""
    answer: str | None = None
    invented: bool = False  # the model wrote an observation itself

    @property
    def said(self) -> str:
        """The turn as it is shown to the model again."""
        rows = [f"Thought: {self.thought}"] if self.thought else []
        rows += [f"Action: {self.action}: {self.given}\nPAUSE"] if self.action else []
        return "\n".join(rows)


def read_turn(text: str, *, finished: bool = True) -> Turn:
    """A turn, or the beginning of one; then the last line is left out while it may become a label."""
    if not finished:
        text = _without_open_label(text)
    labels = list(_LABEL.finditer(text))
    thoughts = [text[: labels[0].start()] if labels else text]
    invented = False
    for index, match in enumerate(labels):
        content = text[match.end() : labels[index + 1].start() if index + 1 < len(labels) else len(text)]
        label = match[1].lower()
        if label == "action" and (action := _ACTION.match(content.strip().partition("\n")[0])):
            return Turn(_joined(thoughts), action[1], action[2].strip().strip("`").strip(), invented=invented)
        if label.endswith("answer"):
            return Turn(_joined(thoughts), answer=content, invented=invented)
        if label == "thought":
            thoughts.append(content)
        invented = invented or (label == "observation" and bool(content.strip()))
    return Turn(_joined(thoughts), invented=invented)


def _joined(thoughts: list[str]) -> str:
    return " ".join(" ".join(thoughts).split())


def _without_open_label(text: str) -> str:
    before, newline, line = text.rpartition("\n")
    label = line.strip(" \t>#*_-")
    return before + newline if len(label) <= _LONGEST_LABEL and _MAYBE_LABEL.fullmatch(label) else text
