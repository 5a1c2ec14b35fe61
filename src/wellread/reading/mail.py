"""Mail: single messages (EML) and mailboxes (MBOX), by the standard library.

Anybody can put a letter into somebody's mailbox: none may keep the others from being read. The library's newer way to
understand headers takes quadratic time and worse, so its older one is used, on as much of a header as anyone would write.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from email.parser import BytesParser  # here, for no file can be opened where documents are read
from email.policy import Compat32
from typing import Any, cast

from wellread.reading.allowance import OWN_FILE, Allowance, gathered
from wellread.reading.builder import titled
from wellread.reading.charset import decode
from wellread.reading.extract import extract
from wellread.reading.plain_text import cleaned, read_text
from wellread.text.blocks import as_blocks
from wellread.types import Block, Page

_MESSAGES = re.compile(rb"^From [^\n]{0,500}\n", re.MULTILINE)
_DEEPEST = 10
_LONGEST_HEADER, _LONGEST_SHOWN = 2_000, 500  # characters
_QUOTED = re.compile(r"^>.*$", re.MULTILINE)
_SAID = ("From", "To", "Date")
_BODIES = ("text/plain", "text/html")


class _Letter(Message):
    """A part that is deeper in others than is read counts as data: its lines would be compared with all boundaries around it."""

    depth = 0

    def attach(self, payload: Any) -> None:
        cast("_Letter", payload).depth = self.depth + 1
        super().attach(payload)

    def get_content_type(self) -> str:
        return super().get_content_type() if self.depth <= _DEEPEST else "application/octet-stream"


class _Plain(Compat32):
    """Headers as they were written, cut."""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(sourcelines)
        return name, value[:_LONGEST_HEADER]

    def header_fetch_parse(self, name: str, value: str) -> str:
        return value


def read_eml(body: bytes, url: str, name: str, allowance: Allowance = OWN_FILE) -> Page:
    message = _parsed(body)
    title, author, published = (_header(message, one) for one in ("Subject", "From", "Date"))
    return titled("mail", tuple(_message(message, level=0)), url, name, title or name, author=author, published=published)


def read_mbox(body: bytes, url: str, name: str, allowance: Allowance = OWN_FILE) -> Page:
    """Each message under its subject."""
    letters = _MESSAGES.split(body)[1:]
    made = gathered(letters, lambda letter, _: _message(_parsed(letter), level=1), allowance)
    return Page(url, name, (), kind="mail", blocks=made.blocks, notice=made.notice("messages", len(letters)))


def _parsed(body: bytes) -> Message:
    return BytesParser(_Letter, policy=_Plain()).parsebytes(body)


def _message(message: Message, *, level: int, depth: int = 0) -> Iterator[Block]:
    """With its subject as a heading where there is a level for it."""
    said = "; ".join(f"{name}: {found}" for name in _SAID if (found := _header(message, name)))
    text = list(_text(message, depth))
    if level and (said or text):
        yield Block("heading", _header(message, "Subject") or "(no subject)", level)
    if said:
        yield Block("paragraph", said)
    yield from text


def _header(message: Message, name: str) -> str:
    """Its words decoded, by codecs that are safe to let strangers choose."""
    value = str(message.get(name, ""))
    try:
        parts = decode_header(value)
    except HeaderParseError:  # words that only look encoded
        parts = [(value, None)]
    # letters may stand there as they are, against the rules
    raw = ((part if isinstance(part, bytes) else part.encode("ascii", "surrogateescape"), charset) for part, charset in parts)
    words = (decode(part, charset, markup=False) for part, charset in raw)
    return " ".join("".join(words).split())[:_LONGEST_SHOWN]


def _text(message: Message, depth: int = 0) -> Iterator[Block]:
    """The body: texts one after the other, of alternatives the plain one, what is forwarded; no attachments."""
    if depth > _DEEPEST or message.get_content_disposition() == "attachment":
        return
    kind = message.get_content_type()
    if kind in {"multipart/alternative", "multipart/related"}:
        # of parts that say the same, or belong to one of them, the plain one; else the first page
        parts = [one for one in message.walk() if one.get_content_disposition() != "attachment"]
        body = next((one for kind in _BODIES for one in parts if one.get_content_type() == kind), None)
        yield from _words(body) if body is not None else ()  # a part without headers counts as nothing
    elif kind == "message/rfc822":
        for inner in _inside(message)[:1]:
            yield from _message(inner, level=2, depth=depth + 1)
    elif message.is_multipart():
        for inner in _inside(message):
            yield from _text(inner, depth + 1)
    elif kind in _BODIES:
        yield from _words(message)


def _inside(message: Message) -> Sequence[Message]:
    parts: object = message.get_payload()
    return cast("list[Message]", parts) if isinstance(parts, list) else []


def _words(part: Message) -> Iterator[Block]:
    markup = part.get_content_type() == "text/html"
    data = part.get_payload(decode=True)
    text = decode(data if isinstance(data, bytes) else b"", _charset(part), markup=markup)
    if markup:
        yield from as_blocks(extract(text, "file:"))
    else:
        yield from read_text(_QUOTED.sub("", cleaned(text)), "").blocks


def _charset(part: Message) -> str | None:
    try:
        return part.get_content_charset()
    except (LookupError, ValueError):  # its name is encoded too, by a codec that refuses it
        return None
