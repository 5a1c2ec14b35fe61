"""Any cross-encoder in ONNX form as a re-ranker: `onnx:FOLDER`, `onnx:FILE.onnx`, `onnx:OWNER/NAME`.

The folder holds the model and a `tokenizer.json`, as sentence-transformers and the hub lay them out. A model with
one output scores; one with two says "no" and "yes", and the difference scores.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from wellread.core.private_files import at_home
from wellread.embedding.batches import by_length
from wellread.embedding.layout import fetch, is_id, onnx_file
from wellread.errors import EmbedderError, UsageError, first_line
from wellread.parameters import Range, fill, param
from wellread.protocols import Parts, Reranker
from wellread.types import Passage, Spec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from wellread.embedding.session import Session
    from wellread.embedding.wordpiece import Ids, Tokenizer

_BATCH_TOKENS = 8192


@dataclass(frozen=True, slots=True)
class Options:
    """How the model is run."""

    file: str | None = param(None, "the ONNX file, where the folder has several")
    max_tokens: Annotated[int, Range(8, 1_000_000)] = param(512, "longest question and passage together, in tokens")
    threads: Annotated[int, Range(0, 1024)] = param(0, "processors to use; 0 for all")
    device: Literal["cpu", "cuda"] = param("cpu", "where it runs")


def from_spec(spec: Spec, kit: Parts) -> CrossEncoder:
    """A cross-encoder in ONNX form: onnx:FOLDER, onnx:FILE.onnx or onnx:OWNER/NAME of the hub."""
    if not spec.argument:
        raise UsageError("onnx needs a folder, a file or a name on the hub: onnx:PATH or onnx:OWNER/NAME")
    options = fill(Options, spec.options, "reranker onnx")
    path = at_home(spec.argument)
    if path.is_file():
        return CrossEncoder(path, path.parent / "tokenizer.json", options)
    if not path.is_dir() and is_id(spec.argument):
        path = fetch(spec.argument, options.file, kit.environ)
    return CrossEncoder(onnx_file(path, options.file), path / "tokenizer.json", options)


class CrossEncoder(Reranker):
    """A `Reranker`. The files are opened at the first use; work runs in a thread."""

    def __init__(self, model: Path, tokenizer: Path, options: Options | None = None) -> None:
        self._model, self._tokenizer_file, self._options = model, tokenizer, options or Options()
        self._opened: tuple[Session, Tokenizer] | None = None
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        return f"onnx:{self._model.parent}"

    async def rerank(self, question: str, passages: Sequence[Passage]) -> Sequence[float]:
        """One score for each passage, in their order; higher is more relevant."""
        if not passages:
            return []
        return await asyncio.to_thread(self._rerank, question, [f"{p.title}. {p.text}" if p.title else p.text for p in passages])

    def _rerank(self, question: str, texts: Sequence[str]) -> list[float]:
        session, tokenizer = self._open()
        rows = tokenizer.pairs(question, texts)
        scores = [0.0] * len(rows)
        for batch in by_length([len(ids) for ids, _ in rows], budget=_BATCH_TOKENS):
            logits = self._run(session, [rows[index] for index in batch])
            for index, score in zip(batch, logits, strict=True):
                scores[index] = float(score)
        return scores

    def _run(self, session: Session, rows: Sequence[tuple[Ids, Ids]]) -> NDArray[np.float32]:
        import numpy as np

        width = max(len(ids) for ids, _ in rows)
        columns = {
            "input_ids": [ids for ids, _ in rows],
            "attention_mask": [[1] * len(ids) for ids, _ in rows],
            "token_type_ids": [types for _, types in rows],
        }
        feed: dict[str, NDArray[Any]] = {}
        for value in session.get_inputs():
            if value.name not in columns:
                raise EmbedderError(f"{self._model} wants an input that wellread does not know: {value.name}")
            grid = [[*row, *[0] * (width - len(row))] for row in columns[value.name]]
            feed[value.name] = np.array(grid, np.int32 if "int32" in value.type else np.int64)
        try:
            out = session.run([session.get_outputs()[0].name], feed)[0].astype(np.float32)
        except Exception as problem:  # onnxruntime's errors have no common root but this
            raise EmbedderError(f"{self._model} failed: {first_line(problem)}") from problem
        out = out.reshape(len(rows), -1)
        if out.shape[1] > 2:
            raise EmbedderError(f"{self._model} is not a re-ranker: it has {out.shape[1]} outputs for a pair")
        return out[:, 0] if out.shape[1] == 1 else out[:, 1] - out[:, 0]

    def _open(self) -> tuple[Session, Tokenizer]:
        with self._lock:
            if self._opened is None:
                from wellread.embedding.session import open_session
                from wellread.embedding.wordpiece import open_tokenizer

                session = open_session(self._model, self._options.threads, self._options.device)
                tokenizer = open_tokenizer(self._tokenizer_file, self._options.max_tokens, "only_second")
                self._opened = session, tokenizer
            return self._opened
