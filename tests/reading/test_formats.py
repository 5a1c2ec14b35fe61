# ruff: noqa: E501  (files as programs write them)
"""Every format: a small real file, an empty one, a broken one, a huge one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from email.message import EmailMessage

import pytest
from tests.reading.given_bytes import read_bytes
from tests.reading.test_documents import archive, docx, word
from tests.reading.test_pdf import pdf, prose

from wellread.errors import ReadError
from wellread.reading import allowance, tables
from wellread.reading.allowance import Allowance
from wellread.reading.workers import Workers
from wellread.text.split import Splitting, pieces
from wellread.types import Document

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

OASIS = "urn:oasis:names:tc:opendocument:xmlns:"
SPACES = " ".join(
    f'xmlns:{name}="{OASIS}{name if name != "draw" else "drawing"}:1.0"'
    for name in ("office", "text", "table", "draw", "presentation")
)
A = "http://schemas.openxmlformats.org/drawingml/2006/main"
P = "http://schemas.openxmlformats.org/presentationml/2006/main"
X = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def odt(body: str) -> bytes:
    return archive(
        mimetype="application/vnd.oasis.opendocument.text",
        **{
            "content.xml": f"<office:document-content {SPACES}><office:body><office:text>{body}</office:text></office:body></office:document-content>"
        },
    )


def fodt(body: str) -> bytes:
    """As one file, with what others keep in parts of their own: facts, the head of a page, a picture."""
    said = '<office:meta><dc:title xmlns:dc="http://purl.org/dc/elements/1.1/">Of lamps</dc:title></office:meta>'
    styles = "<office:styles/><office:master-styles><text:p>page 1</text:p></office:master-styles>"
    picture = "<text:p><draw:image><office:binary-data>aGVsbG8=</office:binary-data></draw:image></text:p>"
    text = f"<office:body><office:text>{body}{picture}</office:text></office:body>"
    return f'<?xml version="1.0"?>\n<office:document {SPACES}>{said}{styles}{text}</office:document>'.encode()


def odp(body: str) -> bytes:
    content = f"<office:document-content {SPACES}><office:presentation>{body}</office:presentation></office:document-content>"
    return archive(mimetype="application/vnd.oasis.opendocument.presentation", **{"content.xml": content})


def pptx(*slides: str) -> bytes:
    members = {
        f"ppt/slides/slide{n}.xml": f'<p:sld xmlns:p="{P}" xmlns:a="{A}">{slide}</p:sld>' for n, slide in enumerate(slides, 1)
    }
    return archive(**{"[Content_Types].xml": "<Types/>", **members})


def shape(words: str, kind: str = "") -> str:
    return f'<p:sp><p:nvSpPr><p:nvPr><p:ph type="{kind}"/></p:nvPr></p:nvSpPr><p:txBody><a:p><a:r><a:t>{words}</a:t></a:r></a:p></p:txBody></p:sp>'


def workbook(names: Sequence[str], *sheets: str) -> bytes:
    """One with sheets as they are given."""
    relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    named = "".join(f'<sheet name="{name}" sheetId="{n}" r:id="r{n}"/>' for n, name in enumerate(names, 1))
    related = "".join(
        f'<Relationship Id="r{n}" Type="{relations}/worksheet" Target="worksheets/sheet{n}.xml"/>'
        for n in range(1, len(names) + 1)
    )
    return archive(
        **{
            "[Content_Types].xml": f'<Types xmlns="{package}/content-types"/>',
            "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" Type="{relations}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
            "xl/workbook.xml": f'<workbook xmlns="{X}" xmlns:r="{relations}"><sheets>{named}</sheets></workbook>',
            "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships">{related}</Relationships>',
            **{
                f"xl/worksheets/sheet{n}.xml": f'<worksheet xmlns="{X}"><sheetData>{rows}</sheetData></worksheet>'
                for n, rows in enumerate(sheets, 1)
            },
        }
    )


def xlsx(*rows: tuple[str | int, ...], sheets: int = 1) -> bytes:
    def cell(value: str | int) -> str:
        return f"<c><v>{value}</v></c>" if isinstance(value, int) else f'<c t="inlineStr"><is><t>{value}</t></is></c>'

    sheet = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
    named = "".join(
        f'<sheet name="Lamps{n or ""}" sheetId="{n + 1}" r:id="r1"/>' for n in range(sheets)
    )  # all of them the same one
    relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    return archive(
        **{
            "[Content_Types].xml": f'<Types xmlns="{package}/content-types"/>',
            "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" Type="{relations}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
            "xl/workbook.xml": f'<workbook xmlns="{X}" xmlns:r="{relations}"><sheets>{named}</sheets></workbook>',
            "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" Type="{relations}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
            "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{X}"><sheetData>{sheet}</sheetData></worksheet>',
        }
    )


def mail(subject: str, words: str) -> bytes:
    message = EmailMessage()
    message["Subject"], message["From"], message["Date"] = subject, "Ada Moor <ada@a.example>", "Tue, 05 Mar 2024 10:00:00 +0000"
    message.set_content(words + "\n\n> what was said before\n")
    message.add_attachment(b"\x89PNG", maintype="image", subtype="png")
    return bytes(message)


RST = """
Lamps
=====

