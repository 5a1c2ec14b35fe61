"""Does a server stay as it was after half an hour of mixed traffic?

A server in a process of its own, with a scripted model and a source in memory; clients that ask, drop, come back, stop runs, send
nonsense, hostile texts and documents, ask those and remove them. Its memory, its descriptors and the time of /healthz are noted
all the while. `nice -n -15` keeps the neighbours of a shared machine out of the figures.

    python benchmarks/soak.py                30 minutes
    python benchmarks/soak.py --minutes 5
    python benchmarks/soak.py --quick        30 seconds

The last line: `memory_ratio` (last quarter against the second), `descriptors` (the same, a difference), `lost` (runs that
were accepted and are not in the history with an end), `faults` (answers of 500), `healthz_ms` (median, 99 of 100 and
worst, asked by a process of its own), `healthz_late` (those above 100 ms while the server itself was busy), `blocked_ms`
(the most processor time that the loop gave to one callback), `collected_ms` (the longest collection of garbage, which stops
every thread), `late` (what went on while /healthz took too long), `load` (the machine's).
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import httpx2

from benchmarks import loop
from benchmarks.hostile import KINDS, SAYINGS

CLIENTS = 6
MEMORY, DESCRIPTORS = 1.1, 20  # how much more there may be at the end
PAUSE = 1.0  # seconds at most that a client waits between two deeds
HEALTHZ_MS = 100.0  # of any, where the server itself was busy
HEALTHZ_99_MS = 50.0  # of 99 in 100
BLOCKED_MS = 50.0
Spell = tuple[float, float, str]  # milliseconds, when it was over, what it was
SAYS = list(SAYINGS.values())
BLOCKS = "blocks.json"  # where the server says at its end what kept its loop, and what was collected
LONG_MS = 10.0  # of a collection that is noted
LOG = "server.log"  # what it says of faults, here with their tracebacks


def serve(folder: Path) -> None:
    """The process that is watched."""
    from benchmarks.stage import PLAIN, Shelf, running, script
    from wellread.engine import Engine
    from wellread.models.scripted import ScriptedModel
    from wellread.server import logs
    from wellread.settings import Settings
    from wellread.types import Hit

    logs.fault = _traced
    hits = [Hit(f"h{n}", f"Saturn has 146 moons. {said}", said, f"https://h.example/{n}") for n, said in enumerate(SAYS)]
    told = script("Saturn has 146 moons. [1] It likes cheese. [1]")
    model = ScriptedModel(told, capabilities=PLAIN, piece=8, delay=0.001, prompts=_Forgetful())
    asked = Engine(Settings(strategy="iterative"), model=model, source=Shelf(hits))
    with running(asked, folder, tidy=True, max_running=8, max_collections=CLIENTS) as live:
        blocks: list[Spell] = []

        def note(took: float, where: str) -> None:
            if 1000 * took > BLOCKED_MS:
                blocks.append((round(1000 * took, 1), time.monotonic(), where))

        while not gc.get_freeze_count():  # the last thing that it does for its start is to collect once
            time.sleep(0.01)
        with loop.watched(note), collections() as collected:
            sys.stdout.write(live.url + "\n")
            sys.stdout.flush()
            sys.stdin.read()
        (folder / BLOCKS).write_text(json.dumps([blocks, collected]))


class _Forgetful(list[Any]):
    """In place of what the scripted model remembers for tests: that would grow, not the server."""

    def append(self, one: object) -> None:
        pass


@contextmanager
def collections() -> Generator[list[Spell]]:
    """The long ones: milliseconds of processor time, when they ended (a clock that all processes share), and what they did."""
    begun, long = 0.0, list[Spell]()

    def note(phase: str, about: dict[str, int]) -> None:
        nonlocal begun
        if phase == "start":
            begun = time.thread_time()
        elif 1000 * (took := time.thread_time() - begun) > LONG_MS:
            said = f"generation {about['generation']}, {about['collected']} collected in {threading.current_thread().name}"
            long.append((round(1000 * took, 1), time.monotonic(), said))

    gc.callbacks.append(note)
    try:
        yield long
    finally:
        gc.callbacks.remove(note)


def _traced(message: str, problem: BaseException, **facts: object) -> None:
    """In place of the server's own line, which says no more than the type and the place."""
    print(message, facts, *traceback.format_exception(problem), file=sys.stderr, flush=True)


