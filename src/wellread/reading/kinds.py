"""File type detection: by what a server says, by name, by the first bytes; decompression; and what we do not
read, in words that say what to do with it.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import mimetypes
import re
import zipfile
import zlib
from collections.abc import Callable
from io import BytesIO
from pathlib import PurePosixPath
from typing import IO, cast

from wellread.errors import ReadError
from wellread.reading import registry
from wellread.reading.allowance import MAX_UNPACKED
from wellread.reading.charset import utf16_without_mark

SUFFIXES = frozenset({".gz", ".bz2", ".xz"})
_TYPES = frozenset({f"application/{name}" for name in ("gzip", "x-gzip", "x-bzip2", "x-bzip", "x-xz")})
_TARS = {".tgz": ".tar", ".tbz2": ".tar", ".tbz": ".tar", ".txz": ".tar"}
_LAYERS = 2  # a file that was packed twice by mistake is still read
_CHUNK = 1024 * 1024
_BROKEN = (OSError, zlib.error, lzma.LZMAError, ValueError)


def inner_name(name: str) -> str:
    """A file's name when it is unpacked, which says what kind of document that is."""
    path = PurePosixPath(name)
    suffix = path.suffix.lower()
    return name[: -len(suffix)] + _TARS.get(suffix, "") if suffix in SUFFIXES or suffix in _TARS else name


def unpacked(body: bytes, name: str, url: str) -> tuple[bytes, str]:
    """The document in it and its name; bytes that are not compressed as they are (a server may have unpacked them).

    Raises `ReadError` for what is broken, incomplete, or unpacks to more than a document may.
    """
    for _ in range(_LAYERS):
        packing = packing_of(body)
        name = inner_name(name)
        if packing is None:
            return body, name
        body = _inflated(packing, body, url)
    if packing_of(body):
        raise ReadError(url, f"compressed more than {_LAYERS} times over")
    return body, name


def packing_of(body: bytes) -> str | None:
    return next((name for name, (magic, _) in _PACKINGS.items() if magic.match(body)), None)


def _inflated(packing: str, body: bytes, url: str) -> bytes:
    unpacked = BytesIO()
    try:
        with _PACKINGS[packing][1](BytesIO(body)) as file:  # members that follow each other are one text
            while chunk := file.read(_CHUNK):
                unpacked.write(chunk)
                if unpacked.tell() > MAX_UNPACKED:
                    too_large = f"unpacks to more than {MAX_UNPACKED // 1024**2} MB"
                    raise ReadError(url, unreadable(unpacked.getvalue()) or too_large)
    except EOFError as error:
        raise ReadError(url, f"the {packing} file is incomplete: it ends too early") from error
    except _BROKEN as error:
        raise ReadError(url, f"the {packing} file is broken") from error
    return unpacked.getvalue()


_PACKINGS: dict[str, tuple[re.Pattern[bytes], Callable[[BytesIO], IO[bytes]]]] = {
    "gzip": (re.compile(rb"\x1f\x8b\x08"), lambda file: cast("IO[bytes]", gzip.GzipFile(fileobj=file))),
    "bzip2": (re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)"), bz2.BZ2File),
    "xz": (re.compile(rb"\xfd7zXZ\x00"), lzma.LZMAFile),
}


_ARCHIVE = "this is an archive ({}) of several files: unpack it and give its folder"
_PACKED = "this is compressed with {}, which we do not unpack: unpack it first"
_NO_TEXT = "this is no text we can read ({})"
_PICTURE = rb"\x89PNG|GIF8[79]a|\xff\xd8\xff|RIFF.{4}WEBP|II\*\x00|MM\x00\*|gimp xcf |\x00\x00\x01\x00"
_SOUND = rb"OggS\x00|ID3[\x02-\x04]|fLaC\x00|RIFF.{4}WAVE|MThd\x00|\x1aE\xdf\xa3|\x00\x00\x00.ftyp"

