"""Pages made to hurt: each ends in bounded time and memory, with a clear outcome."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import subprocess
import sys
import time
import tracemalloc
import zlib
from collections.abc import Callable

import pytest
from tests.net.conftest import Site

from wellread.errors import ReadError
from wellread.net.fetch import Fetcher, PageLimits
from wellread.net.guard import Guard
from wellread.reading.charset import decode
from wellread.reading.reader import WebReader

pytestmark = pytest.mark.anyio

PROSE = "The harbour office keeps the books of the lighthouse, and anybody may read them who has clean hands. "


async def outcome(site: Site, path: str, limits: PageLimits | None = None) -> tuple[str, float]:
    """The text or the reason, and the seconds it took."""
    web = WebReader(Fetcher(Guard(["127.0.0.1"]), ignore_robots=True, limits=limits or PageLimits()))
    start = time.monotonic()
    try:
        result = (await web.read(site.base + path)).text
    except ReadError as error:
        result = error.reason
    await web.aclose()
    return result, time.monotonic() - start


async def bounded(site: Site, path: str) -> tuple[str, float, float]:
    """The outcome, the seconds, and the most megabytes that were held."""
    tracemalloc.start()
    try:
        result, seconds = await outcome(site, path)
        return result, seconds, tracemalloc.get_traced_memory()[1] / 1024**2
    finally:
        tracemalloc.stop()


def stream(*parts: bytes, head: bytes = b"", pause: float = 0.0, repeat: int = 1) -> Callable[..., object]:
    async def handler(_: str, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n" + head + b"\r\n")
        for _ in range(repeat):
            for part in parts:
                writer.write(part)
                await writer.drain()
                if pause:
                    await asyncio.sleep(pause)

    return handler


async def test_gzip_bomb(site: Site) -> None:
    site.page("/", gzip.compress(bytes(150_000_000), 1), headers={"Content-Encoding": "gzip"})
    reason, seconds, megabytes = await bounded(site, "/")
    assert reason == "larger than 10 MB"
    assert seconds < 5
    assert megabytes < 40


async def test_bomb_in_a_bomb(site: Site) -> None:
    body = gzip.compress(gzip.compress(zlib.compress(bytes(100_000_000), 1), 9), 9)
    site.page("/", body, headers={"Content-Encoding": "deflate, gzip, gzip"})
    reason, seconds, megabytes = await bounded(site, "/")
    assert reason == "the body cannot be unpacked"
    assert seconds < 5
    assert megabytes < 40


async def test_broken_compression(site: Site) -> None:
    site.page("/", b"\x1f\x8b\x08\0\0\0\0\0" + b"broken" * 50, headers={"Content-Encoding": "gzip"})
    assert (await outcome(site, "/"))[0] == "the body cannot be unpacked"


async def test_endless_body(site: Site) -> None:
    site.pages["/"] = stream(b"<p>" + b"word " * 20_000, repeat=10**9)  # pyright: ignore[reportArgumentType]
    reason, seconds, megabytes = await bounded(site, "/")
    assert reason == "larger than 10 MB"
    assert seconds < 10
    assert megabytes < 40


async def test_slow_body(site: Site) -> None:
    site.pages["/"] = stream(b"a", pause=0.05, repeat=10**6)  # pyright: ignore[reportArgumentType]
    reason, seconds = await outcome(site, "/", PageLimits(seconds=0.5))
    assert reason == "took longer than 0.5 s"
    assert seconds < 1.5


async def test_slow_headers(site: Site) -> None:
    async def handler(_: str, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n")
        for number in range(10**6):
            writer.write(f"X-{number}: a\r\n".encode())
            await writer.drain()
            await asyncio.sleep(0.05)

    site.pages["/"] = handler
    reason, seconds = await outcome(site, "/", PageLimits(seconds=0.5))
    assert reason == "took longer than 0.5 s"
    assert seconds < 1.5


async def test_endless_headers(site: Site) -> None:
    async def handler(_: str, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n")
        while True:
            writer.write(b"X-Y: " + b"a" * 1000 + b"\r\n")
            await writer.drain()

    site.pages["/"] = handler
    reason, seconds = await outcome(site, "/", PageLimits(seconds=5))
    assert reason
    assert seconds < 5


@pytest.mark.parametrize("answer", [b"not http at all\r\n\r\n", b"\0\1\2\3" * 100, b"HTTP/1.1 OK\r\n\r\n"])
async def test_what_is_not_http(site: Site, answer: bytes) -> None:
    async def handler(_: str, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        await writer.drain()
        writer.close()

    site.pages["/"] = handler
    reason, seconds = await outcome(site, "/", PageLimits(seconds=5))
    assert reason
    assert seconds < 5


@pytest.mark.parametrize(
    ("declared", "real"),
    [
        ("iso-8859-1", "utf-8"),
        ("utf-8", "cp1252"),
        ("utf-8", "cp1251"),
        ("klingon", "utf-8"),
        ("ascii", "cp1252"),
        ("shift_jis", "utf-8"),
        ("utf-16", "utf-8"),
        ("unicode_escape", "utf-8"),
        ("utf-7", "utf-8"),
        ("", "utf-8-sig"),
        ("", "utf-16"),
        ("utf-16le", "utf-16-le"),
        ("iso-2022-jp", "iso-2022-jp"),
    ],
)
async def test_wrong_charset(site: Site, declared: str, real: str) -> None:
    russian = "Смотритель маяка каждый вечер записывал погоду, сначала чернилами, а потом карандашом. " * 3
    western = "Le gardien du phare écrivait chaque soir la météo, d’abord à l’encre, puis, gelée, au crayon. " * 3
    text = {"cp1251": russian, "iso-2022-jp": "灯台の番人は毎晩天気を書き留めました。" * 5}.get(real, western)
    content_type = f"text/html; charset={declared}" if declared else "text/html"
    site.page("/", f"<html><body><p>{text}</p></body></html>".encode(real), content_type)
    assert (await outcome(site, "/"))[0] == text.strip()


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "the page is empty"),
        (b"  \n ", "the page is empty"),
        (b"<html><head><title>x</title></head><body></body></html>", "there is no text to read on the page"),
        (b"<script>" + b"let a = 1; " * 500 + b"</script>", "there is no text to read on the page"),
        (b"<div hidden>" + PROSE.encode() * 9 + b"</div>", "there is no text to read on the page"),
        (bytes(range(256)) * 200, "this is no text we can read (text/html)"),
        (b"GIF89a" + bytes(range(256)) * 20, "this is no text we can read (a picture)"),
        (b"\x7fELF" + b"\0" * 5000, "this is no text we can read (a program)"),
        (b"%PDF-1.7\nbroken", "the PDF is broken"),
        (b"PK\x03\x04 word/ broken", "the archive is broken"),
    ],
)
async def test_nothing_to_read(site: Site, body: bytes, reason: str) -> None:
    site.page("/", body, "text/html")
    assert (await outcome(site, "/"))[0] == reason


HEAVY = {
    "nested": "'<div>' * 10_000_000",
    "nested inline": "'<b><i>' * 8_000_000",
    "nested lists": "'<ul><li>x' * 5_000_000",
    "nested tables": "'<table><tr><td>x' * 3_000_000",
    "formatting": "''.join(f'<font color={n}><p>x' for n in range(1_500_000))",
    "attributes": "'<p ' + ' '.join(f'a{n}=1' for n in range(4_000_000)) + '>x'",
    "flat": "'<p>word word' * 4_000_000",
    "angles": "'<' * 50_000_000",
    "comments": "'<!--' * 12_000_000",
    "breaks": "'a<br>' * 10_000_000",
    "headings": "'<div><h2><a href=x>Some linked heading here</a></h2><p>word</p></div>' * 700_000",
    "data": "'<script type=application/ld+json>' + '[' * 50_000_000",
}
MEASURE = """
import json, resource, sys, time
html = eval(sys.argv[1])[:50_000_000]
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
from wellread.reading.extract import extract
start = time.process_time()
page = extract(html)
seconds = time.process_time() - start
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"seconds": seconds, "mb": (after - before) / 1024}))
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", HEAVY)
def test_fifty_megabytes_of_markup(name: str) -> None:
    """Measured in a process of its own, far beyond the ten megabytes that a fetch lets through."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, HEAVY[name]], capture_output=True, text=True, timeout=120, env={**os.environ}
    )
    assert done.returncode == 0, done.stderr
    measured = json.loads(done.stdout)
    assert measured["seconds"] < 30
    assert measured["mb"] < 500


@pytest.mark.parametrize("codec", ["unicode_escape", "unicode-escape", "raw_unicode_escape", "utf_7", "U7"])
def test_no_page_has_its_signs_made_by_a_codec_that_it_names(codec: str) -> None:
    body = f'<meta charset="{codec}"><p>Oil \\x6camps \\u006camps +AGw-amps caf'.encode() + b"\xe9 au lait</p>"
    assert r"Oil \x6camps \u006camps +AGw-amps café" in decode(body)