@dataclass
class Traffic:
    url: str
    until: float
    accepted: list[str] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)

    def client(self, number: int) -> None:
        chance = random.Random(number)
        deeds = [self.ask, self.detach, self.drop, self.stop, self.nonsense, self.look, self.ask_as_openai, self.send]
        with httpx2.Client(base_url=self.url, timeout=60, trust_env=False, headers={"x-client": str(number)}) as http:
            while time.monotonic() < self.until:
                deed = chance.choice(deeds)
                time.sleep(chance.random() * PAUSE)
                try:
                    deed(http, chance)
                    self.seen[deed.__name__] += 1
                except httpx2.HTTPError as problem:
                    self.seen[type(problem).__name__] += 1

    def noted(self, reply: httpx2.Response) -> httpx2.Response:
        self.seen[f"{reply.status_code // 100}xx"] += 1
        if reply.status_code >= 500:
            print(f"{reply.request.method} {reply.request.url}: {reply.text[:300]}", file=sys.stderr)
        return reply

    def question(self, chance: random.Random) -> str:
        return f"How many moons has Saturn? item {chance.randrange(10_000)} {chance.choice(['', '', chance.choice(SAYS)])}"

    def ask(self, http: httpx2.Client, chance: random.Random) -> None:
        self.noted(http.post("/api/ask", content=_json({"question": self.question(chance)}), headers=_JSON))

    def ask_as_openai(self, http: httpx2.Client, chance: random.Random) -> None:
        said = [{"role": "user", "content": self.question(chance)}]
        self.noted(http.post("/v1/chat/completions", content=_json({"model": "wellread", "messages": said}), headers=_JSON))

    def begun(self, http: httpx2.Client, chance: random.Random) -> str | None:
        reply = self.noted(http.post("/api/runs", content=_json({"question": self.question(chance)}), headers=_JSON))
        if reply.status_code != 202:
            return None
        self.accepted.append(reply.json()["id"])
        return self.accepted[-1]

    def detach(self, http: httpx2.Client, chance: random.Random) -> None:
        if run := self.begun(http, chance):
            self.noted(http.get(f"/api/runs/{run}/events"))

    def drop(self, http: httpx2.Client, chance: random.Random) -> None:
        """Leave in the middle, come back where it was."""
        run = self.begun(http, chance)
        if run is None:
            return
        with http.stream("GET", f"/api/runs/{run}/events") as reply:
            for _ in zip(range(chance.randrange(8)), reply.iter_lines(), strict=False):
                pass
        self.noted(http.get(f"/api/runs/{run}/events", params={"offset": chance.randrange(5)}))
        with (
            suppress(httpx2.HTTPError),
            http.stream("POST", "/api/ask", content=_json({"question": "x moons"}), headers=_JSON) as reply,
        ):
            next(reply.iter_raw(), None)

    def stop(self, http: httpx2.Client, chance: random.Random) -> None:
        if run := self.begun(http, chance):
            time.sleep(chance.random() / 20)
            self.noted(http.delete(f"/api/runs/{run}"))
            self.accepted.remove(run)  # stopped, or forgotten where it had ended: both are what was asked for

    def nonsense(self, http: httpx2.Client, chance: random.Random) -> None:
        path = chance.choice(
            ["/api/ask", "/api/runs", "/v1/responses", "/mcp", "/r/x", "/api/runs/none/events", "/document?source=x"]
        )
        body = chance.choice([b"{", b"[]", b'{"question":""}', os.urandom(200), b"a" * 300_000, _json({"question": 7}), b""])
        self.noted(http.request(chance.choice(["POST", "GET", "PUT"]), path, content=body, headers=_JSON))

    def send(self, http: httpx2.Client, chance: random.Random) -> None:
        """A collection of good and hostile documents: made, asked while it is read, added to, removed."""
        name = f"Papers of {http.headers['x-client']}"
        reply = self.noted(http.post("/collections", data={"name": name}, files=_documents(chance)))
        path = reply.headers.get("location", "")
        if not path:
            return
        self.noted(http.post(f"{path}/documents", files=_documents(chance)))
        for _ in range(chance.randrange(4)):
            self.noted(http.get(path))
            time.sleep(chance.random())
        body = {"question": self.question(chance), "sources": [name]}
        self.noted(http.post("/api/ask", content=_json(body), headers=_JSON))
        found = self.noted(http.get("/api/search", params={"q": "moons", "source": name}))
        hits: list[dict[str, str]] = found.json()["hits"][:1] if found.status_code == 200 else []
        for hit in hits:
            self.noted(http.get(hit["view"]))
        self.noted(http.post(f"{path}/remove"))

    def look(self, http: httpx2.Client, chance: random.Random) -> None:
        for path in ("/", "/history", "/api/search?q=moons", "/api/menu", "/metrics"):
            self.noted(http.get(path))
        if self.accepted:
            self.noted(http.get(f"/r/{chance.choice(self.accepted)}"))


