"""Parquet and Arrow tables as JSON lines, decoded in a process of their own: a damaged one may crash it or fill its memory.

The table is the process's standard input, opened by the parent; nothing else can be opened once it is confined. A table is
read as slowly as its rows are taken, so that only the time that it computes for some rows is bounded.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO, cast

from wellread.core import safe_files
from wellread.errors import IndexFault, MissingExtra
from wellread.reading.child import KEPT_ENVIRONMENT
from wellread.safe_imports import safe_path

_START = "import sys; sys.path[:] = sys.argv[2:]; from wellread.reading.arrow_process import main; main(sys.argv[1])"
_MEMORY = 1 << 30  # bytes beside the libraries
_SECONDS = 60.0  # of the processor's time for some rows
_ROWS = 1000  # decoded at once
_VECTORS = "emb"  # how columns begin that nobody reads here


def lines(path: Path, longest: int) -> Iterator[str]:
    """Each row as a JSON object, a long one in pieces; raises `IndexFault` for what is no such table, or takes too much."""
    if find_spec("pyarrow") is None:
        raise MissingExtra(f"reading {path.name}", "scale")
    try:
        table = safe_files.opened(path)
    except OSError as problem:
        raise IndexFault(f"{path} cannot be read: {problem.strerror}") from problem
    command = [sys.executable, "-I", "-c", _START, path.suffix.lower(), *safe_path()]
    environment = {name: os.environ[name] for name in KEPT_ENVIRONMENT if name in os.environ}
    with (
        table,
        subprocess.Popen(command, stdin=table, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process,
    ):
        try:
            written = cast("BinaryIO", process.stdout)
            yield from (line.decode() for line in iter(lambda: written.readline(longest), b""))
            said = cast("BinaryIO", process.stderr).read().decode("utf-8", "replace").strip()
        finally:
            process.kill()
    if process.returncode:
        reason = said.splitlines()[-1] if said else "it is damaged, or takes more memory or time than a table may"
        raise IndexFault(f"{path} cannot be read: {reason}")


def main(suffix: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrow = cast("Any", pa)
    arrow.set_memory_pool(arrow.system_memory_pool())  # others reserve more than they use
    _confine()
    try:
        with open(0, "rb") as table:
            for batch in _parquet(pq.ParquetFile(table)) if suffix == ".parquet" else _arrow(arrow.ipc.open_stream(table)):
                for row in batch.to_pylist():
                    sys.stdout.write(json.dumps(row, default=str) + "\n")
                sys.stdout.flush()
                signal.setitimer(signal.ITIMER_PROF, _SECONDS)
    except BrokenPipeError:
        os._exit(0)  # nobody wants more
    except (cast("type[Exception]", pa.ArrowException), OSError, ValueError, OverflowError, MemoryError) as problem:
        sys.exit(str(problem) or "it takes more memory than a table may")


def _parquet(table: Any) -> Iterator[Any]:
    return table.iter_batches(_ROWS, columns=_wanted(table.schema_arrow), use_threads=False)


def _arrow(table: Any) -> Iterator[Any]:
    """As the hub's data sets are saved to a disk."""
    return (batch.select(_wanted(batch.schema)) for batch in table)


def _wanted(schema: Any) -> list[str]:
    return [name for name in schema.names if not name.startswith(_VECTORS)]


def _confine() -> None:
    for kind in (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE):
        resource.setrlimit(kind, (0, 0))
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
    signal.setitimer(signal.ITIMER_PROF, _SECONDS)
