"""What a model's folder holds, opened: onnxruntime sessions, on how many threads they run, and tokenizers."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, cast

# Its wheels keep an identifier of the machine in the user's cache and hold an address for reports to their maker, unless told
# before they are loaded not to. Whoever wants that can set the variable to 0.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from wellread import native_panics
from wellread.embedding.arithmetic import FIT, Arithmetic
from wellread.embedding.processors import available_processors
from wellread.errors import DamagedFile, EmbedderError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Device: TypeAlias = Literal["cpu", "cuda"]


class Value(Protocol):
    """An input or output of a graph."""

    @property
    def name(self) -> str: ...
    @property
    def shape(self) -> Sequence[int | str | None]: ...
    @property
    def type(self) -> str: ...


class Session(Protocol):
    """As much of onnxruntime's session as is used."""

    def get_inputs(self) -> Sequence[Value]: ...
    def get_outputs(self) -> Sequence[Value]: ...
    def run(self, output_names: list[str], input_feed: Mapping[str, NDArray[Any]]) -> list[NDArray[Any]]: ...


def open_shipped(model: Path, checksum: str, arithmetic: Arithmetic, threads: int = 0, *, side_by_side: bool = False) -> Session:
    """One of the package's own models in this arithmetic. `side_by_side`: callers run a batch on each thread, not one on all."""
    if arithmetic == "bf16":
        from wellread.embedding.bfloat16 import open_bfloat16

        return open_bfloat16(model, checksum, threads, side_by_side=side_by_side)
    each = 1 if side_by_side else threads
    if arithmetic == "tensor":
        return _loaded(_made_by_tensor(model, checksum), model, _session_options(each, fused=True), ["CPUExecutionProvider"])
    return open_session(model, each, fused=True)


def _made_by_tensor(model: Path, checksum: str) -> bytes:
    """The file in the cache, else made now and kept there for the next time."""
    from wellread.embedding.by_tensor import FITTED_TO, RECIPE, by_tensor
    from wellread.embedding.kept import keep, kept_file, load

    path = kept_file(f"{checksum[:16]}-tensor-{RECIPE}.onnx")
    if (kept := load(path)) is not None:
        return kept
    try:
        with np.load(model.with_name(FIT)) as fit:
            if str(fit[FITTED_TO]) != checksum:
                raise ValueError(f"{FIT} was fitted to other weights")
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


def first_line(problem: Exception) -> str:
    """What a library's error says, in one line."""
    return (str(problem).strip() or type(problem).__name__).split("\n")[0][:300]


def open_tokenizer(file: Path, longest: int | None = None, cut: str = "longest_first") -> Tokenizer:
    """A tokenizer that pads nothing and leaves no more than `longest` tokens, where that is given."""
    from tokenizers import Tokenizer

    try:
        with native_panics.typed(DamagedFile, "opening it"):
            tokenizer = Tokenizer.from_file(str(file))
            tokenizer.no_padding()
            if longest is None:
                tokenizer.no_truncation()
            else:
                tokenizer.enable_truncation(longest, strategy=cut)
    except Exception as problem:  # the tokenizers library raises plain Exception
        raise DamagedFile(f"{file} is not a tokenizer that can be read ({first_line(problem)})") from problem
    return tokenizer