# A file is what its first bytes say: names lie, and many have none.
_SIGNS: dict[bytes, str] = {
    rb".{257}ustar|[^\x00]{1,99}\x00.{0,99}(?<=\x00)[0-7 ]{6,7}[\x00 ]{1,2}[0-7 ]{6,7}[\x00 ]": _ARCHIVE.format("tar"),
    rb"PK(?:\x03\x04|\x05\x06)": _ARCHIVE.format("ZIP"),
    rb"7z\xbc\xaf'\x1c": _ARCHIVE.format("7z"),
    rb"Rar!\x1a": _ARCHIVE.format("RAR"),
    rb"!<arch>\n": _ARCHIVE.format("ar"),
    rb"ITSF\x03": _ARCHIVE.format("CHM, Windows help"),
    rb"\x28\xb5\x2f\xfd": _PACKED.format("zstd"),
    rb"\x1f\x9d": _PACKED.format("compress"),
    rb"LZIP\x01": _PACKED.format("lzip"),
    rb"\x04?%!PS|\xc5\xd0\xd3\xc6": "this is PostScript: make a PDF of it (ps2pdf)",
    rb"\xf7\x02\x01\x83\x92\xc0": "this is a DVI file: make a PDF of it (dvipdfm)",
    rb"AT&TFORM.{4}DJV": "this is a DjVu file: make a text of it (djvutxt)",
    rb".{60}BOOKMOBI": "this is a Kindle book: make an EPUB of it",
    rb"\xd0\xcf\x11\xe0": "this is a file of an old office program: save it as DOCX, PPTX or PDF",
    rb"(?:/\*.{0,400}\*/\s*)?var \w{1,80} ?=\s*\[\s*\[ ?[\"']": _NO_TEXT.format("a script of a page"),
    _PICTURE: _NO_TEXT.format("a picture"),
    _SOUND: _NO_TEXT.format("sound or video"),
    rb"wOF[F2]|OTTO\x00|\x00\x01\x00\x00\x00.|ttcf\x00": _NO_TEXT.format("a font"),
    rb"\x7fELF|MZ[^\n]{1,58}\x00\x00|\xca\xfe\xba\xbe|\x00asm": _NO_TEXT.format("a program"),
    rb"SQLite format 3\x00": _NO_TEXT.format("a database"),
}
_LOCKED = "EncryptedPackage".encode("utf-16-le")  # how Office names what it has locked, in a file of the old kind
_UNREAD = tuple((re.compile(sign, re.DOTALL), words) for sign, words in _SIGNS.items())
_FIRST_BYTES = 512
_UNREAD_NAMES = (
    ((".parquet", ".arrow", ".zim"), "this is a whole collection: give it by its own name, not in a folder of documents"),
    ((".css", ".css.map", ".scss"), _NO_TEXT.format("a style sheet")),
    ((".min.js", ".js.map", "searchindex.js", "language_data.js"), _NO_TEXT.format("a script of a page")),
    ((".xpm", ".xbm", ".svg", ".fig", ".pgm", ".ppm", ".eps"), _NO_TEXT.format("a picture")),
)


def unreadable(body: bytes) -> str | None:
    """Why we do not read it; None where nothing speaks against trying."""
    return next((words for sign, words in _UNREAD if sign.match(body[:_FIRST_BYTES])), None)


def unreadable_name(name: str) -> str | None:
    """Why we do not read a text that is called so: it was written for programs."""
    return next((words for ends, words in _UNREAD_NAMES if name.lower().endswith(ends)), None)


def reason(body: bytes, said: str, name: str = "", promised: str = "") -> str:
    """The same of something that has proved to be unreadable. `said`: what it is; `promised`: the kind that its name says."""
    if promised and body.startswith(b"PK"):
        return f"the file is broken, or not a {promised}"
    if body.startswith(b"\xd0\xcf\x11\xe0") and _LOCKED in body:
        return "the document is locked with a password"
    return unreadable(body) or unreadable_name(name) or _NO_TEXT.format(said)


