"""What kind of document some bytes are: by what they say, by their name, by their first bytes."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Literal

Kind = Literal["html", "pdf", "text", "markdown", "docx", "epub"]

_BY_TYPE: dict[str, Kind] = {
    "text/html": "html",
    "application/xhtml+xml": "html",
    "application/xml": "html",
    "text/xml": "html",
    "text/plain": "text",
    "text/markdown": "markdown",
    "text/x-markdown": "markdown",
    "application/pdf": "pdf",
    "application/x-pdf": "pdf",
    "application/epub+zip": "epub",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/json": "text",
    "text/csv": "text",
}
_BY_SUFFIX: dict[str, Kind] = {
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".pdf": "pdf",
    ".md": "markdown",
    ".markdown": "markdown",
    ".txt": "text",
    ".text": "text",
    ".rst": "text",
    ".csv": "text",
    ".json": "text",
    ".docx": "docx",
    ".epub": "epub",
}
_SAYS_NOTHING = frozenset({"", "application/octet-stream", "binary/octet-stream", "application/zip", "application/download"})
_SAMPLE = 4096
_CONTROLS = bytes(set(range(32)) - {9, 10, 12, 13, 27})

ACCEPTED = "text/html, application/xhtml+xml, application/pdf;q=0.9, text/markdown;q=0.9, text/plain;q=0.8, */*;q=0.1"


def kind_of(body: bytes, content_type: str = "", name: str = "") -> Kind | None:
    """None where we cannot read such a thing."""
    said = content_type.partition(";")[0].strip().lower()
    sniffed = _sniff(body)
    if sniffed in {"pdf", "docx", "epub"}:
        return sniffed  # their first bytes do not lie, servers do
    kind = _BY_TYPE.get(said)
    suffix = _BY_SUFFIX.get(PurePosixPath(name).suffix.lower())
    if said in _SAYS_NOTHING or (said == "text/plain" and suffix == "markdown"):
        kind = suffix or sniffed
    elif kind is None and said.startswith("text/"):
        kind = "text"
    if kind in {"pdf", "docx", "epub"} or (is_binary(body) and "utf-16" not in content_type.lower()):
        return None
    return kind


def is_binary(body: bytes) -> bool:
    """Bytes that no text has, in such numbers that this is none; UTF-16 is text."""
    if body.startswith((b"\xff\xfe", b"\xfe\xff")):
        return False
    sample = body[:_SAMPLE]
    return len(sample) - len(sample.translate(None, _CONTROLS)) > len(sample) * 0.02


def _sniff(body: bytes) -> Kind | None:
    start = body[:1024].lstrip()
    if start.startswith(b"%PDF-"):
        return "pdf"
    if body.startswith(b"PK\x03\x04"):
        # the names of an archive's members stand in it as they are
        if b"application/epub+zip" in body[:200] or b"META-INF/container.xml" in body:
            return "epub"
        return "docx" if b"word/" in body else None
    lower = start[:512].lower()
    if lower.startswith((b"<!doctype html", b"<html", b"<head", b"<body", b"<?xml")) or b"<html" in lower:
        return "html"
    return "text"
