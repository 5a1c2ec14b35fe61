"""onnxruntime sessions and on how many threads they run: a model's folder, opened."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from wellread.core.unicode_safety import encodable
from wellread.embedding.batches import padded
from wellread.embedding.layout import Layout, Pooling
from wellread.embedding.wordpiece import open_tokenizer
from wellread.errors import DamagedFile, EmbedderError, first_line

# Its wheels keep an identifier of the machine in the user's cache and hold an address for reports to their maker, unless told
# before they are loaded not to. Whoever wants that can set the variable to 0.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

import onnxruntime

from wellread.core.processors import available_processors
from wellread.embedding.arithmetic import FIT, Arithmetic

if TYPE_CHECKING:
    from wellread.embedding.forms import Port

Device: TypeAlias = Literal["cpu", "cuda"]


class Session(Protocol):
    """As much of onnxruntime's session as is used."""

    def get_inputs(self) -> Sequence[Port]: ...
    def get_outputs(self) -> Sequence[Port]: ...
    def run(self, output_names: list[str], input_feed: Mapping[str, NDArray[Any]]) -> list[NDArray[Any]]: ...


def open_shipped(model: Path, checksum: str, arithmetic: Arithmetic, threads: int = 0, *, side_by_side: bool = False) -> Session:
    """One of the package's own models in this arithmetic. `side_by_side`: callers run a batch on each thread, not one on all."""
    if arithmetic == "bf16":
        from wellread.embedding.forms import open_bfloat16

        return open_bfloat16(model, checksum, threads, side_by_side=side_by_side)
    each = 1 if side_by_side else threads
    if arithmetic == "tensor":
        return _loaded(_made_by_tensor(model, checksum), model, _session_options(each, fused=True), ["CPUExecutionProvider"])
    return open_session(model, each, fused=True)


def _made_by_tensor(model: Path, checksum: str) -> bytes:
    """The file in the cache, else made now and kept there for the next time."""
    from wellread.embedding.forms import FITTED_TO, RECIPE, by_tensor, keep, kept_file, load

    path = kept_file(f"{checksum[:16]}-tensor-{RECIPE}.onnx")
    if (kept := load(path)) is not None:
        return kept
    try:
        with np.load(model.with_suffix(FIT)) as fit:
            if str(fit[FITTED_TO]) != checksum:
                raise ValueError(f"{model.stem}{FIT} was fitted to other weights")
            made = by_tensor(model.read_bytes(), dict(fit))
    except (OSError, ValueError, KeyError) as problem:
        raise DamagedFile(f"{model} cannot be made ready for this processor ({first_line(problem)})") from problem
    keep(path, made)
    return made


def open_session(model: Path, threads: int = 0, device: Device = "cpu", *, fused: bool = False) -> Session:
    """A model's file, loaded. `fused`: the graph needs no optimising. 0 threads: one for each processor."""
    providers = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}
    if providers[device] not in onnxruntime.get_available_providers():
        raise EmbedderError(f"this onnxruntime cannot run on {device}: pip install onnxruntime-gpu")
    options = _session_options(threads, fused=fused)
    chosen = [providers[device]] if device == "cpu" else [providers[device], providers["cpu"]]
    return _loaded(str(model), model, options, chosen)


def _loaded(content: str | bytes, model: Path, options: Any, providers: list[str]) -> Session:
    try:
        return cast(Session, onnxruntime.InferenceSession(content, options, providers=providers))
    except Exception as problem:  # onnxruntime's errors have no common root but this
        raise DamagedFile(f"{model} is not a model that can be loaded ({first_line(problem)})") from problem


def _session_options(threads: int, *, fused: bool) -> Any:
    library = cast("Any", onnxruntime)  # its own types stop at the compiled part
    options = library.SessionOptions()
    options.intra_op_num_threads = threads or available_processors()
    options.inter_op_num_threads = 1
    # Threads that wait by spinning take the processor from everybody else on the machine.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 4  # what goes wrong is raised; nothing more belongs on the terminal
    level = "ORT_DISABLE_ALL" if fused else "ORT_ENABLE_ALL"
    options.graph_optimization_level = getattr(library.GraphOptimizationLevel, level)
    return options


# Widths are multiples of this: the kernels then sum every text in the same order whatever it is padded
# to, and a vector does not depend, to the last bit, on the texts beside it.
STEP = 16
_CHARACTERS_PER_TOKEN = 40  # text beyond this cannot matter and would only be tokenised to be cut off
_POOLED_NAMES = ("embedding", "sentence_embedding", "embeddings", "text_embeds")
_TOKEN_NAMES = ("last_hidden_state", "token_embeddings")
_KNOWN_INPUTS = {"input_ids", "attention_mask", "token_type_ids", "position_ids"}


