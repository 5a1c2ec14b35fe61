"""Writes runs into a history and tells each one that was acknowledged, until it is killed. Forked anew for each line read."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

from wellread.answer_json import AnswerJson
from wellread.server.history import History, Record


async def write(where: Path | str, acknowledged: Path, begin: int) -> None:
    history = await History.open(where)
    with acknowledged.open("a", buffering=1) as out:
        for number in range(begin, begin + 100_000):
            name = f"run-{number:08d}"
            await history.add(Record(name, name, None, f"question {number}", "quote", None, ("library",), "running", time.time()))
            print(name, "added", file=out)
            for event in range(5):
                history.append(name, event, '{"event": "thought", "text": "' + "x" * 500 + '"}')
            await history.finish(name, "done", AnswerJson(outcome="answered", answer=f"answer {number}"))
            print(name, "finished", file=out)


def main() -> None:
    for line in sys.stdin:
        place, acknowledged, begin = line.split()
        child = os.fork()
        if child == 0:
            asyncio.run(write(place if "://" in place else Path(place), Path(acknowledged), int(begin)))
        tell(str(child))
        os.waitpid(child, 0)
        tell("gone")


def tell(word: str) -> None:
    sys.stdout.write(word + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
