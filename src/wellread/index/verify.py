"""Is every byte of an index what was written?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from wellread.index import manifest
from wellread.index.manifest import FileSum
from wellread.index.seal import VECTORS


def problems(folder: Path, progress: Callable[[str], None] = lambda _: None) -> Iterator[str]:
    """One line for each file that is missing or differs. A manifest that is damaged raises."""
    content = manifest.load(folder)
    files: list[tuple[Path, FileSum, bool]] = [
        (folder / "segments" / segment.name / name, known, segment.growing and name in VECTORS)
        for segment in content.segments
        for name, known in segment.files.items()
    ]
    files.extend((folder / entry.name, entry.sum, False) for entry in (content.removed, content.read) if entry is not None)
    for path, known, growing in files:
        progress(path.name)
        try:
            found = manifest.checksum(path, known.bytes if growing else None)
        except OSError as problem:
            yield f"{path}: {problem.strerror}"
            continue
        if found.bytes != known.bytes:
            yield f"{path}: {found.bytes} bytes instead of {known.bytes}"
        elif found != known:
            yield f"{path}: the content has changed"
