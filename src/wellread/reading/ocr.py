"""OCR, character recognition: the lines of a picture and the places of their words, by rapidocr (extra `ocr`).

It runs in a reading process of its own (see `workers`), which loads the models before it is confined. Elsewhere `is_loaded` is
false, and whoever meets a scan says so instead.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from io import BytesIO
from itertools import pairwise
from statistics import median
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
_ORIENTATION, _TURNED = 274, {3: 180, 6: 270, 8: 90}  # of EXIF: how a camera was held, and what puts its picture upright
_ENOUGH = 4  # words of a line that tells how a page lies
_GAP = 0.8  # times the height of a line: columns are as far apart, and words may be
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


@dataclass(frozen=True, slots=True)
class Row(Line):
    """A line of a page that was levelled, with its words where they stand in the picture."""

    words: tuple[Word, ...] = ()
    aside: float = 0.0  # pixels by which it was moved

    def has(self, word: Word) -> bool:
        """Whether a word is in this part of what was recognised as one line."""
        return self.left <= ((word.left + word.right) / 2 + self.aside) / INCHES <= self.right


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


def lines(pixels: Any) -> list[Row]:
    """The lines of a picture in reading order."""
    return arranged(words(pixels), pixels.shape[0])


def arranged(found: list[tuple[str, list[Word]]], height: int) -> list[Row]:
    """Lines in reading order, as those of a PDF's page: in points from its lower left corner; and level, however the page lay."""
    ends = [(row[0], row[-1]) for _, row in found if len(row) >= _ENOUGH]
    slopes = [(last.top + last.bottom - first.top - first.bottom) / 2 / max(1.0, last.left - first.left) for first, last in ends]
    slope = median(slopes) if slopes else 0.0  # how far the lines of a page go down for each pixel to the right
    level = sorted((_row(text, row, height, slope) for text, row in found), key=lambda line: -line.y)
    ordered = pdflines.by_columns([line for together in _from_above(level) for line in together], pdflines.PROSE)
    return [replace(line, cells=(), gap=(0.0, 0.0), words=tuple(filter(line.has, line.words))) for line in ordered]


def _from_above(level: list[Row]) -> Iterator[list[Row]]:
    """Lines of one height together and from the left."""
    together: list[Row] = []
    for line in level:
        if together and line.y < together[0].y - together[0].size / 2:
            yield sorted(together, key=lambda one: one.left)
            together = []
        together.append(line)
    yield sorted(together, key=lambda one: one.left)


def _row(text: str, row: list[Word], height: int, slope: float) -> Row:
    left, right = min(one.left for one in row), max(one.right for one in row)
    bottom, size = sum(one.bottom for one in row) / len(row), sum(one.bottom - one.top for one in row) / len(row)
    aside, y = bottom * slope, (height - bottom + (left + right) / 2 * slope + size * (1 - _TYPE) / 2) / INCHES
    cells, ends = _cells(text, row, size * _GAP)
    left, right, *gap = ((x + aside) / INCHES for x in (left, right, *ends))
    size = round(size / INCHES * _TYPE, 1)
    return Row(text, left, right, y, size, RECOGNISED, cells, y, reach=right, gap=(gap[0], gap[1]), words=tuple(row), aside=aside)


def _cells(text: str, row: list[Word], least: float) -> tuple[tuple[str, ...], tuple[float, float]]:
    """A line that may go over two columns: its parts on both sides of the widest gap, and where that is."""
    wide, place = max(
        ((after.left - before.right, place) for place, (before, after) in enumerate(pairwise(row), 1)), default=(0.0, 0)
    )
    letters = [at for at, letter in enumerate(text) if not letter.isspace()]
    before = sum(len("".join(word.text.split())) for word in row[:place])
    if wide < least or before >= len(letters):
        return (), (0.0, 0.0)
    at = letters[before]
    return (text[:at].rstrip(), text[at:]), (row[place - 1].right, row[place].left)


def _pixels(picture: Any) -> Any:
    """A picture as it is recognised: upright, on white paper, eight bits a colour, blue first."""
    images, numbers = cast("Any", import_module("PIL.Image")), cast("Any", import_module("numpy"))
    picture.load()  # which turns a TIFF
    picture = picture.rotate(_TURNED.get(picture.getexif().get(_ORIENTATION), 0), expand=True)
    if picture.mode.startswith("I"):  # more bits, which converting would cut off
        deep = numbers.asarray(picture, "float64")
        picture = images.fromarray((deep * (255 / max(deep.max(), 1.0))).clip(0).astype("uint8"))
    if picture.has_transparency_data:
        paper = images.new("RGBA", picture.size, "white")
        paper.alpha_composite(picture.convert("RGBA"))
        picture = paper
    return numbers.asarray(picture.convert("RGB"))[:, :, ::-1]


def _frames(body: bytes, url: str) -> Iterator[Any]:
    images = cast("Any", import_module("PIL.Image"))
    images.MAX_IMAGE_PIXELS = _MOST_PIXELS
    try:
        with warnings.catch_warnings(action="ignore"), images.open(BytesIO(body), formats=("PNG", "JPEG", "TIFF")) as picture:
            for number in range(min(getattr(picture, "n_frames", 1), _MOST_PAGES)):
                picture.seek(number)
                yield _pixels(picture)
    except Exception as error:  # of many kinds: what its decoders meet
        raise ReadError(url, "the picture is broken, or too large") from error


def read_picture(body: bytes, url: str, name: str = "", allowance: Allowance = OWN_FILE) -> Page:
    """A picture of a page, or a TIFF of several; raises `ReadError`, and `Scanned` where this process cannot read it."""
    if not is_loaded():
        raise Scanned(url, "this is a picture: it needs character recognition (OCR), the extra wellread[ocr]")
    pages = [lines(pixels) for pixels in _frames(body, url)]
    made = pdfblocks.blocks(pages, pdfblocks.headings(pages, [], pdfblocks.body_size(pages)))
    found = tuple(replace(one, anchor=RECOGNISED) for one in made)
    if not found:
        raise ReadError(url, "no text was recognised in the picture")
    return titled("picture", found, url, name)
