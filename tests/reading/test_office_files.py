# ruff: noqa: E501  (files as programs write them)
"""Office files as programs write them: odd charsets, and names that are not theirs."""

from __future__ import annotations

import pytest
from tests.reading.test_formats import SPACES, WORKBOOK, fodt

from wellread.reading.documents import read_bytes

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