_SECTION = re.compile(r"\.[1-9][a-z]{1,9}|\.n")  # of a manual: 3tcl, 3pm, 1posix
_INFO_PART = re.compile(r"\.info-\d{1,3}")  # a long manual in GNU Info is several files
_NO_SECTIONS = frozenset({".7z", ".3gp", ".3g2", ".3ds", ".3mf", ".3dm"})
_ARCHIVES = frozenset({".zip", ".tar", ".7z", ".rar", ".deb", ".rpm", ".jar", ".chm"})
_UNSUFFIXED = re.compile(
    r"(?:readme|faq|news|install|authors|copying|licen[cs]e|copyright|changelog|changes|history|todo|thanks|credits|hacking|howto|manual|notes"
    r"|release[-_ ]?notes|bugs|about|contributing|upgrading|tutorial|guide)(?:[-_][\w-]*)?(?-i:\.[A-Z][\w-]*)?",
    re.IGNORECASE,
)
_SAYS_NOTHING = frozenset(
    {"", "application/octet-stream", "binary/octet-stream", "application/zip", "application/download", *_TYPES}
)
_FLAT_SHEET = re.compile(rb"office:mimetype\s*=\s*[\"'][^\"']{0,60}spreadsheet")
_TAG = re.compile(rb"<[a-zA-Z!]")
_RST = re.compile(rb"^\.\. (?:[a-z][\w-]{0,30}::(?:[ \t]|$)|_[\w -]{1,60}:(?:[ \t]|$))", re.MULTILINE)  # a directive or a target
_SAMPLE = 4096
_HEAD = 16_384
_CONTROLS = bytes(set(range(32)) - {8, 9, 10, 12, 13, 27, 31})


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
    if said != "text/html" and unreadable_name(name):
        return None
    if kind == "man" and b"\n.S" not in body[:_HEAD] and not body.startswith((b".", b"'")):
        kind = "text"  # a name may end in a number
    if kind == "text" and _RST.search(body[:_HEAD]):
        kind = "rst"  # many are called README or .txt
    if kind is not None and _is_sure(kind):
        # programs export pages (or parts) and plain tables as `.xls`
        plain = "html" if _TAG.match(body) else "csv" if kind == "sheet" else None
        kind = plain if sniffed == "text" else sniffed
    if unreadable(body) or (is_binary(body) and "utf-16" not in content_type.lower()):
        return None
    return kind


def _is_sure(kind: str | None) -> bool:
    return kind is not None and registry.readers()[kind].sure


def is_readable(name: str) -> bool:
    """Whether we can read what is called so, or it is called as texts without an ending are: README, FAQ.gz, changelog.Debian."""
    inner = inner_name(name)
    return _by_suffix(inner) is not None or _UNSUFFIXED.fullmatch(PurePosixPath(inner).name) is not None


def is_archive(name: str) -> bool:
    """Whether it is called as what holds several files."""
    return PurePosixPath(inner_name(name)).suffix.lower() in _ARCHIVES


def is_decoration(name: str) -> bool:
    """Whether it is called as what belongs to documents and is none: pictures, sounds, fonts, style sheets."""
    said = mimetypes.guess_type(name)[0] or ""
    return not is_readable(name) and (said == "text/css" or said.partition("/")[0] in {"image", "audio", "video", "font"})


def packed_kind(name: str) -> str:
    """The kind that a file's name promises, where that is an archive of one document; else nothing."""
    kind = _by_suffix(name)
    return kind if kind in {"docx", "opendocument", "pptx", "sheet", "epub"} else ""


def ending(name: str) -> str:
    """The suffix that says what it is: `.html.gz`; of what we cannot read, none."""
    if not is_readable(name):
        return ""
    inner = inner_name(name)
    return (PurePosixPath(inner).suffix if _by_suffix(inner) else "") + name[len(inner) :]


def _by_suffix(name: str) -> str | None:
    suffix = PurePosixPath(name).suffix.lower()
    if _INFO_PART.fullmatch(suffix):
        return "info"
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
