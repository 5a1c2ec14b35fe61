"""Files of the other kinds, made here."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

import pytest
from tests.reading.given_bytes import read_bytes

from wellread.errors import ReadError
from wellread.reading import packed
from wellread.reading.documents import opened
from wellread.reading.kinds import kind_of
from wellread.reading.workers import shared

PROSE = "The keeper wrote down the wind and the cloud each evening before he went to bed, for eleven winters."


def archive(**members: str | bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, data in members.items():
            zipped.writestr(name, data)
    return buffer.getvalue()


def pdf(*pages: list[str], title: str = "") -> bytes:
    """A PDF with these lines on these pages, in Helvetica."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", ""]
    kids: list[str] = []
    for lines in pages:
        shown = " ".join(f"({line.replace('(', '').replace(')', '')}) Tj T*" for line in lines)
        stream = f"BT /F1 10 Tf 12 TL 50 780 Td {shown} ET"
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {len(objects)} 0 R "
            "/Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>"
        )
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
    objects.append(f"<< /Title ({title}) /Author (Ada Moor) /CreationDate (D:20210304050607Z) >>")
    body, places = "%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(body))
        body += f"{number} 0 obj\n{content}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    body += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
    body += f"trailer << /Size {len(objects) + 1} /Root 1 0 R /Info {len(objects)} 0 R >>\nstartxref\n{body.index('xref')}\n%%EOF"
    return body.encode("latin-1")


def test_pdf() -> None:
    pages = [
        [
            "The Lighthouse Papers",
            f"The keeper had two goats that were called {names} and lived with him in the light-",
            f"house, next to the ink. {names} were white.",
            f"They gave him milk for eleven winters in a row, said {names}, ex-",
            f"cept on Sundays, {names}.",
            f"Page {n} of 4",
        ]
        for n, names in enumerate(("Wind and Cloud", "Ink and Frost", "Rock and Roll", "Salt and Pepper"), 1)
    ]
    page = read_bytes(pdf(*pages, title="Papers"), "http://a.example/p.pdf", content_type="application/pdf")
    assert (page.title, page.author, page.published, page.kind) == ("Papers", "Ada Moor", "2021-03-04", "pdf")
    assert page.passages[:2] == (
        "The keeper had two goats that were called Wind and Cloud and lived with him in the lighthouse, next to the ink. "
        "Wind and Cloud were white.",
        "They gave him milk for eleven winters in a row, said Wind and Cloud, except on Sundays, Wind and Cloud.",
    )
    assert "The Lighthouse Papers" not in page.text
    assert "Page 2 of 4" not in page.text


def test_pdf_without_text() -> None:
    with pytest.raises(ReadError, match="only pictures"):
        read_bytes(pdf([]), "x", content_type="application/pdf")


def test_pdf_under_another_name() -> None:
    assert read_bytes(pdf([PROSE[:60]]), "x", content_type="text/html").kind == "pdf"


WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


_BOTH = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'


def docx(body: str, **more: str) -> bytes:
    xml = f'<?xml version="1.0"?><w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>'
    return archive(**{"[Content_Types].xml": "<Types/>", "word/document.xml": xml, **more})


def word(text: str, properties: str = "", run: str = "") -> str:
    return f"<w:p><w:pPr>{properties}</w:pPr><w:r><w:rPr>{run}</w:rPr><w:t>{text}</w:t></w:r></w:p>"


def test_docx() -> None:
    item = '<w:numPr><w:ilvl w:val="0"/></w:numPr>'
    cells = "".join(
        f"<w:tr>{''.join(f'<w:tc>{word(cell)}</w:tc>' for cell in row)}</w:tr>" for row in (("Year", "Storms"), ("1881", "14"))
    )
    body = (
        word("Weather", '<w:pStyle w:val="Heading2"/>') + word(PROSE) + word("wind", item) + word("cloud", item)
        + f"<w:tbl>{cells}</w:tbl>" + word("secret", run="<w:vanish/>")
        + "<w:p><w:del><w:r><w:delText>struck</w:delText></w:r></w:del><w:r><w:t>two</w:t><w:br/><w:t>lines</w:t></w:r></w:p>"
    )  # fmt: skip
    facts = (
        '<x xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:t="http://purl.org/dc/terms/"><dc:title>Papers</dc:title>'
        "<dc:creator>Ada Moor</dc:creator><t:created>2021-03-04T05:06:07Z</t:created></x>"
    )
    page = read_bytes(docx(body, **{"docProps/core.xml": facts}), "a.docx")
    assert page.passages == ("## Weather", PROSE, "- wind\n- cloud", "| Year | Storms |\n| 1881 | 14 |", "two\nlines")
    assert (page.title, page.author, page.published, page.kind) == ("Papers", "Ada Moor", "2021-03-04T05:06:07Z", "docx")