_JSON = {"content-type": "application/json", "accept": "text/event-stream"}


def _json(body: object) -> bytes:
    return json.dumps(body).encode()


def _documents(chance: random.Random) -> list[tuple[str, tuple[str, bytes, str]]]:
    chosen = [chance.choice(KINDS) for _ in range(chance.randrange(1, 4))]
    made = [("documents", (name, make(f"Saturn has moons. {chance.choice(SAYS)}"), media)) for name, media, make in chosen]
    broken = ("documents", (chance.choice(["x.pdf", "../x.docx", "x.epub"]), os.urandom(2_000), "text/plain"))
    return [*made, ("documents", ("moons.txt", f"Saturn has {chance.randrange(200)} moons.".encode(), "text/plain")), broken]


@dataclass
class Sample:
    megabytes: float
    descriptors: int
    healthz_ms: float
    load: float
    at: float  # when the answer of /healthz was there


def watch(url: str, pid: int, samples: Path) -> None:
    """In a process of its own, which the clients cannot keep waiting: a sample a line, ten a second, until the server is gone."""
    with (
        httpx2.Client(base_url=url, timeout=60, trust_env=False) as http,
        samples.open("w", buffering=1) as out,  # not a pipe, which would fill up and stop it
        suppress(httpx2.HTTPError, OSError),
    ):
        while True:
            out.write(json.dumps(vars(sample(pid, http))) + "\n")
            time.sleep(0.1)


def sample(pid: int, http: httpx2.Client) -> Sample:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    begun = time.monotonic()
    http.get("/healthz")
    over = time.monotonic()
    took = 1000 * (over - begun)
    return Sample(pages * os.sysconf("SC_PAGE_SIZE") / 1e6, len(os.listdir(f"/proc/{pid}/fd")), took, os.getloadavg()[0], over)


def lost(url: str, runs: list[str]) -> int:
    """Accepted, and not in the history with an end and an unbroken log."""
    missing = 0
    with httpx2.Client(base_url=url, timeout=60, trust_env=False) as http:
        for run in runs:
            reply = http.get(f"/api/runs/{run}")
            log = http.get(f"/api/runs/{run}/events").text
            missing += reply.status_code != 200 or reply.json()["state"] == "running" or '"event": "ended"' not in log
    return missing


