"""Mail: single messages (EML) and mailboxes (MBOX), by the standard library."""

from __future__ import annotations

import email
import re
from collections.abc import Iterator
from email.message import EmailMessage, Message
from email.policy import default

from wellread.reading.charset import decode
from wellread.reading.extract import extract
from wellread.reading.plain import cleaned, read_text
from wellread.text.blocks import as_blocks
from wellread.text.dates import iso_date
from wellread.types import Block, Page

_MESSAGES = re.compile(rb"^From [^\n]{0,500}\n", re.MULTILINE)
_MOST_MESSAGES = 20_000
_QUOTED = re.compile(r"^>.*$", re.MULTILINE)
_SAID = ("From", "To", "Date")


def read_eml(body: bytes, url: str, name: str) -> Page:
    message = email.message_from_bytes(body, policy=default)
    blocks = tuple(_message(message, heading=False))
    date = _header(message, "Date")
    return Page(
        url,
        _header(message, "Subject") or name,
        (),
        published=iso_date(date) if date else None,
        author=_header(message, "From") or None,
        kind="mail",
        blocks=blocks,
    )


def read_mbox(body: bytes, url: str, name: str) -> Page:
    """Each message under its subject."""
    blocks: list[Block] = []
    for part in _MESSAGES.split(body)[1 : _MOST_MESSAGES + 1]:
        blocks.extend(_message(email.message_from_bytes(part, policy=default), heading=True))
    return Page(url, name, (), kind="mail", blocks=tuple(blocks))


def _message(message: EmailMessage, *, heading: bool) -> Iterator[Block]:
    said = "; ".join(f"{name}: {_header(message, name)}" for name in _SAID if _header(message, name))
    text = list(_text(message))
    if heading and (said or text):
        yield Block("heading", _header(message, "Subject") or "(no subject)", 1)
    if said:
        yield Block("paragraph", said)
    yield from text


def _header(message: Message, name: str) -> str:
    try:
        return " ".join(str(message.get(name, "")).split())[:500]
    except (ValueError, IndexError, AttributeError):  # the parser of headers trips over odd ones
        return ""


def _text(message: EmailMessage) -> Iterator[Block]:
    """The plain part, else the HTML one; attachments are other documents."""
    part = message.get_body(("plain", "html"))
    if part is None:
        return
    data = part.get_payload(decode=True)
    raw = data if isinstance(data, bytes) else b""
    text = decode(raw, part.get_content_charset(), markup=part.get_content_subtype() == "html")
    if part.get_content_subtype() == "html":
        yield from as_blocks(extract(text, "file:"))
    else:
        yield from read_text(_QUOTED.sub("", cleaned(text)), "").blocks
