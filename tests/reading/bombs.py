"""Documents that were made to break what reads them."""

from __future__ import annotations

import io
import zipfile

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_LEAF = "BT /F1 10 Tf 50 700 Td (the keeper wrote) Tj ET"
_FONT = "/Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >>"


def archive(members: dict[str, str | bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, data in members.items():
            zipped.writestr(name, data)
    return buffer.getvalue()


def fanning_out(levels: int, width: int) -> bytes:
    """A PDF whose form draws another form so many times, which draws another one …"""
    forms = [_form(f"/X {6 + level} 0 R", "/X Do " * width) for level in range(levels - 1)]
    return _pdf([*forms, _stream(f"/Type /XObject /Subtype /Form /BBox [0 0 595 842] /Resources << {_FONT} >>", _LEAF)])


def containing_itself(width: int = 12) -> bytes:
    """A PDF of two forms that draw each other."""
    return _pdf([_form("/X 6 0 R", "/X Do " * width), _form("/X 5 0 R", "/X Do " * width)])


def _form(names: str, content: str) -> str:
    return _stream(f"/Type /XObject /Subtype /Form /BBox [0 0 595 842] /Resources << /XObject << {names} >> >>", content)


def _stream(entries: str, content: str) -> str:
    return f"<< {entries} /Length {len(content)} >>\nstream\n{content}\nendstream"


def _pdf(forms: list[str]) -> bytes:
    page = "/MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /XObject << /X 5 0 R >> >>"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        f"<< /Type /Page /Parent 2 0 R {page} >>",
        _stream("", "/X Do"),
        *forms,
    ]
    body, places = "%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(body))
        body += f"{number} 0 obj\n{content}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    end = f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(body)}\n%%EOF"
    return f"{body}xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}{end}".encode()


def docx(body: str, **more: str | bytes) -> bytes:
    xml = f'<?xml version="1.0"?><w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>'
    return archive({"[Content_Types].xml": "<Types/>", "word/document.xml": xml, **more})


def paragraph(text: str) -> str:
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def epub(chapter: str, times: int) -> bytes:
    """One chapter that the book names so many times."""
    spine = '<itemref idref="c"/>' * times
    package = (
        '<package><manifest><item id="c" href="c.xhtml" media-type="application/xhtml+xml"/></manifest>'
        f"<spine>{spine}</spine></package>"
    )
    container = '<container><rootfiles><rootfile full-path="b.opf"/></rootfiles></container>'
    members = {"META-INF/container.xml": container, "b.opf": package, "c.xhtml": chapter}
    return archive({"mimetype": "application/epub+zip", **members})


def damaged(body: bytes) -> bytes:
    """An archive whose members are named rightly and packed wrongly."""
    place = body.index(b"word/document.xml") + len(b"word/document.xml")
    return body[:place] + b"\xff" * 40 + body[place + 40 :]
