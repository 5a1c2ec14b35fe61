"""The events of a run for others: in a file (`ask --trace`) and at a collector of traces."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from wellread import events
from wellread.cli.terminal import json_line, note
from wellread.errors import UsageError, WellreadError

OTEL = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


@contextmanager
def tracing(path: Path | None) -> Generator[Callable[[events.Event], None], None, None]:
    """A writer of events as JSON lines, where there is a path; a collector of traces gets them too."""
    exporting = any(os.environ.get(name) for name in OTEL)
    trace = _Trace(path, keep=exporting)
    try:
        yield trace.write
    finally:
        trace.close()
    if exporting and trace.seen:
        _export(trace.seen)
    if trace.problem is not None:
        raise WellreadError(f"{path}: the trace cannot be written: {trace.problem.strerror}")


class _Trace:
    """A disk that is full must not cost the answer: what went wrong is kept until the run is over."""

    def __init__(self, path: Path | None, *, keep: bool) -> None:
        self.seen: list[events.Event] = []
        self.problem: OSError | None = None
        self._keep = keep
        self._file: TextIO | None = None
        if path is not None:
            try:
                self._file = path.open("w", encoding="utf-8")
            except OSError as problem:
                raise UsageError(f"{path}: the trace cannot be written: {problem.strerror}") from None

    def write(self, event: events.Event) -> None:
        if self._keep:
            self.seen.append(event)
        if self._file is not None and self.problem is None:
            try:
                print(json_line(events.to_json(event)), file=self._file, flush=True)
            except OSError as problem:
                self.problem = problem

    def close(self) -> None:
        if self._file is not None:
            with suppress(OSError):  # it has been said before
                self._file.close()


def _export(seen: list[events.Event]) -> None:
    """A collector that is set for all programs must not cost an answer where the extra is missing."""
    from wellread.errors import MissingExtra
    from wellread.trace import otel

    try:
        if otel.wanted():
            otel.export(seen)
    except MissingExtra as problem:
        note(str(problem))
