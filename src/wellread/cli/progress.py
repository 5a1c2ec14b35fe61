"""Progress of long work on stderr: what, how many, how fast, how long still. One line on a terminal, else a line now and then."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from wellread.cli.terminal import note
from wellread.index.progress import Gauge, Standing

_TERMINAL_EVERY, _PIPE_EVERY, _PIPE_FIRST = 0.2, 10.0, 5.0  # seconds
_ALWAYS = ("files", "passages", "vectors")  # these are told together, whichever moves
_WIDE = 79


@contextmanager
def ticking(
    silent: bool, unreadable: Sequence[str] | None = None, *, go_on: str = "", verbose: bool = False, report: Path | None = None
) -> Generator[Ticker, None, None]:
    """Progress while something long is done; then what could not be read, also where the work came to nothing.

    In short, by kind and reason, unless all of it is asked for or goes to a file.
    """
    ticker = Ticker(silent)
    try:
        yield ticker
    except asyncio.CancelledError:
        ticker.end()
        if go_on:
            note(go_on)
        raise
    finally:
        ticker.end()
        unreadable = unreadable or ()
        for line in unreadable if verbose else by_reason(unreadable):
            note(f"not read: {line}")
        if report is not None:
            report.write_text("".join(f"{line}\n" for line in unreadable), encoding="utf-8")


def by_reason(unreadable: Sequence[str]) -> list[str]:
    """`209 .png files: no text we can read`, most first; what is alone in its reason is named."""
    grouped: dict[tuple[str, str], list[str]] = {}
    for line in unreadable:
        name, _, reason = line.partition(": ")
        grouped.setdefault((PurePosixPath(name).suffix.lower(), reason), []).append(line)
    ordered = sorted(grouped.items(), key=lambda item: -len(item[1]))
    return [
        lines[0] if len(lines) == 1 else f"{len(lines):,} {suffix + ' ' if suffix else ''}files: {reason}"
        for (suffix, reason), lines in ordered
    ]


class Ticker:
    """Call it with (step, done, total); `total` may be unknown."""

    def __init__(self, silent: bool = False) -> None:
        self._silent = silent
        self._gauge = Gauge()
        self._shown = float("-inf")
        self._begun = time.monotonic()

    def __call__(self, step: str, done: int, total: int | None) -> None:
        self._gauge(step, done, total)
        now, live = time.monotonic(), sys.stderr.isatty()
        if self._silent or now - self._shown < (_TERMINAL_EVERY if live else _PIPE_EVERY):
            return
        if not live and now - self._begun < _PIPE_FIRST:
            return  # what is done in a moment needs no lines in a log
        self._shown = now
        line = shown(self._gauge.standing())
        sys.stderr.write(f"\r{line}\x1b[K" if live else line + "\n")
        sys.stderr.flush()

    def end(self) -> None:
        """Leave the line."""
        if not self._silent and sys.stderr.isatty():
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def shown(standing: Standing) -> str:
    """One line of at most 79 characters: files, passages, vectors; how fast, how long still."""
    parts = [f"{name} {_count(*standing.counts[name])}" for name in (*_ALWAYS, standing.step) if name in standing.counts]
    if standing.rate:
        parts.append(f"{standing.rate:,.0f}/s" if standing.rate >= 10 else f"{standing.rate:.1f}/s")
    if standing.left is not None:
        parts.append(f"{_span(standing.left)} left")
    if standing.slowed:
        parts.append("slowed by other work")
    parts = list(dict.fromkeys(parts))
    while len(line := " · ".join(parts)) > _WIDE and len(parts) > 1:
        parts.pop(0)
    return line


def _count(done: int, total: int | None) -> str:
    return f"{done:,}" if total is None or (total == done and total == 0) else f"{done:,} of {total:,}"


def _span(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"
