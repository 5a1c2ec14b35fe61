"""An instruction that goes on below its sentence: the list or the piece of code that a colon leads to."""

from __future__ import annotations

import re

from wellread.text.sentences import FENCE

_ITEM = re.compile(r"[ \t]*(?:[-*+•‣◦·]|\d{1,3}[.)]|[a-z][.)])[ \t]+\S")
_INDENTED = re.compile(r"(?: {2,}|\t)\S")
_LONGEST = 900  # characters


def with_what_follows(text: str, end: int) -> int:
    """Where a sentence that ends there ends together with the list or code it introduces; the same place where it does not."""
    if not text[max(0, end - _LONGEST) : end].rstrip().endswith(":"):  # asked of every sentence of a text: no more is looked at
        return end
    position, last, fenced, begun = end, end, False, False
    for line in text[end : end + _LONGEST + 1].splitlines(keepends=True):
        position += len(line)
        if position - end > _LONGEST:
            break
        if FENCE.match(line):
            fenced, begun = not fenced, True
        elif not line.strip():
            if not fenced and last > end and not begun:
                break
            continue
        elif not (fenced or _ITEM.match(line) or (begun and _INDENTED.match(line))):
            break
        begun, last = True, position
    return end + len(text[end:last].rstrip())


def items(below: str) -> list[str]:
    """The items of a list, each on one line; none where there is code among them."""
    if any(FENCE.match(line) for line in below.splitlines()):
        return []
    found: list[list[str]] = []
    for line in below.splitlines():
        if _ITEM.match(line) or not found:
            found.append([line.rstrip()])
        elif line.strip():
            found[-1].append(line.strip())
    return [" ".join(lines) for lines in found]
