"""Markdown to blocks, by markdown-it (CommonMark with tables), and Jupyter notebooks, which are made of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from wellread.errors import ReadError
from wellread.reading.builder import row
from wellread.text.dates import iso_date
from wellread.text.formulas import keep_formulas
from wellread.types import Block, Page

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token


_FIELD = re.compile(r"^(title|date|author|lang|language)\s*:\s*(.+?)\s*$", re.IGNORECASE | re.MULTILINE)
_ATTRIBUTES = re.compile(r"\s*\{[#.][^{}]{0,200}\}$")
_WIKI_LINK = re.compile(r"!?\[\[([^\[\]|]{1,300})(?:\|([^\[\]]{0,300}))?\]\]")  # of Obsidian and other notebooks
_TAG = re.compile(r"<[^<>]{0,2000}>")


def read_markdown(text: str, url: str, name: str = "") -> Page:
    """Fields at its head are facts about it."""
    fields: dict[str, str] = {}
    if text.startswith("---\n") and "\n---\n" in text[:5000]:
        head, _, text = text[4:].partition("\n---\n")
        fields = {key.lower(): value.strip("\"'") for key, value in _FIELD.findall(head)}
    blocks = markdown_blocks(_without_comments(text))
    first = next((block.text for block in blocks if block.kind == "heading" and block.level == 1), "")
    language = fields.get("lang") or fields.get("language")
    return Page(
        url=url,
        title=fields.get("title") or first or name,
        passages=(),
        published=iso_date(fields.get("date", "")),
        author=fields.get("author"),
        language=language[:2].lower() if language else None,
        kind="markdown",
        blocks=blocks,
    )


def markdown_blocks(text: str) -> tuple[Block, ...]:
    writer = _Writer()
    for token in _parser().parse(text):
        writer.take(token)
    return tuple(writer.blocks)


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": True, "linkify": False}).enable("table")
    return keep_formulas(parser, lambda found: found[0])


class _Writer:
    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self._depth = 0  # of lists
        self._quotes = 0
        self._first = False  # in an item that has no text yet
        self._cells: list[str] | None = None
        self._heading = 0

    def take(self, token: Token) -> None:
        kind = token.type
        if kind in {"bullet_list_open", "ordered_list_open", "blockquote_open"}:
            self._depth += kind != "blockquote_open"
            self._quotes += kind == "blockquote_open"
        elif kind in {"bullet_list_close", "ordered_list_close", "blockquote_close"}:
            self._depth -= kind != "blockquote_close"
            self._quotes -= kind == "blockquote_close"
        elif kind == "list_item_open":
            self._first = True
        elif kind in {"fence", "code_block"}:
            self.blocks.append(Block("code", token.content.strip("\n"), self._depth))
        elif kind == "html_block":
            self._text(" ".join(_TAG.sub(" ", token.content).split()))
        else:
            self._inline(token)

    def _inline(self, token: Token) -> None:
        if token.type == "heading_open":
            self._heading = int(token.tag[1])
        elif token.type == "tr_open":
            self._cells = []
        elif token.type == "tr_close" and self._cells is not None:
            self.blocks.append(row(self._cells))
            self._cells = None
        elif token.type == "inline":
            self._text(_words(token.children or []))

    def _text(self, text: str) -> None:
        if self._cells is not None:
            self._cells.append(" ".join(text.split()))
        elif self._heading:
            self.blocks.append(Block("heading", _ATTRIBUTES.sub("", " ".join(text.split())), self._heading))
            self._heading = 0
        elif text.strip():
            kind = "item" if self._depth and self._first else "quote" if self._quotes else "paragraph"
            self.blocks.append(Block(kind, text.strip(), self._depth))
            self._first = False


def _words(tokens: Sequence[Any]) -> str:
    parts: list[str] = []
    for token in tokens:
        if token.type == "text":
            parts.append(_WIKI_LINK.sub(lambda found: found[2] or found[1].replace("#", " ").strip(), token.content))
        elif token.type in {"code_inline", "text_special"}:
            parts.append(token.content)
        elif token.type in {"softbreak", "hardbreak"}:
            parts.append(" " if token.type == "softbreak" else "\n")
        elif token.type == "image":
            parts.append(_words(token.children or []))
    return "".join(parts)


def _without_comments(text: str) -> str:
    """In linear time; what is not closed is one to the end."""
    before, *after = text.split("<!--")
    return before + "".join(part.partition("-->")[2] for part in after)


_LONGEST_OUTPUT = 2_000  # characters; beyond that it is data


def read_notebook(text: str, url: str, name: str) -> Page:
    try:
        book: Any = json.loads(text)
        cells = book["cells"] if "cells" in book else [cell for sheet in book["worksheets"] for cell in sheet["cells"]]
        blocks = tuple(block for cell in cells for block in _cell(cell))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ReadError(url, "the notebook is broken") from error
    title = next((block.text for block in blocks if block.kind == "heading" and block.level == 1), "")
    return Page(url, title or name, (), kind="notebook", blocks=blocks)


def _cell(cell: dict[str, Any]) -> Iterator[Block]:
    source = _joined(cell.get("source") or cell.get("input") or "")
    if cell.get("cell_type") == "markdown":
        yield from markdown_blocks(source)
    elif source.strip():
        yield Block("code", source.strip("\n"))
        for output in cast("list[dict[str, Any]]", cell.get("outputs") or []):
            data: dict[str, Any] = output.get("data") or {}
            said = _joined(output.get("text") or data.get("text/plain") or "").strip()
            if said:
                yield Block("code", said[:_LONGEST_OUTPUT])


def _joined(text: object) -> str:
    return "".join(map(str, cast("list[object]", text))) if isinstance(text, list) else str(text)
