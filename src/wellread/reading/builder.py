"""The block builder that readers share: what is read waits until it is known what it is, then becomes a block."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from textwrap import dedent

from wellread.reading.plain_text import unwrapped
from wellread.text.dates import iso_date
from wellread.types import Block, BlockKind, Page

_BULLET = re.compile(r"[•*–—-]|\(?\w{1,3}[.)]")  # signs and numbers of a list, as against terms


def titled(
    kind: str,
    blocks: Sequence[Block],
    url: str,
    name: str,
    title: str = "",
    *,
    author: str | None = None,
    published: str = "",
    language: str = "",
    notice: str | None = None,
) -> Page:
    """A page that is called as it says, by its first heading, or as its file; its date and language as they are written."""
    title = title or next((block.text for block in blocks if block.kind == "heading"), "")
    code = language.replace("_", "-").partition("-")[0].lower() or None
    return Page(url, title or name, (), iso_date(published), author or None, code, kind, notice, tuple(blocks))


def row(cells: Iterable[str], page: int | None = None) -> Block:
    return Block("row", f"| {' | '.join(cells)} |", page=page)


def entry(term: str, text: str, depth: int = 1) -> Block:
    """A term with what is said of it; an item where the term is the sign or number of one."""
    if text and _BULLET.fullmatch(term):
        return Block("item", text if len(term) == 1 else f"{term} {text}", depth)
    return Block("entry", f"{term}: {text}" if text else term, depth)


def code(lines: Iterable[str]) -> list[Block]:
    """The lines as far out as they can be; none where they are blank."""
    text = dedent("\n".join(lines)).strip("\n")
    return [Block("code", text)] if text.strip() else []


class Builder:
    """Takes the lines of a markup. `said` makes words of them; `verse` keeps the lines of what was not wrapped by hand."""

    def __init__(self, said: Callable[[str], str] = str, *, verse: bool = False) -> None:
        self._said, self._verse = said, verse
        self.blocks: list[Block] = []
        self.begin()

    def begin(self, kind: BlockKind = "paragraph", *lines: str, term: str = "", depth: int = 0) -> None:
        """Begin a block of this kind; what was waiting becomes one."""
        if hasattr(self, "lines"):
            self._end()
        self.kind: BlockKind = kind
        self.term, self.depth = term, depth
        self.lines = [line for line in lines if line]

    def flush(self) -> None:
        self.begin()

    def heading(self, text: str, level: int) -> None:
        self.flush()
        self.blocks.append(Block("heading", self._said(text), min(level, 6)))

    def row(self, cells: Iterable[str]) -> None:
        self.flush()
        self.blocks.append(row(self._said(cell.strip()) for cell in cells))

    def _end(self) -> None:
        if self.kind == "code":
            self.blocks += code(self.lines)
            return
        verse = self._verse and self.kind == "paragraph"
        text = self._said(unwrapped("\n".join(self.lines)) if verse else " ".join(line.strip() for line in self.lines)).strip()
        if self.term:
            self.blocks.append(entry(self._said(self.term), text, self.depth))
        elif self.kind == "paragraph" and text.startswith("• "):
            self.blocks.append(entry("•", text[2:]))
        elif text:
            self.blocks.append(Block("paragraph" if self.kind == "entry" else self.kind, text, self.depth))
