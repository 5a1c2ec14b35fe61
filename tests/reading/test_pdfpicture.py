"""Pictures of pages, and where words stand on them: by their letters, as they were mended while reading."""

from __future__ import annotations

import asyncio
import zlib

import pytest
from tests.reading.test_pdf import PROSE, pdf, prose

from wellread.errors import ReadError
from wellread.reading.allowance import Allowance
from wellread.reading.pdfpicture import Drawing, draw, found_in, plain
from wellread.reading.workers import Workers
from wellread.types import Document

TWICE = pdf([(50, 780, 10, "F", "The oil burns."), (50, 700, 10, "F", "Below it the oil burns.")])


def test_words_are_found_by_their_letters() -> None:
    body = pdf([(50, 780, 10, "F", "It was bro-"), (50, 768, 10, "F", "ken, WELL: in a way - said he.")])
    (first, second) = draw(body, "file:///a.pdf", Drawing(1, "Bröken, well in a way")).boxes
    assert first[1] < second[1]
    assert first[0] > second[0]


def test_what_stands_before_tells_one_place_from_another() -> None:
    above = draw(TWICE, "file:///a.pdf", Drawing(1, "oil burns.")).boxes
    below = draw(TWICE, "file:///a.pdf", Drawing(1, "oil burns.", "Below it the ")).boxes
    assert len(above) == len(below) == 1
    assert above[0][1] < below[0][1]


def test_words_that_go_on_overleaf_are_marked_as_far_as_the_page_goes() -> None:
    letters = plain(" ".join(PROSE))
    assert found_in(letters, letters[10:] + "andonthenextpage", "") == (10, len(letters))
    assert found_in(letters, "nothing of this stands there", "") == (0, 0)
    assert found_in(letters, "", "") == (0, 0)


def test_a_picture_is_a_png_of_the_page() -> None:
    made = draw(pdf(prose(780), prose(780)), "file:///a.pdf", Drawing(2, painted=True))
    assert (made.width, made.height, made.pages) == (1400, 1981, 2)
    assert made.png.startswith(b"\x89PNG\r\n\x1a\n")
    at = made.png.index(b"IDAT")
    pixels = zlib.decompress(made.png[at + 4 : at + 4 + int.from_bytes(made.png[at - 4 : at], "big")])
    assert len(pixels) == 1981 * (1 + 3 * 1400)
    assert b"\xff\xff\xff" in pixels
    assert b"\x00\x00\x00" in pixels


@pytest.mark.parametrize(
    "size", ["[0 0 14400 14400]", "[0 0 14400 1]", "[0 0 1 14400]", "[0 0 1 100000000]", "[0 0 0 0]", "[900 900 -5 0]"]
)
def test_no_page_is_too_large_for_its_picture(size: str) -> None:
    body = pdf(prose(780)).replace(b"[0 0 595 842]", size.encode())
    made = draw(body, "file:///a.pdf", Drawing(1, PROSE[0], painted=True))
    assert made.width * made.height <= 4_100_000


@pytest.mark.anyio
async def test_a_child_draws_and_says_what_it_cannot() -> None:
    children = Workers(1)
    try:
        document = Document(TWICE, "file:///a.pdf")
        made = await children.adraw(document, Drawing(1, "oil burns.", "Below it the "))
        assert made == draw(TWICE, "file:///a.pdf", Drawing(1, "oil burns.", "Below it the "))
        for body, page in ((TWICE, 2), (TWICE, 0), (b"%PDF-1.4 broken", 1), (b"", 1)):
            with pytest.raises(ReadError):
                await children.adraw(Document(body, "file:///b.pdf"), Drawing(page, "x"))
    finally:
        children.close()


def tiled() -> bytes:
    """A page of tiles far smaller than what can be seen: minutes of painting in a few hundred bytes."""
    tile = b"0 0 1 1 re f"
    kind = b"/Type/Pattern/PatternType 1/PaintType 1/TilingType 1/BBox[0 0 1 1]/XStep 0.0001/YStep 0.0001/Resources<<>>"
    painted = b"/Pattern cs /P scn 0 0 600 800 re f"
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources<</Pattern<</P 5 0 R>>>>/Contents 4 0 R>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(painted), painted),
        b"<<%s/Length %d>>stream\n%s\nendstream" % (kind, len(tile), tile),
    ]
    body = b"".join(b"%d 0 obj\n%s\nendobj\n" % (number, one) for number, one in enumerate(objects, 1))
    return b"%PDF-1.4\n" + body + b"trailer<</Root 1 0 R/Size 6>>\n%%EOF"


@pytest.mark.anyio
@pytest.mark.slow
async def test_pictures_that_take_long_keep_no_document_waiting() -> None:
    children = Workers(2)
    try:
        wanted, some = Drawing(1, painted=True), Allowance(seconds=20)
        drawing = [asyncio.create_task(children.adraw(Document(tiled(), "x"), wanted, some)) for _ in range(8)]
        await asyncio.sleep(0.5)
        async with asyncio.timeout(15):
            for _ in range(3):
                await children.aread(Document(b"Some words of a text.", "y", name="a.txt"))
        assert not any(task.done() for task in drawing)
        for task in drawing:
            task.cancel()
        await asyncio.gather(*drawing, return_exceptions=True)
        with pytest.raises(ReadError, match="took longer than 1 s"):
            await children.adraw(Document(tiled(), "x"), wanted, Allowance(seconds=1))
    finally:
        children.close()
