"""The light Markdown of passages taken apart again, for those who show it: `text.blocks` writes it.

Places are kept: a piece says from where to where it goes, so that quoted words can be marked inside of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

PieceKind = Literal["heading", "paragraph", "item", "row", "code", "quote"]
_FENCE = "```"
_HEADING = re.compile(r"(#{1,6}) ")
_ITEM = re.compile(r"( *)- ")
_BAR = " | "


@dataclass(frozen=True, slots=True)
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
    for start, end in _lines(text):
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


def _lines(text: str) -> Iterator[tuple[int, int]]:
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
