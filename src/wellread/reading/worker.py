"""The child process that reads documents: `bytes in, page out` (or a picture of one), until its parent has no more.

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
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import import_module
from typing import cast, get_args

from wellread.errors import ReadError
from wellread.reading import frames
from wellread.reading.allowance import Allowance
from wellread.reading.compressed import unpacked
from wellread.reading.documents import Document, read_bytes
from wellread.reading.pdfpicture import Box, Drawing, Picture, draw
from wellread.text.blocks import passages
from wellread.types import Block, BlockKind, Page

IDLE = 60.0  # seconds without work, then it ends
_DOCUMENTS = 1_000  # then a fresh process is cheaper than what libraries leak
_COPIES = 4  # of the document that a parser may make, beside its allowance
_KEPT = 128 * 1024 * 1024  # bytes that may stay behind after a document
_BEHIND = 5  # steps of priority: reading waits for whoever answers
_LOADED = (
    "wellread.reading.extract",
    "wellread.reading.docbook",
    "wellread.reading.asciidoc",
    "wellread.reading.info",
    "wellread.reading.letters",
    "wellread.reading.man",
    "wellread.reading.markdown",
    "wellread.reading.notebook",
    "wellread.reading.org",
    "wellread.reading.pod",
    "wellread.reading.rst",
    "wellread.reading.rtf",
    "wellread.reading.tables",
    "wellread.reading.tex",
    "wellread.reading.packed",
    "wellread.reading.pdf",
    "wellread.reading.unmarked",
    "charset_normalizer",
    "markdown_it",
    "python_calamine",
    "striprtf.striprtf",
    "pypdfium2",
    "_strptime",
    "heapq",
)


@dataclass(frozen=True, slots=True)
class Reply:
    """A page or a picture, or why there is none. `last`: the process ends after it."""

    page: Page | None = None
    picture: Picture | None = None
    reason: str = ""
    costly: bool = False
    last: bool = False


def request(document: Document, allowance: Allowance, wanted: Drawing | None = None) -> bytes:
    numbers = f"{allowance.seconds} {allowance.memory} {allowance.characters}"
    texts = (numbers, document.url, document.content_type, document.charset or "", document.name)
    drawing = (f"{wanted.page} {int(wanted.painted)}", wanted.words, wanted.before) if wanted else ("", "", "")
    return frames.pack([*(text.encode("utf-8", "replace") for text in (*texts, *drawing)), document.body])


def _requested(fields: Sequence[bytes]) -> tuple[Document, Allowance, Drawing | None]:
    numbers, url, content_type, charset, name, drawing, words, before = (field.decode() for field in fields[:8])
    seconds, memory, characters = numbers.split()
    allowance = Allowance(float(seconds), int(memory), int(characters))
    page, _, painted = drawing.partition(" ")
    wanted = Drawing(int(page), words, before, painted == "1") if drawing else None
    return Document(fields[8], url, content_type, charset or None, name), allowance, wanted


def reply(made: Reply) -> bytes:
    if made.picture is not None:
        picture = made.picture
        numbers = (picture.width, picture.height, picture.pages, *(number for box in picture.boxes for number in box))
        flags = f"picture {'last' if made.last else ''}"
        return frames.pack([flags.encode(), " ".join(map(str, numbers)).encode(), picture.png])
    page = made.page or Page("", "", ())
    flags = f"{'page' if made.page else 'costly' if made.costly else 'failed'} {'last' if made.last else ''}"
    facts = (flags, made.reason, page.title, page.published, page.author, page.language, page.kind, page.notice)
    kinds = "\n".join(f"{b.kind}\t{b.level}\t{b.page or ''}\t{' '.join(b.anchor.split())}" for b in page.blocks)
    texts = (*facts, kinds, *(block.text for block in page.blocks))
    return frames.pack([(text or "").encode("utf-8", "replace") for text in texts])


def replied(fields: Sequence[bytes], url: str) -> Reply:
    """What a child said. It may lie in its words, not in their kind; the address is ours."""
    if fields and fields[0].startswith(b"picture "):
        return Reply(picture=_picture(fields), last=fields[0].endswith(b"last"))
    try:
        flags, reason, title, published, author, language, kind, notice, kinds, *texts = (f.decode("utf-8") for f in fields)
        described = kinds.split("\n") if texts else []
        blocks = tuple(_block(text, about) for text, about in zip(texts, described, strict=True))
    except ValueError as error:
        raise frames.BrokenFrame("not the fields of a reply") from error
    outcome, _, last = flags.partition(" ")
    facts = (published or None, author or None, language or None, kind, notice or None)
    page = Page(url, title, passages(blocks), *facts, blocks) if outcome == "page" else None
    return Reply(page, None, reason, outcome == "costly", bool(last))


def _picture(fields: Sequence[bytes]) -> Picture:
    try:
        _, numbers, png = fields
        width, height, pages, *corners = map(int, numbers.split())
        boxes = tuple(cast("Box", tuple(corners[at : at + 4])) for at in range(0, len(corners) - 3, 4))
    except ValueError as error:
        raise frames.BrokenFrame("not the fields of a picture") from error
    return Picture(width, height, pages, boxes, png)


def _block(text: str, about: str) -> Block:
    kind, level, page, anchor = about.split("\t")
    if kind not in get_args(BlockKind):
        raise ValueError(f"no kind of block: {kind!r}")
    return Block(cast("BlockKind", kind), text, int(level), anchor, int(page) if page else None)


def answer(fields: Sequence[bytes]) -> Reply:
    """One document, read; whatever goes wrong is that document's."""
    document, allowance, wanted = _requested(fields)
    try:
        if wanted is not None:
            body, _ = unpacked(document.body, document.name, document.url)
            return Reply(picture=draw(body, document.url, wanted))
        page = read_bytes(
            document.body,
            document.url,
            content_type=document.content_type,
            charset=document.charset,
            name=document.name,
            allowance=allowance,
        )
    except ReadError as error:
        return Reply(reason=error.reason)
    except MemoryError:
        return Reply(reason=too_large(allowance), costly=True, last=True)
    return Reply(page)


