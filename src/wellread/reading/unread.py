"""What we do not read, in words that say what to do with it."""

from __future__ import annotations

import re

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
_PATTERNS = tuple((re.compile(sign, re.DOTALL), words) for sign, words in _SIGNS.items())
_FIRST = 512
_NAMES = (
    ((".parquet", ".arrow", ".zim"), "this is a whole collection: give it by its own name, not in a folder of documents"),
    ((".css", ".css.map", ".scss"), _NO_TEXT.format("a style sheet")),
    ((".min.js", ".js.map", "searchindex.js", "language_data.js"), _NO_TEXT.format("a script of a page")),
    ((".xpm", ".xbm", ".svg", ".fig", ".pgm", ".ppm", ".eps"), _NO_TEXT.format("a picture")),
)


def known(body: bytes) -> str | None:
    """Why we do not read it; None where nothing speaks against trying."""
    return next((words for sign, words in _PATTERNS if sign.match(body[:_FIRST])), None)


def named(name: str) -> str | None:
    """Why we do not read a text that is called so: it was written for programs."""
    return next((words for ends, words in _NAMES if name.lower().endswith(ends)), None)


def reason(body: bytes, said: str, name: str = "", promised: str = "") -> str:
    """The same of something that has proved to be unreadable. `said`: what it is; `promised`: the kind that its name says."""
    if promised and body.startswith(b"PK"):
        return f"the file is broken, or not a {promised}"
    if body.startswith(b"\xd0\xcf\x11\xe0") and _LOCKED in body:
        return "the document is locked with a password"
    return known(body) or named(name) or _NO_TEXT.format(said)
