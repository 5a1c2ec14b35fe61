"""The registry of readers: a document format is a file with a function, and a line here or an entry point `wellread.readers`.

    Reader("markdown", "md markdown mkd", "wellread.reading.markdown:read_markdown")

A reader from an entry point is an object of this class. It runs where nothing can be opened any more: what it needs must be
imported when its module is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from wellread.reading.allowance import Allowance
from wellread.reading.charset import decode
from wellread.reading.plain_text import cleaned
from wellread.types import Document, Page

_MARKUP = 80_000_000  # bytes of markup beyond which nothing is parsed


@dataclass(frozen=True, slots=True)
class Reader:
    """One format: `(text, url, name) -> Page`, or with bytes `(body, url, name, allowance) -> Page`; raises `ReadError`."""

    kind: str
    suffixes: str  # that files have, blanks between them
    read: str  # module:function, loaded when it is first needed
    takes: Literal["text", "markup", "bytes"] = "text"  # markup says its charset itself, bytes all that they are
    sniff: bytes = b""  # a regular expression that is found in the first kilobyte of such documents and of no others
    types: str = ""  # media types that servers say
    sure: bool = False  # its first bytes do not lie, servers do

    def load(self) -> Any:
        module, _, function = self.read.partition(":")
        return getattr(import_module(module), function)

    def page(self, document: Document, allowance: Allowance) -> Page:
        read, body, name = self.load(), document.body, Path(document.name).stem
        if self.takes == "bytes":
            return read(body, document.url, name, allowance)
        if self.takes == "markup":
            return read(decode(body[:_MARKUP], document.charset), document.url, name)
        return read(cleaned(decode(body[: 4 * allowance.characters + 4], document.charset, markup=False)), document.url, name)


_INFO = rb"(?:^|\n)\x1f\n?File: [^\n]{1,200}Node: |^This is \S{1,100}, produced by makeinfo"
_WORKBOOK = rb"<(?:\w+:)?Workbook\s[^>]*office:spreadsheet"
_DOCBOOK = (
    rb"(?i:<!DOCTYPE\s+[\w:]+\s+PUBLIC\s+[\"'][^\"']{0,40}DocBook|docbook\.org/ns/docbook|projectmallard\.org/1|"
    rb"^(?:<\?xml[^>]*>\s*)?<(?:book|refentry|chapter|sect1|appendix|preface|bookinfo)[\s>])"
)
_WEB_ARCHIVE = rb"(?i:^(?:[\w-]{2,40}:[^\n]*\n(?:[ \t][^\n]*\n)*)*?Content-Type:\s*multipart/related)"
_HTML = rb"(?is:^<!doctype html|^<head|^<body|^<\?xml|^.{0,507}<html)"
_FLAT = rb"<office:document\s[^>]*opendocument"
_HERE = "wellread.reading."
_BUILT_IN = (
    Reader("pdf", "pdf", f"{_HERE}pdf:read_pdf", "bytes", rb"^%PDF-", sure=True),
    Reader("rtf", "rtf", f"{_HERE}rtf:read_rtf", "bytes", rb"^\{\\rtf", sure=True),
    Reader("opendocument", "odt ott odp otp fodt fodp", f"{_HERE}packed:read_opendocument", "bytes", _FLAT, sure=True),
    Reader("docx", "docx docm dotx", f"{_HERE}packed:read_docx", "bytes", sure=True),
    Reader("pptx", "pptx pptm", f"{_HERE}packed:read_pptx", "bytes", sure=True),
    Reader("epub", "epub", f"{_HERE}packed:read_epub", "bytes", sure=True),
    Reader("info", "info", f"{_HERE}info:read_info", sniff=_INFO),
    Reader("sheet", "xlsx xlsm xls ods fods", f"{_HERE}tables:read_sheets", "bytes", _WORKBOOK, sure=True),
    Reader("docbook", "docbook dbk page", f"{_HERE}docbook:read_docbook", "markup", _DOCBOOK),
    Reader("eml", "eml mht mhtml", f"{_HERE}mail:read_eml", "bytes", _WEB_ARCHIVE, "message/rfc822"),
    Reader("mbox", "mbox mbx", f"{_HERE}mail:read_mbox", "bytes", types="application/mbox"),
    Reader(
        "html", "html htm xhtml", f"{_HERE}extract:extract", "markup", _HTML,
        "text/html application/xhtml+xml application/xml text/xml",
    ),
    Reader("markdown", "md markdown mkd", f"{_HERE}markdown:read_markdown", types="text/markdown text/x-markdown"),
    Reader("pod", "pod", f"{_HERE}pod:read_pod"),
    Reader("org", "org", f"{_HERE}org:read_org"),
    Reader("tex", "tex ltx", f"{_HERE}tex:read_tex"),
    Reader("rst", "rst rest", f"{_HERE}rst:read_rst", types="text/x-rst"),
    Reader("asciidoc", "adoc asciidoc asc", f"{_HERE}asciidoc:read_asciidoc"),
    Reader("man", "man 1 2 3 4 5 6 7 8 9", f"{_HERE}man:read_man"),
    Reader("csv", "csv", f"{_HERE}tables:read_csv", types="text/csv"),
    Reader("tsv", "tsv tab", f"{_HERE}tables:read_tsv", types="text/tab-separated-values"),
    Reader("jsonl", "jsonl ndjson", f"{_HERE}tables:read_jsonl"),
    Reader("notebook", "ipynb", f"{_HERE}markdown:read_notebook", types="application/x-ipynb+json"),
    Reader("text", "txt text json log", f"{_HERE}plain_text:read_text", types="text/plain application/json"),
)  # fmt: skip


_PICTURE = rb"^(?:\x89PNG\r\n|\xff\xd8\xff|II\*\x00|MM\x00\*)"
_PICTURES = Reader("picture", "png jpg jpeg tif tiff", f"{_HERE}ocr:read_picture", "bytes", _PICTURE, sure=True)


@cache
def readers() -> Mapping[str, Reader]:
    """All formats by kind: those of entry points, and ours, in the order in which first bytes are looked at."""
    found = {reader.kind: reader for reader in (entry.load() for entry in entry_points(group="wellread.readers"))}
    ours = (*_BUILT_IN, _PICTURES) if find_spec("rapidocr") else _BUILT_IN
    return found | {reader.kind: reader for reader in ours if reader.kind not in found}


@cache
def by_suffix() -> Mapping[str, str]:
    """The kind that a file is by what its name ends in (`.md`)."""
    return {f".{suffix}": reader.kind for reader in readers().values() for suffix in reader.suffixes.split()}


@cache
def by_type() -> Mapping[str, str]:
    """The kind that a server says."""
    return {said: reader.kind for reader in readers().values() for said in reader.types.split()}


def sniffed(head: bytes) -> str | None:
    """The kind that a document's first bytes say; None where they say nothing."""
    return next((reader.kind for reader in readers().values() if reader.sniff and re.search(reader.sniff, head)), None)
