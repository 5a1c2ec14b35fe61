"""Progress of long work on stderr: what, how many, how fast, how long still. One line on a terminal, else a line now and then."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field

_TERMINAL_EVERY, _PIPE_EVERY = 0.2, 15.0


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
