"""Downloads of published indexes from the Hugging Face hub (extra `hub`)."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, cast

from wellread.errors import IndexFault, optional
from wellread.index.published import CODES, MAPPINGS, ROWS, texts_in

_PARTS = "usearch-int8-index"  # a folder of NNNN.part, where one file would be too large for the hub
_TEXTS = ("*text*/*.parquet", "*text*/*.arrow", "*text*.parquet", "*text*.jsonl.gz")


def pull(repository: str, folder: Path) -> Path | None:
    """The files of the published layout and the texts, where they are. A download that broke off goes on; parts are joined."""
    with optional("downloading from the hub", "hub"):
        import huggingface_hub
    fetch = cast("Any", huggingface_hub).snapshot_download
    wanted = [*(f"*{name}" for name in (CODES, MAPPINGS)), *_TEXTS]
    wanted += [] if (folder / ROWS).exists() else [f"*{ROWS}", f"*{_PARTS}/*.part"]
    try:
        fetch(repository, repo_type="dataset", local_dir=folder, allow_patterns=wanted)
    except Exception as problem:  # the client raises errors of many libraries
        raise IndexFault(f"{repository} cannot be downloaded: {str(problem).splitlines()[0]}") from problem
    _join(folder)
    # Without a connection the client is content with a folder that is there, whatever is in it.
    missing = [name for name in (CODES, ROWS, MAPPINGS) if not any(folder.rglob(f"*{name}"))]
    if missing:
        raise IndexFault(f"{repository} cannot be downloaded, or is no published index: {', '.join(missing)} did not come")
    return texts_in(folder)


def _join(folder: Path) -> None:
    """The parts as one file, in their order; they go when it is whole."""
    parts = sorted((folder / _PARTS).glob("*.part"))
    if not parts:
        return
    numbers = [int(part.stem) if part.stem.isdigit() else -1 for part in parts]
    if numbers != list(range(numbers[0], numbers[0] + len(parts))):
        raise IndexFault(f"{folder / _PARTS} has gaps: a part is missing; run the same command again")
    torn = folder / f"{ROWS}.tmp"
    with torn.open("wb") as whole:
        for part in parts:
            with part.open("rb") as piece:
                shutil.copyfileobj(piece, whole, 1 << 20)
    torn.replace(folder / ROWS)
    for part in parts:
        part.unlink()
