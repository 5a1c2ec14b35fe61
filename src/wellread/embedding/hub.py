"""Models of the Hugging Face hub: from the local cache, else downloaded once (extra `hub`)."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from wellread.core.private_files import at_home
from wellread.embedding.layout import ONNX_FILES
from wellread.errors import EmbedderError, optional

_SMALL_FILES = ("*.json", "*/config.json")
_SECONDS = 20.0  # to say what a repository contains


def fetch(repo: str, file: str | None, environ: Mapping[str, str]) -> Path:
    """The folder with `repo`'s ONNX file (`file`, or one with a usual name), tokenizer and settings."""
    with optional(f"onnx:{repo}", "hub"):
        from huggingface_hub import HfApi
    if file and (file.startswith("/") or ".." in file.split("/")):
        raise EmbedderError(f"onnx:{repo}: {file} is no file of that model")
    cache, wanted = _cache(environ), (file,) if file else ONNX_FILES
    if (cached := _cached(repo, wanted, cache)) is not None:
        return cached
    api = HfApi(endpoint=environ.get("HF_ENDPOINT"), token=environ.get("HF_TOKEN") or None)
    _quiet_unless_watched()
    try:
        offered = {file.rfilename for file in api.model_info(repo, timeout=_SECONDS).siblings or ()}
        chosen = next((name for name in wanted if name in offered), None)
        if chosen is None:
            raise EmbedderError(f"{repo} has no {' or '.join(wanted)}; see what it has and choose with ?file=…")
        patterns = [*_SMALL_FILES, chosen, f"{chosen}_data", f"{chosen}.data"]
        return Path(api.snapshot_download(repo, cache_dir=cache, allow_patterns=patterns))
    except EmbedderError:
        raise
    except Exception as problem:  # the library lets through whatever its HTTP client of the day raises
        reason = str(problem).strip().split("\n")[0] or type(problem).__name__
        raise EmbedderError(f"{repo} is not in the local cache and could not be downloaded: {reason}") from problem


def is_id(argument: str) -> bool:
    """Whether it is called as models of the hub are: owner/name."""
    return argument.count("/") == 1 and not argument.startswith(("/", ".", "~"))


def at_hand(argument: str, environ: Mapping[str, str]) -> bool:
    """Whether a model that a stranger's file names is one of the hub that was downloaded here before: nothing is downloaded
    because a file says so, and no file or folder is loaded that lies where it says."""
    if not is_id(argument) or at_home(argument).exists():
        return False
    try:
        return _cached(argument, ONNX_FILES, _cache(environ)) is not None
    except ImportError:
        return False


def _cached(repo: str, wanted: Sequence[str], cache: Path | None) -> Path | None:
    """The folder in the cache that has one of the files and a tokenizer."""
    from huggingface_hub import try_to_load_from_cache

    for name in wanted:
        found = try_to_load_from_cache(repo, name, cache_dir=cache)
        if isinstance(found, str):
            folder = Path(found).parents[name.count("/")]
            return folder if (folder / "tokenizer.json").is_file() else None
    return None


def _cache(environ: Mapping[str, str]) -> Path | None:
    if named := environ.get("HF_HUB_CACHE"):
        return Path(named)
    home = environ.get("HF_HOME")
    return Path(home) / "hub" if home else None


def _quiet_unless_watched() -> None:
    if not sys.stderr.isatty():
        from huggingface_hub.utils import disable_progress_bars

        disable_progress_bars()
