"""Block checksums of segments that are too large to be compared as a whole when they are opened; `index verify`.

    SEGMENT/sums/NAME      one number for each block of SEGMENT/NAME, named in the manifest like any other file

Files that still grow get theirs when they are complete.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from wellread.errors import DamagedFile
from wellread.index import blocks, manifest
from wellread.index.blocks import Blocks
from wellread.index.manifest import SUMS, FileSum, Segment

_AWAITED = 256 << 20  # bytes that a first search waits for; more are read while searches go on
_PACE = 256 << 20  # bytes a second of them


def sealed(folder: Path, segment: Segment) -> Segment:
    """The segment with the sums that it lacks."""
    if segment.small:
        return segment
    fresh: dict[str, FileSum] = {}
    for name, known in segment.files.items():
        if name.startswith(SUMS) or SUMS + name in segment.files or segment.grows(name) or not known.bytes:
            continue
        place = folder / (SUMS + name)
        place.parent.mkdir(parents=True, exist_ok=True)
        with manifest.fresh_file(place) as out:
            out.write(blocks.sums_of(folder / name).tobytes())
        fresh[SUMS + name] = manifest.checksum(place)
    return replace(segment, files={**segment.files, **fresh})


def sums(folder: Path, files: Mapping[str, FileSum], name: str) -> Path | None:
    """Where the sums of a file lie, if it has any."""
    return folder / (SUMS + name) if SUMS + name in files else None


class Watch:
    """Files that others read for us, compared as a whole: at once, or in the background where there is much of it."""

    def __init__(self, folder: Path, files: Mapping[str, FileSum], prefix: str) -> None:
        named = [name for name in files if name.startswith(prefix) and SUMS + name in files]
        self._files = [Blocks(folder / name, sums(folder, files, name)) for name in named]
        self._much = sum(files[name].bytes for name in named) > _AWAITED
        self._problem: DamagedFile | None = None
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._begun = not named

    def check(self) -> None:
        """Raises what was found so far."""
        if not self._begun:
            with self._lock:
                if not self._begun and self._much:
                    threading.Thread(target=self._run, name="wellread-sums", daemon=True).start()
                elif not self._begun:
                    self._run()
                self._begun = True
        if self._problem is not None:
            raise self._problem

    def close(self) -> None:
        self._ended.set()

    def _run(self) -> None:
        try:
            for file in self._files:
                for read in file.checking():
                    if self._much and self._ended.wait(read / _PACE):
                        return
        except DamagedFile as problem:
            self._problem = problem
        except OSError as problem:
            self._problem = DamagedFile(f"{problem.filename} cannot be read: {problem.strerror}")


def problems(folder: Path) -> Iterator[str]:
    """One line for each file that is missing or differs. A manifest that is damaged raises."""
    content = manifest.load(folder)
    grow = {folder / manifest.SEGMENTS / one.name / name for one in content.segments for name in one.files if one.grows(name)}
    for path, known in manifest.named(folder, content).items():
        try:
            found = manifest.checksum(path, known.bytes if path in grow else None)
        except OSError as problem:
            yield f"{path}: {problem.strerror}"
            continue
        if found.bytes != known.bytes:
            yield f"{path}: {found.bytes} bytes instead of {known.bytes}"
        elif found != known:
            yield f"{path}: the content has changed"
