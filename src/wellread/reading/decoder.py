"""Sandboxed decoding of Parquet, Arrow and ZIM files to JSON lines, in a process of its own: a damaged one may crash it or fill
its memory.

The files are opened by the parent; nothing else can be opened once the process is confined. A file is read as slowly as its
rows are taken, so that only the time that it computes for some rows is bounded.
"""

from __future__ import annotations

import base64
import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack
from importlib import import_module
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path
from typing import Any, BinaryIO, cast

from wellread.core import safe_files
from wellread.core.safe_imports import safe_path
from wellread.errors import IndexFault, MissingExtra
from wellread.reading.child import KEPT_ENVIRONMENT

LONGEST_LINE = 20_000_000  # characters of a row as JSON
VECTORS = {"emb_int8": "int8", "emb_ubinary": "uint8"}  # columns that embedded data sets have
_START = "import sys; sys.path[:] = sys.argv[3:]; from wellread.reading.decoder import main; main(sys.argv[1], sys.argv[2])"
_FAILED = b"!"  # before the reason, in the place of a row
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}  # numpy takes 40 MB for each, and one for each core
_MEMORY = 1 << 30  # bytes beside the libraries
_SECONDS = 60.0  # of the processor's time for some rows
_ROWS = 1000  # decoded at once
_PAGE = 10 * 1024**2  # bytes of a page in an archive; larger ones are left out
_FILES = 200  # that one process is given


def lines(reader: str, paths: Sequence[Path], longest: int = LONGEST_LINE) -> Generator[str]:
    """Rows of files as JSON lines, decoded by a reader, a long one in pieces; raises `IndexFault` for what is no such file, or
    takes too much."""
    library, extra = ("libzim", "zim") if reader == "zim" else ("pyarrow", "scale")
    if find_spec(library) is None:
        raise MissingExtra(f"reading {paths[0].name}", extra)
    for start in range(0, len(paths), _FILES):
        yield from _lines(reader, paths[start : start + _FILES], longest)


def _lines(reader: str, paths: Sequence[Path], longest: int) -> Iterator[str]:
    count, reason = 0, ""
    with ExitStack() as stack:
        handles = [stack.enter_context(_opened(path)).fileno() for path in paths]
        process = subprocess.Popen(
            [sys.executable, "-I", "-c", _START, reader, ",".join(map(str, handles)), *safe_path()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_ONE_THREAD | {name: os.environ[name] for name in KEPT_ENVIRONMENT if name in os.environ},
            pass_fds=handles,
        )
        stack.enter_context(process)
        stack.callback(process.kill)
        written = cast("BinaryIO", process.stdout)
        for line in iter(lambda: written.readline(longest), b""):
            if line.startswith(_FAILED):
                reason = line.decode().removeprefix(_FAILED.decode()).strip()
                break
            yield line.decode()
            count += 1
        else:
            process.wait()
    if process.returncode:
        reason = reason or f"it is damaged, or takes more memory or time than a file may (it ended with {process.returncode})"
        raise IndexFault(f"{paths[min(count, len(paths) - 1)]} cannot be read: {reason}")


def _opened(path: Path) -> BinaryIO:
    try:
        return safe_files.opened(path)
    except OSError as problem:
        raise IndexFault(f"{path} cannot be read: {problem.strerror}") from problem


def main(reader: str, handles: str) -> None:
    if reader == "zim":
        import_module("libzim.reader")
    else:
        _arrow().set_memory_pool(_arrow().system_memory_pool())  # others reserve more than they use
        _limit(resource.RLIMIT_NOFILE, 0)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, 0)
    _limit(resource.RLIMIT_DATA, _MEMORY)
    signal.setitimer(signal.ITIMER_PROF, _SECONDS)
    try:
        for handle in map(int, handles.split(",")):
            with open(handle, "rb") as file:
                for some in READERS[reader](file):
                    sys.stdout.write("".join(f"{line}\n" for line in some))
                    sys.stdout.flush()
                    signal.setitimer(signal.ITIMER_PROF, _SECONDS)
        os._exit(0)  # libraries that are taken down under these limits may crash
    except BrokenPipeError:
        os._exit(0)  # nobody wants more
    except Exception as problem:  # whatever it is, it is the file's
        sys.stdout.write(" ".join([_FAILED.decode(), *(str(problem) or repr(problem)).splitlines()[-1:]]) + "\n")
        sys.exit(1)


