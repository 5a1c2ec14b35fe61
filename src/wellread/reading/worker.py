"""The sandboxed child process that reads documents: `bytes in, page out` (or a picture of one), until its parent has no more.

It is started by `workers`. Before the first document it loads what it needs and gives up the rest: it can
open no file and no connection, start no process, write nothing, and each document has its own limits on
memory and time. A document that breaks it ends this process and no other.
"""

from __future__ import annotations

import codecs
import encodings
import os
import pkgutil
import resource
import signal
import socket
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import import_module

from wellread.core import codec
from wellread.core.processors import available_processors
from wellread.errors import ReadError, Scanned
from wellread.reading import child, ocr
from wellread.reading.allowance import Allowance
from wellread.reading.documents import read
from wellread.reading.kinds import unpacked
from wellread.reading.pdfpicture import Drawing, Picture, draw
from wellread.reading.registry import readers
from wellread.text.blocks import passages
from wellread.types import Document, Page

IDLE = 60.0  # seconds without work, then it ends
_COPIES = 4  # of the document that a parser may make, beside its allowance
_KEPT = 128 * 1024 * 1024  # bytes that may stay behind after a document
_BEHIND = 5  # steps of priority: reading waits for whoever answers
_LOADED = ("charset_normalizer", "markdown_it", "python_calamine", "striprtf.striprtf", "pypdfium2", "_strptime", "heapq")


@dataclass(frozen=True, slots=True)
class Request:
    """A document to read, or a page of it to draw."""

    document: Document
    allowance: Allowance
    wanted: Drawing | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """A page or a picture, or why there is none. `last`: the process ends after it."""

    page: Page | None = None
    picture: Picture | None = None
    reason: str = ""
    costly: bool = False
    last: bool = False
    scans: bool = False  # there are pictures of text in it that this process cannot read


def replied(frame: bytes | bytearray, url: str) -> Reply:
    """A child's reply, decoded. It may lie in its words, not in their kind; the address is ours."""
    try:
        made = codec.unpack(Reply, frame)
    except ValueError as error:
        raise child.BrokenFrame("not the fields of a reply") from error
    page = made.page and replace(made.page, url=url, passages=passages(made.page.blocks))
    return replace(made, page=page)


def answer(asked: Request) -> Reply:
    """One document, read; whatever goes wrong is that document's."""
    document, allowance, wanted = asked.document, asked.allowance, asked.wanted
    try:
        if wanted is not None:
            body, _ = unpacked(document.body, document.name, document.url)
            picture = draw(body, document.url, wanted)
            return Reply(picture=picture, scans=picture.scanned)
        page = read(document, allowance)
    except ReadError as error:
        return Reply(reason=error.reason, scans=isinstance(error, Scanned))
    except MemoryError:
        return Reply(reason=too_large(allowance), costly=True, last=True)
    return Reply(page, scans=bool(page.scanned))


def too_large(allowance: Allowance) -> str:
    return f"needs more memory than a document may ({allowance.memory // 1024**2} MB)"


def serve(channel: socket.socket, memory: int | None) -> None:
    """`memory` is an open file that tells how much of it this process has."""
    baseline = _data_bytes(memory)
    while True:
        channel.settimeout(IDLE)
        try:
            frame = child.receive(channel)
        except TimeoutError:
            return
        if frame is None:
            return
        asked = codec.unpack(Request, frame)
        del frame
        _limit(asked, baseline)
        made = answer(asked)
        _unlimit()
        made = replace(made, last=made.last or _data_bytes(memory) > baseline + _KEPT)
        channel.settimeout(None)
        page = made.page and replace(made.page, passages=())  # which are made of its blocks
        channel.sendall(child.pack(replace(made, page=page)))
        if made.last:
            return


def _limit(asked: Request, baseline: int) -> None:
    """The parent's clock is the one that counts; these hold where the parent is gone, too."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _soften(resource.RLIMIT_DATA, baseline + asked.allowance.memory + _COPIES * len(asked.document.body))
    seconds = asked.allowance.seconds * (available_processors() if ocr.is_loaded() else 1)  # it computes on all of them
    _soften(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime + seconds) + 2)
    signal.setitimer(signal.ITIMER_REAL, asked.allowance.seconds + 5)


def _unlimit() -> None:
    signal.setitimer(signal.ITIMER_REAL, 0)
    _soften(resource.RLIMIT_DATA, resource.RLIM_INFINITY)


def _soften(kind: int, value: int) -> None:
    """Set the limit that may be set again."""
    hard = resource.getrlimit(kind)[1]
    resource.setrlimit(kind, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))


def _memory_file() -> int | None:
    """Where the system has one; without it the limits count from nothing."""
    try:
        return os.open("/proc/self/statm", os.O_RDONLY)
    except OSError:
        return None


def _data_bytes(memory: int | None) -> int:
    if memory is None:
        return 0
    return int(os.pread(memory, 100, 0).split()[5]) * resource.getpagesize()


def _load() -> None:
    """All readers and what they load on first use, for no file can be opened later."""
    for name in _LOADED:
        import_module(name)
    for reader in readers().values():
        reader.load()
    for module in pkgutil.iter_modules(encodings.__path__):
        with suppress(ImportError, LookupError):  # some are of other systems
            codecs.lookup(module.name)


def _confine(last_file: int) -> None:
    for kind in (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE, resource.RLIMIT_NPROC):
        resource.setrlimit(kind, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (last_file + 1, last_file + 1))


def main(*, recognising: bool = False) -> None:
    os.nice(_BEHIND)
    channel = socket.socket(fileno=0)
    _load()
    if recognising:
        ocr.load()
    memory = _memory_file()
    _confine(2 if memory is None else memory)
    serve(channel, memory)
