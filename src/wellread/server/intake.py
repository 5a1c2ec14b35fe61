"""File upload: a multipart form is written to the disk while it arrives, never more of it in memory than a piece; file names."""

from __future__ import annotations

import asyncio
import re
import secrets
import time
import unicodedata
from collections.abc import AsyncGenerator, Callable, Container
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from python_multipart.exceptions import FormParserError, MultipartParseError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.exceptions import HTTPException
from starlette.requests import Request

from wellread.errors import DamagedFile, UsageError, os_errors
from wellread.reading.kinds import ending, is_archive, is_readable

_LONGEST_FIELD = 10_000  # bytes of a field that is no file
_MOST_FIELDS = 20
_MOST_NAMED = 1000  # files beyond those that are taken, each of which is named and refused
GRACE = 10.0  # seconds that everybody has
LEAST = 50_000  # bytes a second after that, while the place is wanted
_LOOK = 0.5  # seconds between two looks at whether it is
_SILENT = 30.0  # seconds without a byte
LONGEST_NAME = 60  # characters of a collection's
_LONGEST_FILE = 200  # bytes; file systems end at 255
_LONGEST_PATH, _DEEPEST = 2_000, 8  # characters that are looked at, and folders that are kept
_BOTH_ENDS = 200  # characters of what a client says that are looked at: putting marks in order takes quadratic time
_SEPARATORS = re.compile(r"[/\\]")
_PLAIN = re.compile(r"[^a-z0-9]+")


@dataclass(slots=True)
class Sent:
    """One file of a form."""

    said: str  # what the client calls it
    path: Path | None = None  # where its bytes lie, until somebody takes them
    size: int = 0
    problem: str = ""
    name: str = field(init=False)  # what it is called here

    def __post_init__(self) -> None:
        self.name = file_path(self.said)


@dataclass(slots=True)
class Arrived:
    """A whole form."""

    files: list[Sent] = field(default_factory=list[Sent])
    fields: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Room:
    """Upload limits of one form."""

    files: int
    file: int  # bytes of one
    bytes: int  # of all, together with what others bring at the same time
    others: list[Form] = field(default_factory=list["Form"])  # on their way, this one too: nothing of theirs is filed yet

    @property
    def full(self) -> bool:
        return sum(form.taken for form in self.others) > self.bytes


@asynccontextmanager
async def arriving(request: Request, room: Room, folder: Path, wanted: Callable[[], bool], most: int) -> AsyncGenerator[Arrived]:
    """The form of a request of `most` bytes, its files in this folder. What lies there at the end of the block is deleted, half
    ones too."""
    kind, options = parse_options_header(request.headers.get("content-type", ""))
    if kind != b"multipart/form-data" or not options.get(b"boundary"):
        raise UsageError("documents are sent as multipart/form-data")
    form = Form(room, folder)
    room.others.append(form)
    try:
        try:
            with os_errors(DamagedFile, "the document cannot be kept"):
                parser = MultipartParser(options[b"boundary"], form.callbacks())  # pyright: ignore[reportArgumentType]
                async with aclosing(hastened(request.stream(), wanted, most)) as pieces:
                    async for piece in pieces:
                        await asyncio.to_thread(parser.write, piece)
                parser.finalize()
        except FormParserError as problem:
            raise UsageError(f"the form cannot be read: {problem}") from None
        if not form.ended:
            raise UsageError("the form is not whole")
        yield form.arrived
    finally:
        room.others.remove(form)
        form.clear()


