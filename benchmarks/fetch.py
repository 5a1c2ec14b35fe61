"""A hundred pages from a server that takes 100 ms for each, twenty at a time, next to the ideal.

    python benchmarks/fetch.py [--quick]

The ideal is 100/20 × 100 ms plus the time that extraction alone takes for these pages. The server runs in a
process of its own. Ratios are of one run; the best of three (one with --quick). The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection

PAGES, AT_ONCE, LATENCY = 100, 20, 0.1
SENTENCE = "The harbour office keeps the books of the lighthouse, and anybody may read them who has clean hands. "
MENU = "".join(f'<li><a href="/{n}">Part {n} of the harbour</a></li>' for n in range(60))


def page(number: int) -> bytes:
    """About 20 kB with the usual things around the text."""
    prose = "".join(f"<p>{SENTENCE * 3}<a href='/{n}'>Book {n}</a> is one of them.</p>" for n in range(40))
    html = f"<title>Page {number}</title><body><ul class=nav>{MENU}</ul><article><h1>Page {number}</h1>{prose}</article>"
    return html.encode()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path == "/robots.txt":
            body, status = b"", 404
        else:
            time.sleep(LATENCY)
            body, status = page(int(self.path[1:])), 200
        self.send_response(status)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None: ...


def serve(to_parent: Connection) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.request_queue_size = 128
    to_parent.send(server.server_port)
    server.serve_forever()


def extraction() -> float:
    from wellread.reading.documents import read
    from wellread.types import Document

    bodies = [page(number) for number in range(PAGES)]
    start = time.perf_counter()
    for body in bodies:
        read(Document(body, "http://a.example/", "text/html"))
    return time.perf_counter() - start


async def fetching(base: str) -> float:
    from wellread.net.fetch import Fetcher
    from wellread.net.guard import Guard
    from wellread.reading.reader import WebReader

    reader = WebReader(Fetcher(Guard(["127.0.0.1"]), concurrency=AT_ONCE))
    await reader.read(f"{base}/0")  # robots.txt and certificates are had once
    start = time.perf_counter()
    await asyncio.gather(*(reader.read(f"{base}/{number}") for number in range(PAGES)))
    seconds = time.perf_counter() - start
    await reader.aclose()
    return seconds


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--quick", action="store_true")
    rounds = 1 if arguments.parse_args().quick else 3
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs,), daemon=True)
    server.start()
    base = f"http://127.0.0.1:{ours.recv()}"
    best = float("inf")
    for _ in range(rounds):
        alone = extraction()
        ideal = PAGES / AT_ONCE * LATENCY + alone
        took = asyncio.run(fetching(base))
        best = min(best, took / ideal)
        print(f"{took:.2f} s; ideally {ideal:.2f} s, of which extraction {alone:.2f} s")
    server.terminate()
    print(json.dumps({"pages": PAGES, "concurrency": AT_ONCE, "time_ratio": round(best, 3)}))


if __name__ == "__main__":
    main()
