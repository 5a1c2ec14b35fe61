"""`files:PATH`: a folder (or one file) of your own, read and searched in memory. No index is needed.

Files are read at the first search, and again when they have changed. For more than some thousand
passages build an index (`wellread index build`).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import aclosing
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Annotated

from wellread.errors import ReadError, UsageError
from wellread.parameters import Hops, Range, fill, param
from wellread.protocols import Kit, Source
from wellread.reading.folders import files_inside
from wellread.sources.memory import Remembered
from wellread.sources.two_steps import followed
from wellread.text.split import Splitting, passages
from wellread.types import Passage, Spec

_SUFFIXES = "txt text md markdown rst org adoc html htm xhtml pdf docx epub csv tsv json log tex"
_KNOWN = frozenset(f".{suffix}" for suffix in _SUFFIXES.split())
Stamp = tuple[tuple[str, int, int], ...]


@dataclass(frozen=True, slots=True)
class Options:
    pattern: str | None = param(None, "only files whose name fits, with * and ?: *.md")
    meaning: bool = param(True, "search by meaning too, not by words alone")
    max_files: Annotated[int, Range(1, 10_000_000)] = param(2000, "files read at most")
    max_megabytes: Annotated[float, Range(0, 100_000)] = param(50.0, "larger files are left out")
    hops: Hops = param(1, "2: also follow what the first passages lead to")


def from_spec(spec: Spec, kit: Kit) -> Source:
    """A folder of documents, searched in memory."""
    options = fill(Options, spec.options, "source files")
    path = Path(spec.argument).expanduser()
    if not spec.argument or not path.exists():
        raise UsageError(f"files needs a folder or a file that is there: files:PATH ({spec.argument or 'none given'})")
    files = Files(f"files:{spec.argument}", path, options, kit)
    return followed(files, options.hops, kit)


class Files(Remembered[Stamp]):
    """Passages of files as hits; what could not be read is said with every search."""

    hint = "A few documents of the user's own. Ask with the words they are likely to use; a whole question works too."
    nothing = "there is no file to read"

    def __init__(self, name: str, path: Path, options: Options, kit: Kit) -> None:
        super().__init__(name, kit, meaning=options.meaning)
        self._path = path
        self._options = options

    async def look(self) -> Stamp:
        return await asyncio.to_thread(self._look)

    def _look(self) -> Stamp:
        """What there is to read, with size and time, so that a change is noticed."""
        found: list[tuple[str, int, int]] = []
        for path in self._candidates():
            try:
                about = path.stat()
            except OSError:
                continue
            if about.st_size <= self._options.max_megabytes * 1024 * 1024:
                found.append((str(path), about.st_size, about.st_mtime_ns))
            if len(found) >= self._options.max_files:
                break
        return tuple(found)

    def _candidates(self) -> Iterator[Path]:
        if self._path.is_file():
            yield self._path
            return
        pattern = self._options.pattern
        for path in files_inside(self._path):
            if fnmatch(path.name, pattern) if pattern else path.suffix.lower() in _KNOWN:
                yield path

    async def read(self, seen: Stamp) -> tuple[list[Passage], list[str]]:
        from wellread.reading.workers import shared

        found: list[Passage] = []
        failures: list[str] = []
        async with aclosing(shared().in_order(self._named(seen))) as outcomes:
            async for name, outcome in outcomes:
                said = outcome.reason if isinstance(outcome, ReadError) else outcome.notice
                if said:
                    failures.append(f"{name}: {said}")
                if not isinstance(outcome, ReadError):
                    found.extend(await asyncio.to_thread(passages, outcome, name, Splitting()))
        return found, failures

    def _named(self, stamp: Stamp) -> Iterator[tuple[str, Path]]:
        root = self._path if self._path.is_dir() else self._path.parent
        for path, _, _ in stamp:
            yield os.path.relpath(path, root), Path(path)