class Form:
    """Callbacks of the multipart parser, piece by piece, by the names that it has for them."""

    def __init__(self, room: Room, folder: Path) -> None:
        self._room, self._folder = room, folder
        self.arrived = Arrived()
        self.ended = False
        self._made: list[Path] = []
        self.taken = 0  # bytes on the disk
        self._parts = 0
        self._header = b""
        self._value = b""
        self._headers: dict[bytes, bytes] = {}
        self._field = ""
        self._said = bytearray()
        self._file: Sent | None = None
        self._out: BinaryIO | None = None

    def callbacks(self) -> dict[str, Callable[..., None]]:
        return {name: getattr(self, name) for name in dir(self) if name.startswith("on_")}

    def clear(self) -> None:
        if self._out is not None:
            self._out.close()
        for path in self._made:
            path.unlink(missing_ok=True)

    def on_part_begin(self) -> None:
        self._parts += 1
        if self._parts > self._room.files + _MOST_NAMED + _MOST_FIELDS:
            raise MultipartParseError(f"it has far too many parts: at most {self._room.files:,} documents are taken at once")
        self._headers, self._field, self._said, self._file = {}, "", bytearray(), None

    def on_header_field(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def on_header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def on_header_end(self) -> None:
        self._headers[self._header.lower()] = self._value
        self._header = self._value = b""

    def on_headers_finished(self) -> None:
        _, options = parse_options_header(self._headers.get(b"content-disposition", b""))
        self._field = options.get(b"name", b"").decode("utf-8", "replace")
        if b"filename" not in options:
            return
        self._file = Sent(options[b"filename"].decode("utf-8", "replace"))
        if not self._file.said:
            return  # a form in which nothing was chosen
        self.arrived.files.append(self._file)
        self._file.problem = self._refusal(self._file)
        if not self._file.problem:
            self._file.path = self._folder / secrets.token_hex(12)
            self._made.append(self._file.path)
            self._out = self._file.path.open("xb")
            self._file.path.chmod(0o600)

    def _refusal(self, file: Sent) -> str:
        if len(self.arrived.files) > self._room.files:
            return f"too many at once: at most {self._room.files:,}"
        if not file.name:
            return "has no name that can be kept"
        if is_archive(file.name):
            return "is an archive: unpack it and send the documents in it"
        return "" if is_readable(file.name) else "documents of this kind cannot be read"

    def on_part_data(self, data: bytes, start: int, end: int) -> None:
        if self._file is None:
            self._said += data[start:end]
            if len(self._said) > _LONGEST_FIELD:
                raise MultipartParseError("a field is too long")
            return
        self._file.size += end - start
        self.taken += end - start if self._out is not None else 0
        if self._file.size > self._room.file:
            self._refuse(f"is too large: at most {amount(self._room.file)}")
        elif self._out is not None and self._room.full:
            self._refuse("there is no room left for it on this server")
        if self._out is not None:
            self._out.write(data[start:end])

    def _refuse(self, problem: str) -> None:
        """Its bytes are not kept; those that still come are passed over, so that the others arrive."""
        assert self._file is not None
        self._file.problem = self._file.problem or problem
        if self._out is not None:
            self._out.close()
            self._out = None
            self.taken -= self._file.size
        if self._file.path is not None:
            self._file.path.unlink(missing_ok=True)
            self._file.path = None

    def on_part_end(self) -> None:
        if self._file is None:
            self.arrived.fields[self._field] = self._said.decode("utf-8", "replace")
        elif self._file.said and not self._file.size and not self._file.problem:
            self._refuse("is empty")
        if self._out is not None:
            self._out.close()
            self._out = None

    def on_end(self) -> None:
        self.ended = True


async def hastened(body: AsyncGenerator[bytes], wanted: Callable[[], bool], most: int) -> AsyncGenerator[bytes]:
    """The pieces of a body as they come, up to so many bytes. One that is too slow is given up once its place is wanted, one of
    which nothing more comes in any case."""
    begun = heard = time.monotonic()
    taken, coming = 0, asyncio.ensure_future(anext(body, None))
    try:
        while True:
            await asyncio.wait([coming], timeout=_LOOK)
            now = time.monotonic()
            if coming.done():
                if (piece := coming.result()) is None:
                    return
                heard, taken = now, taken + len(piece)
                if taken > most:
                    raise HTTPException(413, f"that is too much at once: at most {most:,} bytes")
                yield piece
                coming = asyncio.ensure_future(anext(body, None))
            if now - begun > GRACE + taken / LEAST and wanted():
                raise HTTPException(408, "the documents came too slowly, and others wanted to send theirs")
            if now - heard > _SILENT:
                raise HTTPException(408, "the request came too slowly")
    finally:
        coming.cancel()


def collection_name(said: str) -> str:
    """One line of printable characters. A colon would make it look like the spec of a source."""
    name = _printable(said)
    if not name:
        raise UsageError("a collection needs a name")
    if len(name) > LONGEST_NAME:
        raise UsageError(f"the name is too long: at most {LONGEST_NAME} characters")
    if ":" in name or "?" in name or " + " in name:
        raise UsageError("a collection's name cannot hold a colon, a question mark or a plus between words")
    return name


def slug(name: str, taken: Container[str]) -> str:
    """The slug of a collection, in addresses and on the disk."""
    ascii_ = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    base = _PLAIN.sub("-", ascii_).strip("-")[:40].strip("-") or "collection"
    return numbered(base, taken, "-{}")


def file_path(said: str) -> str:
    """The path of a document in the folder that was sent, each part as `file_name` has it; may be empty."""
    *folders, last = _SEPARATORS.split(said[-_LONGEST_PATH:])
    name = file_name(last)
    return "/".join([*filter(None, map(file_name, folders[-_DEEPEST:])), name]) if name else ""


def file_name(last: str) -> str:
    """Without what a file system, a terminal or an eye could stumble over; may be empty."""
    short = last if len(last) <= 2 * _BOTH_ENDS else last[:_BOTH_ENDS] + last[-_BOTH_ENDS:]
    name = _printable(short).lstrip(". ")
    suffix = ending(name)
    kept = name.removesuffix(suffix).encode()[: _LONGEST_FILE - len(suffix.encode())].decode("utf-8", "ignore").rstrip()
    return f"{kept}{suffix}" if name else ""


def numbered(name: str, taken: Container[str], form: str = " ({})", *, least: int = 2) -> str:
    """The name, or with the first number from `least` on that makes it a new one; a file keeps its ending."""
    suffix = ending(name) or PurePosixPath(name).suffix
    number, found = least, name
    while found in taken:
        found, number = f"{name.removesuffix(suffix)}{form.format(number)}{suffix}", number + 1
    return found


def _printable(said: str) -> str:
    text = unicodedata.normalize("NFC", said)
    return " ".join("".join(c if c.isprintable() else " " if c.isspace() else "" for c in text).split())


def amount(count: int) -> str:
    """Bytes as a person says them."""
    return f"{count / 1_000_000:,.0f} MB" if count >= 1_000_000 else f"{count:,} bytes"