def too_large(allowance: Allowance) -> str:
    return f"needs more memory than a document may ({allowance.memory // 1024**2} MB)"


def serve(channel: socket.socket, memory: int | None) -> None:
    """`memory` is an open file that tells how much of it this process has."""
    baseline = _data_bytes(memory)
    for number in range(_DOCUMENTS):
        channel.settimeout(IDLE)
        try:
            fields = frames.receive(channel)
        except TimeoutError:
            return
        if fields is None:
            return
        _limit(fields, baseline)
        made = answer(fields)
        _unlimit()
        grown = _data_bytes(memory) > baseline + _KEPT
        made = replace(made, last=made.last or grown or number == _DOCUMENTS - 1)
        channel.settimeout(None)
        channel.sendall(reply(made))
        if made.last:
            return


def _limit(fields: Sequence[bytes], baseline: int) -> None:
    """The parent's clock is the one that counts; these hold where the parent is gone, too."""
    document, allowance, _ = _requested(fields)
    used = resource.getrusage(resource.RUSAGE_SELF)
    _soften(resource.RLIMIT_DATA, baseline + allowance.memory + _COPIES * len(document.body))
    _soften(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime + allowance.seconds) + 2)
    signal.setitimer(signal.ITIMER_REAL, allowance.seconds + 5)


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
    """Everything a reader loads on first use, for no file can be opened later. A new reader adds its modules."""
    for name in _LOADED:
        import_module(name)
    for module in pkgutil.iter_modules(encodings.__path__):
        with suppress(ImportError, LookupError):  # some are of other systems
            codecs.lookup(module.name)


def _confine(last_file: int) -> None:
    for kind in (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE, resource.RLIMIT_NPROC):
        resource.setrlimit(kind, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (last_file + 1, last_file + 1))


def main() -> None:
    os.nice(_BEHIND)
    channel = socket.socket(fileno=0)
    _load()
    memory = _memory_file()
    _confine(2 if memory is None else memory)
    serve(channel, memory)
