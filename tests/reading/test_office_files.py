# ruff: noqa: E501  (files as programs write them)
"""Office files as programs write them: notes, comments, tables in tables, odd charsets, locks, and names that are not theirs."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.reading.given_bytes import read_bytes
from tests.reading.test_documents import WORD, archive, docx, word
from tests.reading.test_formats import SPACES, WORKBOOK, fodt, odt

from wellread.errors import ReadError

FLAT_SHEET = f"""<?xml version="1.0" encoding="UTF-8"?>
<office:document {SPACES} office:mimetype="application/vnd.oasis.opendocument.spreadsheet">
 <office:body>
  <office:spreadsheet>
   <table:table table:name="Lamps">
    <table:table-row>
     <table:table-cell office:value-type="string"><text:p>Lamp</text:p></table:table-cell>
     <table:table-cell office:value-type="string"><text:p>Oil</text:p></table:table-cell>
     <table:table-cell office:value-type="string"><text:p>Year</text:p></table:table-cell>
    </table:table-row>
    <table:table-row>
     <table:table-cell table:number-columns-repeated="2"/>
     <table:table-cell office:value-type="float" office:value="1881"><text:p>1881</text:p></table:table-cell>
    </table:table-row>
   </table:table>
  </office:spreadsheet>
 </office:body>
</office:document>"""
ARCHIVED = b"""MIME-Version: 1.0
X-Document-Type: Workbook
Content-Type: multipart/related; boundary="--=_Part"

This document is a web archive.

----=_Part
Content-Transfer-Encoding: quoted-printable
Content-Type: text/html; charset="utf-8"

<html xmlns:x=3D"urn:x"><body><table><tr><td>Lamp</td><td>=C3=96l</td></tr><tr><td>North</td><td>14</td></tr></table></body></html>

----=_Part--
"""


def said(body: bytes | str, name: str) -> list[tuple[str, str]]:
    page = read_bytes(body.encode() if isinstance(body, str) else body, "file:a", name=name)
    return [(block.kind, block.text) for block in page.blocks]


@pytest.mark.parametrize("wrapped", [odt, fodt])
def test_open_document_as_it_is_seen(wrapped: Callable[[str], bytes]) -> None:
    """Cells of a table inside of a cell were lost; who commented and when stood in the middle of a sentence."""
    note = "<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>Or rape oil.</text:p></text:note-body></text:note>"
    comment = '<office:annotation><dc:creator xmlns:dc="urn:dc">Zed</dc:creator><text:p>Really?</text:p></office:annotation>'
    inner = (
        "<table:table><table:table-row><table:table-cell><text:p>1881</text:p></table:table-cell></table:table-row></table:table>"
    )
    outer = f"<table:table><table:table-row><table:table-cell><text:p>North</text:p>{inner}</table:table-cell></table:table-row></table:table>"
    body = f"<text:p>Use whale oil{note}\n   and{comment} a wick.</text:p>{outer}"
    assert said(wrapped(body), "a.fodt") == [
        ("paragraph", "Or rape oil."),
        ("paragraph", "Use whale oil and a wick."),
        ("row", "| 1881 |"),
        ("row", "| North |"),
    ]


def test_word_with_notes_and_headings_of_another_language() -> None:
    """Notes were lost; a heading whose style has no English name, or only a place in the outline, was a paragraph or an item."""
    styles = (
        f'<w:styles xmlns:w="{WORD}"><w:style w:styleId="1"><w:name w:val="heading 1"/></w:style>'
        '<w:style w:styleId="own"><w:basedOn w:val="1"/></w:style><w:style w:styleId="a"><w:basedOn w:val="a"/></w:style>'
        '<w:style w:styleId="toc"><w:basedOn w:val="1"/><w:pPr><w:outlineLvl w:val="9"/></w:pPr></w:style></w:styles>'
    )
    notes = f'<w:footnotes xmlns:w="{WORD}"><w:footnote w:id="2">{word("Or rape oil.")}</w:footnote></w:footnotes>'
    cited = '<w:p><w:r><w:t>Use whale oil</w:t></w:r><w:r><w:footnoteReference w:id="2"/></w:r><w:r><w:t>.</w:t></w:r></w:p>'
    body = (
        word("Lamps", '<w:pStyle w:val="1"/>') + word("Oil", '<w:pStyle w:val="own"/>') + word("Contents", '<w:pStyle w:val="toc"/>')
        + word("Wicks", '<w:numPr><w:numId w:val="0"/></w:numPr><w:outlineLvl w:val="1"/>') + word("Trim it.", '<w:pStyle w:val="a"/>')
        + word("Wait.", '<w:pPrChange><w:pPr><w:pStyle w:val="1"/></w:pPr></w:pPrChange>') + cited + cited
    )  # fmt: skip
    page = read_bytes(docx(body, **{"word/styles.xml": styles, "word/footnotes.xml": notes}), "file:a", name="a.docx")
    assert [(block.kind, block.level, block.text) for block in page.blocks] == [
        ("heading", 1, "Lamps"),
        ("heading", 1, "Oil"),
        ("paragraph", 0, "Contents"),
        ("heading", 2, "Wicks"),
        ("paragraph", 0, "Trim it."),
        ("paragraph", 0, "Wait."),
        ("paragraph", 0, "Or rape oil."),
        ("paragraph", 0, "Use whale oil."),
        ("paragraph", 0, "Use whale oil."),
    ]


def test_word_is_read_without_notes_that_are_broken() -> None:
    assert said(docx(word("Trim it."), **{"word/styles.xml": "<", "word/endnotes.xml": "<w:"}), "a.docx") == [
        ("paragraph", "Trim it.")
    ]


def test_a_flat_spreadsheet_is_read_as_one() -> None:
    """Rows had neither the names of their columns nor their sheet's, and cells after empty ones stood in other columns."""
    assert said(FLAT_SHEET, "a.fods") == [("heading", "Lamps"), ("row", "Year: 1881.")]


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_markup_in_any_unicode(codec: str) -> None:
    """What was called `.xls` became rows of tags, or was told to be broken; flat documents were not known."""
    assert ("row", "Lamp: North; Year: 1881-05-02.") in said(WORKBOOK.encode(codec), "a.xls")
    assert said(FLAT_SHEET.replace("UTF-8", "UTF-16" if "16" in codec else "UTF-8").encode(codec), "a.fods")[1] == (
        "row",
        "Year: 1881.",
    )
    assert said(fodt("<text:p>Trim it.</text:p>").decode().encode(codec), "a.fodt") == [("paragraph", "Trim it.")]
    page = "<html><table><tr><td>Lamp</td><td>Öl</td></tr><tr><td>North</td><td>14</td></tr></table>"
    assert said(page.encode(codec), "a.xls") == [("row", "| Lamp | Öl |"), ("row", "| North | 14 |")]
    assert said("Lamp\tÖl\nNorth\t14\n".encode(codec), "a.xls") == [("row", "Lamp: North; Öl: 14.")]


