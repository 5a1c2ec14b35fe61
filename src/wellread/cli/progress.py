"""Progress of long work on stderr: what, how many, how fast, how long still. One line on a terminal, else a line now and then."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from wellread.cli.terminal import note

_TERMINAL_EVERY, _PIPE_EVERY = 0.2, 15.0


@contextmanager
def ticking(silent: bool, unreadable: Sequence[str] = (), *, go_on: str = "") -> Generator[Ticker, None, None]:
    """Progress while something long is done; then what could not be read, also where the work came to nothing."""
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
        for line in unreadable:
            note(f"not read: {line}")


@dataclass(slots=True)
class Ticker:
    """Call it with (step, done, total); `total` may be unknown."""

    silent: bool = False
    _step: str = ""
    _begun: float = 0.0
    _first: int = 0
    _shown: float = field(default_factory=time.monotonic)

    def __call__(self, step: str, done: int, total: int | None) -> None:
        now = time.monotonic()
        if step != self._step:
            self._step, self._begun, self._first = step, now, done
        live = sys.stderr.isatty()
        if self.silent or now - self._shown < (_TERMINAL_EVERY if live else _PIPE_EVERY):
            return
        self._shown = now
        line = self._line(done, total, now - self._begun)
        sys.stderr.write(f"\r{line}\x1b[K" if live else line + "\n")
        sys.stderr.flush()

    def end(self) -> None:
        """Leave the line."""
        if not self.silent and sys.stderr.isatty():
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def _line(self, done: int, total: int | None, seconds: float) -> str:
        rate = (done - self._first) / seconds if seconds > 0.5 else 0.0
        parts = [f"{self._step}: {done:,}" + (f" of {total:,}" if total else "")]
        if rate:
            parts.append(f"{rate:,.0f} a second")
            if total:
                parts.append(f"{_span((total - done) / rate)} left")
        return ", ".join(parts)


def _span(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"
