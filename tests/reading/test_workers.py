"""Documents in child processes: what breaks is one document, and what it may cost is bounded."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from tests.reading import bombs
from tests.reading.given_bytes import read_bytes
from tests.reading.test_documents import PROSE, docx, epub, pdf, word

from wellread.core import codec
from wellread.errors import ReadError, TooCostly
from wellread.reading import child, kinds, registry, worker, workers
from wellread.reading.allowance import OWN_FILE, Allowance
from wellread.reading.documents import opened
from wellread.reading.workers import Workers
from wellread.types import Document

pytestmark = pytest.mark.slow

SMALL = Allowance(seconds=30, memory=64 * 1024**2, characters=100_000)
GOOD = {
    "pdf": pdf(["The keeper had two goats that lived with him."]),
    "docx": docx(word(PROSE)),
    "epub": epub({"c.xhtml": f"<p>{PROSE}</p>"}),
    "html": f"<html><body><p>{PROSE}</p></body></html>".encode(),
    "markdown": f"---\ndate: 4 March 2021\n---\n# Papers\n\n{PROSE}".encode(),
    "cp1252": "Der Wächter schrieb über das Öl — „jeden Abend“, elf Winter lang.".encode("cp1252"),
    "shift-jis": "灯台守は毎晩、風と雲を書きとめた。".encode("shift-jis"),
}
HUNGRY = {"fan": bombs.fanning_out(10, 10), "self": bombs.containing_itself()}


@pytest.fixture(scope="module")
def pool() -> Iterator[Workers]:
    pool = Workers(2)
    yield pool
    pool.close()
    assert pool.pids() == []


@pytest.fixture
async def fresh() -> AsyncIterator[Workers]:
    pool = Workers(2)
    yield pool
    pool.close()


def document(body: bytes, name: str = "a.txt") -> Document:
    return Document(body, f"http://a.example/{name}", name=name)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def until(condition: object, seconds: float = 20.0) -> None:
    assert callable(condition)
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("kind", GOOD)
def test_a_child_reads_what_this_process_would(pool: Workers, kind: str) -> None:
    name = f"a.{kind}" if kind not in ("cp1252", "shift-jis", "markdown") else {"markdown": "a.md"}.get(kind, "a.txt")
    given = document(GOOD[kind], name)
    assert pool.read(given) == read_bytes(given.body, given.url, name=given.name)


@pytest.mark.parametrize("kind", HUNGRY)
def test_a_document_that_eats_memory_has_failed_and_nothing_else(pool: Workers, kind: str) -> None:
    before = resident()
    with pytest.raises(TooCostly, match=r"needs more memory than a document may \(64 MB\)"):
        pool.read(document(HUNGRY[kind], "a.pdf"), SMALL)
    assert resident() - before < 20 * 1024**2
    assert PROSE in pool.read(document(GOOD["html"])).text


def test_deep_nesting(pool: Workers) -> None:
    with pytest.raises(ReadError):
        pool.read(document(bombs.fanning_out(5_000, 1), "a.pdf"), SMALL)
    assert PROSE in pool.read(document(GOOD["html"])).text


def test_a_document_that_takes_too_long(pool: Workers) -> None:
    pool.read(document(GOOD["html"]))
    with pytest.raises(TooCostly, match=r"took longer than 0\.5 s"):
        pool.read(document(HUNGRY["fan"], "a.pdf"), Allowance(seconds=0.5, memory=2 * 1024**3))


def test_a_child_stops_by_itself_when_nobody_stops_it() -> None:
    """Its own limits hold where the parent is gone: an endless loop ends by the processor time it used."""
    code = (
        "import sys, resource\nfrom wellread.reading import worker\n"
        "worker._limit(worker.Request(worker.Document(b'', ''), worker.Allowance(-1)), 0)\n"
        "resource.setrlimit(resource.RLIMIT_DATA, (-1, -1))\nwhile True: pass"
    )
    ended = subprocess.run([sys.executable, "-c", code], timeout=60, check=False)
    assert ended.returncode in (-signal.SIGXCPU, -signal.SIGALRM)


def test_word_that_unpacks_to_millions_of_characters(pool: Workers) -> None:
    body = bombs.docx(bombs.paragraph("a" * 1_000_000) * 98)
    assert len(body) < 200_000
    page = pool.read(document(body, "a.docx"), Allowance(characters=100_000))
    assert len(page.text) == 100_000
    assert page.notice == "its text is larger than 100,000 characters: the rest was left out"


@pytest.mark.parametrize("word", ["ab ", "ab"])
def test_a_paragraph_of_megabytes_comes_in_parts(pool: Workers, word: str) -> None:
    """Whoever splits, counts or decodes one as a whole would hold all threads of the server for as long."""
    text = (word * 1_000_000).strip()
    page = pool.read(document(text.encode(), "a.md"))
    assert max(len(block.text) for block in page.blocks) <= 100_000
    assert not page.notice
    joined = " ".join(block.text for block in page.blocks)
    assert joined.split() == text.split() if word != "ab" else joined.replace(" ", "") == text


def test_word_with_millions_of_paragraphs(pool: Workers) -> None:
    page = pool.read(document(bombs.docx(bombs.paragraph("a") * 1_000_000), "a.docx"))
    assert len(page.passages) == 200_000
    assert page.notice == "its text is larger than 200,000 paragraphs: the rest was left out"


def test_a_chapter_is_read_once_however_often_it_is_named(pool: Workers) -> None:
    chapter = "<p>" + "the keeper wrote " * 20_000 + "</p>"
    page = pool.read(document(bombs.epub(chapter, 2_000), "a.epub"))
    assert len(page.text.split()) == 3 * 20_000


def test_a_damaged_archive(pool: Workers) -> None:
    with pytest.raises(ReadError, match="broken"):
        pool.read(document(bombs.damaged(bombs.docx(bombs.paragraph(PROSE * 100))), "a.docx"))


def test_one_line_of_nine_megabytes_is_cut(pool: Workers) -> None:
    page = pool.read(document(b"word " * 1_800_000), SMALL)
    assert len(page.text) <= SMALL.characters
    assert page.notice is not None


def test_half_characters_do_not_come_through(pool: Workers) -> None:
    body = '<html><head><script type="application/ld+json">{"@type":"Article","headline":"a\\ud800b"}</script></head>'
    page = pool.read(Document(f"{body}<body><p>{PROSE}</p>".encode(), "http://a.example/\ud800", "text/html"))
    assert page.title == "a\ufffdb"
    assert page.url == "http://a.example/\ufffd"


def test_any_failure_of_a_parser_is_the_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RecursionError("too deep")

    monkeypatch.setattr("wellread.reading.extract.extract", fail)
    with pytest.raises(ReadError, match="RecursionError"):
        read_bytes(GOOD["html"], "x", content_type="text/html")


async def test_a_child_that_is_killed(fresh: Workers) -> None:
    fresh.read(document(GOOD["html"]))
    (pid,) = fresh.pids()
    os.kill(pid, signal.SIGSTOP)
    reading = asyncio.create_task(fresh.aread(document(GOOD["html"])))
    await asyncio.sleep(0.2)
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(ReadError, match="what reads it crashed"):
        await reading
    assert PROSE in (await fresh.aread(document(GOOD["html"]))).text


async def test_cancelling_kills_the_child(fresh: Workers) -> None:
    fresh.read(document(GOOD["html"]))
    (pid,) = fresh.pids()
    os.kill(pid, signal.SIGSTOP)
    reading = asyncio.create_task(fresh.aread(document(GOOD["html"])))
    await asyncio.sleep(0.2)
    reading.cancel()
    with suppress(asyncio.CancelledError):
        await reading
    await until(lambda: not alive(pid))
    assert PROSE in (await fresh.aread(document(GOOD["html"]))).text


async def test_slow_documents_do_not_keep_quick_ones_waiting(fresh: Workers) -> None:
    slow = [asyncio.create_task(fresh.aread(document(HUNGRY["fan"], "a.pdf"), Allowance(memory=4 * 1024**3))) for _ in range(2)]
    await until(lambda: len(fresh.pids()) == 2)
    for pid in fresh.pids():
        os.kill(pid, signal.SIGSTOP)  # as slow as can be
    assert PROSE in (await fresh.aread(document(GOOD["html"]))).text
    assert not any(task.done() for task in slow)
    for task in slow:
        task.cancel()
    await asyncio.gather(*slow, return_exceptions=True)


async def test_many_at_once_some_of_them_hostile(fresh: Workers) -> None:
    """The loop goes on: between two ticks this process never works for 50 ms. Other processes' load does not count."""
    bodies = [list(HUNGRY.values())[n % 2] if n % 10 == 0 else GOOD["html"] for n in range(50)]
    fresh.read(document(GOOD["html"]))
    before, worst = resident(), 0.0

    async def tick() -> None:
        nonlocal worst
        while True:
            begun = time.process_time()
            await asyncio.sleep(0.001)
            worst = max(worst, time.process_time() - begun)

    ticking = asyncio.create_task(tick())
    tasks = (fresh.aread(document(body), SMALL) for body in bodies)
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    ticking.cancel()
    for body, outcome in zip(bodies, outcomes, strict=True):
        assert isinstance(outcome, TooCostly) if body in HUNGRY.values() else PROSE in getattr(outcome, "text", "")
    assert worst < 0.05
    assert resident() - before < 30 * 1024**2