def test_a_box_in_a_paragraph_takes_nothing_from_it_and_is_read_once() -> None:
    box = f"<w:txbxContent>{word('In the box.')}</w:txbxContent>"
    both = f"<mc:AlternateContent {_BOTH}><mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback></mc:AlternateContent>"
    body = f"<w:p><w:r><w:t>Before the box </w:t></w:r><w:r>{both}</w:r><w:r><w:t>and after it.</w:t></w:r></w:p>"
    assert read_bytes(docx(body), "a.docx").passages == ("In the box.", "Before the box and after it.")


def test_what_was_moved_is_read_where_it_is_now() -> None:
    moved = "<w:p><w:{0}><w:r><w:t>Oil the lamp.</w:t></w:r></w:{0}></w:p>"
    body = moved.format("moveFrom") + word("Then sleep.") + moved.format("moveTo")
    assert read_bytes(docx(body), "a.docx").passages == ("Then sleep.", "Oil the lamp.")


def test_strict_documents_are_read() -> None:
    space = "http://purl.oclc.org/ooxml/wordprocessingml/main"
    strict = archive(**{"word/document.xml": f'<w:document xmlns:w="{space}"><w:body>{word("Oil.")}</w:body></w:document>'})
    assert read_bytes(strict, "a.docx").passages == ("Oil.",)


def epub(chapters: dict[str, str]) -> bytes:
    items = "".join(f'<item id="{n}" href="{name}" media-type="application/xhtml+xml"/>' for n, name in enumerate(chapters))
    spine = "".join(f'<itemref idref="{n}"/>' for n in range(len(chapters)))
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
        "<dc:title>Papers</dc:title><dc:language>en-GB</dc:language><dc:date>2021</dc:date></metadata>"
        f'<manifest>{items}<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/></manifest>'
        f'<spine><itemref idref="nav"/>{spine}</spine></package>'
    )
    container = '<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'
    return archive(
        mimetype="application/epub+zip",
        **{"META-INF/container.xml": container, "OEBPS/book.opf": package, "OEBPS/nav.xhtml": "<p>Contents</p>"},
        **{f"OEBPS/{name}": text for name, text in chapters.items()},
    )


def test_epub() -> None:
    chapters = {f"c {n}.xhtml": f"<html><body><h1>Chapter {n}</h1><p>{PROSE}</p></body></html>" for n in (1, 2)}
    page = read_bytes(epub(chapters), "a.epub")
    assert page.passages == ("# Chapter 1", PROSE, "# Chapter 2", PROSE)
    assert (page.title, page.language, page.published, page.kind) == ("Papers", "en", "2021", "epub")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (epub({}), "no text"),
        (archive(**{"[Content_Types].xml": "", "word/other.xml": "x"}), "not a Word document"),
        (docx("<w:p>").replace(b"PK\x05\x06", b"PK\x05\x07"), "broken"),
        (archive(**{"[Content_Types].xml": "", "word/document.xml": "<not><xml>"}), "broken"),
        (archive(other="x"), "an archive"),
    ],
)
def test_archives_that_are_not_what_they_seem(body: bytes, reason: str) -> None:
    with pytest.raises(ReadError, match=reason):
        read_bytes(body, "x")


def test_archives_that_unpack_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "MAX_UNPACKED", 1_000_000)
    with pytest.raises(ReadError, match="unpacks to more than"):
        read_bytes(docx("<w:p/>" * 1_000_000), "x")


