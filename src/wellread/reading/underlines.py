"""What markups that underline their headings have in common."""

from __future__ import annotations

from wellread.types import Block, Page


def page(kind: str, blocks: tuple[Block, ...], url: str, name: str) -> Page:
    title = next((block.text for block in blocks if block.kind == "heading"), "")
    return Page(url, title or name, (), kind=kind, blocks=blocks)


def rule(line: str, signs: str) -> str:
    """The sign of a line that is nothing but at least three of it; else empty."""
    drawn = line.rstrip()
    return drawn[0] if len(drawn) > 2 and drawn[0] in signs and not drawn.strip(drawn[0]) else ""
