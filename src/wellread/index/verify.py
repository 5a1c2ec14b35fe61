"""Is every byte of an index what was written?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from wellread.index import manifest
from wellread.index.manifest import FileSum


def problems(folder: Path, progress: Callable[[str], None] = lambda _: None) -> Iterator[str]:
    """One line for each file that is missing or differs. A manifest that is damaged raises."""
    content = manifest.load(folder)
    files: list[tuple[Path, FileSum]] = [
        (folder / "segments" / segment.name / name, known)
        for segment in content.segments
        for name, known in segment.files.items()
    ]
    if content.removed is not None:
        files.append((folder / content.removed.name, content.removed.sum))
    for path, known in files:
        progress(path.name)
        try:
            found = manifest.checksum(path)
        except OSError as problem:
            yield f"{path}: {problem.strerror}"
            continue
        if found.bytes != known.bytes:
            yield f"{path}: {found.bytes} bytes instead of {known.bytes}"
        elif found != known:
            yield f"{path}: the content has changed"