async def test_many_come_in_their_order(fresh: Workers, tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"{number:02}.txt").write_text(f"This is number {number}.")
    (tmp_path / "07.txt").write_bytes(HUNGRY["self"])
    given = [(f"{number:02}.txt", partial(opened, tmp_path / f"{number:02}.txt")) for number in range(30)]
    outcomes = [(name, outcome) async for name, outcome in fresh.in_order(given, SMALL)]
    assert [name for name, _ in outcomes] == [name for name, _ in given]
    for number, (_, outcome) in enumerate(outcomes):
        if number == 7:
            assert isinstance(outcome, TooCostly)
        else:
            assert not isinstance(outcome, ReadError)
            assert outcome.text == f"This is number {number}."


def test_a_child_has_no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a secret")
    pool = Workers(1)
    pool.read(document(GOOD["html"]))
    try:
        assert b"secret" not in Path(f"/proc/{pool.pids()[0]}/environ").read_bytes()
    finally:
        pool.close()


@pytest.mark.parametrize("attempt", ["open('/etc/passwd')", "open('/dev/null', 'w')", "socket.socket()", "os.pipe()"])
def test_a_child_opens_nothing(attempt: str) -> None:
    code = f"import os, socket\nfrom wellread.reading import worker\nworker._load()\nworker._confine(2)\n{attempt}"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert "Too many open files" in ended.stderr


