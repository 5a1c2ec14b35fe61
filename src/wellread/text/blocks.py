"""Blocks to passages that read well as plain text, a light Markdown; and taken apart again, for those who show it.

Headings get their #, list items their dashes, rows their bars, code its fence. Neighbouring items are one
passage, and so are neighbouring rows; an entry of a definition list is a passage of its own. Taken apart, places are kept: a
piece says from where to where it goes, so that quoted words can be marked inside of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Literal

from wellread.core.values import frozen
from wellread.types import Block, Page

PieceKind = Literal["heading", "paragraph", "item", "row", "code", "quote"]
_FENCE = "```"
_HEADING = re.compile(r"(#{1,6}) ")
_ITEM = re.compile(r"( *)- ")
_BAR = " | "
_SIGNS = re.compile(r"^(?:#{1,6} |> |(?:```|~~~)\w*$)", re.MULTILINE)


def passages(blocks: Iterable[Block]) -> tuple[str, ...]:
    """One string per heading, paragraph, list, entry, table or piece of code."""
    result: list[list[str]] = []
    last: Block | None = None
    for block in blocks:
        if last is not None and goes_on(last, block):
            result[-1].append(marked(block))
        else:
            result.append([marked(block)])
        last = block
    return tuple("\n".join(parts) for parts in result)


def as_blocks(page: Page) -> tuple[Block, ...]:
    """Of a page that was made without any, each passage is a paragraph."""
    return page.blocks or tuple(Block("paragraph", text) for text in page.passages)


def goes_on(last: Block, block: Block) -> bool:
    """Whether it is part of the passage that the last one is in."""
    if "heading" in (last.kind, block.kind) or block.kind == "entry":
        return False
    if block.kind == "row" or last.kind == "row":
        return block.kind == last.kind and block.level == last.level
    return block.level > 0 and last.level > 0


def marked(block: Block) -> str:
    """Its text with the signs of its kind."""
    text = block.text
    if block.kind == "heading":
        return "#" * min(max(block.level, 1), 6) + " " + text.replace("\n", " ")
    if block.kind == "code":
        return f"```\n{text}\n```"
    if block.kind == "quote" and not block.level:
        return "> " + text.replace("\n", "\n> ")
    if block.kind == "row" or not block.level:
        return text
    indent = "  " * (block.level - 1)
    if block.kind == "entry":
        return text.replace("\n", "\n  ")
    return indent + ("- " if block.kind == "item" else "  ") + text.replace("\n", "\n" + indent + "  ")


def without_signs(text: str) -> str:
    """Words that are shown on one line: the signs of headings, quotations and code gone."""
    return _SIGNS.sub("", text)


@frozen
class Piece:
    """Some of a passage's text, without the signs of its kind."""

    kind: PieceKind
    start: int
    end: int
    level: int = 0  # a heading's, or how deep an item is

    def cells(self, text: str) -> list[tuple[int, int]]:
        """Of a row: from where to where each of its cells goes."""
        start = self.start + 2 * text.startswith("| ", self.start)
        end = self.end - 2 * text.endswith(" |", start, self.end)
        found: list[tuple[int, int]] = []
        for cell in text[start:end].split(_BAR):
            found.append((start, start + len(cell)))
            start += len(cell) + len(_BAR)
        return found


def in_pieces(text: str, in_code: bool = False) -> tuple[list[Piece], bool]:
    """The pieces of a passage; whether it begins, and whether it ends, in the middle of some code."""
    found: list[Piece] = []
    worded = False  # whether the last of them says anything
    for start, end in lines(text):
        line = text[start:end]
        if line.rstrip() == _FENCE:
            in_code, worded = not in_code, False
            found.append(Piece("paragraph", end, end))  # parts what stands on both sides
            continue
        piece = Piece("code", start, end) if in_code else _piece(line, start, end)
        if found and _goes_on(last := found[-1], piece, worded):
            found[-1] = Piece(last.kind, last.start, end, last.level)  # `replace` takes twice as long
        else:
            found.append(piece)
            worded = bool(text[piece.start : end].strip())
    return [piece for piece in found if text[piece.start : piece.end].strip()], in_code


def lines(text: str) -> Iterator[tuple[int, int]]:
    """Where each line starts and ends."""
    start = 0
    for line in text.split("\n"):
        yield start, start + len(line)
        start += len(line) + 1


def _piece(line: str, start: int, end: int) -> Piece:
    if found := _HEADING.match(line):
        return Piece("heading", start + found.end(), end, len(found[1]))
    if found := _ITEM.match(line):
        return Piece("item", start + found.end(), end, len(found[1]) // 2)
    if line.startswith("> "):
        return Piece("quote", start + 2, end)
    if _BAR in line:
        return Piece("row", start, end)
    return Piece("paragraph", start, end)


def _goes_on(last: Piece, piece: Piece, worded: bool) -> bool:
    """Whether a line is part of the piece before it; an empty one ends that."""
    if last.end + 1 != piece.start or (piece.start == piece.end and piece.kind == "paragraph"):
        return False
    if piece.kind == "code":
        return last.kind == "code"
    return piece.kind == "paragraph" and last.kind in ("paragraph", "item") and worded
