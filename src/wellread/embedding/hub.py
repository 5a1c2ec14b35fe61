"""Models of the Hugging Face hub: from the local cache, else downloaded once (extra `hub`)."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from wellread.embedding.layout import ONNX_FILES
from wellread.errors import EmbedderError, MissingExtra

_SMALL_FILES = ("*.json", "*/config.json")


def fetch(repo: str, file: str | None, environ: Mapping[str, str]) -> Path:
    """The folder with `repo`'s ONNX file (`file`, or one with a usual name), tokenizer and settings."""
    try:
        from huggingface_hub import HfApi
        from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError
    except ImportError:
        raise MissingExtra(f"onnx:{repo}", "hub") from None
    api = HfApi(endpoint=environ.get("HF_ENDPOINT"), token=environ.get("HF_TOKEN") or None)
    cache, wanted = _cache(environ), (file,) if file else ONNX_FILES
    try:
        cached = Path(api.snapshot_download(repo, cache_dir=cache, local_files_only=True))
    except LocalEntryNotFoundError:
        pass
    else:
        if any((cached / name).is_file() for name in wanted) and (cached / "tokenizer.json").is_file():
            return cached
    _quiet_unless_watched()
    try:
        offered = api.list_repo_files(repo)
        chosen = next((name for name in wanted if name in offered), None)
        if chosen is None:
            raise EmbedderError(f"{repo} has no {' or '.join(wanted)}; see what it has and choose with ?file=…")
        patterns = [*_SMALL_FILES, chosen, f"{chosen}_data", f"{chosen}.data"]
        return Path(api.snapshot_download(repo, cache_dir=cache, allow_patterns=patterns))
    except (HfHubHTTPError, OSError, ValueError) as problem:
        reason = str(problem).strip().split("\n")[0] or type(problem).__name__
        raise EmbedderError(f"{repo} is not in the local cache and could not be downloaded: {reason}") from problem


def _cache(environ: Mapping[str, str]) -> Path | None:
    if named := environ.get("HF_HUB_CACHE"):
        return Path(named)
    home = environ.get("HF_HOME")
    return Path(home) / "hub" if home else None


def _quiet_unless_watched() -> None:
    if not sys.stderr.isatty():
        from huggingface_hub.utils import disable_progress_bars

        disable_progress_bars()
