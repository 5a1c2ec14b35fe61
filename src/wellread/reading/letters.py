"""Mail: single messages (EML) and mailboxes (MBOX), by the standard library."""

from __future__ import annotations

import email
import re
from collections.abc import Iterator
from email.message import Message, MIMEPart
from email.policy import default
from itertools import islice
from typing import cast

from wellread.reading.charset import decode
from wellread.reading.extract import extract
from wellread.reading.unmarked import cleaned, read_text
from wellread.text.blocks import as_blocks
from wellread.text.dates import iso_date
from wellread.types import Block, Page

_MESSAGES = re.compile(rb"^From [^\n]{0,500}\n", re.MULTILINE)
_MOST_MESSAGES = 20_000
_MOST_PARTS, _DEEPEST = 1_000, 10
_QUOTED = re.compile(r"^>.*$", re.MULTILINE)
_SAID = ("From", "To", "Date")


def read_eml(body: bytes, url: str, name: str) -> Page:
    message = email.message_from_bytes(body, policy=default)
    blocks = tuple(_message(message, level=0))
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
        blocks.extend(_message(email.message_from_bytes(part, policy=default), level=1))
    return Page(url, name, (), kind="mail", blocks=tuple(blocks))


def _message(message: MIMEPart, *, level: int, depth: int = 0) -> Iterator[Block]:
    """With its subject as a heading where there is a level for it."""
    said = "; ".join(f"{name}: {_header(message, name)}" for name in _SAID if _header(message, name))
    text = list(_text(message, depth))
    if level and (said or text):
        yield Block("heading", _header(message, "Subject") or "(no subject)", level)
    if said:
        yield Block("paragraph", said)
    yield from text


def _header(message: Message, name: str) -> str:
    try:
        return " ".join(str(message.get(name, "")).split())[:500]
    except (ValueError, IndexError, AttributeError):  # the parser of headers trips over odd ones
        return ""


def _text(message: MIMEPart, depth: int = 0) -> Iterator[Block]:
    """What a reader is shown: texts one after the other, of alternatives the plain one, what is forwarded; no attachments."""
    if depth > _DEEPEST or message.is_attachment():
        return
    kind = message.get_content_type()
    if kind in {"multipart/alternative", "multipart/related"}:
        body = message.get_body(("plain", "html"))
        if body is not None and body is not message:
            yield from _text(body, depth + 1)
    elif kind == "message/rfc822":
        for inner in islice(_inside(message), 1):
            yield from _message(inner, level=2, depth=depth + 1)
    elif message.is_multipart():
        for inner in islice(_inside(message), _MOST_PARTS):
            yield from _text(inner, depth + 1)
    elif kind in {"text/plain", "text/html"}:
        yield from _words(message, kind)


def _inside(message: MIMEPart) -> Iterator[MIMEPart]:
    parts: object = message.get_payload()
    return iter(cast("list[MIMEPart]", parts) if isinstance(parts, list) else [])


def _words(part: MIMEPart, kind: str) -> Iterator[Block]:
    data = part.get_payload(decode=True)
    raw = data if isinstance(data, bytes) else b""
    text = decode(raw, part.get_content_charset(), markup=kind == "text/html")
    if kind == "text/html":
        yield from as_blocks(extract(text, "file:"))
    else:
        yield from read_text(_QUOTED.sub("", cleaned(text)), "").blocks
