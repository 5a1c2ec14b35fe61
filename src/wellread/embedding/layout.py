"""Reading the folder of a sentence-embedding model: config, pooling, prompts, tokenizer; and downloads from the hub.

Three kinds of folder are understood: wellread's own (its `config.json` names everything), those of
sentence-transformers (`modules.json`, `1_Pooling/config.json`, prompts), and plain exports with an ONNX file and a
`tokenizer.json`, for which the table in `known` fills the gaps.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

from wellread.core.private_files import at_home
from wellread.core.values import frozen
from wellread.errors import DamagedFile, EmbedderError, optional

Pooling = Literal["mean", "cls", "last"]
Kind = Literal["query", "passage"]

_REPRESENT = "Represent this sentence for searching relevant passages: "


@frozen
class Habits:
    """How a family of models wants to be used."""

    pooling: Pooling = "mean"
    query_prompt: str = ""
    passage_prompt: str = ""


# The first pattern found anywhere in the lower-cased name counts.
_FAMILIES: tuple[tuple[str, Habits], ...] = (
    (r"mxbai-embed-(large|xsmall|2d)", Habits("cls", _REPRESENT)),
    (r"bge-m3", Habits("cls")),
    (r"bge-(small|base|large)-zh", Habits("cls", "为这个句子生成表示以用于检索相关文章：")),
    (r"bge-(small|base|large|micro)", Habits("cls", _REPRESENT)),
    (r"e5-(small|base|large)", Habits("mean", "query: ", "passage: ")),
    (r"gte-(base|large)-en-v1\.5|gte-multilingual|gte-modernbert", Habits("cls")),
    (r"gte-(tiny|small|base|large)", Habits("mean")),
    (r"snowflake-arctic-embed", Habits("cls", _REPRESENT)),
    (r"nomic-embed-text", Habits("mean", "search_query: ", "search_document: ")),
    (r"minilm", Habits("mean")),
)


def habits(name: str) -> Habits | None:
    """The habits of the model called `name` (an identifier, a folder's name), if its family is known."""
    lowered = name.lower()
    if "instruct" in lowered:  # those take a task description, which is the user's to write
        return None
    return next((found for pattern, found in _FAMILIES if re.search(pattern, lowered)), None)


OWN_FORMAT = "wellread-embedder/1"
ONNX_FILES = ("model.onnx", "onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx")
_MOST_TOKENS = 8192
_USUAL_TOKENS = 512
_POOLINGS: dict[str, Pooling] = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_lasttoken": "last",
}


@frozen
class Layout:
    """Where the files are and how the model is to be used."""

    model: Path
    tokenizer: Path
    pooling: Pooling  # for a model that returns a vector for each token
    query_prompt: str
    passage_prompt: str
    max_tokens: int
    dimensions: int | None  # None: only the model itself can tell
    checksum: str = ""  # of the model's file, when it is one of wellread's own, whose graphs need no optimising
    dense: bool = False  # a further layer comes after pooling, which only a graph that contains it can offer


def read_layout(folder: Path, name: str, file: str | None = None) -> Layout:
    """The layout of `folder`; `name` is looked up in the table of known models."""
    model = onnx_file(folder, file)
    tokenizer = folder / "tokenizer.json"
    if not tokenizer.is_file():
        raise EmbedderError(f"{folder} has no tokenizer.json")
    config = read_json(folder / "config.json")
    if config.get("format") == OWN_FORMAT:
        return _own(model, tokenizer, config)
    usual = habits(name) or Habits()
    prompts = _prompts(folder)
    modules = _modules(folder)
    return Layout(
        model=model,
        tokenizer=tokenizer,
        pooling=_pooling(folder, modules) or usual.pooling,
        query_prompt=usual.query_prompt if prompts is None else prompts[0],
        passage_prompt=usual.passage_prompt if prompts is None else prompts[1],
        max_tokens=_max_tokens(folder, config),
        dimensions=None,
        dense="Dense" in modules,
    )


def onnx_file(folder: Path, file: str | None = None) -> Path:
    """The model's file: the one asked for, a usual name, or the only one there is."""
    if file is not None:
        chosen = (folder / file).resolve()
        if not chosen.is_file():
            raise EmbedderError(f"{folder} has no file {file}")
        return chosen
    for usual in ONNX_FILES:
        if (folder / usual).is_file():
            return folder / usual
    found = sorted(folder.rglob("*.onnx"))
    if len(found) == 1:
        return found[0]
    if not found:
        raise EmbedderError(f"{folder} has no ONNX file")
    names = ", ".join(str(path.relative_to(folder)) for path in found)
    raise EmbedderError(f"{folder} has several ONNX files, choose one with ?file=…: {names}")


T = TypeVar("T")


