"""Many answers at once from one server process on loopback, with a model and a source that answer in 50 ms.

    python benchmarks/server.py [--quick] [--streams N] [--drops N]

`streams` answers are asked for, a hundred a second, once each by `auto` (the default, whose figures have no prefix), `iterative`
and `quote`; an answer that a model writes is about two seconds long when alone (`alone_seconds`). Printed are how many were
`lost` (not complete, or another's), the median time against one alone (`time_ratio`), the growth of memory per open
stream (`mb_per_stream`), the median time to the first event (`first_event_ms`), the server's processor time an answer (`cpu_ms`),
and what clients that connect and drop leave behind (`leaked`: tasks, descriptors and runs). `freed_ms` is the time until a
dropped run is gone.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

WORDS = "Saturn has 146 moons. [1] " + "Titan is the largest of them. [1] " * 12
PIECE = 13  # characters, a few tokens
DELAY = 0.05
RATE = 100  # questions a second
STRATEGIES = ("auto", "iterative", "quote")
TEXT = "Saturn has 146 moons. Titan is the largest of them. " * 10


def serve(folder: str) -> None:
    """The server's process: the real application, with a scripted model and a source in memory."""
    from benchmarks.stage import PLAIN, Shelf, script
    from wellread.engine import Engine
    from wellread.models.scripted import ScriptedModel
    from wellread.server import serving
    from wellread.server.app import create_app
    from wellread.server.options import ServerOptions
    from wellread.settings import Settings
    from wellread.types import Hit

    hits = [Hit(f"saturn{n}", TEXT, f"Saturn {n}", f"https://planets.example/{n}", source="shelf") for n in range(3)]
    model = ScriptedModel(script(WORDS), capabilities=PLAIN, piece=PIECE, delay=DELAY)
    options = ServerOptions(
        port=0, history=f"{folder}/history.sqlite", max_running=2000, max_per_client=2000, max_queued=2000, stop_seconds=1
    )
    app = create_app(engine=Engine(Settings(), model=model, source=Shelf(hits, DELAY)), options=options)

    @app.get("/bench")
    async def counts() -> dict[str, int]:
        model.prompts.clear()  # the script remembers what it was asked; that is not the server's memory
        running = app.state.service.gate.running
        return {"tasks": len(asyncio.all_tasks()), "files": len(os.listdir("/proc/self/fd")), "runs": running}

    listening = serving.listen(options)
    print(listening.getsockname()[1], flush=True)
    serving.server(app, options).run(sockets=[listening])


@dataclass
class Outcome:
    seconds: float
    first: float
    right: bool


