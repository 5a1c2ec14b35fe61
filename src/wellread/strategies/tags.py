"""Tags in a model's words, read tolerantly: unclosed, nested, doubled or empty, nothing here fails."""

from __future__ import annotations

import re
from functools import cache

_LONGEST_QUERY = 300  # characters; beyond that a model has forgotten to close the tag


@cache
def _tag(name: str) -> re.Pattern[str]:
    return re.compile(rf"<\s*(?:(/)\s*)?{re.escape(name)}\b[^<>]*>", re.IGNORECASE)


def blocks(text: str, name: str) -> list[str]:
    """What stands inside each outermost pair of tags; an unclosed last one reaches to the end."""
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
    """The query in the last tag of that name, on one line; "" for an empty one, None without a tag."""
    openings = [match for match in _tag(name).finditer(text) if not match[1]]
    if not openings:
        return None
    inner = _inside(text[openings[-1].end() :], name, cut=True)
    line = next((line.strip() for line in inner.splitlines() if line.strip()), "")
    line = line.partition("</")[0]  # the closing tag, perhaps misspelt
    return " ".join(re.sub(r"<[^<>]*>", " ", line).split())[:_LONGEST_QUERY].strip(" \"'“”`")


def without(text: str, *names: str) -> str:
    """The text without those blocks, and without the tags of all others."""
    for name in names:
        text = re.sub(rf"<\s*{re.escape(name)}\b[^<>]*>.*?(?:<\s*/\s*{re.escape(name)}\s*>|\Z)", " ", text, flags=re.S | re.I)
    return re.sub(r"[ \t]+", " ", re.sub(r"</?\w+>", " ", text)).strip()  # what stood around one must not become one


def _inside(text: str, name: str, *, cut: bool = False) -> str:
    pattern = _tag(name)
    if cut and (match := pattern.search(text)):
        text = text[: match.start()]
    return pattern.sub("", text).strip()
