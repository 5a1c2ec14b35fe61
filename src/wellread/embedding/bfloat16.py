"""The package's models in bfloat16, run by OpenVINO (extra `fast`).

Compiling takes most of a second, so the compiled form is kept. OpenVINO's own Python package reports its use to its
maker through its converter, which is not needed here and is kept from being loaded.

Its first calls fill tables under C++ guards while they hold, and may hand on, Python's lock: two threads that come first
together wait for each other for ever. So opening and the first run of a process happen alone.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from wellread.embedding.by_tensor import in_float32
from wellread.embedding.kept import keep, kept_file, load
from wellread.embedding.processors import available_processors
from wellread.errors import DamagedFile

_CONVERTER = "openvino.tools.ovc"
_ALONE = threading.Lock()
_ran = threading.Event()  # one run has been through: the tables are filled


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output of a compiled graph, in onnxruntime's words."""

    name: str
    shape: list[int | str | None]
    type: str


class BFloat16Session:
    """A compiled model; each thread that runs it has a request of its own."""

    def __init__(self, compiled: Any) -> None:
        self._compiled = compiled
        self._requests = threading.local()

    def get_inputs(self) -> list[Port]:
        return [_port(port, "tensor(int64)") for port in self._compiled.inputs]

    def get_outputs(self) -> list[Port]:
        return [_port(port, "tensor(float)") for port in self._compiled.outputs]

    def run(self, output_names: list[str], input_feed: Mapping[str, NDArray[Any]]) -> list[NDArray[Any]]:
        if _ran.is_set():
            return self._run(output_names, input_feed)
        with _ALONE:
            results = self._run(output_names, input_feed)
            _ran.set()
            return results

    def _run(self, output_names: list[str], input_feed: Mapping[str, NDArray[Any]]) -> list[NDArray[Any]]:
        request = getattr(self._requests, "request", None)
        if request is None:
            request = self._requests.request = self._compiled.create_infer_request()
        results = request.infer(dict(input_feed), share_inputs=True)
        return [np.array(results[name]) for name in output_names]


def open_bfloat16(model: Path, checksum: str, threads: int = 0, *, side_by_side: bool = False) -> BFloat16Session:
    """A model's file, compiled or taken from the cache. `side_by_side`: the threads run a batch each, not one together."""
    with _ALONE:
        return BFloat16Session(_compiled(model, checksum, threads or available_processors(), side_by_side=side_by_side))


def _compiled(model: Path, checksum: str, count: int, *, side_by_side: bool) -> Any:
    openvino = _openvino()
    config: dict[str, object] = {
        "INFERENCE_PRECISION_HINT": "bf16",
        "INFERENCE_NUM_THREADS": count,
        "NUM_STREAMS": count if side_by_side else 1,
        "ENABLE_CPU_PINNING": False,
    }
    core = openvino.Core()
    path = kept_file(f"{checksum[:16]}-bf16-{openvino.get_version().split('-')[0]}.blob")
    if (body := load(path)) is not None:
        try:
            return core.import_model(body, "CPU", config)
        except RuntimeError:  # whole, but of a version that called itself the same
            pass
    try:
        compiled = core.compile_model(core.read_model(in_float32(model.read_bytes())), "CPU", config)
    except (OSError, ValueError, KeyError, RuntimeError) as problem:
        raise DamagedFile(f"{model} is not a model that can be loaded ({str(problem).strip()[-200:]})") from problem
    keep(path, compiled.export_model().getvalue())
    return compiled


def _openvino() -> Any:
    """The library without its converter, and so without what the converter reports."""
    if "openvino" not in sys.modules and _CONVERTER not in sys.modules:
        modules = cast("dict[str, ModuleType | None]", sys.modules)
        modules[_CONVERTER] = None
        try:
            import openvino  # pyright: ignore[reportMissingImports]
        finally:
            del modules[_CONVERTER]
        return cast(Any, openvino)
    import openvino  # pyright: ignore[reportMissingImports]

    return cast(Any, openvino)


def _port(port: Any, kind: str) -> Port:
    return Port(str(port.any_name), [None if d.is_dynamic else int(d.get_length()) for d in port.partial_shape], kind)
