"""What kind of document some bytes are: by what they say, by their name, by their first bytes."""

from __future__ import annotations

import mimetypes
import re
import zipfile
import zlib
from io import BytesIO
from pathlib import PurePosixPath

from wellread.reading import compressed, registry, unread
from wellread.reading.charset import utf16_without_mark

_SECTION = re.compile(r"\.[1-9][a-z]{1,9}|\.n")  # of a manual: 3tcl, 3pm, 1posix
_NO_SECTIONS = frozenset({".7z", ".3gp", ".3g2", ".3ds", ".3mf", ".3dm"})
_ARCHIVES = frozenset({".zip", ".tar", ".7z", ".rar", ".deb", ".rpm", ".jar", ".chm"})
_UNSUFFIXED = re.compile(
    r"(?:readme|faq|news|install|authors|copying|licen[cs]e|copyright|changelog|changes|history|todo|thanks|credits|hacking|howto|manual|notes"
    r"|release[-_ ]?notes|bugs|about|contributing|upgrading|tutorial|guide)(?:[-_][\w-]*)?(?-i:\.[A-Z][\w-]*)?",
    re.IGNORECASE,
)
_SAYS_NOTHING = frozenset(
    {"", "application/octet-stream", "binary/octet-stream", "application/zip", "application/download", *compressed.TYPES}
)
_FLAT_SHEET = re.compile(rb"office:mimetype\s*=\s*[\"'][^\"']{0,60}spreadsheet")
_TAG = re.compile(rb"<[a-zA-Z!]")
_RST = re.compile(rb"^\.\. (?:[a-z][\w-]{0,30}::(?:[ \t]|$)|_[\w -]{1,60}:(?:[ \t]|$))", re.MULTILINE)  # a directive or a target
_SAMPLE = 4096
_HEAD = 16_384
_CONTROLS = bytes(set(range(32)) - {8, 9, 10, 12, 13, 27, 31})

ACCEPTED = "text/html, application/xhtml+xml, application/pdf;q=0.9, text/markdown;q=0.9, text/plain;q=0.8, */*;q=0.1"


def kind_of(body: bytes, content_type: str = "", name: str = "") -> str | None:
    """None where we cannot read such a thing."""
    said = content_type.partition(";")[0].strip().lower()
    sniffed = _sniff(body)
    if _is_sure(sniffed):
        return sniffed
    kind = registry.by_type().get(said)
    suffix = _by_suffix(name)
    if said in _SAYS_NOTHING or (said == "text/plain" and suffix not in {None, "html"}):
        kind = suffix or sniffed
    elif kind is None and said.startswith("text/"):
        kind = "text"
    if said != "text/html" and unread.named(name):
        return None
    if kind == "man" and b"\n.S" not in body[:_HEAD] and not body.startswith((b".", b"'")):
        kind = "text"  # a name may end in a number
    if kind == "text" and _RST.search(body[:_HEAD]):
        kind = "rst"  # many are called README or .txt
    if kind is not None and _is_sure(kind):
        kind = _instead(kind, sniffed, body)
    if unread.known(body) or (is_binary(body) and "utf-16" not in content_type.lower()):
        return None
    return kind


def _is_sure(kind: str | None) -> bool:
    return kind is not None and registry.readers()[kind].sure


def _instead(named: str, sniffed: str | None, body: bytes) -> str | None:
    """What a file is whose first bytes are not those of its name: programs export pages (or parts) and plain tables as `.xls`."""
    if sniffed == "text" and _TAG.match(body):
        return "html"
    if sniffed == "text":
        return "csv" if named == "sheet" else None
    return sniffed


def is_readable(name: str) -> bool:
    """Whether we can read what is called so, or it is called as texts without an ending are: README, FAQ.gz, changelog.Debian."""
    inner = compressed.inner_name(name)
    return _by_suffix(inner) is not None or _UNSUFFIXED.fullmatch(PurePosixPath(inner).name) is not None


def is_archive(name: str) -> bool:
    """Whether it is called as what holds several files."""
    return PurePosixPath(compressed.inner_name(name)).suffix.lower() in _ARCHIVES


def is_decoration(name: str) -> bool:
    """Whether it is called as what belongs to documents and is none: pictures, sounds, fonts, style sheets."""
    said = mimetypes.guess_type(name)[0] or ""
    return not is_readable(name) and (said == "text/css" or said.partition("/")[0] in {"image", "audio", "video", "font"})


def packed_kind(name: str) -> str:
    """What a file that is called so would be, where that is an archive of one document; else nothing."""
    kind = _by_suffix(name)
    return kind if kind in {"docx", "opendocument", "pptx", "sheet", "epub"} else ""


def ending(name: str) -> str:
    """The suffix that says what it is: `.html.gz`; of what we cannot read, none."""
    if not is_readable(name):
        return ""
    inner = compressed.inner_name(name)
    return (PurePosixPath(inner).suffix if _by_suffix(inner) else "") + name[len(inner) :]


def _by_suffix(name: str) -> str | None:
    suffix = PurePosixPath(name).suffix.lower()
    return registry.by_suffix().get(suffix) or ("man" if _SECTION.fullmatch(suffix) and suffix not in _NO_SECTIONS else None)


def is_binary(body: bytes) -> bool:
    """Bytes that no text has, in such numbers that this is none; UTF-16 is text."""
    if body.startswith((b"\xff\xfe", b"\xfe\xff")) or utf16_without_mark(body):
        return False
    sample = body[:_SAMPLE]
    return len(sample) - len(sample.translate(None, _CONTROLS)) > len(sample) * 0.02


def _sniff(body: bytes) -> str | None:
    if body.startswith(b"PK\x03\x04"):
        return _packed(body)
    if body.startswith(b"\xd0\xcf\x11\xe0") and b"W\0o\0r\0k\0b\0o\0o\0k" in body:
        return "sheet"
    kind = registry.sniffed(body[:1024].lstrip()) or "text"
    return "sheet" if kind == "opendocument" and _FLAT_SHEET.search(body[:_HEAD]) else kind


def _packed(body: bytes) -> str | None:
    """By the type that an archive says in its first member, else by names: they stand in it as they are."""
    said = _first_member(body)
    if said.startswith(b"application/vnd.oasis.opendocument"):
        return "sheet" if b"spreadsheet" in said else "opendocument"
    if said.startswith(b"application/epub") or b"META-INF/container.xml" in body:
        return "epub"
    inside: dict[bytes, str] = {b"word/document": "docx", b"ppt/": "pptx", b"xl/": "sheet", b"word/": "docx", b".opf": "epub"}
    return next((kind for name, kind in inside.items() if name in body), None)


def _first_member(body: bytes) -> bytes:
    if body[30:38] != b"mimetype":
        return b""
    try:
        with zipfile.ZipFile(BytesIO(body)) as archive, archive.open("mimetype") as member:
            return member.read(100)
    except (zipfile.BadZipFile, zlib.error, KeyError, ValueError, RuntimeError, NotImplementedError, EOFError, OSError):
        return body[38:138]  # as most write it: not packed
