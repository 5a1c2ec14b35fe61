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
    # Without a connection the client is content with a folder that is there, whatever is in it.
    missing = [name for name in (CODES, ROWS, MAPPINGS) if not any(folder.rglob(f"*{name}"))]
    if missing:
        raise IndexFault(f"{repository} cannot be downloaded, or is no published index: {', '.join(missing)} did not come")
