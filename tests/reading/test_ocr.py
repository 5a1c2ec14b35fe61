"""Scans: pages without text and pictures are recognised where the extra is installed, and said to be."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from wellread.errors import ReadError, Scanned
from wellread.reading import ocr, registry
from wellread.reading.allowance import OWN_FILE, WEB_PAGE
from wellread.reading.pdf import read_pdf
from wellread.reading.pdfpicture import Drawing, draw
from wellread.reading.registry import Document
from wellread.text.places import name, place
from wellread.text.split import Splitting, passages
from wellread.types import Hit

Image = pytest.importorskip("PIL.Image")
SAID = ("The harbour of Vell", "was opened in 1911 by Ada Brandt.")


def scan(kind: str = "PDF") -> bytes:
    from PIL import ImageDraw, ImageFont

    picture = Image.new("RGB", (900, 500), "white")
    pen = ImageDraw.Draw(picture)
    for row, line in enumerate(SAID):
        pen.text((60, 60 + 60 * row), line, fill="black", font=ImageFont.load_default(30))
    out = BytesIO()
    picture.save(out, kind, **({"resolution": 150} if kind == "PDF" else {}))
    return out.getvalue()


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Recognises the same two lines in any picture, as rapidocr says it."""

    def recognised(pixels: Any, return_word_box: bool) -> Any:
        high, wide = pixels.shape[:2]
        rows = []
        for row, line in enumerate(SAID):
            words = line.split()
            step, top = wide / 2 / len(words), high * (0.2 + row / 10)
            boxes = [(step * n, top, step * n + step * 0.9, top + high / 20) for n in range(len(words))]
            rows.append([(w, 0.9, [[x, y], [r, y], [r, b], [x, b]]) for w, (x, y, r, b) in zip(words, boxes, strict=True)])
        return SimpleNamespace(txts=SAID, scores=(0.99, 0.98), word_results=rows)

    monkeypatch.setattr(ocr, "_engine", [recognised])


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


@pytest.mark.slow
@pytest.mark.skipif(not ocr.is_available(), reason="the extra ocr is not installed")
def test_scans_are_recognised_in_a_confined_process(tmp_path: Path) -> None:
    from wellread.reading.workers import Workers

    assert "picture" in registry.readers()
    workers = Workers(1)
    try:
        for document in (Document(scan(), "file:///x.pdf", name="x.pdf"), Document(scan("PNG"), "file:///x.png", name="x.png")):
            text = " ".join(block.text for block in workers.read(document).blocks)
            assert "opened in 1911 by Ada Brandt" in text
    finally:
        workers.close()
