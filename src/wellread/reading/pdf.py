"""The text of a PDF: pages to paragraphs, running heads gone, words that were broken at line ends whole."""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from wellread.errors import ReadError
from wellread.reading.allowance import OWN_FILE, Allowance
from wellread.text.dates import iso_date
from wellread.types import Page

if TYPE_CHECKING:
    import pypdfium2

MAX_PAGES = 10_000

_PDFIUM = threading.Lock()  # the library is not safe in several threads at once
_READING = 0.7  # of the time; the rest is for putting paragraphs together
_EDGE = 2  # lines that a running head or foot may have
_BROKEN_WORD = re.compile(r"\w[-\u00ad\u2010\ufffe]")
_DIGITS = re.compile(r"\d+")
_PDF_DATE = re.compile(r"D:(\d{4})(\d{2})?(\d{2})?")
_ENDS = (".", "!", "?", ":", "”", '"', ")", "。")


def read_pdf(body: bytes, url: str, allowance: Allowance = OWN_FILE) -> Page:
    """Blocking; raises `ReadError` for what is locked, broken, or only pictures."""
    with _PDFIUM, _opened(body, url) as document:
        facts = document.get_metadata_dict(skip_empty=True)
        count = len(document)
        pages = [_lines(text) for text in _texts(document, allowance)]
    passages = tuple(paragraph for lines in _without_running_heads(pages) for paragraph in _paragraphs(lines))
    if not passages:
        raise ReadError(url, "the PDF has no text, only pictures")
    date = _PDF_DATE.match(facts.get("CreationDate", ""))
    return Page(
        url=url,
        title=" ".join(facts.get("Title", "").split()) or passages[0][:120],
        passages=passages,
        published=iso_date("-".join(part for part in date.groups() if part)) if date else None,
        author=" ".join(facts.get("Author", "").split()) or None,
        kind="pdf",
        notice=f"only the first {len(pages):,} of its {count:,} pages were read" if len(pages) < count else None,
    )


@contextmanager
def _opened(body: bytes, url: str) -> Generator[pypdfium2.PdfDocument]:
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(body)
    except pypdfium2.PdfiumError as error:
        locked = "password" in str(error).lower()
        raise ReadError(url, "the PDF is locked with a password" if locked else "the PDF is broken") from error
    try:
        yield document
    finally:
        document.close()


def _texts(document: pypdfium2.PdfDocument, allowance: Allowance) -> Iterator[str]:
    """Ends before the time is up, so that what was read by then is not lost."""
    import pypdfium2

    deadline = time.monotonic() + allowance.seconds * _READING
    left = allowance.characters + 1  # one more shows that there is more
    for number in range(min(len(document), MAX_PAGES)):
        if left <= 0 or time.monotonic() > deadline:
            return
        try:
            page = document[number]
            text = page.get_textpage().get_text_bounded()[:left]
            page.close()
        except pypdfium2.PdfiumError:
            text = ""  # one broken page is no reason to lose the others
        left -= len(text)
        yield text


def _lines(text: str) -> list[str]:
    """PDFium writes a mark of its own where a word is broken at the end of a line."""
    return [" ".join(line.split()) for line in text.replace("\0", "").replace("\x02", "-\n").splitlines()]


def _without_running_heads(pages: Sequence[list[str]]) -> Iterator[list[str]]:
    """Lines that stand at the edge of many pages, but for their numbers, are not text."""
    pages = [_stripped(lines) for lines in pages]
    edges = Counter(edge for lines in pages for edge in {_DIGITS.sub("#", line) for line in _edge_lines(lines)})
    often = max(3, len(pages) // 3)
    repeated = {edge for edge, count in edges.items() if count >= often or not edge.strip("# -–|/")}
    for lines in pages:
        start, end = 0, len(lines)
        while start < min(end, _EDGE) and _DIGITS.sub("#", lines[start]) in repeated:
            start += 1
        while end > max(start, len(lines) - _EDGE) and _DIGITS.sub("#", lines[end - 1]) in repeated:
            end -= 1
        yield lines[start:end]


def _stripped(lines: list[str]) -> list[str]:
    filled = [number for number, line in enumerate(lines) if line]
    return lines[filled[0] : filled[-1] + 1] if filled else []


def _edge_lines(lines: Sequence[str]) -> list[str]:
    return [*lines[:_EDGE], *lines[-_EDGE:]]


def _paragraphs(lines: Sequence[str]) -> Iterator[str]:
    """Lines are joined until one is empty, or ends a sentence well before the margin."""
    width = sorted(map(len, lines))[int(len(lines) * 0.8)] if lines else 0
    current: list[str] = []
    for line in lines:
        if not line:
            if current:
                yield "".join(current)
            current = []
            continue
        if current and _BROKEN_WORD.fullmatch(current[-1][-2:]) and line[:1].islower():
            current[-1] = current[-1][:-1]
        elif current:
            current.append(" ")
        current.append(line)
        if line.endswith(_ENDS) and len(line) < width * 0.75:
            yield "".join(current)
            current = []
    if current:
        yield "".join(current)
