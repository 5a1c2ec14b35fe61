"""Markdown, by markdown-it (CommonMark with tables): written as HTML, and read so; Jupyter notebooks, which are made of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

from wellread.errors import ReadError
from wellread.reading.builder import titled
from wellread.reading.render import of_markup
from wellread.text.formulas import keep_formulas
from wellread.types import Block, Page

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token


_FIELD = re.compile(r"^(title|date|author|lang|language)\s*:\s*(.+?)\s*$", re.IGNORECASE | re.MULTILINE)
_ATTRIBUTES = re.compile(r"\s*\{[#.][^{}]{0,200}\}$")
_WIKI_LINK = re.compile(r"!?\[\[([^\[\]|]{1,300})(?:\|([^\[\]]{0,300}))?\]\]")  # of Obsidian and other notebooks
_PART = 1_000  # blocks that are read together: of a page of markup there is an end


def read_markdown(text: str, url: str, name: str = "") -> Page:
    """Fields at its head are facts about it."""
    fields: dict[str, str] = {}
    if text.startswith("---\n") and "\n---\n" in text[:5000]:
        head, _, text = text[4:].partition("\n---\n")
        fields = {key.lower(): value.strip("\"'") for key, value in _FIELD.findall(head)}
    found = markdown_blocks(_without_comments(text))
    first = next((block.text for block in found if block.kind == "heading" and block.level == 1), "")
    told = {"published": fields.get("date", ""), "language": (fields.get("lang") or fields.get("language", ""))[:2]}
    return titled("markdown", found, url, name, fields.get("title") or first or name, author=fields.get("author"), **told)


def markdown_blocks(text: str) -> tuple[Block, ...]:
    """Written as HTML a part at a time, and read so."""
    parser, tokens = _parser(), _parser().parse(text)
    ends = [place for place, token in enumerate(tokens, 1) if token.level == 0 and token.nesting <= 0][_PART - 1 :: _PART]
    written = (parser.renderer.render(tokens[a:b], parser.options, {}) for a, b in pairwise([0, *ends, len(tokens)]))
    found = (block for part in written for block in of_markup(part, lambda _: True, generous=True))
    return tuple(replace(one, text=_ATTRIBUTES.sub("", one.text)) if one.kind == "heading" else one for one in found)


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": True, "linkify": False}).enable("table")
    parser.add_render_rule("text", _written)
    parser.add_render_rule("image", _written)
    return keep_formulas(parser, lambda found: found[0])


def _written(renderer: object, tokens: Sequence[Token], at: int, options: object, env: object) -> str:
    """Words, or what is said of an image; a formula keeps its lines."""
    words = _WIKI_LINK.sub(lambda found: found[2] or found[1].replace("#", " ").strip(), tokens[at].content)
    return escape(words).replace("\n", "<br>")


def _without_comments(text: str) -> str:
    """In linear time; what is not closed is one to the end."""
    before, *after = text.split("<!--")
    return before + "".join(part.partition("-->")[2] for part in after)


_LONGEST_OUTPUT = 2_000  # characters; beyond that it is data


def read_notebook(text: str, url: str, name: str) -> Page:
    try:
        book: Any = json.loads(text)
        cells = book["cells"] if "cells" in book else [cell for sheet in book["worksheets"] for cell in sheet["cells"]]
        found = tuple(block for cell in cells for block in _cell(cell))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ReadError(url, "the notebook is broken") from error
    title = next((block.text for block in found if block.kind == "heading" and block.level == 1), "")
    return Page(url, title or name, (), kind="notebook", blocks=found)


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
