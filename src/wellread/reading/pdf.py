"""PDF parsing: the text of a PDF with its structure.

lines of each page (pdflines) → margins and contents out → headings → blocks (pdfblocks)
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from wellread.errors import ReadError, Scanned
from wellread.reading import ocr, pdfblocks, pdflines
from wellread.reading.allowance import OWN_FILE, Allowance
from wellread.reading.pdfblocks import Entry, headings, without_margins
from wellread.reading.pdflines import Line
from wellread.text.dates import iso_date
from wellread.types import RECOGNISED, Page

if TYPE_CHECKING:
    import pypdfium2

_PDFIUM = threading.Lock()  # the library is not safe in several threads at once
_LOOKING = 0.75  # of the time, for which pages were scanned
_MAX_OBJECTS = 1_000  # of a page that are looked at for that
_MOST_PIXELS = 20_000_000  # of a page that is recognised
_NO_TITLE = re.compile(r"untitled.*|microsoft word - .*|.*\.(?:docx?|tex|dvi|ps|indd|qxd|pdf|fm|rtf|odt)|\W*", re.IGNORECASE)
_LONGEST_TITLE = 150


def read_pdf(body: bytes, url: str, name: str = "", allowance: Allowance = OWN_FILE) -> Page:
    """Blocking; raises `ReadError` for what is locked, broken, or only pictures."""
    with alone(body, url) as document:
        reading, looking = allowance.deadline(), allowance.deadline(_LOOKING)
        tell = cast("Any", document).get_metadata_value
        said, author, created = (_told(tell, key) for key in ("Title", "Author", "CreationDate"))
        count = len(document)
        read = list(_pages(document, reading, allowance.characters))
        outline = _outline(document)
        empty = [number for number, lines in enumerate(read) if not lines]
        pictures = _pictures(document, empty, looking)
        recognised: set[int] = set()
        for number in pictures if ocr.is_loaded() else ():
            if time.monotonic() > looking:
                break
            read[number - 1] = _recognised(document, number - 1)
            recognised.add(number)
    inner = without_margins(read)
    pages = list(map(pdflines.with_whole_cells, inner if any(inner) else read))  # all pages may say the same
    title = _title(said, read)
    body_size = pdfblocks.body_size(pages)
    blocks = pdfblocks.blocks(pages, headings(pages, outline, body_size))
    blocks = [block for block in blocks if not (block.kind == "heading" and block.text == title and block.page == 1)]
    if not blocks:
        raise Scanned(url, "the PDF has no text, only pictures: it needs character recognition (OCR), the extra wellread[ocr]")
    return Page(
        url=url,
        title=title,
        passages=(),
        published=iso_date(created.removeprefix("D:")[:8]),
        author=author or None,
        kind="pdf",
        notice=_notice(len(read), count, [number for number in pictures if number not in recognised]),
        blocks=tuple(replace(one, anchor=RECOGNISED) if one.page in recognised else one for one in blocks),
        scanned=len(pictures) - len(recognised),
    )


@contextmanager
def alone(body: bytes, url: str) -> Generator[pypdfium2.PdfDocument]:
    """An open document; no other thread has one at that time."""
    import pypdfium2

    with _PDFIUM:
        try:
            document = pypdfium2.PdfDocument(body)
        except pypdfium2.PdfiumError as error:
            locked = "password" in str(error).lower()
            raise ReadError(url, "the PDF is locked with a password" if locked else "the PDF is broken") from error
        try:
            yield document
        finally:
            document.close()


def _told(tell: Callable[..., str], *of: str) -> str:
    """Metadata of the document; nothing where that is no text."""
    try:
        return " ".join(pdflines.mended(tell(*of)).split())
    except ValueError:  # halves of characters
        return ""


def _pages(document: pypdfium2.PdfDocument, deadline: float, characters: int) -> Iterator[list[Line]]:
    """Ends before the time is up, so that what was read by then is not lost."""
    import pypdfium2

    left = characters + 1  # one more shows that there is more
    for number in range(len(document)):
        if left <= 0 or time.monotonic() > deadline:
            return
        try:
            page = document[number]
            found = pdflines.lines(page.get_textpage(), left)
            page.close()
        except pypdfium2.PdfiumError:
            found = []  # one broken page is no reason to lose the others
        left -= sum(len(line.text) for line in found)
        yield found


def _recognised(document: pypdfium2.PdfDocument, number: int) -> list[Line]:
    """The lines of a scanned page."""
    page = document[number]
    try:
        return [*ocr.lines(rendered(page))]
    finally:
        page.close()


def rendered(page: pypdfium2.PdfPage) -> Any:
    """A page as pixels, as fine as recognition wants it."""
    width, height = page.get_size()
    return cast("Any", page).render(scale=min(ocr.INCHES, (_MOST_PIXELS / max(width * height, 1.0)) ** 0.5)).to_numpy()


def _outline(document: pypdfium2.PdfDocument) -> list[Entry]:
    """The outline (bookmarks) of the document; nothing where that is broken."""
    import pypdfium2

    found: list[Entry] = []
    try:
        for entry in cast("Any", document).get_toc(max_depth=6):
            target = entry.get_dest()
            if target is None:
                continue
            page = target.get_index()
            title = _told(entry.get_title)[:_LONGEST_TITLE]
            if title and page is not None:
                mode, values = target.get_view()  # (1, [x, y, zoom]) and (3, [y]) name a height
                place = values[1:2] if mode == 1 else values[:1] if mode == 3 else ()
                found.append(Entry(title, entry.level + 1, page, float(place[0]) if place else None))
    except (pypdfium2.PdfiumError, ValueError):
        return []
    return found


def _pictures(document: pypdfium2.PdfDocument, empty: Sequence[int], deadline: float) -> list[int]:
    """The pages without text that show a picture: they were scanned. What takes long is not looked for."""
    import pypdfium2
    import pypdfium2.raw as raw

    found: list[int] = []
    for number in empty:
        if time.monotonic() > deadline:
            break
        try:
            shown = islice(cast("Any", document[number]).get_objects(max_depth=2), _MAX_OBJECTS)
            if any(one.type == raw.FPDF_PAGEOBJ_IMAGE for one in shown):
                found.append(number + 1)
        except pypdfium2.PdfiumError:
            continue
    return found


def _notice(read: int, count: int, pictures: Sequence[int]) -> str | None:
    parts: list[str] = []
    if read < count:
        parts.append(f"only the first {read:,} of its {count:,} pages were read")
    if pictures:
        which = ", ".join(map(str, pictures[:5])) + (f" and {len(pictures) - 5} more" if len(pictures) > 5 else "")
        parts.append(f"scanned pages without text: {which}")
    return "; ".join(parts) or None


def _title(said: str, pages: Sequence[Sequence[Line]]) -> str:
    """The title: as the document says, where it says one; else the largest type of its first page."""
    if not _NO_TITLE.fullmatch(said) and len(said) <= _LONGEST_TITLE:
        return said
    first = next((page for page in pages if page), ())
    largest = max((line.size for line in first if any(map(str.isalpha, line.text))), default=0.0)
    lines: list[str] = []
    for line in first:
        if line.size >= largest - 0.2:
            lines.append(line.text)
        elif lines:
            break
    title = " ".join(lines)
    return title if 0 < len(title) <= _LONGEST_TITLE else ""