def soak(seconds: float) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        with (Path(folder) / LOG).open("w") as log:
            server = _started("--serve", folder, log=log)
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        taken = Path(folder) / "samples.jsonl"
        watcher = _started("--watch", url, "--pid", str(server.pid), "--samples", str(taken))
        try:
            traffic = Traffic(url, time.monotonic() + seconds)
            clients = [threading.Thread(target=traffic.client, args=(number,), daemon=True) for number in range(CLIENTS)]
            for one in clients:
                one.start()
            print(f"{seconds / 60:g} minutes of traffic by {CLIENTS} clients", file=sys.stderr)
            for minute in range(1, int(seconds // 60) + 1):
                time.sleep(max(0.0, traffic.until - seconds + 60 * minute - time.monotonic()))
                print(f"minute {minute}: {len(traffic.accepted)} runs, {dict(traffic.seen)}", file=sys.stderr)
            for one in clients:
                one.join(180)
            watcher.terminate()
            watcher.wait()
            samples = [Sample(**json.loads(line)) for line in taken.read_text().splitlines() if line.endswith("}")]
            gone = lost(url, traffic.accepted)
        finally:
            watcher.kill()
            server.communicate("", timeout=60)
        blocks, collected = json.loads((Path(folder) / BLOCKS).read_text())
        print((Path(folder) / LOG).read_text(), file=sys.stderr)
    for took, _, where in sorted(blocks, reverse=True)[:10]:
        print(f"the loop stood still for {took} ms: {where}", file=sys.stderr)
    for took, _, what in sorted(collected, reverse=True)[:10]:
        print(f"garbage: {took} ms, {what}", file=sys.stderr)
    late = reasons(samples, blocks, collected)
    runs = {"lost": gone, "runs": len(traffic.accepted)}
    stood = {"blocked_ms": max((took for took, *_ in blocks), default=0.0), "blocked_times": len(blocks)}
    stood |= {"collected_ms": max((took for took, *_ in collected), default=0.0), "late": late}
    own = sum(count for reason, count in late.items() if reason != "neither")
    return {**told(samples), "healthz_late": own, **runs, **stood, **counted(traffic.seen)}


def reasons(samples: list[Sample], blocks: list[Spell], collected: list[Spell]) -> dict[str, int]:
    """For how many of the late answers a long collection, or a long callback without one, lay in the time of their waiting."""

    def within(spells: list[Spell], one: Sample) -> bool:
        return any(one.at - one.healthz_ms / 1000 < over and over - took / 1000 < one.at for took, over, _ in spells)

    late = [one for one in samples if one.healthz_ms > HEALTHZ_MS]
    named = ("garbage" if within(collected, one) else "callback" if within(blocks, one) else "neither" for one in late)
    return dict(Counter(named))


def _started(*arguments: str, log: IO[str] | None = None) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "benchmarks", "soak", *arguments]
    heard = subprocess.DEVNULL if log is None else log
    return subprocess.Popen(
        command, cwd=Path(__file__).parents[1], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=heard, text=True
    )


def counted(seen: Counter[str]) -> dict[str, object]:
    return {"faults": seen["5xx"], "requests": sum(seen[f"{n}xx"] for n in (2, 3, 4, 5)), "deeds": dict(seen)}


def told(samples: list[Sample]) -> dict[str, object]:
    quarter = max(1, len(samples) // 4)
    early, late = samples[quarter : 2 * quarter], samples[-quarter:]
    megabytes = [statistics.median(one.megabytes for one in part) for part in (early, late)]
    descriptors = [statistics.median(one.descriptors for one in part) for part in (early, late)]
    waits = sorted(one.healthz_ms for one in samples)
    return {
        "samples": len(samples),
        "megabytes": [round(one, 1) for one in megabytes],
        "memory_ratio": round(megabytes[1] / megabytes[0], 3),
        "descriptors": descriptors[1] - descriptors[0],
        "healthz_ms": [round(waits[int(share * (len(waits) - 1))], 1) for share in (0.5, 0.99, 1)],
        "healthz_99_ms": round(waits[int(0.99 * (len(waits) - 1))], 1),
        "load": [round(statistics.median(one.load for one in samples), 1), round(max(one.load for one in samples), 1)],
    }


def main() -> None:
    given = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    given.add_argument("--minutes", type=float, default=30)
    given.add_argument("--quick", action="store_true")
    given.add_argument("--serve", type=Path)
    given.add_argument("--watch")
    given.add_argument("--pid", type=int)
    given.add_argument("--samples", type=Path)
    chosen = given.parse_args()
    if chosen.watch:
        watch(chosen.watch, chosen.pid, chosen.samples)
        return
    if chosen.serve:
        serve(chosen.serve)
        return
    found = soak(30 if chosen.quick else 60 * chosen.minutes)
    bad = (
        found["lost"]
        or found["faults"]
        or float(str(found["memory_ratio"])) > MEMORY
        or float(str(found["descriptors"])) > DESCRIPTORS
        or found["healthz_late"]
        or float(str(found["healthz_99_ms"])) > HEALTHZ_99_MS
    )
    print(json.dumps(found))
    raise SystemExit(bool(bad))


if __name__ == "__main__":
    main()
