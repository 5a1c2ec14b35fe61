"""OCR, character recognition: the lines of a picture and the places of their words, by rapidocr (extra `ocr`).

It runs in a reading process of its own (see `workers`), which loads the models before it is confined. Elsewhere `is_loaded` is
false, and whoever meets a scan says so instead.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from io import BytesIO
from typing import Any, cast

from wellread.core.processors import available_processors
from wellread.errors import ReadError, Scanned
from wellread.reading import pdfblocks, pdflines
from wellread.reading.allowance import OWN_FILE, Allowance
from wellread.reading.builder import titled
from wellread.reading.pdflines import Line
from wellread.types import RECOGNISED, Page

INCHES = 200 / 72  # pixels for a point: 200 dots an inch, at which print is read well
_MOST_PIXELS = 40_000_000
_MOST_PAGES = 200  # of a TIFF
_LEAST = 0.5  # confidence in a line
_TYPE = 0.75  # of the height of a line's box that its type has
_engine: list[Any] = []  # none, or the one of this process


@dataclass(frozen=True, slots=True)
class Word:
    """A word and its place, in pixels from the upper left corner."""

    text: str
    left: float
    top: float
    right: float
    bottom: float


@cache
def is_available() -> bool:
    return find_spec("rapidocr") is not None


def is_loaded() -> bool:
    return bool(_engine)


def load() -> None:
    """Read the models and try them: afterwards this process may open no file and start no thread."""
    drawing: Any = import_module("cv2")
    drawing.setNumThreads(0)
    import_module("PIL.Image").init()
    how = {"EngineConfig.onnxruntime.intra_op_num_threads": available_processors(), "Global.log_level": "critical"}
    _engine[:] = [import_module("rapidocr").RapidOCR(params=how)]
    numbers: Any = import_module("numpy")
    sample = numbers.full((240, 300, 3), 255, numbers.uint8)
    drawing.putText(sample, "Sample 12", (20, 120), drawing.FONT_HERSHEY_SIMPLEX, 1.2, (0, 0, 0), 2)
    words(sample)


def words(pixels: Any) -> list[tuple[str, list[Word]]]:
    """The lines of a picture (rows of pixels, three bytes each) from above, each with the places of its words, which may stand
    together where they do in the picture."""
    found: Any = _engine[0](pixels, return_word_box=True)
    if found.txts is None:
        return []
    return [
        (" ".join(text.split()), [_word(word, corners) for word, _, corners in line])
        for text, line, score in zip(found.txts, found.word_results, found.scores, strict=True)
        if score >= _LEAST and text.strip() and line
    ]


def _word(text: str, corners: Any) -> Word:
    across, down = zip(*((float(x), float(y)) for x, y in corners), strict=True)
    return Word(text, min(across), min(down), max(across), max(down))


def lines(pixels: Any, scale: float = INCHES) -> list[Line]:
    """The lines of a picture in reading order, as those of a PDF's page: in points from its lower left corner."""
    height = pixels.shape[0] / scale
    return pdflines.in_order([_line(text, row, scale, height) for text, row in words(pixels)])


def _line(text: str, row: list[Word], scale: float, height: float) -> Line:
    left, right = min(one.left for one in row) / scale, max(one.right for one in row) / scale
    bottom, size = sum(one.bottom for one in row) / len(row) / scale, sum(one.bottom - one.top for one in row) / len(row) / scale
    y = height - bottom + size * (1 - _TYPE) / 2
    return Line(text, left, right, y, round(size * _TYPE, 1), RECOGNISED, last_y=y, reach=right)


def read_picture(body: bytes, url: str, name: str = "", allowance: Allowance = OWN_FILE) -> Page:
    """A picture of a page, or a TIFF of several; raises `ReadError`, and `Scanned` where this process cannot read it."""
    if not is_loaded():
        raise Scanned(url, "this is a picture: it needs character recognition (OCR), the extra wellread[ocr]")
    images, numbers = cast("Any", import_module("PIL.Image")), cast("Any", import_module("numpy"))
    images.MAX_IMAGE_PIXELS = _MOST_PIXELS
    pages: list[list[Line]] = []
    try:
        with images.open(BytesIO(body), formats=("PNG", "JPEG", "TIFF")) as picture:
            for number in range(min(getattr(picture, "n_frames", 1), _MOST_PAGES)):
                picture.seek(number)
                pages.append(lines(numbers.asarray(picture.convert("RGB"))[:, :, ::-1]))
    except (OSError, ValueError, SyntaxError, images.DecompressionBombError) as error:
        raise ReadError(url, "the picture is broken, or too large") from error
    made = pdfblocks.blocks(pages, pdfblocks.headings(pages, [], pdfblocks.body_size(pages)))
    found = tuple(replace(one, anchor=RECOGNISED) for one in made)
    if not found:
        raise ReadError(url, "no text was recognised in the picture")
    return titled("picture", found, url, name)
