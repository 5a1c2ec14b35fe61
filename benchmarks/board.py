"""The board: every benchmark in its quick form, its figures against `bars.toml`, and what the last run said.

    python -m benchmarks [--only NAME]… [--readme]

Prints one table, what fell short first, and writes it to `docs/log/board.md`, which is also where the last figures are read from:
a figure that was not measured this time keeps its row, with the commit and the machine it was measured on. Figures of the
other architecture stay beside those of this one. `--readme` measures nothing and writes the figures of that page into README.md,
wherever it says `<!-- NAME FIGURE -->`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE, BARS, README = ROOT / "docs/log/board.md", ROOT / "benchmarks/bars.toml", ROOT / "README.md"
LONGEST = 900  # seconds of one benchmark; a minute on two quiet cores
_ROW = re.compile(r"^\| (\w+) \| (\w+) \| (aarch64|x86_64) \| [^|]* \| ([^|]*) \| ([^|]*) \| ([^|]*) \|", re.MULTILINE)
_PLACE = re.compile(r"(<!-- (\w+) (\w+) -->)[^<|]*(<!-- -->)")
_HEAD = """# The board

**In short.** {short}

Made by `make bench` (`python -m benchmarks`), which compares every figure with `benchmarks/bars.toml`; do not edit. Ratios are of
one run, both sides. "Before" is the figure that the row had last. Rows "3fc3df0,
quiet" and "earlier" were entered by hand from older measurements, not by this command.

| benchmark | figure | machine | bar | now | measured | before |
|---|---|---|---|---|---|---|
"""


@dataclass(frozen=True, slots=True)
class Bar:
    """What a figure may be: at `most` or at `least`."""

    benchmark: str
    figure: str
    least: float | None = None
    most: float | None = None
    only: str = ""  # an architecture

    def holds(self, value: float) -> bool:
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)

    def __str__(self) -> str:
        sides = [f"≥ {self.least:g}" if self.least is not None else "", f"≤ {self.most:g}" if self.most is not None else ""]
        return " and ".join(filter(None, sides)) + (f" ({self.only})" if self.only else "")


@dataclass(frozen=True, slots=True)
class Row:
    """A figure on one architecture; `now` is "" where nothing was measured."""

    benchmark: str
    figure: str
    machine: str
    now: str
    measured: str  # commit and load
    before: str = ""


def bars(text: str) -> list[Bar]:
    return [Bar(name, figure, **said) for name, figures in tomllib.loads(text).items() for figure, said in figures.items()]


def rows(page: str) -> list[Row]:
    """The figures of a board that was written before."""
    return [Row(*(cell.strip("* ✗") for cell in match.groups())) for match in _ROW.finditer(page)]


def merged(old: Iterable[Row], found: Mapping[str, Mapping[str, object]], wanted: Sequence[Bar], where: str) -> list[Row]:
    """What was measured now, here, in the place of what stood there; all else stays."""
    kept = {(row.benchmark, row.figure, row.machine): row for row in old}
    here = platform.machine()
    for bar in wanted:
        key = (bar.benchmark, bar.figure, here)
        last = kept.get(key, Row(*key, "", ""))
        value = found.get(bar.benchmark, {}).get(bar.figure)
        if isinstance(value, bool | int | float):
            was = f"{last.now} ({last.measured})" if last.now else ""
            kept[key] = replace(last, now=f"{float(value):g}", measured=where, before=was)
    named = {(bar.benchmark, bar.figure) for bar in wanted}
    return [row for row in kept.values() if (row.benchmark, row.figure) in named]


def page(found: Sequence[Row], wanted: Sequence[Bar]) -> str:
    """One table, what fell short first."""
    by_figure = {(bar.benchmark, bar.figure): bar for bar in wanted}

    def short(row: Row) -> bool:
        bar = by_figure[row.benchmark, row.figure]
        return bar.only in ("", row.machine) and not bar.holds(float(row.now))

    lines = [
        f"| {row.benchmark} | {row.figure} | {row.machine} | {by_figure[row.benchmark, row.figure]} | "
        f"{f'**{row.now}** ✗' if short(row) else row.now} | {row.measured} | {row.before} |\n"
        for row in sorted(found, key=lambda row: (not short(row), row.benchmark, row.figure, row.machine))
    ]
    fell = sum(map(short, found))
    missing = len({*by_figure} - {(row.benchmark, row.figure) for row in found})
    told = f"{len(found)} figures, {fell} of them short of their bar; {missing} figures with a bar were not measured yet."
    return _HEAD.format(short=told) + "".join(lines)


def readme(text: str, found: Sequence[Row]) -> str:
    """With the figures of the board; one that exists for a single architecture says so."""

    def told(place: re.Match[str]) -> str:
        figures = [f"{row.now} ({row.machine})" for row in found if (row.benchmark, row.figure) == place.group(2, 3)]
        return f"{place[1]}{' or '.join(sorted(figures)) or 'not measured'}{place[4]}"

    return _PLACE.sub(told, text)


def run(name: str) -> dict[str, object]:
    """The last line of one benchmark; {} where it failed, which its own output says."""
    begun = time.monotonic()
    command = [sys.executable, "-m", "benchmarks", name, "--quick"]
    try:
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False, timeout=LONGEST)
        said = json.loads(done.stdout.splitlines()[-1]) if done.stdout.strip() else {}
    except (subprocess.TimeoutExpired, json.JSONDecodeError) as problem:
        print(f"{name}: {problem!r:.200}", file=sys.stderr)
        said = {}
    print(f"{name}: {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
    return said if isinstance(said, dict) else {}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", metavar="NAME", help="these benchmarks alone")
    parser.add_argument("--readme", action="store_true", help="write the figures into README.md and measure nothing")
    chosen = parser.parse_args()
    wanted = bars(BARS.read_text("utf-8"))
    old = rows(PAGE.read_text("utf-8")) if PAGE.exists() else []
    if not chosen.readme:
        names = dict.fromkeys(bar.benchmark for bar in wanted if not chosen.only or bar.benchmark in chosen.only)
        commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
        found = {name: run(name) for name in names}
        where = f"{commit.stdout.strip() or 'no commit'}, {os.cpu_count()} cores, load {os.getloadavg()[2]:.0f}"
        old = merged(old, found, wanted, where)
        PAGE.write_text(page(old, wanted), encoding="utf-8")
        print(page(old, wanted))
    README.write_text(readme(README.read_text("utf-8"), old), encoding="utf-8")


if __name__ == "__main__":
    main()
