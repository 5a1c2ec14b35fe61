"""Structured logs: one JSON object a line on stderr, with the run's id. No questions, keys or tracebacks."""

from __future__ import annotations

import json
import logging
import sys
import time
import traceback
from collections import Counter
from contextvars import ContextVar
from typing import cast

run_id: ContextVar[str | None] = ContextVar("wellread_run", default=None)
_logger = logging.getLogger("wellread.server")
_LOUD = ("wellread.server", "uvicorn.error")


class Lines(logging.Formatter):
    """Time, level, message, run and facts. An exception is told by type and place only: its text may hold anything."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "message": _untraced(record.getMessage()),
        }
        if (run := run_id.get()) is not None:
            line["run"] = run
        line.update(cast("dict[str, object]", getattr(record, "facts", {})))
        if record.exc_info and record.exc_info[1] is not None:
            line["error"] = place(record.exc_info[1])
        return json.dumps(line, default=str)  # in ASCII: lines hold what clients sent, and terminals obey it


class Seldom(logging.Filter):
    """Rate limit: one line a second of what strangers can cause at will; the next one says how many `more` there were."""

    def __init__(self) -> None:
        super().__init__()
        self._last: dict[str, float] = {}
        self._more: Counter[str] = Counter()

    def filter(self, record: logging.LogRecord) -> bool:
        kind = record.name if record.name != _logger.name else getattr(record, "seldom", None)
        if kind is None:
            return True
        if record.created - self._last.get(kind, -1.0) < 1:
            self._more[kind] += 1
            return False
        self._last[kind] = record.created
        if more := self._more.pop(kind, 0):
            record.facts = {**getattr(record, "facts", {}), "more": more}
        return True


def _untraced(message: str) -> str:
    """Some libraries write tracebacks as messages; the type of the error is enough."""
    if "Traceback (most recent call last)" not in message:
        return message
    return message.strip().splitlines()[-1].partition(":")[0]


def configure(*, verbose: bool = False) -> None:
    """Send our lines, and the warnings of the libraries below, to stderr: all of them into a file, on a terminal the warnings
    alone unless it is to be `verbose`."""
    level = logging.INFO if verbose or not sys.stderr.isatty() else logging.WARNING
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Lines())
    handler.addFilter(Seldom())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    for name in _LOUD:
        logging.getLogger(name).setLevel(level)


def info(message: str, *, seldom: str | None = None, **facts: object) -> None:
    """A line; at most one a second of those that are `seldom` by the same name."""
    if _logger.isEnabledFor(logging.INFO):
        _logger.info(message, extra={"facts": facts, "seldom": seldom})


def fault(message: str, problem: BaseException, **facts: object) -> None:
    """Something that should not have happened."""
    _logger.error(message, extra={"facts": {**facts, "error": place(problem)}})


def place(problem: BaseException) -> str:
    """`ValueError at extract.py:12`."""
    frames = traceback.extract_tb(problem.__traceback__)
    where = f" at {frames[-1].filename.rsplit('/', 1)[-1]}:{frames[-1].lineno}" if frames else ""
    return f"{type(problem).__name__}{where}"
