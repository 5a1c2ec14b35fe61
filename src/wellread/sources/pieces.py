"""Pages cut into passages for searching in memory: whole sentences, about 1,000 characters."""

from __future__ import annotations

from collections.abc import Iterator

from wellread.text.sentences import sentences
from wellread.types import Page, Passage

SIZE = 1_000  # characters, some 250 tokens
_LONGEST = 2_000  # a "sentence" above that is cut anywhere: it is a table, code, or an attack


def passages(page: Page, name: str) -> list[Passage]:
    """The passages of a page; `name` begins their ids."""
    return [
        Passage(f"{name}#{n}", text, page.title or name, page.url, published=page.published, document=name)
        for n, text in enumerate(_pieces(page.passages), start=1)
    ]


def _pieces(blocks: tuple[str, ...]) -> Iterator[str]:
    """Neighbouring blocks together while they fit; a heading never ends a passage."""
    waiting: list[str] = []
    size = 0
    for part in (part for block in blocks for part in _parts(block)):
        heading = part.startswith("#")
        if waiting and (size + len(part) > SIZE or (heading and size > SIZE // 2)):
            yield "\n\n".join(waiting)
            waiting, size = [], 0
        waiting.append(part)
        size += len(part)
    if waiting:
        yield "\n\n".join(waiting)


def _parts(block: str) -> Iterator[str]:
    """A block as it is, or cut between sentences when it is too long."""
    if len(block) <= SIZE:
        yield block
        return
    begun, last = 0, 0
    for start, end in sentences(block):
        if last > begun and end - begun > SIZE:
            yield block[begun:last].strip()
            begun = start
        while end - begun > _LONGEST:
            yield block[begun : begun + SIZE]
            begun += SIZE
        last = end
    if block[begun:].strip():
        yield block[begun:].strip()
