"""A page of a PDF as a picture, and where some words stand on it.

Words were mended while the document was read (ligatures, accents, hyphens, blanks), so letters are compared and nothing else.
"""

from __future__ import annotations

import ctypes
import struct
import unicodedata
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from wellread.errors import ReadError
from wellread.reading import ocr

if TYPE_CHECKING:
    import pypdfium2

Box = tuple[int, int, int, int]  # left, top, width, height in pixels of the picture
_WIDTH = 1400  # pixels of a page; enough to be read on a wide screen
_PIXELS = 4_000_000  # … of one that is very long
_HIGHEST = 20_000  # pixels; of a page that is a mere line
_CHARACTERS = 200_000  # of a page that are looked at
_BOXES = 400
_CONTEXT = 40  # letters before the words that tell one place from another
_ENOUGH = 20  # letters of the words that must be found


@dataclass(frozen=True, slots=True)
class Drawing:
    """A request for a page of a PDF as a picture, and for words that stand on it after others."""

    page: int  # counted from 1
    words: str = ""
    before: str = ""
    painted: bool = False  # False: only the places of the words


@dataclass(frozen=True, slots=True)
class Picture:
    """A page's size in pixels, the places of the words, and the page as PNG where that was wanted."""

    width: int
    height: int
    pages: int  # of the whole document
    boxes: tuple[Box, ...] = ()
    png: bytes = b""
    scanned: bool = False  # the page has no text in which words could be found


def draw(body: bytes, url: str, wanted: Drawing) -> Picture:
    """Blocking, and for a process of its own: raises `ReadError`."""
    import pypdfium2

    from wellread.reading.pdf import alone

    with alone(body, url) as document:
        count = len(document)
        if not 1 <= wanted.page <= count:
            raise ReadError(url, f"it has no page {wanted.page}")
        try:
            page = document[wanted.page - 1]
        except pypdfium2.PdfiumError as error:
            raise ReadError(url, f"page {wanted.page} is broken") from error
        width, height = _size(*page.get_size())
        boxes, scanned = _boxes(page, wanted, width, height) if wanted.words else ((), False)
        png = _png(page, width, height) if wanted.painted else b""
        return Picture(width, height, count, boxes, png, scanned)


def _size(width: float, height: float) -> tuple[int, int]:
    """The page's proportions, within what a picture may have."""
    width, height = max(width, 1.0), max(height, 1.0)
    scale = min(_WIDTH / width, (_PIXELS / (width * height)) ** 0.5)
    return max(round(width * scale), 1), min(max(round(height * scale), 1), _HIGHEST)


def _png(page: pypdfium2.PdfPage, width: int, height: int) -> bytes:
    pdfium, raw = (cast("Any", import_module(name)) for name in ("pypdfium2", "pypdfium2.raw"))
    bitmap = pdfium.PdfBitmap.new_native(width, height, raw.FPDFBitmap_BGR)
    bitmap.fill_rect((255, 255, 255, 255), 0, 0, width, height)
    raw.FPDF_RenderPageBitmap(bitmap, page, 0, 0, width, height, 0, raw.FPDF_ANNOT | raw.FPDF_REVERSE_BYTE_ORDER)
    pixels = bytes(bitmap.buffer)
    rows = b"".join(b"\0" + pixels[start : start + 3 * width] for start in range(0, len(pixels), 3 * width))
    head = struct.pack("!2I5B", width, height, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows, 6)), (b"IEND", b""))
    chunks = (struct.pack("!I", len(data)) + name + data + struct.pack("!I", zlib.crc32(name + data)) for name, data in parts)
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def _boxes(page: pypdfium2.PdfPage, wanted: Drawing, width: int, height: int) -> tuple[tuple[Box, ...], bool]:
    """The places of the words, of its text or as they are recognised, and whether it has none that could be looked at."""
    from wellread.reading.pdf import rendered

    raw: Any = import_module("pypdfium2.raw")
    text: Any = page.get_textpage()
    count = min(text.count_chars(), _CHARACTERS)
    if not count and not ocr.is_loaded():
        return (), True
    pixels = None if count else rendered(page)
    scale = 1.0 if pixels is None else width / pixels.shape[1]
    words = [] if pixels is None else [word for line in ocr.lines(pixels) for word in line.words]
    letters, places = _letters([word.text for word in words] or [chr(raw.FPDFText_GetUnicode(text, n)) for n in range(count)])
    start, end = found_in(letters, plain(wanted.words), plain(wanted.before)[-_CONTEXT:])
    merged: list[Box] = []
    for place in dict.fromkeys(places[start:end]):
        if words:
            word = words[place]
            _add(merged, *(round(scale * edge) for edge in (word.left, word.top, word.right, word.bottom)))
        else:
            left, bottom, right, top = text.get_charbox(place)
            _add(merged, *_pixel(raw, page, width, height, left, top), *_pixel(raw, page, width, height, right, bottom))
    return tuple(merged[:_BOXES]), False


def _pixel(raw: Any, page: pypdfium2.PdfPage, width: int, height: int, x: float, y: float) -> tuple[int, int]:
    """A point of the page on its picture; PDFium knows how the page is turned and cut."""
    across, down = ctypes.c_int(), ctypes.c_int()
    raw.FPDF_PageToDevice(page, 0, 0, width, height, 0, x, y, across, down)
    return across.value, down.value


def _add(merged: list[Box], left: int, top: int, right: int, bottom: int) -> None:
    """A letter, by two of its corners, joins the one before it where they stand on one line."""
    x, y, width, height = min(left, right), min(top, bottom), max(abs(right - left), 1), max(abs(bottom - top), 1)
    if merged:
        left, top, wide, high = merged[-1]
        tall = max(high, height)
        level = min(top + high, y + height) - max(top, y) > -tall / 2
        if level and -tall <= x - (left + wide) <= 2 * tall and x >= left:
            above = min(top, y)
            merged[-1] = (left, above, max(left + wide, x + width) - left, max(top + high, y + height) - above)
            return
    merged.append((x, y, width, height))


def plain(text: str) -> str:
    """Letters and digits alone, without case and accents."""
    return _letters(text)[0]


def _letters(characters: Sequence[str]) -> tuple[str, list[int]]:
    """The same, and from which character each of them came."""
    letters: list[str] = []
    places: list[int] = []
    for place, character in enumerate(characters):
        for letter in unicodedata.normalize("NFKD", character).casefold():
            if letter.isalnum():
                letters.append(letter)
                places.append(place)
    return "".join(letters), places


def found_in(letters: str, words: str, before: str) -> tuple[int, int]:
    """From where to where the words go: after what stands before them, else anywhere, else as many as the page has of them."""
    if not words:
        return 0, 0
    with_context = letters.find(before + words)
    start = with_context + len(before) if with_context >= 0 else letters.find(words)
    if start >= 0:
        return start, start + len(words)
    least, most = 0, len(words)  # words that go on overleaf: their beginning
    while least < most:
        middle = (least + most + 1) // 2
        least, most = (middle, most) if words[:middle] in letters else (least, middle - 1)
    start = letters.find(words[:least])
    return (start, start + least) if least >= min(_ENOUGH, len(words)) else (0, 0)