.. _lamps:

See :ref:`the oil <oil>` and ``wick``.

.. note:: Do not smoke.

Oil
---

- whale oil
- rape oil

Fill it like this::

    lamp.fill()
    lamp.light()

.. toctree::
   one
   two

Then wait.

========  =====
Oil       Price
========  =====
whale     14
          or 15
``rape``  9
========  =====

Nothing follows this::

"""
ADOC = """= Lamps
:toc:

See link:http://a.example[the oil].

== Oil

* whale oil
* rape oil

----
lamp.fill()
----

|===
|Oil |Price
|===

Wicks
-----
`--trim`::
	Cut the wick.
	It smokes otherwise.

----
----
"""
MAN = """.TH LAMP 1 "2024-03-05"
.SH NAME
lamp \\- light a lamp
.SH OPTIONS
.TP
.BR \\-o ", " \\-\\-oil =\\fIKIND\\fR
Use that
.I kind
of oil.
.IP
Any kind ends in \\e0.
.PP
Then wait.
.TS
l l
lB l.
Oil	Price
whale	\\fB14\\fP
.TE
"""
NOTEBOOK = {
    "cells": [
        {"cell_type": "markdown", "source": ["# Lamps\n", "\n", "Of *oil*."]},
        {"cell_type": "code", "source": "lamp.fill()", "outputs": [{"output_type": "stream", "text": ["filled"]}]},
    ]
}
CSV = "Lamp;Year\nNorth;1881\nSouth;1902\n"
RTF = rb"{\rtf1\ansi\deff0 {\fonttbl{\f0 Times;}}\f0 Lamps\par The caf\'e9 of the keeper.\par}"
TITLED = '<draw:page draw:name="p1"><draw:frame presentation:class="title"><text:p>Lamps</text:p></draw:frame><draw:frame><text:p>Fill it.</text:p></draw:frame></draw:page>'
FLAT = (
    '<text:h text:outline-level="1">Lamps</text:h><text:p>Fill<text:s text:c="2"/>it.</text:p>'
    "<text:list><text:list-item><text:p>whale oil</text:p></text:list-item></text:list>"
    "<table:table><table:table-row><table:table-cell><text:p>Oil</text:p></table:table-cell>"
    "<table:table-cell><text:p>14</text:p></table:table-cell></table:table-row></table:table>"
    "<text:tracked-changes><text:p>struck</text:p></text:tracked-changes>"
)
WORKBOOK = """<?xml version="1.0"?>
<?mso-application progid="Excel.Sheet"?>
<Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet" xmlns:ss="urn:schemas-microsoft-com:office:spreadsheet">
<Styles><Style ss:ID="s1"><NumberFormat ss:Format="Short Date"/></Style></Styles>
<Worksheet ss:Name="Lamps"><Table>
<Row><Cell><Data ss:Type="String">Lamp</Data></Cell><Cell><Data ss:Type="String">Year</Data></Cell></Row>
<Row><Cell><Data ss:Type="String">North</Data><Comment><Data>lit daily</Data></Comment></Cell>
<Cell ss:StyleID="s1"><Data ss:Type="DateTime">1881-05-02T00:00:00.000</Data></Cell></Row>
<Row><Cell ss:Index="2"><Data ss:Type="Number">1902</Data></Cell></Row>
</Table></Worksheet></Workbook>"""
SMALL = {
    "a.rst": (RST, "Lamps", ("# Lamps", "See the oil and wick.", "Do not smoke.", "## Oil", "- whale oil\n- rape oil", "Fill it like this:", "```\nlamp.fill()\nlamp.light()\n```", "Then wait.", "| Oil | Price |\n| whale | 14 or 15 |\n| rape | 9 |", "Nothing follows this:")),
    "a.adoc": (ADOC, "Lamps", ("# Lamps", "See the oil.", "## Oil", "- whale oil\n- rape oil", "```\nlamp.fill()\n```", "| Oil | Price |", "## Wicks", "--trim: Cut the wick. It smokes otherwise.")),
    "lamp.1": (MAN, "lamp(1)", ("# NAME", "lamp - light a lamp", "# OPTIONS", "-o, --oil=KIND: Use that kind of oil.", "Any kind ends in \\0.", "Then wait.", "| Oil | Price |\n| whale | 14 |")),
    "a.ipynb": (json.dumps(NOTEBOOK), "Lamps", ("# Lamps", "Of oil.", "```\nlamp.fill()\n```", "```\nfilled\n```")),
    "lamps.csv": (CSV, "lamps", ("Lamp: North; Year: 1881.\nLamp: South; Year: 1902.",)),
    "lamps.tsv": ("North\t1881\nSouth\t1902\n", "lamps", ("| North | 1881 |\n| South | 1902 |",)),
    "a.eml": (mail("On oil", "Fill it."), "On oil", ("From: Ada Moor <ada@a.example>; Date: Tue, 05 Mar 2024 10:00:00 +0000", "Fill it.")),
    "a.mbox": (b"From ada Tue\n" + mail("On oil", "Fill it.") + b"\nFrom ada Wed\n" + mail("On wicks", "Trim it."), "a", None),
    "a.rtf": (RTF, "Lamps", ("Lamps", "The café of the keeper.")),
    "a.odt": (odt(FLAT), "Lamps", ("# Lamps", "Fill it.", "- whale oil", "| Oil | 14 |")),
    "a.fodt": (fodt(FLAT), "Of lamps", ("# Lamps", "Fill it.", "- whale oil", "| Oil | 14 |")),
    "a.odp": (odp(TITLED), "Lamps", ("# Lamps", "Fill it.")),
    "a.pptx": (pptx(shape("Lamps", "title") + shape("Fill it."), shape("Wicks", "title") + shape("Trim it.")), "Lamps", ("# Lamps", "Fill it.", "# Wicks", "Trim it.")),
    "a.xls": (WORKBOOK, "a", ("# Lamps", "Lamp: North; Year: 1881-05-02.\nYear: 1902.")),
    "a.xlsx": (xlsx(("Lamp", "Year"), ("North", 1881)), "a", ("# Lamps", "Lamp: North; Year: 1881.")),
}  # fmt: skip


RICHER_RST = """
Lamps
`````

:Author: Ada Moor
:Oils_: whale_ and `rape oil`_

wick
  What burns. It is
  made of cotton.
chimney
  What is above it.

-q, --quiet   Say nothing,
              not even that.

.. option:: --trim LENGTH
            --cut

   Cut the wick.

.. config:option:: alone

.. code-block:: sh
   :caption: so

   lamp --trim 3

.. versionadded:: 1.4
.. versionchanged:: 1.5
   It burns longer.

::

   plain

>>> lamp.fill()
1

Call it so. ::

   lamp

+------+-------+
| Oil  | Price |
+======+=======+
| rape | 9     |
|      | or 10 |
+------+-------+
"""


@pytest.mark.parametrize("name", ["a.rst", "README", "lamps.txt"])
def test_what_manuals_in_restructuredtext_have(name: str) -> None:
    assert [(block.kind, block.text) for block in read_bytes(RICHER_RST.encode(), name).blocks] == [
        ("heading", "Lamps"),
        ("entry", "Author: Ada Moor"),
        ("entry", "Oils: whale and rape oil"),
        ("entry", "wick: What burns. It is made of cotton."),
        ("entry", "chimney: What is above it."),
        ("entry", "-q, --quiet: Say nothing, not even that."),
        ("entry", "--trim LENGTH, --cut: Cut the wick."),
        ("entry", "alone"),
        ("code", "lamp --trim 3"),
        ("paragraph", "New in version 1.4."),
        ("paragraph", "Changed in version 1.5: It burns longer."),
        ("code", "plain"),
        ("code", ">>> lamp.fill()\n1"),
        ("paragraph", "Call it so:"),
        ("code", "lamp"),
        ("row", "| Oil | Price |"),
        ("row", "| rape | 9 or 10 |"),
    ]


@pytest.mark.parametrize("name", SMALL)
def test_a_small_file(name: str) -> None:
    body, title, passages = SMALL[name]
    page = read_bytes(body.encode() if isinstance(body, str) else body, f"file:///{name}", name=name)
    assert page.title == title
    assert passages is None or page.passages == passages


def test_a_sign_of_rich_text_that_there_is_not_takes_nothing_from_the_others() -> None:
    body = rb"{\rtf1\ansi The lamp \u233233233233? of 1874.\par}"
    assert read_bytes(body, "x", name="a.rtf").passages == ("The lamp \ufffd of 1874.",)


@pytest.fixture(scope="module")
def apart() -> Iterator[Workers]:
    workers = Workers(1)
    yield workers
    workers.close()


@pytest.mark.parametrize("name", SMALL)
async def test_a_small_file_in_a_process_that_can_open_nothing(apart: Workers, name: str) -> None:
    """A module that a reader loads when it first needs it is not to be had there."""
    body = SMALL[name][0]
    body = body.encode() if isinstance(body, str) else body
    assert (await apart.aread(Document(body, "x", name=name), Allowance())).passages == read_bytes(body, "x", name=name).passages


def test_a_mailbox_has_its_subjects_as_headings_and_slides_are_pages() -> None:
    page = read_bytes(bytes(SMALL["a.mbox"][0]), "file:///a.mbox", name="a.mbox")  # type: ignore[arg-type]
    assert [one.heading for one in pieces(page.blocks, Splitting())] == ["On oil", "On wicks"]
    slides = read_bytes(bytes(SMALL["a.pptx"][0]), "file:///a.pptx", name="a.pptx")  # type: ignore[arg-type]
    assert [(one.heading, one.page) for one in pieces(slides.blocks, Splitting())] == [("Lamps", 1), ("Wicks", 2)]


def test_one_broken_part_does_not_cost_the_others() -> None:
    lamps, wicks = (shape(words, "title") + shape(more) for words, more in (("Lamps", "Fill it."), ("Wicks", "Trim it.")))
    slides = read_bytes(pptx(lamps, "<a:p>", wicks), "x", name="a.pptx")
    assert slides.passages == ("# Lamps", "Fill it.", "# Wicks", "Trim it.")
    assert slides.notice == "1 of its 3 slides could not be read"
    names = ("Lamps", "Wicks", "Oil")
    sheets = read_bytes(
        workbook(names, "<row><c><v>1</v></c></row>", "<row><c></row>", "<row><c><v>3</v></c></row>"), "x", name="a.xlsx"
    )
    assert sheets.passages == ("# Lamps", "1", "# Oil", "3")
    assert sheets.notice == "1 of its 3 sheets could not be read"
    chapters = {f"{n}.xhtml": f"<html><body><h1>Chapter {n}</h1><p>Its words are {n}.</p></body></html>" for n in range(3)}
    book = bytearray(archive(mimetype="application/epub+zip", **chapters))
    damaged = book.index(b"1.xhtml") + 40
    book[damaged : damaged + 8] = b"\xff" * 8
    read = read_bytes(bytes(book), "x", name="a.epub")
    assert read.passages == ("# Chapter 0", "Its words are 0.", "# Chapter 2", "Its words are 2.")
    assert read.notice == "1 of its 3 chapters could not be read"


def test_a_letter_is_read_with_all_its_parts_and_what_it_forwards() -> None:
    inner, outer = EmailMessage(), EmailMessage()
    inner["Subject"], inner["From"] = "On wicks", "Bo Lind <bo@b.example>"
    inner.set_content("Trim it.")
    inner.add_alternative("<p>Trim it in colour.</p>", subtype="html")
    outer["Subject"] = "On oil"
    outer.set_content("Fill it.")
    outer.add_attachment("Not shown.", filename="a.txt")
    outer.attach(inner)
    second = EmailMessage()
    second.set_content("Then wait.")
    outer.attach(second)
    outer.add_attachment(inner, disposition="inline")
    page = read_bytes(bytes(outer), "file:///a.eml", name="a.eml")
    wicks = ("## On wicks", "From: Bo Lind <bo@b.example>", "Trim it.")
    assert page.passages == ("Fill it.", "Trim it.", "Then wait.", *wicks)


def test_an_epub_that_does_not_say_its_order_is_read_all_the_same() -> None:
    body = archive(
        mimetype="application/epub+zip", **{"b.xhtml": "<p>Second words.</p>", "a.xhtml": "<h1>One</h1><p>First words.</p>"}
    )
    assert read_bytes(body, "x").passages == ("# One", "First words.", "Second words.")


EMPTY = {
    "a.odt": odt(""), "a.odp": odp(""), "a.pptx": pptx(""), "a.xlsx": xlsx(), "a.ipynb": b'{"cells": []}', "a.mbox": b"From x\n\n",
    "a.rst": b" \n", "a.rtf": rb"{\rtf1 }", "a.docx": docx(""), "a.csv": b";;\n;;\n", "a.1": b".TH X 1\n", "a.adoc": b":toc:\n",
    "a.md": b"\n\n", "a.txt": b"", "a.html": b"<html><body></body></html>", "a.eml": b"\n\n", "a.tsv": b"\t\n", "a.epub": archive(mimetype="application/epub+zip"),
    "a.pdf": pdf(""),
}  # fmt: skip
BROKEN = {
    "a.odt": odt("<text:p>"), "a.fodt": fodt("<text:p>"), "a.xls": WORKBOOK[:-30].encode(), "a.pptx": pptx("<a:p>"), "a.xlsx": archive(**{"xl/workbook.xml": "<not"}), "a.ipynb": b'{"cells": 3}',
    "b.ipynb": b"[1", "a.odp": odt("x")[:-30], "b.xlsx": xlsx(("a", "b"))[:300], "a.docx": docx(word("x"))[:-40],
    "a.epub": archive(mimetype="application/epub+zip", **{"a.xhtml": "<p>Words.</p>"})[:-40], "a.pdf": pdf("")[:40], "a.rtf": rb"{\rtf1 \u",
}  # fmt: skip


@pytest.mark.parametrize("name", EMPTY)
def test_an_empty_file_says_so(name: str) -> None:
    with pytest.raises(ReadError, match=r"no text|empty"):
        read_bytes(EMPTY[name], "x", name=name)


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_says_so(name: str) -> None:
    with pytest.raises(ReadError, match=r"broken|no text|not a"):
        read_bytes(BROKEN[name], "x", name=name)


PROSE = "The keeper wrote down the wind and the cloud. "
HUGE = {
    "a.rst": (PROSE + "\n\n").encode() * 100_000,
    "a.adoc": b"* " * 2_000_000,
    "a.1": b".TP\n" * 1_000_000,
    "a.md": b"> " * 50_000 + b"\n" + b"[" * 100_000,
    "a.csv": b"a,b\n" * 600_000,
    "a.ipynb": b'{"cells": ' + b"[" * 200_000,
    "a.eml": b"Subject: x\n\n" + PROSE.encode() * 100_000,
    "a.mbox": b"From x\nSubject: y\n\nz\n" * 50_000,
    "a.rtf": rb"{\rtf1 " + b"{" * 500_000,
    "a.odt": odt(f"<text:p>{PROSE}</text:p>" * 50_000),
    "a.odp": odp("<text:p>" * 10_000),
    "a.pptx": pptx(shape("x") * 50_000),
    "a.xlsx": xlsx(*[("a", 1)] * 50_000),
    "a.pdf": pdf(*[prose(700)] * 300),
    "a.docx": docx(word(PROSE) * 50_000),
    "a.epub": archive(mimetype="application/epub+zip", **{f"{n}.xhtml": f"<p>{PROSE}</p>" * 500 for n in range(100)}),
    "a.html": b"<div>" * 1_000_000 + PROSE.encode(),
    "a.txt": PROSE.encode() * 500_000,
    "a.tsv": b"a\tb\n" * 600_000,
}


@pytest.mark.parametrize("name", HUGE)
def test_a_huge_file_has_a_clear_outcome(name: str) -> None:
    """Within its time and memory: a part of it with a notice, all of it, or a reason; the next one is read as ever."""
    allowed = Allowance(seconds=60, memory=512 * 1024 * 1024, characters=100_000)
    pool = Workers(1)
    try:
        try:
            read = sum(len(block.text) for block in pool.read(Document(HUGE[name], f"file:///{name}", name=name), allowed).blocks)
        except ReadError as problem:
            read = len(problem.reason)
        assert 0 < read <= 100_000
        assert pool.read(Document(b"Plain words.", "file:///b.txt", name="b.txt"), allowed).passages == ("Plain words.",)
    finally:
        pool.close()


def test_one_foreign_letter_late_in_a_long_text() -> None:
    page = read_bytes((PROSE * 2000 + "Noted by Fredrik Jönsson.").encode("latin-1"), "file:///a.txt", name="a.txt")
    assert page.passages[-1].endswith("Jönsson.")


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Café", "latin-1"),
        ("Der Wärter schrieb jeden Abend Wind und Wolken auf: größer, schöner, über.", "latin-1"),
        ("“Il a écrit chaque soir”, dit-elle – déjà vu à Noël…", "cp1252"),
        ("El año que viene", "latin-1"),
        ("Wörter", "utf-16-le"),
        ("Wörter", "utf-16-be"),
        ("Wörter und Wind", "utf-16"),
        ("灯台守は毎晩、風と雲のことを書き留めた。それは十一年の間続いた。", "shift_jis"),
        ("Смотритель маяка каждый вечер записывал ветер и облака перед сном.", "cp1251"),
        ("灯台", "utf-8"),
    ],
)
def test_charsets_of_short_files(text: str, encoding: str) -> None:
    page = read_bytes(text.encode(encoding), "file:///a.txt", name="a.txt")
    assert page.passages == (text,)


def test_many_sheets_that_are_one_are_not_read_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allowance, "MAX_BLOCKS", 100)
    page = tables.read_sheets(xlsx(*[("oil",)] * 50, sheets=40), "x", "x", Allowance())
    assert page.notice == "only the first 2 of its 40 sheets were read"
    assert len(page.blocks) == 102


def test_a_wide_table_is_cut_while_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "OWN_FILE", Allowance(characters=10_000))
    text = ",".join(f"name{n}" * 5 for n in range(100)) + "\n" + ("1," * 99 + "1\n") * 1_000
    page = tables.read_csv(text, "x", "x")
    assert 10_000 < sum(len(block.text) for block in page.blocks) < 20_000


def test_links_between_notes_are_read_as_their_words() -> None:
    note = "Ada kept [[Keepers/Skerry|the light]] and [[Oil#Whale]], see ![[lamp.png]]. Code: `a[[0]]`.\n"
    page = read_bytes(note.encode(), "file:///a.md", name="a.md")
    assert page.text == "Ada kept the light and Oil Whale, see lamp.png. Code: a[[0]]."
