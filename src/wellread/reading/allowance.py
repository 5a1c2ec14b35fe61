"""Limits on reading one document (time, memory, characters), and a page cut to them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from wellread.errors import ReadError
from wellread.text.blocks import as_blocks
from wellread.types import Block, Page

T = TypeVar("T")
MAX_BLOCKS = 200_000
MAX_UNPACKED = 100 * 1024 * 1024  # bytes of everything that is read from one archive or compressed file
_FACT = 1_000  # characters of a title, an author, a date
_ANCHOR = 100  # characters of an id
_BLOCK = 100_000  # characters of a block: who looks at a longer one as a whole keeps all other threads waiting
BLOCK_BYTES = 4 * _ANCHOR + 80  # that a block takes on its way beside its text


@dataclass(frozen=True, slots=True)
class Allowance:
    """One for all kinds of documents; how it is enforced is the worker's business, what is cut the readers'."""

    seconds: float = 60.0
    memory: int = 512 * 1024 * 1024  # bytes, beside some copies of the document itself
    characters: int = 20_000_000
    scans: bool = True  # whether pages without text are recognised, which takes seconds for each

    def deadline(self, share: float = 0.7) -> float:
        """When to end reading, if it began now: what was read by then is what there is, and is put together in the rest."""
        return time.monotonic() + self.seconds * share


OWN_FILE = Allowance()
PICTURE = Allowance(seconds=10.0)  # of a page, for somebody who waits for it
RECOGNITION = Allowance(seconds=1800.0, memory=3 * 1024**3)  # of a document of scans
WEB_PAGE = Allowance(seconds=20.0, characters=2_000_000, scans=False)  # strangers get less: no model reads two million characters


def fitted(page: Page, allowance: Allowance) -> Page:
    """The page with what it may hold; it says so when something was left out."""
    whole_text = tuple(_shortened(as_blocks(page)))
    blocks = tuple(_cut(whole_text, allowance.characters))
    whole = len(blocks) == len(whole_text) and blocks[-1:] == whole_text[-1:]
    limit = f"{MAX_BLOCKS:,} paragraphs" if len(blocks) == MAX_BLOCKS else f"{allowance.characters:,} characters"
    return replace(
        page,
        title=page.title[:_FACT],
        published=page.published[:_FACT] if page.published else None,
        author=page.author[:_FACT] if page.author else None,
        language=page.language[:_FACT] if page.language else None,
        passages=(),  # made of the blocks where they are wanted
        blocks=blocks,
        notice=page.notice if whole else f"its text is larger than {limit}: the rest was left out",
    )


class TooMuch(ReadError):
    """Nothing more of a document is unpacked."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """The blocks of a document's parts; how many parts were looked at, and how many of these are broken."""

    blocks: tuple[Block, ...]
    read: int
    broken: int

    def notice(self, parts: str, count: int) -> str | None:
        """The notice that its last parts were not looked at, or that some are broken."""
        cut = [f"only the first {self.read:,} of its {count:,} {parts} were read"] if self.read < count else []
        failed = [f"{self.broken:,} of its {count:,} {parts} could not be read"] if self.broken else []
        return "; ".join(cut + failed) or None


def gathered(parts: Iterable[T], read: Callable[[T, int], Iterable[Block]], allowance: Allowance) -> Gathered:
    """Chapters, sheets, slides or messages one after the other, until there is as much text as a page may have or the time is
    nearly up: many can be one and the same. One that is broken does not keep the others from being read. `read` is told how many
    characters are left."""
    deadline, left = allowance.deadline(), allowance.characters
    blocks, looked_at, broken = list[Block](), 0, 0
    for part in parts:
        if left < 0 or len(blocks) > MAX_BLOCKS or time.monotonic() > deadline:
            break
        looked_at += 1
        try:
            found = list(read(part, left))
        except (MemoryError, TooMuch):
            raise
        except Exception:  # nobody has listed what parsers trip over
            broken += 1
            continue
        blocks += found
        left -= sum(len(block.text) for block in found)
    return Gathered(tuple(blocks), looked_at, broken)


def _shortened(blocks: Sequence[Block]) -> Iterator[Block]:
    """Long ones as several, cut at a line or a blank where there is one."""
    for block in blocks:
        if len(block.text) <= _BLOCK:
            yield block
            continue
        start = 0
        while start < len(block.text):
            last, least = start + _BLOCK, start + _BLOCK // 2
            border = max(block.text.rfind("\n", least, last), 0) or max(block.text.rfind(" ", least, last), 0)
            end = (border or last) if last < len(block.text) else len(block.text)
            yield replace(block, text=block.text[start:end])
            start = end


def _cut(blocks: Sequence[Block], left: int) -> Iterator[Block]:
    for block in blocks[:MAX_BLOCKS]:
        if left <= 0:
            return
        fits = len(block.text) <= left and len(block.anchor) <= _ANCHOR
        yield block if fits else replace(block, text=block.text[:left], anchor=block.anchor[:_ANCHOR])
        left -= len(block.text)