@pytest.mark.parametrize(
    "before", ["", "\r\n", "<!-- made today -->", '<meta charset="utf-8">', "<style>td{a:b;}</style>", "<div>"]
)
def test_a_part_of_a_page_that_is_called_a_spreadsheet(before: str) -> None:
    table = "<table><tr><td>Lamp</td><td>Oil</td></tr><tr><td>North</td><td>14</td></tr></table>"
    assert said(before + table, "a.xls") == [("row", "| Lamp | Oil |"), ("row", "| North | 14 |")]


@pytest.mark.parametrize("name", ["a.mht", "a.mhtml", "a.xls", "a.doc"])
def test_a_web_archive(name: str) -> None:
    """Its headers and what its lines are packed in stood in the text."""
    assert said(ARCHIVED, name) == [("row", "| Lamp | Öl |"), ("row", "| North | 14 |")]


def test_a_cell_that_covers_several_columns_moves_the_next_ones() -> None:
    wide = '<Cell ss:MergeAcross="1"><Data>North</Data></Cell><Cell><Data>14</Data></Cell>'
    rows = f"<Row>{''.join(f'<Cell><Data>{name}</Data></Cell>' for name in ('Lamp', 'Place', 'Oil'))}</Row><Row>{wide}</Row>"
    begun, ended = WORKBOOK.index("<Row>"), WORKBOOK.index("</Table>")
    assert said(WORKBOOK[:begun] + rows + WORKBOOK[ended:], "a.xls") == [("heading", "Lamps"), ("row", "Lamp: North; Oil: 14.")]


@pytest.mark.parametrize("before", ["", "Lamps\n"])
def test_a_table_of_one_row_is_read(before: str) -> None:
    """It was taken for names of columns, and nothing was left."""
    assert said(f"{before}Keeper,Ada Moor\n", "a.csv")[-1] == ("row", "| Keeper | Ada Moor |")


def test_locked_files_are_told_to_be_locked() -> None:
    """They were told to be broken, or made by an old program."""
    manifest = "<manifest><file-entry><encryption-data/></file-entry></manifest>"
    office = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504) + "EncryptedPackage".encode("utf-16-le") + bytes(512)
    locked = archive(
        mimetype="application/vnd.oasis.opendocument.text", **{"content.xml": b"\x8f", "META-INF/manifest.xml": manifest}
    )
    for body, name in ((locked, "a.odt"), (office, "a.docx"), (office, "a.xlsx")):
        with pytest.raises(ReadError, match="locked with a password"):
            read_bytes(body, "file:a", name=name)