def _limit(kind: int, most: int) -> None:
    resource.setrlimit(kind, (most, most))


def head(file: BinaryIO) -> Iterator[list[str]]:
    """One line for a parquet file: how many rows, which columns, and what our own files say of themselves."""
    table = _parquet(file)
    about = cast("dict[bytes, bytes]", table.schema_arrow.metadata or {}).get(b"wellread")
    yield [json.dumps({"rows": table.metadata.num_rows, "columns": table.schema_arrow.names, "about": about and about.decode()})]


def rows(file: BinaryIO) -> Iterator[list[str]]:
    """The rows of a parquet file without their vectors."""
    table = _parquet(file)
    columns = [name for name in table.schema_arrow.names if not name.startswith("emb")]
    for batch in table.iter_batches(_ROWS, columns=columns, use_threads=False):
        yield [json.dumps(row, default=str) for row in batch.to_pylist()]


def embedded(file: BinaryIO) -> Iterator[list[str]]:
    """The rows of a parquet file with their vectors, bytes in hexadecimal."""
    for batch in _parquet(file).iter_batches(_ROWS, use_threads=False):
        vectors = {name: _hexadecimal(batch.column(name), kind) for name, kind in VECTORS.items()}
        others = batch.select([name for name in batch.schema.names if not name.startswith("emb")]).to_pylist()
        for name, values in vectors.items():
            for row, value in zip(others, values, strict=True):
                row[name] = value
        yield [json.dumps(row, default=str) for row in others]


def _hexadecimal(column: Any, kind: str) -> list[str]:
    values = column.flatten()
    if values.null_count or column.null_count:
        raise ValueError("a vector is missing, or a number in it")
    data = values.cast(kind).to_numpy(zero_copy_only=False).tobytes().hex()
    ends = list(accumulate(2 * length for length in column.value_lengths().to_pylist()))
    return [data[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def stream(file: BinaryIO) -> Iterator[list[str]]:
    """The rows of an Arrow stream, as the hub's data sets are saved to a disk."""
    for batch in _arrow().ipc.open_stream(file):
        wanted = batch.select([name for name in batch.schema.names if not name.startswith("emb")])
        yield [json.dumps(row, default=str) for row in wanted.to_pylist()]


def zim(file: BinaryIO) -> Iterator[list[str]]:
    """The pages of a ZIM archive, in base64. What leads elsewhere is not followed."""
    archive: Any = import_module("libzim.reader").Archive(Path(f"/dev/fd/{file.fileno()}"))
    _limit(resource.RLIMIT_NOFILE, 0)  # it is open: nothing else will be
    for number in range(archive.all_entry_count):
        entry = archive._get_entry_by_id(number)
        item = None if entry.is_redirect else entry.get_item()
        if item is not None and item.mimetype.startswith("text/html") and item.size <= _PAGE:
            html = base64.b64encode(item.content).decode()
            yield [json.dumps({"path": entry.path, "title": entry.title, "html": html})]


READERS: dict[str, Callable[[BinaryIO], Iterator[list[str]]]] = {
    reader.__name__: reader for reader in (head, rows, embedded, stream, zim)
}


def _arrow() -> Any:
    for part in ("compute", "ipc", "parquet"):
        import_module(f"pyarrow.{part}")
    return import_module("pyarrow")


def _parquet(file: BinaryIO) -> Any:
    return _arrow().parquet.ParquetFile(file)
