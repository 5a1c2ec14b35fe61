"""Scans: pages without text and pictures are recognised where the extra is installed, and said to be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.reading.test_pdf import JOINED, pdf, prose

from wellread.errors import ReadError, Scanned
from wellread.reading import ocr, registry
from wellread.reading.allowance import OWN_FILE, WEB_PAGE
from wellread.reading.ocr import Word
from wellread.reading.pdf import read_pdf
from wellread.reading.pdfpicture import Drawing, draw
from wellread.text.places import name, place
from wellread.text.split import Splitting, passages
from wellread.types import Document, Hit

Image = pytest.importorskip("PIL.Image")
SAID = ("The harbour of Vell", "was opened in 1911 by Ada Brandt.")


def sheet() -> Any:
    from PIL import ImageDraw, ImageFont

    picture = Image.new("RGB", (900, 500), "white")
    pen = ImageDraw.Draw(picture)
    for row, line in enumerate(SAID):
        pen.text((60, 60 + 60 * row), line, fill="black", font=ImageFont.load_default(30))
    return picture


def saved(picture: Any, kind: str, **how: Any) -> bytes:
    out = BytesIO()
    picture.save(out, kind, **how)
    return out.getvalue()


def scan(kind: str = "PDF") -> bytes:
    return saved(sheet(), kind, **({"resolution": 150} if kind == "PDF" else {}))


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Recognises the same two lines in any picture, as rapidocr says it, and keeps what it has seen."""
    seen: list[Any] = []

    def recognised(pixels: Any, return_word_box: bool) -> Any:
        seen.append(pixels)
        high, wide = pixels.shape[:2]
        rows = []
        for row, line in enumerate(SAID):
            words = line.split()
            step, top = wide / 2 / len(words), high * (0.2 + row / 10)
            boxes = [(step * n, top, step * n + step * 0.9, top + high / 20) for n in range(len(words))]
            rows.append([(w, 0.9, [[x, y], [r, y], [r, b], [x, b]]) for w, (x, y, r, b) in zip(words, boxes, strict=True)])
        return SimpleNamespace(txts=SAID, scores=(0.99, 0.98), word_results=rows)

    monkeypatch.setattr(ocr, "_engine", [recognised])
    return seen


def test_without_recognition_a_scan_is_said_to_be_one() -> None:
    with pytest.raises(Scanned, match=r"wellread\[ocr\]"):
        read_pdf(scan(), "file:///scan.pdf")
    with pytest.raises(Scanned, match=r"wellread\[ocr\]"):
        ocr.read_picture(scan("PNG"), "file:///scan.png")
    assert draw(scan(), "x", Drawing(1, "Ada Brandt")).scanned
    assert OWN_FILE.scans
    assert not WEB_PAGE.scans  # nobody recognises the pages of strangers


@pytest.mark.usefixtures("engine")
def test_a_recognised_page_says_so_at_its_place() -> None:
    page = read_pdf(scan(), "file:///scan.pdf")
    assert page.scanned == 0
    assert page.notice is None
    (passage,) = passages(page, "scan.pdf", Splitting())
    assert "was opened in 1911 by Ada Brandt." in passage.text
    assert (passage.page, passage.anchor) == (1, "ocr")
    assert name(passage) == "scan.pdf, page 1, read by OCR"
    assert place(Hit.of(passage, 1.0)).endswith("read by OCR")


@pytest.mark.usefixtures("engine")
def test_words_of_a_scan_have_their_places() -> None:
    drawn = draw(scan(), "x", Drawing(1, "opened in 1911", "was"))
    assert not drawn.scanned
    ((left, top, width, height),) = drawn.boxes
    step = drawn.width / 2 / 7
    assert left == pytest.approx(step, abs=2)
    assert width == pytest.approx(step * 2.9, abs=3)
    assert (top, height) == (pytest.approx(drawn.height * 0.3, abs=2), pytest.approx(drawn.height / 20, abs=2))


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
def test_pictures_are_read(kind: str) -> None:
    page = ocr.read_picture(scan(kind), "file:///scan", "scan")
    assert "Ada Brandt" in " ".join(block.text for block in page.blocks)
    assert {block.anchor for block in page.blocks} == {"ocr"}
    with pytest.raises(ReadError, match="broken"):
        ocr.read_picture(scan(kind)[:200], "file:///scan")


KINDS: dict[str, Callable[[Any], bytes]] = {
    "fax": lambda page: saved(page.convert("1"), "TIFF", compression="group4"),
    "grey": lambda page: saved(page.convert("L"), "TIFF", compression="tiff_lzw"),
    "CMYK": lambda page: saved(page.convert("CMYK"), "TIFF", compression="tiff_deflate"),
    "16 bits": lambda page: saved(Image.fromarray(np.asarray(page.convert("L")).astype(np.uint16) * 128), "TIFF"),
    "palette": lambda page: saved(page.convert("P"), "PNG"),
    "transparent": lambda page: saved(_only_ink(page), "PNG"),
    "camera on its side": lambda page: saved(page.rotate(90, expand=True), "JPEG", exif=_held(6)),
    "TIFF on its side": lambda page: saved(page.rotate(90, expand=True), "TIFF", exif=_held(6)),
}


