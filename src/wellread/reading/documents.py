"""Bytes of any kind we read to a page. Pure and blocking, and in this process: `workers` does it in another one."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from wellread import regular
from wellread.encodable import Encodable
from wellread.errors import ReadError
from wellread.reading import unmarked, unread
from wellread.reading.allowance import OWN_FILE, Allowance, fitted
from wellread.reading.asciidoc import read_asciidoc
from wellread.reading.charset import decode, plain_markup
from wellread.reading.compressed import unpacked
from wellread.reading.kinds import Kind, is_binary, kind_of, packed_kind
from wellread.reading.rst import read_rst
from wellread.text.blocks import passages
from wellread.types import Block, Page

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_MARKUP = 80_000_000  # bytes of HTML beyond which nothing is parsed
_PACKED = {"docx": "read_docx", "epub": "read_epub", "opendocument": "read_opendocument", "pptx": "read_pptx"}
MAX_FILE = 200 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Document(Encodable):
    """Bytes, and what is said about them."""

    body: bytes
    url: str
    content_type: str = ""
    charset: str | None = None
    name: str = ""


def read_bytes(
    body: bytes,
    url: str,
    *,
    content_type: str = "",
    charset: str | None = None,
    name: str = "",
    allowance: Allowance = OWN_FILE,
) -> Page:
    """The text of a document; raises `ReadError` where there is none, or none that we can read."""
    body, inner = unpacked(body, name or url.partition("?")[0].partition("#")[0], url)
    if not body.strip():
        raise ReadError(url, "the page is empty")
    body = plain_markup(body)
    kind = kind_of(body, content_type, inner)
    if kind is None:
        said = content_type.partition(";")[0].strip() or ("binary data" if is_binary(body) else "it is not what its name says")
        raise ReadError(url, unread.reason(body, said, inner, packed_kind(inner)))
    try:
        document = Document(body, url, content_type, charset, inner if name else "")
        page = _printable(fitted(_read(kind, document, allowance), allowance))
    except (ReadError, MemoryError):
        raise
    except Exception as error:  # parsers have failures that nobody has listed; each is its document's
        raise ReadError(url, f"the document is broken ({type(error).__name__})") from error
    if not page.blocks:
        raise ReadError(url, "there is no text to read on the page")
    return replace(page, passages=passages(page.blocks))


def _printable(page: Page) -> Page:
    """Without the characters that move cursors and colour terminals; no text needs them."""
    blocks = (_cleaned(one) if _CONTROLS.search(one.text) or _CONTROLS.search(one.anchor) else one for one in page.blocks)
    return replace(
        page,
        title=_CONTROLS.sub("", page.title),
        author=_CONTROLS.sub("", page.author) if page.author else None,
        language=_CONTROLS.sub("", page.language) if page.language else None,
        blocks=tuple(block for block in blocks if block.text.strip()),
    )


def _cleaned(block: Block) -> Block:
    return replace(block, text=_CONTROLS.sub("", block.text), anchor=_CONTROLS.sub("", block.anchor))


def _read(kind: Kind, document: Document, allowance: Allowance) -> Page:
    body, url, charset = document.body, document.url, document.charset
    if kind == "html":
        from wellread.reading.extract import extract

        return extract(decode(body[:_MARKUP], charset), url)
    if kind == "pdf":
        from wellread.reading.pdf import read_pdf

        return read_pdf(body, url, allowance)
    if kind in _PACKED:
        from wellread.reading import packed

        return getattr(packed, _PACKED[kind])(body, url, allowance)
    name = Path(document.name).stem
    if kind == "docbook":
        from wellread.reading.docbook import read_docbook

        return read_docbook(body[:_MARKUP], url, name, charset)
    if kind == "sheet":
        from wellread.reading.tables import read_sheets

        return read_sheets(body, url, name, allowance)
    if kind in {"eml", "mbox", "rtf"}:
        return _read_bytes(kind, body, url, name, allowance)
    return _read_text(kind, unmarked.cleaned(decode(body[: 4 * allowance.characters + 4], charset, markup=False)), url, name)


def _read_bytes(kind: Kind, body: bytes, url: str, name: str, allowance: Allowance) -> Page:
    """What says its own charset."""
    from wellread.reading import letters, rtf

    if kind == "rtf":
        return rtf.read_rtf(body, url, name)
    return letters.read_eml(body, url, name) if kind == "eml" else letters.read_mbox(body, url, name, allowance)


def _read_text(kind: Kind, text: str, url: str, name: str) -> Page:
    from wellread.reading import info, man, markdown, notebook, org, pod, tables, tex

    readers: dict[str, Callable[[str, str, str], Page]] = {
        "markdown": markdown.read_markdown,
        "rst": read_rst,
        "asciidoc": read_asciidoc,
        "man": man.read_man,
        "csv": tables.read_csv,
        "tsv": lambda text, url, name: tables.read_csv(text, url, name, delimiter="\t"),
        "jsonl": tables.read_jsonl,
        "notebook": notebook.read_notebook,
        "info": info.read_info,
        "pod": pod.read_pod,
        "org": org.read_org,
        "tex": tex.read_tex,
    }
    return readers.get(kind, unmarked.read_text)(text, url, name)


def opened(path: str | Path, inside: Path | None = None) -> Document:
    """A file of the operator's own, not yet read; its address is its file: URL. Raises `ReadError`, also where it is not
    `inside` the folder that it was found in: others may write there."""
    path = Path(path)
    try:
        body = regular.content(path, MAX_FILE, inside)
    except OSError as error:
        raise ReadError(str(path), error.strerror or "cannot be opened") from error
    return Document(body, path.resolve().as_uri(), name=path.name)
