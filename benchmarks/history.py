"""What a run costs in the history: its row, 50 events, its end; in SQLite, and in PostgreSQL where an address is given.

    python benchmarks/history.py [--quick] [--postgres ADDRESS]

Printed are the milliseconds of a run that is alone and of one among 32 at once, in each engine, and their ratios
(`alone_ratio`, `busy_ratio`: PostgreSQL over SQLite, the median of rounds that alternate).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import secrets
import statistics
import tempfile
import time
from pathlib import Path

from wellread.answer_json import AnswerJson
from wellread.server.history import History, Record

EVENTS = 50
BODY = json.dumps({"event": "answer_delta", "at": 1.0, "text": "x" * 200})
ANSWER = AnswerJson(outcome="answered", answer="word " * 200)


async def one(history: History) -> None:
    name = secrets.token_urlsafe(9)
    await history.add(Record(name, name, None, "What is it?", "quote", None, ("library",), "running", time.time()))
    for number in range(EVENTS):
        history.append(name, number, BODY)
        await asyncio.sleep(0)
    await history.finish(name, "done", ANSWER, (EVENTS, '{"event": "ended"}'))


async def cost(history: History, runs: int, at_once: int) -> float:
    """Milliseconds a run."""
    begun = time.perf_counter()
    for _ in range(runs // at_once):
        await asyncio.gather(*(one(history) for _ in range(at_once)))
    return (time.perf_counter() - begun) * 1000 / (runs // at_once * at_once)


async def measure(places: dict[str, Path | str], rounds: int) -> dict[str, float]:
    histories = {name: await History.open(place) for name, place in places.items()}
    times: dict[str, list[float]] = {}
    for _ in range(rounds):
        for name, history in histories.items():
            times.setdefault(f"{name}_alone_ms", []).append(await cost(history, 20, 1))
            times.setdefault(f"{name}_busy_ms", []).append(await cost(history, 96, 32))
    for history in histories.values():
        await history.aclose()
    found = {name: round(statistics.median(values), 2) for name, values in times.items()}
    for kind in ("alone", "busy") if "postgres" in places else ():
        pairs = zip(times[f"postgres_{kind}_ms"], times[f"sqlite_{kind}_ms"], strict=True)
        found[f"{kind}_ratio"] = round(statistics.median(ours / theirs for ours, theirs in pairs), 2)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--postgres", metavar="ADDRESS")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        places: dict[str, Path | str] = {"sqlite": Path(folder) / "history.sqlite"}
        if arguments.postgres:
            places["postgres"] = arguments.postgres
        print(json.dumps(asyncio.run(measure(places, 5 if arguments.quick else 15))))


if __name__ == "__main__":
    main()
