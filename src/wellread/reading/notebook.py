"""Jupyter notebooks: their Markdown, their code, and what it printed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, cast

from wellread.errors import ReadError
from wellread.reading.markdown import markdown_blocks
from wellread.types import Block, Page

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
