"""Charset detection: which encoding a page is really in."""

from __future__ import annotations

import codecs
import re

_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_DECLARED = re.compile(
    rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([A-Za-z0-9_:.-]{2,40})|encoding=["']([A-Za-z0-9_:.-]{2,40})""", re.I
)
_HEAD = 4096
_SAMPLE = 64 * 1024
# Names that pages use for more than they mean, as browsers read them.
_WIDER = {"ascii": "cp1252", "iso8859-1": "cp1252", "iso8859-9": "cp1254", "gb2312": "gb18030", "gbk": "gb18030"}
_SHORT = 400  # bytes; of less nobody can tell French from Polish
_LATIN = ["cp1252", "cp1250", "cp1254", "cp1257", "iso8859_2", "iso8859_15"]
_HIGH = re.compile(rb"[\x80-\xff]")
_ALONE = re.compile(rb"(?<![\x80-\xff])[\x91-\x97\xa0-\xff](?![\x80-\xff])(?=[a-zA-Z\s.,;:!?'\"()-]|$)")
_XML = re.compile(r"""(<\?xml[^<>]{0,100}?)\sencoding\s*=\s*["'][^"'<>]{0,40}["']""")
_UNSAFE = frozenset({"utf-7", "idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined", "rot-13"})


def decode(body: bytes, declared: str | None = None, *, markup: bool = True) -> str:
    """The text of a page: by its mark, by what proves to be UTF-8, by what it declares, by its look."""
    for mark, name in _MARKS:
        if body.startswith(mark):
            return body.decode(name, "replace")
    if wide := utf16_without_mark(body):
        return body.decode(wide, "replace")
    if b"\0" in body[:_HEAD] or b"\x1b$" in body[:_SAMPLE]:  # UTF-16 and ISO-2022 look like ASCII with odd bytes
        text = _by_name(body, declared) or _by_name(body, _named_inside(body))
        if text is not None:
            return text
    try:
        # text that is not UTF-8 is next to never valid UTF-8, whatever its server says
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        cut_off = error.start >= len(body) - 3 and error.reason == "unexpected end of data" and not body[: error.start].isascii()
    if cut_off:
        return body.decode("utf-8", "ignore")
    for name in (declared, _named_inside(body) if markup else None):
        text = _by_name(body, name)
        if text is not None:
            return text
    return _by_look(body)


def plain_markup(body: bytes) -> bytes:
    """Markup from its first sign on, in UTF-8 where it is in UTF-16: for those who look at bytes. Anything else as it is."""
    wide = "utf-16" if body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else utf16_without_mark(body)
    if wide is None:
        start = body[:_HEAD].removeprefix(codecs.BOM_UTF8).lstrip()
        return body.removeprefix(codecs.BOM_UTF8).lstrip() if start.startswith(b"<") else body
    if not body[: 2 * _HEAD].decode(wide, "ignore").lstrip().startswith("<"):
        return body
    return _XML.sub(r"\1", body.decode(wide, "replace").lstrip(), count=1).encode("utf-8", "replace")


def _named_inside(body: bytes) -> str | None:
    match = _DECLARED.search(body[:_HEAD])
    return (match.group(1) or match.group(2)).decode("ascii") if match else None


def _by_name(body: bytes, name: str | None) -> str | None:
    """None where the name is unknown, or a lie."""
    try:
        codec = codecs.lookup((name or "").strip("\"' "))
    except (LookupError, ValueError):
        return None
    known = _WIDER.get(codec.name, codec.name)
    if known.replace("_", "-") in _UNSAFE or not getattr(codec, "_is_text_encoding", True):
        return None
    text = body.decode(known, "replace")
    return text if text.count("\ufffd") * 200 <= len(text) else None


def _by_look(body: bytes) -> str:
    """By charset-normalizer, where there is enough to go by.

    Western texts have single accented letters between plain ones. A guesser that weighs every encoding takes a short one
    for Chinese; what looks so is read as Western or Central European.
    """
    from charset_normalizer import from_bytes

    first = _HIGH.search(body)  # of a long text that may be anywhere
    start = max(first.start() - _HEAD, 0) if first else 0
    sample = body[start : start + _SAMPLE]
    western = len(_ALONE.findall(sample)) >= 0.5 * len(_HIGH.findall(sample))
    among = _LATIN if western else None
    best = from_bytes(sample, cp_isolation=among).best() if among is None or len(sample) > _SHORT else None
    return body.decode(best.encoding if best else "cp1252", "replace")


def utf16_without_mark(body: bytes) -> str | None:
    """Which of the two, where every second byte is mostly nothing: text of Latin letters."""
    sample = body[:_HEAD]
    for name, zeros in (("utf-16-le", sample[1::2]), ("utf-16-be", sample[0::2])):
        others = sample[0::2] if name.endswith("le") else sample[1::2]
        if zeros and zeros.count(0) > 0.7 * len(zeros) and others.count(0) < 0.05 * len(others):
            return name
    return None