def _with_child(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    start = "import sys; sys.path[:] = sys.argv[1:]; from wellread.reading import child, worker; import os, socket, time\n"
    monkeypatch.setattr(child, "_START", start + code.replace("{", "{{").replace("}", "}}"))


@pytest.mark.parametrize(
    "said", [r"b'\xff' * 8", "child.pack([b'page'])", "child.pack({'page': 5})", "b'\\0\\0\\0\\4\\0\\0\\0\\5' + b'\\0' * 4"]
)
def test_a_child_that_says_what_no_child_says(monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    _with_child(monkeypatch, f"socket.socket(fileno=0).sendall({said}); time.sleep(60)")
    pool = Workers(1)
    begun = time.monotonic()
    with pytest.raises(ReadError, match="crashed"):
        pool.read(document(GOOD["html"]), SMALL)
    assert time.monotonic() - begun < 20
    assert pool.pids() == []
    pool.close()


async def test_idle_children_end_and_are_not_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    _with_child(monkeypatch, "worker.IDLE = 0.3; worker.main()")
    pool = Workers(1)
    pool.read(document(GOOD["html"]))
    (pid,) = pool.pids()
    await until(lambda: not alive(pid))
    monkeypatch.setattr(workers, "_FRESH", 0.1)
    assert PROSE in pool.read(document(GOOD["html"])).text
    assert pid not in pool.pids()
    pool.close()


def test_children_end_with_their_parent(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(PROSE)
    code = (
        "import sys\nfrom wellread.reading.workers import shared\nfrom wellread.reading.documents import opened\n"
        "shared().read(opened(sys.argv[1]))\nprint(*shared().pids(), flush=True)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "a.txt")]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert ended.stderr == ""
    assert ended.stdout.split()
    assert not any(alive(int(pid)) for pid in ended.stdout.split())


def test_children_import_nothing_from_the_working_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "pypdfium2.py").write_text(f"open({str(tmp_path / 'run')!r}, 'w')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", str(tmp_path), *sys.path])
    pool = Workers(1)
    assert PROSE in pool.read(document(GOOD["html"])).text
    assert not (tmp_path / "run").exists()
    pool.close()


def test_a_format_of_another_package_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "lamps.py").write_text(
        "from wellread.reading.registry import Reader\nfrom wellread.types import Block, Page\n"
        "READER = Reader('lamps', 'lamp', 'lamps:read', sniff=rb'^%LAMP')\n"
        "def read(text, url, name):\n    return Page(url, name, (), kind='lamps', blocks=(Block('paragraph', text[5:]),))\n"
    )
    (tmp_path / "lamps-1.dist-info").mkdir()
    (tmp_path / "lamps-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: lamps\nVersion: 1\n")
    (tmp_path / "lamps-1.dist-info" / "entry_points.txt").write_text("[wellread.readers]\nlamps = lamps:READER\n")
    monkeypatch.syspath_prepend(tmp_path)
    for known in (registry.readers, registry.by_suffix):
        known.cache_clear()
    assert kinds.is_readable("a.lamp")
    pool = Workers(1)
    page = pool.read(Document(b"%LAMP Oil burns.", "file:///a.lamp", name="a.lamp"))
    assert (page.kind, page.text) == ("lamps", " Oil burns.")
    assert pool.read(Document(b"%LAMP Oil burns.", "http://a.example/")).kind == "lamps"
    pool.close()
    monkeypatch.undo()
    for known in (registry.readers, registry.by_suffix):
        known.cache_clear()


@pytest.mark.parametrize("frame", [b"", b"\0\0\0", b"\xff" * 4, codec.pack(["page"]), codec.pack({"page": {"title": 5}})])
def test_what_is_no_reply(frame: bytes) -> None:
    with pytest.raises(child.BrokenFrame):
        worker.replied(frame, "http://a.example/")


def test_a_reply_keeps_a_page_and_our_address() -> None:
    page = read_bytes(GOOD["markdown"], "http://a.example/", name="a.md")
    packed = child.pack(worker.Reply(replace(page, url="http://b.example/", passages=())))
    assert child.size_of(packed[:4]) == len(packed) - 4
    assert worker.replied(packed[4:], "http://a.example/") == worker.Reply(page)


def test_a_file_larger_than_a_file_may_be(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("wellread.reading.documents.MAX_FILE", 1_000_000)
    (tmp_path / "a.txt").write_bytes(b"a" * 1_000_001)
    with pytest.raises(ReadError, match="larger than"):
        opened(tmp_path / "a.txt")
    assert OWN_FILE.characters == 20_000_000
