"""DOCX, ODT, ODP, PPTX and EPUB: archives of XML. Nothing is unpacked to disk, and what unpacks too large is refused."""

from __future__ import annotations

import posixpath
import re
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from io import BytesIO
from urllib.parse import unquote

from wellread.errors import ReadError
from wellread.reading.allowance import MAX_UNPACKED, OWN_FILE, Allowance, TooMuch, gathered
from wellread.reading.builder import titled
from wellread.reading.charset import decode
from wellread.reading.markup import Target, feed_xml
from wellread.reading.office import Office, fed, heading_styles
from wellread.reading.render import of_markup
from wellread.types import Block, Page

_SLIDE = re.compile(r"ppt/slides/slide(\d{1,6})\.xml")
_CONTENTS = re.compile(r"(?:nav|toc|contents)\.[^.]*$", re.IGNORECASE)
_CHAPTER = re.compile(r"\.(?:x?html?)$", re.IGNORECASE)
_LONGEST_TITLE = 120


class Archive:
    """Reads members until the allowance is used up."""

    def __init__(self, body: bytes, url: str) -> None:
        self._url = url
        self._left = MAX_UNPACKED
        try:
            self._zip = zipfile.ZipFile(BytesIO(body))
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise ReadError(url, "the archive is broken") from error

    def names(self) -> list[str]:
        return self._zip.namelist()

    def facts(self, name: str) -> _Fields:
        """Of a part about the document."""
        return _facts(self.read(name))

    def read(self, name: str) -> bytes:
        """Empty for what is not there."""
        try:
            with self._zip.open(name) as member:
                data = member.read(self._left + 1)
        except KeyError:
            return b""
        except (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, EOFError, OSError, ValueError) as error:
            raise ReadError(self._url, "the archive is broken or locked") from error
        self._left -= len(data)
        if self._left < 0:
            raise TooMuch(self._url, f"the archive unpacks to more than {MAX_UNPACKED // 1024**2} MB")
        return data


class _Fields(Target):
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


def _facts(data: bytes) -> _Fields:
    """Not worth failing for: nothing where they are missing, broken or no honest size."""
    fields = _Fields()
    if data:
        try:
            feed_xml(data, fields)
        except ValueError:
            return _Fields()
    return fields


def read_docx(body: bytes, url: str, name: str = "", allowance: Allowance = OWN_FILE) -> Page:
    """A Word document: headings, lists and tables kept."""
    archive = Archive(body, url)
    document = archive.read("word/document.xml")
    if not document:
        raise ReadError(url, "not a Word document")
    notes = Office(allowance.characters)
    headings: dict[str, int] = {}
    with suppress(ReadError):  # it can be read without them
        headings = heading_styles(archive.facts("word/styles.xml").elements)
        for part in ("word/footnotes.xml", "word/endnotes.xml"):
            if told := archive.read(part):
                fed(told, notes, url, "the notes are broken")
    office = Office(allowance.characters, headings, notes.notes)
    notice = fed(document, office, url, "the Word document is broken")
    return _page(url, office.blocks, archive.facts("docProps/core.xml").texts, "docx", notice)


def read_opendocument(body: bytes, url: str, name: str = "", allowance: Allowance = OWN_FILE) -> Page:
    """Text (ODT) and presentations (ODP); also flat, which is one XML file with all of it."""
    if body.startswith(b"PK"):
        archive = Archive(body, url)
        content, facts = open_content(archive, url), archive.facts("meta.xml")
    else:
        # of a flat document what it says of itself stands before the rest
        before, end, _ = body.partition(b"</office:meta>")
        content, facts = body, _facts(before + end + b"</office:document>" if end else b"")
    document = Office(allowance.characters)
    notice = fed(content, document, url, "the OpenDocument file is broken")
    return _page(url, document.blocks, facts.texts, "odf", notice)


def open_content(archive: Archive, url: str) -> bytes:
    """The content.xml of an OpenDocument archive."""
    if b"encryption-data" in archive.read("META-INF/manifest.xml"):
        raise ReadError(url, "the document is locked with a password")
    if not (content := archive.read("content.xml")):
        raise ReadError(url, "not an OpenDocument file")
    return content


def read_pptx(body: bytes, url: str, name: str = "", allowance: Allowance = OWN_FILE) -> Page:
    """Slides in the order of their numbers; each is a page."""
    archive = Archive(body, url)
    names = sorted((name for name in archive.names() if _SLIDE.fullmatch(name)), key=lambda name: int(_SLIDE.sub(r"\1", name)))
    if not names:
        raise ReadError(url, "not a PowerPoint presentation")

    def slide(numbered: tuple[int, str], left: int) -> Iterable[Block]:
        page = Office(left, page=numbered[0])
        fed(archive.read(numbered[1]), page, url, "the slide is broken")
        return page.blocks

    made = gathered(enumerate(names, start=1), slide, allowance)
    if made.broken == len(names):
        raise ReadError(url, "the presentation is broken or locked")
    return _page(url, made.blocks, archive.facts("docProps/core.xml").texts, "pptx", made.notice("slides", len(names)))


def read_epub(body: bytes, url: str, name: str = "", allowance: Allowance = OWN_FILE) -> Page:
    """An e-book: the chapters in reading order, and where it does not say that, in the order of their names."""
    archive = Archive(body, url)
    container = archive.facts("META-INF/container.xml")
    root = next((given.get("full-path", "") for name, given in container.elements if name == "rootfile"), "")
    root = root or next((name for name in archive.names() if name.lower().endswith(".opf")), "")
    package = archive.facts(root) if root else _Fields()
    named = _chapters(package, posixpath.dirname(root))
    known = set(archive.names())
    chapters = [name for name in named if name in known]
    chapters = chapters or sorted(name for name in known if _CHAPTER.search(name) and not _CONTENTS.search(name))
    made = gathered(chapters, lambda chapter, _: of_markup(decode(archive.read(chapter))), allowance)
    if not made.blocks:
        raise ReadError(url, "the archive is broken or locked" if made.broken else "the e-book has no text")
    return _page(url, made.blocks, package.texts, "epub", made.notice("chapters", len(chapters)))


def _chapters(package: _Fields, folder: str) -> list[str]:
    items = {given.get("id", ""): given for name, given in package.elements if name == "item"}
    spine = [items.get(given.get("idref", ""), {}) for name, given in package.elements if name == "itemref"]
    chapters = (
        posixpath.normpath(posixpath.join(folder, unquote(item["href"])))
        for item in spine
        if "html" in item.get("media-type", "") and "nav" not in item.get("properties", "").split() and item.get("href")
    )
    return list(dict.fromkeys(chapters))  # no book says a chapter twice


def _page(url: str, blocks: Sequence[Block], facts: Mapping[str, str], kind: str, notice: str | None) -> Page:
    date = facts.get("date") or facts.get("created") or facts.get("creation-date") or ""
    first = next((block.text for block in blocks if block.kind == "heading"), blocks[0].text if blocks else "")
    title = facts.get("title") or first.partition("\n")[0][:_LONGEST_TITLE]
    told = {"author": facts.get("creator") or facts.get("initial-creator"), "notice": notice}
    return titled(kind, blocks, url, "", title, published=date, language=facts.get("language", ""), **told)
