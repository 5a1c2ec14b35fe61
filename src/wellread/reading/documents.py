"""Bytes of any kind we read to a page. Pure and blocking, and in this process: `workers` does it in another one."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from wellread.core import safe_files
from wellread.errors import ReadError
from wellread.reading.allowance import OWN_FILE, Allowance, fitted
from wellread.reading.charset import plain_markup
from wellread.reading.kinds import is_binary, kind_of, packed_kind, reason, unpacked
from wellread.reading.registry import readers
from wellread.text.blocks import passages
from wellread.types import Document, Page

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
MAX_FILE = 200 * 1024 * 1024


def read(document: Document, allowance: Allowance = OWN_FILE) -> Page:
    """The text of a document; raises `ReadError` where there is none, or none that we can read."""
    url, content_type = document.url, document.content_type
    body, inner = unpacked(document.body, document.name or url.partition("?")[0].partition("#")[0], url)
    if not body.strip():
        raise ReadError(url, "the page is empty")
    body = plain_markup(body)
    kind = kind_of(body, content_type, inner)
    if kind is None:
        said = content_type.partition(";")[0].strip() or ("binary data" if is_binary(body) else "it is not what its name says")
        raise ReadError(url, reason(body, said, inner, packed_kind(inner)))
    try:
        document = replace(document, body=body, name=inner if document.name else "")
        page = _printable(fitted(readers()[kind].page(document, allowance), allowance))
    except (ReadError, MemoryError):
        raise
    except Exception as error:  # parsers have failures that nobody has listed; each is its document's
        raise ReadError(url, f"the document is broken ({type(error).__name__})") from error
    if not page.blocks and page.kind != "pointer":  # which has nothing to say, and nothing is missing
        raise ReadError(url, "there is no text to read on the page")
    return replace(page, passages=passages(page.blocks))


def _printable(page: Page) -> Page:
    """Without the characters that move cursors and colour terminals; no text needs them."""
    blocks = (
        replace(one, text=_CONTROLS.sub("", one.text), anchor=_CONTROLS.sub("", one.anchor))
        if _CONTROLS.search(one.text) or _CONTROLS.search(one.anchor)
        else one
        for one in page.blocks
    )
    return replace(
        page,
        title=_CONTROLS.sub("", page.title),
        author=_CONTROLS.sub("", page.author) if page.author else None,
        language=_CONTROLS.sub("", page.language) if page.language else None,
        blocks=tuple(block for block in blocks if block.text.strip()),
    )


def opened(path: str | Path, inside: Path | None = None) -> Document:
    """A file of the operator's own, not yet read; its address is its file: URL. Raises `ReadError`, also where it is not
    `inside` the folder that it was found in: others may write there."""
    path = Path(path)
    try:
        body = safe_files.content(path, MAX_FILE, inside)
    except OSError as error:
        raise ReadError(str(path), error.strerror or "cannot be opened") from error
    return Document(body, path.resolve().as_uri(), name=path.name)
