"""Embeddings from ONNX files, run here by onnxruntime; the default one comes in the package."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast
from urllib.parse import quote

from wellread.core.private_files import at_home
from wellread.embedding.arithmetic import Arithmetic, Choice, can_run, settled
from wellread.embedding.batches import by_length
from wellread.embedding.layout import REINSTALL, Kind, Layout, Pooling, fetch, is_id, read_json, read_layout, verify_files
from wellread.errors import DamagedFile, EmbedderError, UsageError
from wellread.parameters import Range, fill, param
from wellread.protocols import Judge

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from wellread.embedding.session import Runtime
    from wellread.protocols import Parts
    from wellread.types import Spec

DEFAULT = "all-minilm-l6-v2"
SHIPPED = Path(__file__).parent / "weights" / DEFAULT
_OTHER_LETTERS = frozenset({"ar", "el", "fa", "he", "hi", "ja", "ko", "ru", "th", "uk", "zh"})
_ITS_LETTERS = 0.6  # how well the shipped one knows the other languages; chosen on half of eight sets (docs/log/languages.md)
_AUTO = "auto"
_CANNOT = "this machine cannot compute so (bf16 needs the extra fast): go on where it was built, or build anew"
_MANY = 256  # passages at once that are worth opening a faster form for
_KEPT, _SHORT = 2000, 2000  # vectors that are kept, of texts that have no more characters
_WINDOW = 1024  # texts that are tokenised and sorted together


@dataclass(frozen=True, slots=True)
class Options:
    """`onnx:MODEL?key=value`."""

    threads: Annotated[int, Range(0, 1024)] = param(0, "processor threads for one batch; 0: all there are")
    batch_tokens: Annotated[int, Range(1, 10_000_000)] = param(
        512, "tokens in a batch, padding included; more pays off on many cores or a GPU"
    )
    max_tokens: Annotated[int, Range(3, 10_000_000)] | None = param(
        None, "tokens of a text that are read; what the model allows if not given"
    )
    pooling: Pooling | None = param(None, "how token vectors become one; the model's own if not given")
    query_prompt: str = param(_AUTO, "words put before a query; auto: what the model wants")
    passage_prompt: str = param(_AUTO, "words put before a passage; auto: what the model wants")
    file: str | None = param(None, "which ONNX file of the folder, as onnx/model_int8.onnx")
    device: Literal["cpu", "cuda"] = param("cpu", "where to run; cuda needs onnxruntime-gpu")
    arithmetic: Choice = param("auto", "how passages are computed; auto: what is fastest on this processor, block: as shipped")


CHANGES_VECTORS = ("max_tokens", "pooling", "query_prompt", "passage_prompt", "file")


def from_spec(spec: Spec, kit: Parts) -> OnnxEmbedder:
    """Embedding models as ONNX files: the one in the package, a folder, or a Hugging Face id."""
    options = fill(Options, spec.options, "embedder onnx")
    argument = spec.argument or DEFAULT
    if argument == DEFAULT:  # whatever else is called so where we were started
        return OnnxEmbedder(options=options)
    path = at_home(argument)
    if path.is_dir():
        return OnnxEmbedder(path, name=argument, options=options)
    if path.is_file():
        return OnnxEmbedder(path.parent, name=argument, options=replace(options, file=path.name))
    if not is_id(argument):
        raise UsageError(f"embedder onnx: {argument} is neither a folder, nor a file, nor a Hugging Face id (owner/name)")

    return OnnxEmbedder(lambda: fetch(argument, options.file, kit.environ), name=argument, options=options)


def verify(folder: Path = SHIPPED) -> None:
    """Compare the files of wellread's own model folder with their checksums; raises `DamagedFile`."""
    sums: dict[str, str] = read_json(folder / "config.json").get("sha256") or {}
    if not sums:
        raise DamagedFile(f"{folder / 'config.json'} is missing or lists no checksums; {REINSTALL}")
    verify_files(folder, sums)


