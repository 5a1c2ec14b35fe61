"""One document in gzip, bzip2 or xz, as systems keep their manuals and people their logs. Unpacked in memory, up to a size."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import zlib
from collections.abc import Callable
from io import BytesIO
from pathlib import PurePosixPath
from typing import IO, cast

from wellread.errors import ReadError
from wellread.reading import unread
from wellread.reading.allowance import MAX_UNPACKED

SUFFIXES = frozenset({".gz", ".bz2", ".xz"})
TYPES = frozenset({f"application/{name}" for name in ("gzip", "x-gzip", "x-bzip2", "x-bzip", "x-xz")})
_TARS = {".tgz": ".tar", ".tbz2": ".tar", ".tbz": ".tar", ".txz": ".tar"}
_LAYERS = 2  # a file that was packed twice by mistake is still read
_CHUNK = 1024 * 1024
_BROKEN = (OSError, zlib.error, lzma.LZMAError, ValueError)


def inner_name(name: str) -> str:
    """What a file is called when it is unpacked: it says what kind of document that is."""
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
                    raise ReadError(url, unread.known(unpacked.getvalue()) or too_large)
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
