"""Many answers at once from one server process on loopback, with a model and a source that answer in 50 ms.

    python benchmarks/server.py [--quick] [--streams N] [--drops N]

`streams` answers are asked for over two seconds, each two seconds long when alone. Printed are how many were
`lost` (not complete, or another's), the median time against one alone (`time_ratio`), the growth of memory per open
stream (`mb_per_stream`), the median time to the first event (`first_event_ms`), and what clients that connect and
drop leave behind (`leaked`: tasks, descriptors and runs). `freed_ms` is the time until a dropped run is gone.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

WORDS = "Saturn has 146 moons. [1] " + "Titan is the largest of them. [1] " * 12
PIECE = 13  # characters, a few tokens
DELAY = 0.05
TEXT = "Saturn has 146 moons. Titan is the largest of them. " * 10


def serve(folder: str) -> None:
    """The server's process: the real application, with a scripted model and a source in memory."""
    from wellread.engine import Engine
    from wellread.models.scripted import ScriptedModel
    from wellread.server import serving
    from wellread.server.app import create_app
    from wellread.server.options import ServerOptions
    from wellread.settings import Settings
    from wellread.types import Capabilities, Hit, Prompt, Query

    class Shelf:
        name = "shelf"
        hint = ""

        async def search(self, query: Query) -> Sequence[Hit]:
            await asyncio.sleep(DELAY)
            return [Hit(f"saturn{n}", TEXT, f"Saturn {n}", f"https://planets.example/{n}", source="shelf") for n in range(3)]

    def script(prompt: Prompt) -> str:
        if "</search_query>" in prompt.stop:
            done = "<search_results>" in prompt.messages[-1].text
            return "<information>146 moons. [1]</information>" if done else "<search_query>moons</search_query>"
        said = "\n".join(message.text for message in prompt.messages)
        found = re.search(r"item (\d+)", said)
        return f"Item {found[1] if found else '?'}. {WORDS}"

    model = ScriptedModel(script, capabilities=Capabilities(context_tokens=100_000, continues=True), piece=PIECE, delay=DELAY)
    options = ServerOptions(
        port=0, history=f"{folder}/history.sqlite", max_running=2000, max_per_client=2000, max_queued=2000, stop_seconds=1
    )
    app = create_app(engine=Engine(Settings(), model=model, source=Shelf()), options=options)

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
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nConnection: close\r\n"
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

    async def ask(self, number: int) -> Outcome:
        """One attached question, read to its end."""
        begun = time.perf_counter()
        reader, writer = await self.send("POST", "/api/ask", {"question": f"What is item {number}?"})
        first = 0.0
        last = b""
        while line := await reader.readline():
            if line.startswith(b"data: "):
                first = first or time.perf_counter() - begun
                last = line
        writer.close()
        right = last.startswith(b'data: {"event": "answered"') and f'"answer": "Item {number}. Saturn'.encode() in last
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
    await asyncio.gather(*(bench.ask(number) for number in range(10)))
    alone = statistics.median([(await bench.ask(number)).seconds for number in range(3)])
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
        await asyncio.sleep(2 * number / streams)
        return await bench.ask(number)

    watching = asyncio.create_task(watch())
    outcomes = await asyncio.gather(*(arrive(number) for number in range(streams)))
    watching.cancel()
    return {
        "streams": streams,
        "lost": sum(not outcome.right for outcome in outcomes),
        "time_ratio": round(statistics.median(outcome.seconds for outcome in outcomes) / alone, 3),
        "mb_per_stream": round(max(0.0, peak - before) / streams, 3),
        "first_event_ms": round(1000 * statistics.median(outcome.first for outcome in outcomes), 1),
        "cpu_ms_per_stream": round(1000 * (bench.cpu() - used) / streams, 1),
        "alone_seconds": round(alone, 2),
        **await leaks(bench, drops),
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
    parser.add_argument("--quick", action="store_true", help="300 clients that drop in place of 1,000")
    parser.add_argument("--serve", metavar="FOLDER", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve)
        return
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--serve", folder]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            port = int(process.stdout.readline())
            try:
                bench = Bench(port, process.pid)
                found = asyncio.run(measure(bench, options.streams, 300 if options.quick else options.drops))
            finally:
                process.terminate()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