class OnnxEmbedder(Judge):
    """An embedding model in a folder, or in whatever folder a callable returns. Nothing is loaded before it is needed."""

    def __init__(
        self, folder: Path | Callable[[], Path] = SHIPPED, *, name: str = DEFAULT, options: Options | None = None
    ) -> None:
        self._folder = folder
        self._options = options or Options()
        self._model_name = name
        self._layout: Layout | None = None
        self._settled = self._options.arithmetic != _AUTO
        self._runtimes: dict[Arithmetic, Runtime] = {}
        self._kept: dict[tuple[Runtime, str], NDArray[np.float32]] = {}  # by texts with their prompts, the latest last
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """A spec that makes the same vectors again."""
        own = {name: getattr(self._options, name) for name in CHANGES_VECTORS}
        usual = {f.name: f.default for f in fields(Options)}
        changed = [f"{name}={quote(str(value))}" for name, value in own.items() if value != usual[name]]
        return f"onnx:{self._model_name}" + ("?" + "&".join(changed) if changed else "")

    @property
    def dimensions(self) -> int:
        """Length of the vectors; for a model that doesn't say, it is loaded to see."""
        with self._lock:
            known = self._read_layout().dimensions
        return known or self.load().dimensions

    def knows(self, language: str) -> float:
        """The one in the package was trained for English, and helps in other languages that are written in its letters."""
        if language == "en" or self._folder != SHIPPED:
            return 1.0
        return 0.0 if language in _OTHER_LETTERS else _ITS_LETTERS

    async def embed(self, texts: Sequence[str], *, kind: Kind) -> NDArray[np.float32]:
        """Unit vectors, one row a text. A cancelled call stops after the batch it is at."""
        stop = threading.Event()
        try:
            return await asyncio.to_thread(self._embed, texts, kind, stop)
        finally:
            stop.set()

    def embed_now(self, texts: Sequence[str], *, kind: Kind) -> NDArray[np.float32]:
        """`embed` without an event loop: blocks until done."""
        return self._embed(texts, kind, threading.Event())

    @cached_property
    def _best(self) -> Arithmetic:
        with self._lock:
            layout = self._read_layout()
        own = layout.checksum and self._options.device == "cpu"
        return settled(self._options.arithmetic, layout.model) if own else "block"

    def settle(self, way: str = "") -> Arithmetic:
        """From now on compute all passages in the chosen arithmetic, and name it; in this one, where `auto` may choose.

        Until then `auto` runs as shipped, like all queries: that opens soonest, and for a few texts nothing else counts.
        """
        if way and way != self._best:
            if self._options.arithmetic != _AUTO or not can_run(way, self._read_layout().model):
                raise EmbedderError(
                    f"these vectors are computed in the arithmetic {way!r}, and {self._best!r} must not be mixed in: "
                    + ("leave the choice to arithmetic=auto" if self._options.arithmetic != _AUTO else _CANNOT)
                )
            self._best = cast("Arithmetic", way)
        self._settled = True
        return self._best

    def load(self, kind: Kind = "query") -> Runtime:
        """Read tokenizer and model now rather than at the first text; safe to call from any thread."""
        arithmetic = self._best if kind == "passage" and self._settled else "block"
        with self._lock:
            if arithmetic not in self._runtimes:
                from wellread.embedding.session import Runtime, open_session, open_shipped

                layout, options = self._read_layout(), self._options
                if layout.checksum and options.device == "cpu":
                    session = open_shipped(layout.model, layout.checksum, arithmetic, options.threads)
                else:
                    session = open_session(layout.model, options.threads, options.device)
                self._runtimes[arithmetic] = Runtime(layout, session)
            return self._runtimes[arithmetic]

    def _read_layout(self) -> Layout:
        if self._layout is None:
            folder = self._folder if isinstance(self._folder, Path) else self._folder()
            try:
                layout = read_layout(folder, self._model_name, self._options.file)
            except EmbedderError as problem:
                if folder != SHIPPED:
                    raise
                raise DamagedFile(f"{problem}; {REINSTALL}") from problem
            self._layout = _with_options(layout, self._options)
        return self._layout

    def _embed(self, texts: Sequence[str], kind: Kind, stop: threading.Event) -> NDArray[np.float32]:
        import numpy as np

        if isinstance(texts, str):
            raise TypeError("embed takes a sequence of texts, not one text")
        if kind == "passage" and len(texts) >= _MANY:
            self.settle()
        runtime = self.load(kind)
        prompt = runtime.layout.query_prompt if kind == "query" else runtime.layout.passage_prompt
        wanted = [prompt + text for text in texts]
        if len(texts) >= _MANY:
            return self._computed(runtime, wanted, stop)
        # Questions are searched for and then held against sentences, and several runs find the same passages.
        known = {text: vector for text in wanted if (vector := self._kept.get((runtime, text))) is not None}
        new = [text for text in dict.fromkeys(wanted) if text not in known]
        known |= zip(new, self._computed(runtime, new, stop), strict=True)
        if not stop.is_set():  # else some are not there
            with self._lock:
                self._kept |= {(runtime, text): known[text] for text in new if len(text) <= _SHORT}
                for oldest in [*islice(self._kept, max(0, len(self._kept) - _KEPT))]:
                    del self._kept[oldest]
        return np.array([known[text] for text in wanted], np.float32).reshape(-1, runtime.dimensions)

    def _computed(self, runtime: Runtime, texts: Sequence[str], stop: threading.Event) -> NDArray[np.float32]:
        import numpy as np

        from wellread.embedding.session import STEP

        vectors = np.zeros((len(texts), runtime.dimensions), np.float32)
        for start in range(0, len(texts), _WINDOW):
            if stop.is_set():
                break
            tokens = runtime.tokens(texts[start : start + _WINDOW])
            lengths = [len(ids) for ids in tokens]
            for batch in by_length(lengths, budget=self._options.batch_tokens, multiple=STEP):
                if stop.is_set():
                    break
                vectors[[start + position for position in batch]] = runtime.vectors([tokens[i] for i in batch])
        return vectors


def _with_options(layout: Layout, options: Options) -> Layout:
    def chosen(given: str, usual: str) -> str:
        return usual if given == _AUTO else given

    return replace(
        layout,
        pooling=options.pooling or layout.pooling,
        max_tokens=min(options.max_tokens or layout.max_tokens, layout.max_tokens),
        query_prompt=chosen(options.query_prompt, layout.query_prompt),
        passage_prompt=chosen(options.passage_prompt, layout.passage_prompt),
    )
