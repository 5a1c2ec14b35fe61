"""Downloads of published indexes from the Hugging Face hub (extra `hub`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from wellread.errors import IndexFault, MissingExtra
from wellread.index.published import CODES, MAPPINGS, ROWS


def pull(repository: str, folder: Path) -> None:
    """The three files of the published layout; a download that broke off goes on."""
    try:
        import huggingface_hub
    except ImportError:
        raise MissingExtra("downloading from the hub", "hub") from None
    fetch = cast("Any", huggingface_hub).snapshot_download
    try:
        fetch(repository, repo_type="dataset", local_dir=folder, allow_patterns=[f"*{name}" for name in (CODES, ROWS, MAPPINGS)])
    except Exception as problem:  # the client raises errors of many libraries
        raise IndexFault(f"{repository} cannot be downloaded: {str(problem).splitlines()[0]}") from problem
