"""Passage store: one JSON line each and the place where each line starts.

Uncompressed on purpose: a passage is one read of a memory map, a person can look at the file, and equal
passages give equal bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from json import decoder
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from wellread.core import codec
from wellread.core.unicode_safety import encodable
from wellread.errors import DamagedFile, IndexFault
from wellread.index.blocks import Blocks, Seals, mapped, unsealed
from wellread.types import Passage

T = TypeVar("T")
TEXTS, OFFSETS = "texts.jsonl", "offsets.u64"
_scanned = cast("Callable[[str, int], tuple[str, int]]", cast("Any", decoder).scanstring)  # a text from its first letter on
_LONGEST_FACT = 1_000  # characters of a title or a heading that are looked at, and links
_LONGEST = 100_000  # characters of a passage; a document is split into shorter ones
_LONGEST_URL = 8_000
LONGEST_LINE = 1_000_000  # bytes of a passage with all that belongs to it: all threads wait while one is parsed
_BEGIN = 512  # bytes of a line that nearly always hold the id and the title


class _Row(NamedTuple):
    """A line, as JSON has it."""

    id: str
    title: str
    text: str
    url: str | None
    document: str | None
    links: tuple[str, ...]
    published: str | None
    heading: str = ""
    page: int | None = None
    anchor: str = ""


_PLACED = len(_Row._fields) - len(_Row._field_defaults)


def encode(passage: Passage) -> bytes:
    """One passage as a line; of one without end what a search would give of it."""
    line = _line(passage)
    if len(line) > LONGEST_LINE and len(line := _line(bounded(passage))) > LONGEST_LINE:
        raise IndexFault(f"the passage {passage.id[:80]!r} has links or names of more than {LONGEST_LINE:,} bytes")
    return line


def _line(p: Passage) -> bytes:
    row = _Row(p.id, p.title, p.text, p.url, p.document, p.links, p.published, p.heading, p.page, p.anchor)
    placed = p.heading or p.anchor or p.page is not None  # most collections of passages know no such thing
    return codec.dumps(row if placed else row[:_PLACED]).encode() + b"\n"


def bounded(passage: Passage) -> Passage:
    """With no more of each value than a whole run can look at in its turn; an address that is cut would lead elsewhere."""
    p = passage
    if max(len(p.title), len(p.heading), len(p.anchor), len(p.url or ""), len(p.published or ""), len(p.links)) <= _LONGEST_FACT:
        return p if len(p.text) <= _LONGEST else replace(p, text=p.text[:_LONGEST])
    return replace(
        p,
        text=p.text[:_LONGEST],
        title=p.title[:_LONGEST_FACT],
        heading=p.heading[:_LONGEST_FACT],
        anchor=p.anchor if len(p.anchor) <= _LONGEST_FACT else "",
        url=p.url if len(p.url or "") <= _LONGEST_URL else None,
        published=p.published if len(p.published or "") <= _LONGEST_FACT else None,
        links=p.links[:_LONGEST_FACT],
    )


def decode(line: bytes) -> Passage:
    """A line as a passage; `ValueError` where it is none."""
    row = codec.loads(_Row, line)
    return Passage(
        row.id, row.text, row.title, row.url, "", row.published, row.document, row.links, row.heading, row.page, row.anchor
    )


def title_of(line: bytes) -> str:
    """The title of a line alone: a search looks at a hundred of them, and at few of the texts."""
    begin = line[:_BEGIN].decode("utf-8", "ignore")
    try:
        _, end = _scanned(begin, 2)
        return encodable(_scanned(begin, end + 2)[0])
    except ValueError:  # it goes on beyond
        return decode(line).title[:_LONGEST_FACT]


class TextStore:
    """Passages by number, from a memory map."""

    def __init__(self, folder: Path, rows: int, seals: Seals = unsealed) -> None:
        self.path = folder / TEXTS
        self.rows = rows
        self._bytes, self._ends = mapped(self.path, np.uint8), mapped(folder / OFFSETS, np.uint64)
        self._lines = Blocks(self.path, seals(TEXTS), self._bytes)
        self._places = Blocks(folder / OFFSETS, seals(OFFSETS), self._ends.view(np.uint8))
        self._places.check(max(0, rows - 1) * 8, rows * 8)
        if len(self._ends) != rows or (rows and int(self._ends[-1]) != len(self._bytes)):
            raise DamagedFile(f"{folder} is damaged: its texts do not match their offsets (run: wellread index verify)")

    def line(self, row: int) -> bytes:
        """One passage as it is stored."""
        self._places.check(max(0, row - 1) * 8, row * 8 + 8)
        start, stop = int(self._ends[row - 1]) if row else 0, int(self._ends[row])
        if stop - start > LONGEST_LINE:
            raise DamagedFile(f"{self.path} is damaged at passage {row}: it is longer than any can be")
        self._lines.check(start, stop)
        return self._bytes[start:stop].tobytes()

    def passage(self, row: int) -> Passage:
        """One passage."""
        return self._read(decode, row)

    def title(self, row: int) -> str:
        """The title of one."""
        return self._read(title_of, row)

    def passages(self, rows: Sequence[int]) -> list[Passage]:
        """Several, in the order asked."""
        return [self.passage(row) for row in rows]

    def _read(self, taken: Callable[[bytes], T], row: int) -> T:
        try:
            return taken(self.line(row))
        except ValueError:
            raise DamagedFile(f"{self.path} is damaged at passage {row} (run: wellread index verify)") from None

    def __iter__(self) -> Iterator[Passage]:
        return (self.passage(row) for row in range(self.rows))
