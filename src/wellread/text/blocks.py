"""Blocks to passages that read well as plain text, a light Markdown, and to the headings they stand under.

Headings get their #, list items their dashes, rows their bars, code its fence. Neighbouring items are one
passage, and so are neighbouring rows; an entry of a definition list is a passage of its own.
"""

from __future__ import annotations

from collections.abc import Iterable

from wellread.types import Block, Page


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
