"""Single documents in gzip, bzip2 and xz: the name inside says what they are, and what unpacks too far is refused."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable

import pytest
from tests.reading.given_bytes import read_bytes

from wellread.errors import ReadError, TooCostly
from wellread.reading import kinds
from wellread.reading.allowance import Allowance
from wellread.reading.workers import Workers
from wellread.types import Document

MAN = b".TH LAMP 8\n.SH NAME\nlamp \\- lights the tower\n"
HTML = b"<html><title>Lamps</title><body><h1>Oil</h1><p>Fill it.</p></body></html>"
PACK: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


@pytest.mark.parametrize("suffix", PACK)
@pytest.mark.parametrize(
    ("name", "body", "kind", "title", "passages"),
    [
        ("lamp.conf.8", MAN, "man", "lamp(8)", ("# NAME", "lamp - lights the tower")),
        ("lamp.3tcl", MAN, "man", "lamp(8)", ("# NAME", "lamp - lights the tower")),
        ("oil.html", HTML, "html", "Lamps", ("# Oil", "Fill it.")),
        ("oil.csv", b"Lamp,Year\nNorth,1881\n", "csv", "oil", ("Lamp: North; Year: 1881.",)),
        ("FAQ", b"Who trims it?\n\nThe keeper.\n", "text", "Who trims it?", ("Who trims it?", "The keeper.")),
    ],
)
def test_the_name_inside_decides(suffix: str, name: str, body: bytes, kind: str, title: str, passages: tuple[str, ...]) -> None:
    page = read_bytes(PACK[suffix](body), f"file:///{name}{suffix}", name=f"{name}{suffix}")
    assert (page.kind, page.title, page.passages) == (kind, title, passages)


def test_the_first_bytes_are_believed_whatever_it_is_called() -> None:
    assert read_bytes(gzip.compress(HTML), "http://a.example/get?id=3", content_type="application/x-gzip").title == "Lamps"
    assert read_bytes(gzip.compress(b"Plain words."), "x", name="notes.txt").passages == ("Plain words.",)


def test_what_a_server_has_unpacked_already_is_read_by_the_name_inside() -> None:
    page = read_bytes(MAN, "http://a.example/lamp.8.gz", content_type="application/gzip")
    assert (page.kind, page.title) == ("man", "lamp(8)")


def test_members_after_each_other_are_one_text() -> None:
    body = gzip.compress(b"Monday: wind.\n\n") + gzip.compress(b"Tuesday: calm.\n")
    assert read_bytes(body, "x", name="log.gz").passages == ("Monday: wind.", "Tuesday: calm.")


def test_packed_twice_is_read_and_three_times_is_not() -> None:
    twice = gzip.compress(bz2.compress(HTML))
    assert read_bytes(twice, "x", name="oil.html.bz2.gz").title == "Lamps"
    with pytest.raises(ReadError, match="more than 2 times"):
        read_bytes(gzip.compress(twice), "x", name="oil.html.bz2.gz.gz")


@pytest.mark.parametrize("suffix", PACK)
def test_half_a_file_says_so(suffix: str) -> None:
    with pytest.raises(ReadError, match="incomplete"):
        read_bytes(PACK[suffix](MAN * 50)[:-9], "x", name=f"lamp.8{suffix}")


@pytest.mark.parametrize("suffix", PACK)
def test_a_damaged_file_says_so(suffix: str) -> None:
    body = bytearray(PACK[suffix](bytes(range(256)) * 8))
    body[20:60] = b"\xaa" * 40
    with pytest.raises(ReadError, match=r"broken|incomplete"):
        read_bytes(bytes(body), "x", name=f"lamp.8{suffix}")


def test_nothing_inside_is_an_empty_page() -> None:
    with pytest.raises(ReadError, match="empty"):
        read_bytes(gzip.compress(b""), "x", name="a.txt.gz")


def test_what_unpacks_too_far_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "MAX_UNPACKED", 3 * 1024 * 1024)
    with pytest.raises(ReadError, match="unpacks to more than 3 MB"):
        read_bytes(gzip.compress(b"a " * 5_000_000), "x", name="a.txt.gz")


def hungry() -> bytes:
    """A few words whose header asks for a dictionary of one gigabyte."""
    body = bytearray(lzma.compress(b"words"))
    end = 12 + 4 * body[12]
    body[body.index(b"\x21\x01", 12) + 2] = 36
    body[end : end + 4] = zlib.crc32(body[12:end]).to_bytes(4, "little")
    return bytes(body)


@pytest.mark.slow
def test_bombs_are_their_own_childs_business() -> None:
    """Each ends with a reason, and the next document is read as ever."""
    pool = Workers(1)
    small = Allowance(seconds=30, memory=256 * 1024**2, characters=100_000)
    try:
        with pytest.raises(ReadError, match="unpacks to more than 100 MB"):
            pool.read(Document(bz2.compress(bytes(120 * 1024**2)), "x", name="a.txt.bz2"), small)
        with pytest.raises(TooCostly, match="memory"):
            pool.read(Document(hungry(), "x", name="a.txt.xz"), small)
        assert pool.read(Document(gzip.compress(MAN), "x", name="lamp.8.gz"), small).title == "lamp(8)"
    finally:
        pool.close()


def old_tar() -> bytes:
    """As tar wrote before it said its name."""
    return b"lamps/".ljust(100, b"\0") + b"000755 \x00" + b"001750 \x00" + b"000144 \x00" + b"00000000000 ".ljust(388, b"\0")


def tar() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        about = tarfile.TarInfo("a.txt")
        about.size = 5
        archive.addfile(about, io.BytesIO(b"words"))
    return out.getvalue()


def zipped() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a.txt", "words")
    return out.getvalue()


NOT_READ = {
    "a.tar.gz": (gzip.compress(tar()), r"an archive \(tar\).*unpack it"),
    "old.tar.xz": (lzma.compress(old_tar()), r"an archive \(tar\)"),
    "a.tgz": (gzip.compress(tar()), r"an archive \(tar\)"),
    "a.zip": (zipped(), r"an archive \(ZIP\)"),
    "a.txt.zst": (b"\x28\xb5\x2f\xfd\x04\x00", "zstd.*unpack it first"),
    "a.ps.gz": (gzip.compress(b"%!PS-Adobe-3.0\n/Times findfont\n"), "PostScript.*ps2pdf"),
    "a.doc": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "old office program"),
    "a.css": (b"p { color: red }", "a style sheet"),
    "searchindex.js": (b"Search.setIndex({})", "a script"),
    "lamp_8h.js": (b'var lamp_8h =\n[\n    [ "Lamp", "lamp_8h.html#a1", null ]\n];\n', "a script"),
    "a.svg": (b"<?xml version='1.0'?><svg><text>Lamp</text></svg>", "a picture"),
    "a.gif": (b"GIF89a" + bytes(30), "a picture"),
    "a.chm": (b"ITSF\x03\x00\x00\x00" + bytes(90), "CHM"),
}


@pytest.mark.parametrize("name", NOT_READ)
def test_what_is_not_read_says_what_it_is_and_what_to_do(name: str) -> None:
    body, words = NOT_READ[name]
    with pytest.raises(ReadError, match=words):
        read_bytes(body, "x", name=name)


@pytest.mark.parametrize("text", ["ID3 tags name a song.", "MZ was a car maker.", "Rar! he said.", "LZIP, too", "GIF89 is old"])
def test_words_that_look_like_signs_are_words(text: str) -> None:
    assert read_bytes(text.encode(), "x", name="a.txt").passages == (text,)


@pytest.mark.parametrize(
    ("name", "readable", "ending", "archive"),
    [
        ("lamp.8.gz", True, ".8.gz", False),
        ("oil.HTML.BZ2", True, ".HTML.BZ2", False),
        ("FAQ.gz", True, ".gz", False),
        ("README", True, "", False),
        ("changelog.Debian.gz", True, ".gz", False),
        ("lamp.3pm", True, ".3pm", False),
        ("lamp.info-12.gz", True, ".info-12.gz", False),
        ("readme.gif", False, "", False),
        ("a.tar.gz", False, "", True),
        ("a.tgz", False, "", True),
        ("a.7z", False, "", True),
        ("program", False, "", False),
    ],
)
def test_names(name: str, readable: bool, ending: str, archive: bool) -> None:
    assert (kinds.is_readable(name), kinds.ending(name), kinds.is_archive(name)) == (readable, ending, archive)
