"""Does any parser take more than linear time, whatever it is given?

Every reader of foreign text on every shape of `shapes.py`, each at growing sizes: ten times the text may take
ten times as long, and thirty per cent more. Times are of the thread's processor, so that others on the machine do not count;
what takes less than `NOISE` is too short to compare. `blocked` is the longest that the event loop stood still while a
whole run worked on such texts.

    python benchmarks/complexity.py                  10,000, 100,000 and 1,000,000 characters: three hours
    python benchmarks/complexity.py --kept FILE      the same in parts: what stands in the file is not measured again
    python benchmarks/complexity.py --quick          2,000 and 20,000
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import logging
import math
import signal
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks import loop
from benchmarks.parsers import PARSERS, Parser
from benchmarks.shapes import SHAPES
from wellread.engine import Engine
from wellread.errors import WellreadError
from wellread.models.scripted import ScriptedModel
from wellread.protocols import Source
from wellread.settings import Settings
from wellread.types import Hit, Query

GROWTH = 1.3  # times linear
SMALL_GROWTH = 3.0  # at sizes where constant parts disturb; what is quadratic grows tenfold there
NOISE = 0.02  # seconds; shorter times say nothing about growth
SMALL_NOISE = 0.04  # where texts are small: what is quadratic takes as long at 3,000 characters as 0.15 s at 6,000 say
ROUNDS = 6
LONGEST = 20.0  # seconds for a text of up to 100,000 characters, as much longer as it is larger; then it has failed
HOPELESS = 3.0  # times linear, after which a text is not read to its end
LARGE, ANSWER = 100_000, 20_000  # characters of a text, and of an answer, in a whole run
BLOCKED = 0.05  # seconds that a loop may stand still


class TooLong(BaseException):
    """A parser went on for longer than any text may take."""


@dataclass(frozen=True)
class Slow:
    parser: str
    shape: str
    size: int
    seconds: float
    growth: float | None  # times linear; None when it was cut off


@contextmanager
def deadline(seconds: float) -> Generator[None]:
    """Of processor time. Patterns look for signals while they search, so this stops them too."""

    def stop(*_: object) -> None:
        raise TooLong

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def seconds(parser: Parser, text: str) -> float:
    """Processor time of this thread; an error of ours is an answer like any other."""
    gc.disable()  # it looks at everything that is alive now and then, and so grows with the test itself
    try:
        begun = time.thread_time()
        with suppress(WellreadError, ValueError):
            parser(text)
        return time.thread_time() - begun
    finally:
        gc.enable()


def measured(parser: str, shape: str, sizes: list[int], longest: float = LONGEST, allowed: float = GROWTH) -> Slow | None:
    """The first growth beyond what is allowed, measured again and again before it is believed."""
    noise = NOISE if allowed == GROWTH else SMALL_NOISE
    read, before = PARSERS[parser], (0, 0.0)
    for size in sizes:
        text, step = SHAPES[shape](size), size // before[0] if before[0] else 0
        least = max(before[1], NOISE / 4 if sizes[-1] > 100_000 else NOISE / 100)
        patience = longest * max(1, size / LARGE)
        if step:
            patience = min(patience, max(2.0, HOPELESS * step * least))
        try:
            with deadline(patience):
                took = seconds(read, text)
            if took > noise and step:
                growth = took / least / step
                if growth > allowed:
                    growth = _again(read, SHAPES[shape](before[0]), text, step, HOPELESS * patience, allowed)
                if growth > allowed:
                    return Slow(parser, shape, size, round(took, 3), round(growth, 2))
        except TooLong:
            return Slow(parser, shape, size, round(patience, 3), None)
        before = (size, took)
    return None


def _again(read: Parser, small: str, large: str, step: int, longest: float, allowed: float) -> float:
    """The least that one large text took against as many small ones as make it up. Both take as long where time is linear, so
    that whoever else uses the machine disturbs one as much as the other; a single small text would find a quiet moment sooner."""
    found = math.inf
    for _ in range(ROUNDS):
        with deadline(longest):
            alone = sum(seconds(read, small) for _ in range(step))
        with deadline(longest):
            found = min(found, seconds(read, large) / alone)
        if found <= allowed:
            break
    return found


@dataclass(frozen=True)
class Found(Source):
    """A source that finds these, without a look at them: its own work is not what is measured."""

    hits: Sequence[Hit]
    name: str = "found"
    hint: str = ""

    async def search(self, query: Query) -> Sequence[Hit]:
        return self.hits


def _hits(text: str) -> list[Hit]:
    return [Hit(str(n), text[:LARGE], text[:200], f"https://a.example/{n}", snippet=text[:500]) for n in range(3)]


async def _answered(text: str, hits: Sequence[Hit]) -> None:
    """A whole run whose source and model say nothing but this."""
    said = ScriptedModel(lambda prompt: f"Answer: {text[:ANSWER]} [1]", piece=400)
    async with Engine(Settings(effort="low", max_seconds=60), model=said, source=Found(hits)) as engine:
        await engine.ask("What is it about?", strategy="corrective", params={"grader": "llm"})


def blocked(shape: str) -> float:
    """The most processor time, in seconds, that the event loop gave to one callback in such a run; nobody else counts."""
    longest = 0.0
    easy, text = "Words. " * 20, SHAPES[shape](LARGE)
    before, hits = _hits(easy), _hits(text)

    def note(took: float, _: str) -> None:
        nonlocal longest
        longest = max(longest, took)

    async def whole() -> None:
        nonlocal longest
        await _answered(easy, before)  # what is loaded once is loaded now
        longest = 0.0
        await _answered(text, hits)

    with loop.watched(note):
        asyncio.run(whole())
    return longest


class Kept:
    """What has been measured, a line each; a long run can end anywhere and go on later. Without a file nothing is kept."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        lines = path.read_text(encoding="utf-8").splitlines() if path is not None and path.exists() else []
        self._told: dict[str, Slow | None] = {}
        for said in map(json.loads, lines):
            self._told[said["what"]] = Slow(**said["slow"]) if said["slow"] else None

    def measured(self, parser: str, shape: str, sizes: list[int], longest: float, allowed: float) -> Slow | None:
        what = f"{parser} | {shape} | {sizes} | {allowed}"
        if what not in self._told:
            self._told[what] = slow = measured(parser, shape, sizes, longest, allowed)
            if self._path is not None:
                with self._path.open("a", encoding="utf-8") as out:
                    out.write(json.dumps({"what": what, "slow": asdict(slow) if slow else None}) + "\n")
        return self._told[what]


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--quick", action="store_true")
    options.add_argument("--parser", action="append", choices=list(PARSERS))
    options.add_argument("--longest", type=float, default=LONGEST)
    options.add_argument("--largest", type=int, default=1_000_000, help="characters of a text at most")
    options.add_argument("--kept", type=Path, help="a file to go on from")
    given = options.parse_args()
    logging.disable(logging.WARNING)  # what parsers complain of would hide how far this is
    kept = Kept(given.kept)
    sizes = [2_000, 20_000] if given.quick else [size for size in (10_000, 100_000, 1_000_000) if size <= given.largest]
    allowed = SMALL_GROWTH if given.quick else GROWTH
    slow: list[Slow] = []
    chosen = list(given.parser or PARSERS)
    said = ", ".join(f"{size:,}" for size in sizes)
    print(f"{len(chosen)} readers on {len(SHAPES)} shapes of {said} characters", file=sys.stderr)
    for number, parser in enumerate(chosen, 1):
        begun = time.thread_time()
        found = [one for shape in SHAPES if (one := kept.measured(parser, shape, sizes, given.longest, allowed))]
        took = time.thread_time() - begun
        print(f"{number}/{len(chosen)} {parser}: {len(found)} shapes too slow, {took:.1f} s", file=sys.stderr)
        for one in found[:5]:
            print(f"    {one}", file=sys.stderr)
        slow += found
    shapes = list(SHAPES)[:: 40 if given.quick else 1] if given.parser is None else []
    stood = {shape: took for shape in shapes if (took := blocked(shape)) > BLOCKED}
    for shape, took in stood.items():
        print(f"the loop stood still for {1000 * took:.0f} ms on {shape}", file=sys.stderr)
    told = {"parsers": len(chosen), "shapes": len(SHAPES), "sizes": sizes, "slow": len(slow)}
    print(json.dumps({**told, "runs": len(shapes), "blocked": len(stood)}))
    raise SystemExit(bool(slow or stood))


if __name__ == "__main__":
    main()
