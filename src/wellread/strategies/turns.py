"""A turn of a model, read tolerantly: tags and labelled lines. Unclosed, nested, doubled or invented, nothing here fails."""

from __future__ import annotations

import re
from functools import cache

from wellread.core.values import frozen

_LABEL = re.compile(
    r"^[ \t>#*_-]*(Thought|Action|Observations?(?:[ \t]*\[?\d{1,3}\]?)?|(?:Final )?Answer|PAUSE)(?!\w)[ \t*_]*(:|$)[ \t*_]*",
    re.I | re.M,
)
_ACTION = re.compile(r"`?\s*([\w-]+)\s*(?:`\s*)?(?::|$)\s*(.*)")
_MAYBE_LABEL = re.compile(r"[A-Za-z]{0,11}(?: [A-Za-z]{0,6})?")
_LONGEST_LABEL = 18  # characters
_LONGEST_OPEN = 300  # characters; a line that is longer and not closed is no query
_QUOTES = {'"': '"', "'": "'", "“": "”", "`": "`"}


@frozen
class Turn:
    """A turn as far as it counts. After an action nothing does: the model could not know what it returns. What it thinks after an
    observation of its own making does not count either."""

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
        before, newline, line = text.rpartition("\n")
        label = line.strip(" \t>#*_-")
        text = before + newline if len(label) <= _LONGEST_LABEL and _MAYBE_LABEL.fullmatch(label) else text
    labels = list(_LABEL.finditer(text))
    thoughts = [text[: labels[0].start()] if labels else text]
    invented = False
    for index, match in enumerate(labels):
        content = text[match.end() : labels[index + 1].start() if index + 1 < len(labels) else len(text)]
        label = match[1].lower()
        if label == "action" and (action := _ACTION.match(content.strip().partition("\n")[0])):
            given = action[2].partition("PAUSE")[0]  # where the server keeps to no stop sequence
            return Turn(_joined(thoughts), action[1], unquoted(given), invented=invented)
        if label.endswith("answer"):
            return Turn(_joined(thoughts), answer=content, invented=invented)
        if label == "thought" and not invented:
            thoughts.append(content)
        invented = invented or (label.startswith("observation") and bool(content.strip()))
    return Turn(_joined(thoughts), invented=invented)


def _joined(thoughts: list[str]) -> str:
    return " ".join(" ".join(thoughts).split())


@cache
def _tag(name: str) -> re.Pattern[str]:
    return re.compile(rf"<\s*(?:(/)\s*)?{re.escape(name)}\b[^<>]*>", re.IGNORECASE)


def blocks(text: str, name: str) -> list[str]:
    """Contents of each outermost pair of tags; an unclosed last one reaches to the end."""
    found: list[str] = []
    depth = begun = 0
    for match in _tag(name).finditer(text):
        if not match[1]:
            begun = match.end() if depth == 0 else begun
            depth += 1
        elif depth:
            depth -= 1
            if depth == 0:
                found.append(_inside(text[begun : match.start()], name))
    if depth:
        found.append(_inside(text[begun:], name))
    return found


def last(text: str, name: str) -> str | None:
    """The last block of that name; None when there is none."""
    found = blocks(text, name)
    return found[-1] if found else None


def until_closed(text: str, name: str) -> str:
    """The text up to the first closing tag that closes something. What follows was not asked for."""
    opened = False
    for match in _tag(name).finditer(text):
        if not match[1]:
            opened = True
        elif opened:
            return text[: match.end()]
    return text


def query(text: str, name: str) -> str | None:
    """The query in the last tag of that name, whole and on one line; "" for an empty one, None without a tag. Of a tag that
    nothing closes its first line counts, if that can be a query."""
    openings = [match for match in _tag(name).finditer(text) if not match[1]]
    if not openings:
        return None
    inner = text[openings[-1].end() :]
    if closing := _tag(name).search(inner):
        return unquoted(" ".join(inner[: closing.start()].split()))
    line = next((line for line in inner.splitlines() if line.strip()), "").partition("</")[0]  # perhaps misspelt
    return unquoted(" ".join(line.split())) if len(line) <= _LONGEST_OPEN else ""


def unquoted(text: str) -> str:
    """A text without the quotation marks that stand around all of it."""
    text = text.strip()
    inner = text[1:-1]
    around = len(text) > 1 and _QUOTES.get(text[0]) == text[-1] and not {text[0], text[-1]} & set(inner)
    return inner.strip() if around else text


def without(text: str, *names: str) -> str:
    """The text without those blocks, and without the tags of all others."""
    for name in names:
        text = re.sub(rf"<\s*{re.escape(name)}\b[^<>]*>.*?(?:<\s*/\s*{re.escape(name)}\s*>|\Z)", " ", text, flags=re.S | re.I)
    return re.sub(r"[ \t]+", " ", re.sub(r"</?\w+>", " ", text)).strip()  # what stood around one must not become one


def _inside(text: str, name: str) -> str:
    return _tag(name).sub("", text).strip()