def read_json(path: Path, *, needed: bool = False) -> Mapping[str, Any]:
    """The object in a JSON file; an empty one where there is no file that is `needed`."""
    try:
        data = json.loads(path.read_bytes())
    except (OSError, ValueError) as problem:
        if isinstance(problem, FileNotFoundError) and not needed:
            return {}
        raise DamagedFile(f"{path} cannot be read ({problem})") from problem
    return cast("Mapping[str, Any]", data) if isinstance(data, dict) else {}


def fitted(path: Path, part: str, kind: Callable[..., T]) -> T:
    """One part of what was fitted for a model."""
    try:
        return kind(**read_json(path, needed=True)[part])
    except (KeyError, TypeError) as problem:  # missing, or with other names than it should have
        raise DamagedFile(f"{path} has no {part} that fit this version") from problem


REINSTALL = "install wellread again: pip install --force-reinstall wellread"


def verify_files(folder: Path, sums: Mapping[str, str]) -> None:
    """Compare files that come with wellread with their checksums; raises `DamagedFile`."""
    for name, expected in sums.items():
        try:
            with (folder / name).open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as problem:
            raise DamagedFile(f"{folder / name} cannot be read ({problem.strerror}); {REINSTALL}") from problem
        if found != expected:
            raise DamagedFile(f"{folder / name} is damaged (its checksum differs); {REINSTALL}")


def _own(model: Path, tokenizer: Path, config: Mapping[str, Any]) -> Layout:
    try:
        return Layout(
            model=model,
            tokenizer=tokenizer,
            pooling="mean",
            query_prompt=str(config["query_prompt"]),
            passage_prompt=str(config["passage_prompt"]),
            max_tokens=int(config["max_tokens"]),
            dimensions=int(config["dimensions"]),
            checksum=str(config["sha256"][model.name]),
        )
    except (KeyError, TypeError, ValueError) as problem:
        raise DamagedFile(f"{model.parent / 'config.json'} lacks what it should say ({problem})") from problem


def _modules(folder: Path) -> dict[str, str]:
    """sentence-transformers' steps: their class (without its module) and their folder."""
    path = folder / "modules.json"
    try:
        steps = json.loads(path.read_bytes())
        return {str(step["type"]).rpartition(".")[2]: str(step["path"]) for step in steps}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise DamagedFile(f"{path} cannot be read ({problem})") from problem


def _pooling(folder: Path, modules: Mapping[str, str]) -> Pooling | None:
    path = folder / modules.get("Pooling", "1_Pooling") / "config.json"
    config = read_json(path)
    modes = [key for key, value in config.items() if key.startswith("pooling_mode") and value is True]
    if isinstance(mode := config.get("pooling_mode"), str):  # newer files name it
        modes = [f"pooling_mode_{ {'cls': 'cls_token', 'mean': 'mean_tokens'}.get(mode, mode) }"]
    if not modes:
        return None
    if len(modes) > 1 or modes[0] not in _POOLINGS:
        raise EmbedderError(f"{path}: only the poolings mean, cls and last are supported, not {', '.join(modes)}")
    return _POOLINGS[modes[0]]


def _prompts(folder: Path) -> tuple[str, str] | None:
    """Query and passage prompts, if the model's files name any that isn't empty."""
    found = read_json(folder / "config_sentence_transformers.json").get("prompts")
    prompts = cast("dict[str, str | None]", found) if isinstance(found, dict) else {}
    if not any(prompts.values()):
        return None
    return prompts.get("query") or "", prompts.get("passage") or prompts.get("document") or ""


def _max_tokens(folder: Path, config: Mapping[str, Any]) -> int:
    said = read_json(folder / "sentence_bert_config.json").get("max_seq_length")
    if not isinstance(said, int):
        said = read_json(folder / "tokenizer_config.json").get("model_max_length")
    positions = config.get("max_position_embeddings")
    if isinstance(positions, int) and "roberta" in str(config.get("model_type")):
        positions -= 2  # its first position is the padding's number plus one
    limits = [int(limit) for limit in (said, positions) if isinstance(limit, int | float) and limit > 0]
    return min([*limits, _MOST_TOKENS]) if limits else _USUAL_TOKENS


_SMALL_FILES = ("*.json", "*/config.json")
_SECONDS = 20.0  # to say what a repository contains


def fetch(repo: str, file: str | None, environ: Mapping[str, str]) -> Path:
    """The folder with `repo`'s ONNX file (`file`, or one with a usual name), tokenizer and settings."""
    with optional(f"onnx:{repo}", "hub"):
        from huggingface_hub import HfApi
        from huggingface_hub.utils import disable_progress_bars
    if file and (file.startswith("/") or ".." in file.split("/")):
        raise EmbedderError(f"onnx:{repo}: {file} is no file of that model")
    cache, wanted = _cache(environ), (file,) if file else ONNX_FILES
    if (cached := _cached(repo, wanted, cache)) is not None:
        return cached
    api = HfApi(endpoint=environ.get("HF_ENDPOINT"), token=environ.get("HF_TOKEN") or None)
    if not sys.stderr.isatty():
        disable_progress_bars()
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