def _only_ink(page: Any) -> Any:
    ink = Image.new("RGBA", page.size, (0, 0, 0, 0))
    ink.putalpha(Image.fromarray(255 - np.asarray(page.convert("L"))))
    return ink


def _held(how: int) -> Any:
    told = Image.Exif()
    told[274] = how
    return told


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_picture_is_black_on_white_and_upright(engine: list[Any], kind: str) -> None:
    page = ocr.read_picture(KINDS[kind](sheet()), "file:///scan", "scan")
    assert {block.anchor for block in page.blocks} == {"ocr"}
    (pixels,) = engine
    plain = np.asarray(sheet().convert("RGB"))
    assert pixels.shape == plain.shape
    assert np.abs(pixels.astype(int) - plain).mean() < 4


def test_every_page_of_a_tiff_is_read(engine: list[Any]) -> None:
    pages = [sheet().convert("1"), sheet().convert("CMYK").resize((450, 250)), sheet().convert("L")]
    body = saved(pages[0], "TIFF", save_all=True, append_images=pages[1:])
    page = ocr.read_picture(body, "file:///fax.tif", "fax")
    assert [pixels.shape[:2] for pixels in engine] == [(500, 900), (250, 450), (500, 900)]
    assert {block.page for block in page.blocks} == {1, 2, 3}
    for broken in (body[:300], body[: len(body) // 2], body[:8] + bytes(len(body) - 8)):
        with pytest.raises(ReadError, match="broken"):
            ocr.read_picture(broken, "file:///fax.tif")


@pytest.mark.usefixtures("engine")
def test_a_pdf_may_have_pages_with_text_and_pages_that_are_pictures() -> None:
    page = read_pdf(pdf(prose(700), [], prose(600), picture=True), "file:///both.pdf")
    anchors = {block.page: (block.text, block.anchor) for block in page.blocks}
    assert anchors[1] == anchors[3] == (JOINED, "")
    assert "Ada Brandt" in anchors[2][0]
    assert anchors[2][1] == "ocr"
    assert (page.scanned, page.notice) == (0, None)


def columns(slope: float = 0.0) -> list[tuple[str, list[Word]]]:
    """A heading over two columns of eight lines, from above, as they are recognised."""

    def row(text: str, left: float, top: float) -> tuple[str, list[Word]]:
        words = [Word(word, left + 100 * n, top, left + 100 * n + 80, top + 40) for n, word in enumerate(text.split())]
        return text, [turned(word) for word in words]

    def turned(word: Word) -> Word:
        down = slope * word.left
        return replace(
            word,
            left=word.left - slope * word.top,
            right=word.right - slope * word.top,
            top=word.top + down,
            bottom=word.bottom + down,
        )

    rows = [row("A heading that goes across both of the columns", 300, 100)]
    for n in range(8):
        rows += [row(f"left{n} has five words here", 100, 200 + 60 * n), row(f"right{n} has five words here", 700, 200 + 60 * n)]
    return rows


@pytest.mark.parametrize("slope", [0.0, 0.08, -0.08])
def test_columns_are_read_one_after_the_other_however_the_page_lies(slope: float) -> None:
    texts = [line.text.split()[0] for line in ocr.arranged(columns(slope), 1000)]
    assert texts == ["A", *(f"left{n}" for n in range(8)), *(f"right{n}" for n in range(8))]


def test_words_that_go_over_lines_of_a_column_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = columns(0.05)

    def recognised(pixels: Any) -> Any:
        return rows

    monkeypatch.setattr(ocr, "_engine", [None])
    monkeypatch.setattr(ocr, "words", recognised)
    drawn = draw(scan(), "x", Drawing(1, "words here left3 has five words here left4 has", "left2 has five"))
    scale = drawn.width / 1200  # of the page that is recognised, at 200 dots an inch
    texts = {word.text: word for _, row in rows for word in row}
    assert len(drawn.boxes) == 3, "one on each line"
    assert [box[1] for box in drawn.boxes[1:]] == [pytest.approx(texts[name].top * scale, abs=2) for name in ("left3", "left4")]


def test_a_line_over_both_columns_that_was_recognised_as_one_is_parted() -> None:
    rows = columns()
    (left, first), (right, second) = rows[5:7]
    joined = ocr.arranged([*rows[:5], (f"{left} {right}", first + second), *rows[7:]], 1000)
    assert [line.text for line in joined] == [line.text for line in ocr.arranged(rows, 1000)]


@pytest.mark.slow
@pytest.mark.skipif(not ocr.is_available(), reason="the extra ocr is not installed")
def test_scans_are_recognised_in_a_confined_process(tmp_path: Path) -> None:
    from wellread.reading.workers import Workers

    assert "picture" in registry.readers()
    workers = Workers(1)
    try:
        bodies = {"x.pdf": scan(), "x.png": scan("PNG")}
        bodies |= {f"{kind}.tif": KINDS[kind](sheet()) for kind in ("fax", "CMYK", "16 bits")}
        for document in (Document(body, f"file:///{name}", name=name) for name, body in bodies.items()):
            text = " ".join(block.text for block in workers.read(document).blocks)
            assert "opened in 1911 by Ada Brandt" in text
    finally:
        workers.close()