class Bench:
    def __init__(self, port: int, pid: int) -> None:
        self.port = port
        self.pid = pid

    async def send(self, method: str, path: str, body: object = None) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=2**20)
        text = json.dumps(body) if body is not None else ""
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nConnection: close\r\nAccept: text/event-stream\r\n"
        writer.write(f"{head}Content-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode())
        return reader, writer

    async def get(self, path: str) -> bytes:
        reader, writer = await self.send("GET", path)
        reply = await reader.read()
        writer.close()
        return reply

    async def counts(self) -> dict[str, int]:
        return json.loads((await self.get("/bench")).partition(b"\r\n\r\n")[2])

    async def idle(self) -> None:
        """Until no run is left, or much too long."""
        for _ in range(2_000):
            if not (await self.counts())["runs"]:
                return
            await asyncio.sleep(0.005)

    async def ask(self, number: int, strategy: str = "auto") -> Outcome:
        """One attached question, read to its end."""
        begun = time.perf_counter()
        # the script puts an item's number before its answer; `auto` would search on, since nothing carries that
        asked = {"iterative": f"What is item {number}?", "auto": f"What is thing {number}?"}
        question = asked.get(strategy, f"How many moons has Saturn, thing {number}?")
        reader, writer = await self.send("POST", "/api/ask", {"question": question, "strategy": strategy})
        first = 0.0
        last = b""
        while line := await reader.readline():
            if line.startswith(b"data: "):
                first = first or time.perf_counter() - begun
                last = line
        writer.close()
        own = f'"answer": "Item {number}. Saturn' if strategy == "iterative" else f"thing {number}?"
        right = last.startswith(b'data: {"event": "answered"') and own.encode() in last
        return Outcome(time.perf_counter() - begun, first, right)

    async def drop(self, number: int) -> None:
        """Connect, ask, and leave at some moment."""
        path, body = (("/api/ask", {"question": f"item {number}"}), ("/v1/chat/completions", CHAT))[number % 2]
        reader, writer = await self.send("POST", path, body)
        if number % 3:
            await reader.readline()
        writer.close()

    def cpu(self) -> float:
        """Seconds of processor time that the server has used."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def megabytes(self) -> float:
        fields = Path(f"/proc/{self.pid}/statm").read_text().split()
        return int(fields[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


CHAT = {"messages": [{"role": "user", "content": "What is item 0?"}], "stream": True}


async def measure(bench: Bench, streams: int, drops: int) -> dict[str, object]:
    found: dict[str, object] = {"streams": streams, "lost": 0}
    for strategy in STRATEGIES:
        told = await crowd(bench, streams, strategy)
        found["lost"] = int(str(found["lost"])) + int(told.pop("lost"))
        found |= {name if strategy == STRATEGIES[0] else f"{strategy}_{name}": value for name, value in told.items()}
        print(json.dumps(found), file=sys.stderr, flush=True)
    return found | await leaks(bench, drops)


async def crowd(bench: Bench, streams: int, strategy: str) -> dict[str, float]:
    await asyncio.gather(*(bench.ask(number, strategy) for number in range(5)))
    alone = statistics.median([(await bench.ask(number, strategy)).seconds for number in range(3)])
    await bench.counts()
    used = bench.cpu()
    before = bench.megabytes()
    peak = before

    async def watch() -> None:
        nonlocal peak
        while True:
            peak = max(peak, bench.megabytes())
            await asyncio.sleep(0.05)

    async def arrive(number: int) -> Outcome:
        await asyncio.sleep(number / RATE)
        return await bench.ask(number, strategy)

    watching = asyncio.create_task(watch())
    outcomes = await asyncio.gather(*(arrive(number) for number in range(streams)))
    watching.cancel()
    return {
        "lost": sum(not outcome.right for outcome in outcomes),
        "time_ratio": round(statistics.median(outcome.seconds for outcome in outcomes) / alone, 3),
        "mb_per_stream": round(max(0.0, peak - before) / streams, 3),
        "first_event_ms": round(1000 * statistics.median(outcome.first for outcome in outcomes), 1),
        "cpu_ms": round(1000 * (bench.cpu() - used) / streams, 1),
        "alone_seconds": round(alone, 2),
    }


async def leaks(bench: Bench, drops: int) -> dict[str, object]:
    before = await bench.counts()
    for start in range(0, drops, 50):
        await asyncio.gather(*(bench.drop(number) for number in range(start, min(start + 50, drops))))
    await bench.idle()
    await asyncio.sleep(0.5)
    after = await bench.counts()
    leaked = sum(max(0, after[name] - before[name]) for name in before)
    reader, writer = await bench.send("POST", "/api/ask", {"question": "item 1"})
    await reader.readline()
    await asyncio.sleep(0.3)
    begun = time.perf_counter()
    writer.close()
    await bench.idle()
    return {"drops": drops, "leaked": leaked, "freed_ms": round(1000 * (time.perf_counter() - begun), 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=int, default=200)
    parser.add_argument("--drops", type=int, default=1000)
    parser.add_argument("--quick", action="store_true", help="50 answers each, 300 clients that drop in place of 1,000")
    parser.add_argument("--serve", metavar="FOLDER", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve)
        return
    with served() as bench:
        streams, drops = (50, 300) if options.quick else (options.streams, options.drops)
        print(json.dumps(asyncio.run(measure(bench, streams, drops))))


@contextmanager
def served() -> Iterator[Bench]:
    """The server in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "benchmarks", "server", "--serve", folder]
        with subprocess.Popen(command, cwd=Path(__file__).parents[1], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            try:
                yield Bench(int(process.stdout.readline()), process.pid)
            finally:
                process.terminate()


if __name__ == "__main__":
    main()
