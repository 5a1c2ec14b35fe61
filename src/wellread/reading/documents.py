"""Bytes of any kind we read to a page. Pure and blocking: callers on an event loop run it in a thread."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from wellread.errors import ReadError
from wellread.reading.charset import decode
from wellread.reading.kinds import Kind, kind_of
from wellread.types import Page

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
MAX_FILE = 200 * 1024 * 1024


def read_bytes(body: bytes, url: str, *, content_type: str = "", charset: str | None = None, name: str = "") -> Page:
    """The text of a document; raises `ReadError` where there is none, or none that we can read."""
    if not body.strip():
        raise ReadError(url, "the page is empty")
    kind = kind_of(body, content_type, name or url.partition("?")[0].partition("#")[0])
    if kind is None:
        said = content_type.partition(";")[0].strip()
        raise ReadError(url, f"this is no text we can read ({said or 'binary data'})")
    page = _read(kind, body, url, charset, name)
    page = _printable(page)
    if not page.passages:
        raise ReadError(url, "there is no text to read on the page")
    return page


def _printable(page: Page) -> Page:
    """Without the characters that move cursors and colour terminals; no text needs them."""
    passages = (_CONTROLS.sub("", text) for text in page.passages)
    return replace(
        page,
        title=_CONTROLS.sub("", page.title),
        author=_CONTROLS.sub("", page.author) if page.author else None,
        passages=tuple(text for text in passages if text.strip()),
    )


def _read(kind: Kind, body: bytes, url: str, charset: str | None, name: str) -> Page:
    if kind == "html":
        from wellread.reading.extract import extract

        return extract(decode(body, charset), url)
    if kind == "pdf":
        from wellread.reading.pdf import read_pdf

        return read_pdf(body, url)
    if kind in {"docx", "epub"}:
        from wellread.reading import packed

        return packed.read_docx(body, url) if kind == "docx" else packed.read_epub(body, url)
    from wellread.reading import plain

    text = decode(body, charset, markup=False)
    title = Path(name).stem
    return plain.read_markdown(text, url, title) if kind == "markdown" else plain.read_text(text, url, title)


def read_file(path: str | Path) -> Page:
    """A file of the operator's own; its address is its file: URL."""
    path = Path(path)
    try:
        size = path.stat().st_size
        if path.is_dir() or size > MAX_FILE:
            raise ReadError(str(path), "a folder" if path.is_dir() else f"larger than {MAX_FILE // 1024**2} MB")
        body = path.read_bytes()
    except OSError as error:
        raise ReadError(str(path), error.strerror or "cannot be opened") from error
    return read_bytes(body, path.resolve().as_uri(), name=path.name)