def test_entities_are_not_expanded(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("swordfish")
    leads_out = f'<!DOCTYPE d [<!ENTITY x SYSTEM "{(tmp_path / "secret.txt").as_uri()}">]>'
    told = f'{leads_out}<w:document xmlns:w="{WORD}">{word("before &x; after")}</w:document>'
    page = read_bytes(archive(**{"[Content_Types].xml": "", "word/document.xml": told}), "x")
    assert "before" in page.text
    assert "swordfish" not in page.text
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    xml = f'<!DOCTYPE d [<!ENTITY l0 "ha">{laughs}]><w:document xmlns:w="{WORD}">{word("&l9; end")}</w:document>'
    body = archive(**{"[Content_Types].xml": "", "word/document.xml": xml})
    with pytest.raises(ReadError, match="broken"):
        read_bytes(body, "x")


def test_plain_text() -> None:
    lines = [
        "The keeper wrote down the wind and the cloud each evening",
        "before he went to bed, for eleven winters in a row,",
        "so.",
    ]
    text = "The Papers\r\n\r\n" + "\n".join(lines) + "\n\n\nRoses are red\nViolets are blue\n\n  indented\n  as it was"
    page = read_bytes(text.encode(), "a.txt")
    assert page.title == "The Papers"
    assert page.passages == (
        "The Papers",
        " ".join(lines),
        "Roses are red\nViolets are blue",
        "  indented\n  as it was",
    )


def test_markdown() -> None:
    text = (
        '---\ntitle: "Papers"\ndate: 2021-03-04\nauthor: Ada Moor\nlang: en\n---\n# The [Keeper](http://a.example/k)\n\n'
        f"{PROSE} <!-- a\n\nnote -->See ![a goat](goat.png).\n\n"
        "```python\nx = 1\n\n\ny = [2](3)\n```\n\n- one\n- two\n\n~~~\nopen"
    )
    page = read_bytes(text.encode(), "a.md")
    assert (page.title, page.published, page.author, page.language) == ("Papers", "2021-03-04", "Ada Moor", "en")
    assert page.passages == (
        "# The Keeper",
        f"{PROSE} See a goat.",
        "```\nx = 1\n\n\ny = [2](3)\n```",
        "- one\n- two",
        "```\nopen\n```",
    )


def test_formulas_of_markdown_stay_whole() -> None:
    text = r"It is $E = m_1 c^2\,$ or \(a_1*b_1*c\), where $\{x\}$ costs \$5 and *not* $6 or $7:" "\n\n$$x\\\\\ny\\,z$$"
    assert read_bytes(text.encode(), "a.md").passages == (
        r"It is $E = m_1 c^2\,$ or \(a_1*b_1*c\), where $\{x\}$ costs $5 and not $6 or $7:",
        "$$x\\\\\ny\\,z$$",
    )


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "keeper.md"
    path.write_text(PROSE)
    page = shared().read(opened(path))
    assert (page.title, page.url, page.kind) == ("keeper", path.as_uri(), "markdown")
    for name, reason in (("missing.txt", "No such file"), (".", "a folder")):
        with pytest.raises(ReadError, match=reason):
            opened(tmp_path / name)
    os.mkfifo(tmp_path / "pipe.txt")
    for special in (tmp_path / "pipe.txt", Path("/dev/zero")):
        with pytest.raises(ReadError, match="a pipe or a device"):
            opened(special)
    (tmp_path / "picture.gif").write_bytes(b"GIF89a" + bytes(range(256)) * 20)
    with pytest.raises(ReadError, match="no text we can read"):
        shared().read(opened(tmp_path / "picture.gif"))


@pytest.mark.parametrize(
    ("body", "content_type", "name", "kind"),
    [
        (b"<!doctype html><p>x", "", "", "html"),
        (b"plain words", "", "", "text"),
        (b"plain words", "text/plain", "README.md", "markdown"),
        (b"plain words", "application/octet-stream", "a.html", "html"),
        (b"{}", "application/json", "", "text"),
        (b"x", "application/x-unknown", "", None),
        (b"x", "application/pdf", "", None),
        (b"x", "", "a.pdf", None),
        (b"<html><p>x", "", "a.pdf", "html"),
        (b"<html><table>", "", "a.xls", "html"),
        (b"Part\tPrice\nfilter\t12", "", "a.xls", "csv"),
        (b"Part\tPrice\0\1\2\3\4", "", "a.xls", None),
        (b'<office:document xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0">', "", "a.fodt", "opendocument"),
        ("wörds".encode("utf-16"), "text/plain", "", "text"),
    ],
)
def test_kinds(body: bytes, content_type: str, name: str, kind: str | None) -> None:
    assert kind_of(body, content_type, name) == kind


def test_a_text_with_the_name_of_something_else_is_not_called_binary() -> None:
    with pytest.raises(ReadError, match="it is not what its name says"):
        read_bytes(b"Change the oil every year.", "file:///a.pdf", name="a.pdf")
    with pytest.raises(ReadError, match="binary data"):
        read_bytes(bytes(range(256)) * 20, "file:///a.pdf", name="a.pdf")


def test_what_a_page_says_about_itself_can_be_written() -> None:
    about = r'{"headline": "Half \ud800 a title", "author": {"name": "A\u0000nna \udfff"}, "datePublished": "2024-05-06"}'
    text = "<p>The harbour office keeps the books of the lighthouse, and anybody may read them who has clean hands.</p>"
    body = f'<html><script type="application/ld+json">{about}</script><body>{text * 3}</body></html>'
    page = read_bytes(body.encode(), "https://a.example/")
    assert (page.title, page.author) == ("Half \ufffd a title", "Anna \ufffd")


def test_no_part_of_a_page_moves_a_cursor() -> None:
    chapter = b'<chapter id="c&#x9b;5m"><title>One&#x9b;</title><para>They burn.&#x9b;</para></chapter>'
    page = read_bytes(b'<book lang="x&#x9b;"><title>Lamps</title>' + chapter + b"</book>", "file:///a.docbook", name="a.docbook")
    assert (page.language, {block.anchor for block in page.blocks}) == ("x", {"c5m"})
    assert [block.text for block in page.blocks] == ["One", "They burn."]