class Runtime:
    """Open files of one model. `tokens` and `vectors` may be called from several threads at once."""

    def __init__(self, layout: Layout, session: Session) -> None:
        self.layout = layout
        self._tokenizer = open_tokenizer(layout.tokenizer, layout.max_tokens)
        numbers = map(self._tokenizer.number, ("[PAD]", "<pad>", "<|endoftext|>"))
        self._pad = next((number for number in numbers if number is not None), 0)
        self._session = session
        self._inputs = {
            value.name: np.dtype("int32" if "int32" in value.type else "int64") for value in self._session.get_inputs()
        }
        if unknown := set(self._inputs) - _KNOWN_INPUTS:
            raise EmbedderError(f"{layout.model} wants inputs that wellread does not know: {', '.join(sorted(unknown))}")
        self._output = _choose_output(self._session, layout)
        self.dimensions = layout.dimensions or self._measure()

    def tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """Token numbers of every text, special tokens included, cut to what the model reads."""
        most = self.layout.max_tokens * _CHARACTERS_PER_TOKEN
        return self._tokenizer.texts([encodable(text[:most]) for text in texts])

    def vectors(self, batch: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """Unit vectors of the texts with these tokens."""
        out = self._run(batch)
        if out.shape != (len(batch), self.dimensions):
            raise EmbedderError(f"{self.layout.model} returned vectors of shape {out.shape}, not {self.dimensions} long")
        return out

    def _measure(self) -> int:
        length = self._output.shape[-1]
        return length if isinstance(length, int) else self._run(self.tokens(["length"])).shape[1]

    def _run(self, batch: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        width = padded(max(len(ids) for ids in batch), STEP)
        feed, mask = self._feed(batch, min(width, max(self.layout.max_tokens, STEP)))
        try:
            out = self._session.run([self._output.name], feed)[0].astype(np.float32, copy=False)
        except Exception as problem:  # onnxruntime's errors have no common root but this
            raise EmbedderError(f"{self.layout.model} failed: {first_line(problem)}") from problem
        if out.ndim == 3:
            out = _pool(out, mask, self.layout.pooling)
        norms = np.linalg.norm(out, axis=-1, keepdims=True)
        if not np.isfinite(norms).all() or not norms.all():
            raise EmbedderError(f"{self.layout.model} returned a vector that is zero or not finite; is the file damaged?")
        return out / norms

    def _feed(self, batch: Sequence[Sequence[int]], width: int) -> tuple[dict[str, NDArray[Any]], NDArray[np.int64]]:
        ids = np.full((len(batch), width), self._pad, np.int64)
        mask = np.zeros_like(ids)
        for row, numbers in enumerate(batch):
            ids[row, : len(numbers)] = numbers
            mask[row, : len(numbers)] = 1
        values = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        values["position_ids"] = np.broadcast_to(np.arange(width), ids.shape)
        return {name: values[name].astype(kind, copy=False) for name, kind in self._inputs.items()}, mask


def _choose_output(session: Session, layout: Layout) -> Port:
    """The sentence's vector if the graph makes one, else the tokens' vectors."""
    outputs = {value.name: value for value in session.get_outputs() if "float" in value.type}
    for name in _POOLED_NAMES:
        if name in outputs and len(outputs[name].shape) == 2:
            return outputs[name]
    if layout.dense:
        raise EmbedderError(f"{layout.model} leaves out a layer that comes after pooling; export the whole model")
    by_name = [outputs[name] for name in _TOKEN_NAMES if name in outputs]
    by_rank = [value for rank in (3, 2) for value in outputs.values() if len(value.shape) == rank]
    if not by_name and not by_rank:
        raise EmbedderError(f"{layout.model} has no output that could be an embedding: {', '.join(outputs)}")
    return (by_name + by_rank)[0]


def _pool(states: NDArray[np.float32], mask: NDArray[np.int64], pooling: Pooling) -> NDArray[np.float32]:
    if pooling == "cls":
        return states[:, 0]
    counts = mask.sum(axis=1)
    if pooling == "last":
        return states[np.arange(len(states)), counts - 1]
    weighted = states * mask[..., None].astype(np.float32)
    return weighted.sum(axis=1) / np.maximum(counts, 1)[:, None].astype(np.float32)
