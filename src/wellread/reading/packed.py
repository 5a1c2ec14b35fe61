"""DOCX and EPUB: archives of XML. Nothing is unpacked to disk, and what unpacks too large is refused."""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Mapping
from io import BytesIO
from urllib.parse import unquote

from wellread.errors import ReadError
from wellread.reading.charset import decode
from wellread.reading.dates import iso_date
from wellread.reading.dom import parse
from wellread.reading.mainpart import all_blocks
from wellread.reading.markup import feed_xml
from wellread.reading.render import passages
from wellread.reading.wordxml import Paragraphs
from wellread.types import Page

MAX_BYTES = 100 * 1024 * 1024  # of everything that is read from one archive
_MAX_MEMBERS = 20_000
_MAX_CHAPTERS = 2_000


class _Archive:
    """Reads members until the allowance is used up."""

    def __init__(self, body: bytes, url: str) -> None:
        self._url = url
        self._left = MAX_BYTES
        try:
            self._zip = zipfile.ZipFile(BytesIO(body))
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise ReadError(url, "the archive is broken") from error
        if len(self._zip.namelist()) > _MAX_MEMBERS:
            raise ReadError(url, "the archive has too many parts")

    def read(self, name: str) -> bytes:
        """Empty for what is not there."""
        try:
            with self._zip.open(name) as member:
                data = member.read(self._left + 1)
        except KeyError:
            return b""
        except (zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError, OSError, ValueError) as error:
            raise ReadError(self._url, "the archive is broken or locked") from error
        self._left -= len(data)
        if self._left < 0:
            raise ReadError(self._url, f"the archive unpacks to more than {MAX_BYTES // 1024**2} MB")
        return data


class _Fields:
    """Texts of simple elements and the attributes of empty ones, by local name."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.elements: list[tuple[str, Mapping[str, str]]] = []
        self._open: list[list[str]] = []

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self.elements.append((tag.rpartition("}")[2], dict(attributes)))
        self._open.append([])

    def data(self, data: str) -> None:
        if self._open:
            self._open[-1].append(data)

    def end(self, tag: str) -> None:
        text = " ".join("".join(self._open.pop()).split())
        if text:
            self.texts.setdefault(tag.rpartition("}")[2], text)

    def close(self) -> None:
        pass


def _fields(data: bytes) -> _Fields:
    fields = _Fields()
    if data:
        try:
            feed_xml(data, fields)
        except ValueError:
            return _Fields()  # facts about a document are not worth failing for
    return fields


def read_docx(body: bytes, url: str) -> Page:
    """A Word document: headings, lists and tables kept."""
    archive = _Archive(body, url)
    document = archive.read("word/document.xml")
    if not document:
        raise ReadError(url, "not a Word document")
    paragraphs = Paragraphs()
    try:
        feed_xml(document, paragraphs)
    except ValueError as error:
        raise ReadError(url, "the Word document is broken") from error
    facts = _fields(archive.read("docProps/core.xml")).texts
    texts = paragraphs.passages()
    return _page(url, texts, facts.get("title", ""), facts.get("created"), facts.get("creator"), None, "docx")


def read_epub(body: bytes, url: str) -> Page:
    """An e-book: the chapters in reading order."""
    archive = _Archive(body, url)
    container = _fields(archive.read("META-INF/container.xml"))
    root = next((given.get("full-path", "") for name, given in container.elements if name == "rootfile"), "")
    package = _fields(archive.read(root)) if root else _Fields()
    texts: list[str] = []
    for name in _chapters(package, posixpath.dirname(root)):
        html = decode(archive.read(name))
        texts.extend(passages(all_blocks(parse(html))))
    facts = package.texts
    if not texts:
        raise ReadError(url, "the e-book has no text")
    date, language = facts.get("date"), facts.get("language")
    return _page(url, tuple(texts), facts.get("title", ""), date, facts.get("creator"), language, "epub")


def _chapters(package: _Fields, folder: str) -> list[str]:
    items = {given.get("id", ""): given for name, given in package.elements if name == "item"}
    spine = [items.get(given.get("idref", ""), {}) for name, given in package.elements if name == "itemref"]
    chapters = [
        posixpath.normpath(posixpath.join(folder, unquote(item["href"])))
        for item in spine
        if "html" in item.get("media-type", "") and "nav" not in item.get("properties", "").split() and item.get("href")
    ]
    return chapters[:_MAX_CHAPTERS]


def _page(
    url: str, texts: tuple[str, ...], title: str, date: str | None, author: str | None, language: str | None, kind: str
) -> Page:
    return Page(
        url=url,
        title=title or (texts[0].lstrip("# ")[:120] if texts else ""),
        passages=texts,
        published=iso_date(date) if date else None,
        author=author,
        language=language.partition("-")[0].lower() if language else None,
        kind=kind,
    )
