"""Quantisation of the shipped models: int8 products over whole layers, or bfloat16 by OpenVINO (extra `fast`).

`MatMulNBits`, as shipped, multiplies block by block. Where a processor sums products of bytes by itself, one product over the
whole layer is four times as fast, but has one scale for all activations, and a few channels that are much larger than the rest
would leave nothing of the others. Three changes make up for that, all of them fitted once (`scripts/fit_arithmetic.py`)
and stored beside the weights (`….by_tensor.npz`):

- every channel of an activation is shifted and scaled to a like range, and the weights take the inverse. The norm before it
  (a copy of it) or the value's projection does this, so that it costs nothing;
- the channels inside a feed-forward layer that are far larger than the rest are computed apart, in float32;
- ranges are fixed beforehand, so that no text's vector depends on the texts beside it.

Making a form takes most of a second, so what was made is kept in the user's cache. OpenVINO's own Python package reports its
use to its maker through its converter, which is not needed here and is kept from being loaded. Its first calls fill tables
under C++ guards while they hold, and may hand on, Python's lock: two threads that come first together wait for each other for
ever. So opening and the first run of a process happen alone.
"""

from __future__ import annotations

import hashlib
import os
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from wellread.core.private_files import cache_folder, private_folder, replace_private
from wellread.core.processors import available_processors
from wellread.embedding.onnx_file import Graph, Node, read_graph, write_graph
from wellread.errors import DamagedFile

Floats = NDArray[np.float32]
Fit = Mapping[str, NDArray[Any]]

BLOCK = 128
MICROSOFT = "com.microsoft"
FITTED_TO = "sha256"  # in a fit: the checksum of the file that it was made for; another's ranges would ruin every product
RECIPE = 2  # counts up when the same shipped file and fit become other bytes


def by_tensor(model: bytes, fit: Fit) -> bytes:
    """A shipped model's file with its dense layers rewritten by `fit`."""
    graph = read_graph(model)
    work = _Rewriting(graph, fit, dict(graph.constants))
    return write_graph(graph.changed(work.nodes(), work.constants))


def in_float32(model: bytes) -> bytes:
    """A shipped model's file with plain float32 products, for runtimes that would unpack its weights at each of them."""
    graph = read_graph(model)
    constants = dict(graph.constants)
    nodes: list[Node] = []
    for node in graph.nodes:
        if node.kind != "MatMulNBits":
            nodes.append(node)
            continue
        name, (out,) = layer_of(node), node.outputs
        constants[f"{name}.float32"] = np.ascontiguousarray(dense_weight(node, constants).T)
        nodes.append(Node("MatMul", (node.inputs[0], f"{name}.float32"), (f"{out}.product",)))
        nodes.append(Node("Add", (f"{out}.product", node.inputs[5]), (out,)))
    return write_graph(graph.changed(nodes, constants))


def layer_of(node: Node) -> str:
    """The name of a dense layer: that of its weights."""
    return node.inputs[1].removesuffix(".codes")


def dense_weight(node: Node, constants: Mapping[str, NDArray[Any]]) -> Floats:
    """A dense layer's weights, outputs × inputs, as float32."""
    codes, scales = constants[node.inputs[1]], constants[node.inputs[2]]
    blocks = codes.reshape(len(codes), -1, BLOCK).astype(np.float32) - np.float32(128)
    return (blocks * scales.reshape(len(codes), -1, 1)).reshape(len(codes), -1)


@dataclass(slots=True)
class _Rewriting:
    """One pass over the nodes; constants are added on the way."""

    graph: Graph
    fit: Fit
    constants: dict[str, NDArray[Any]]
    made_by: dict[str, Node] = field(init=False)
    read_by: dict[str, list[Node]] = field(init=False)

    def __post_init__(self) -> None:
        self.made_by = {name: node for node in self.graph.nodes for name in node.outputs}
        self.read_by = {}
        for node in self.graph.nodes:
            for name in node.inputs:
                self.read_by.setdefault(name, []).append(node)

    def nodes(self) -> list[Node]:
        out: list[Node] = []
        skip: set[str] = set()
        for node in self.graph.nodes:
            if node.outputs[0] in skip:
                continue
            if node.kind != "MatMulNBits" or f"{layer_of(node)}.scale" not in self.fit:
                out.append(node)
                continue
            inner = self._inner(node)
            if inner is None:
                out += self._projected(node)
            else:
                out += self._feed_forward(node, *inner)
                skip |= {inner[0].outputs[0], inner[1].outputs[0]}
        return out

    def _inner(self, node: Node) -> tuple[Node, Node] | None:
        """The Gelu and the second layer, when this is the first layer of a feed-forward pair."""
        readers = self.read_by[node.outputs[0]]
        if len(readers) != 1 or readers[0].kind != "Gelu":
            return None
        (second,) = self.read_by[readers[0].outputs[0]]
        return readers[0], second

    def _projected(self, node: Node) -> list[Node]:
        """A projection into or out of attention."""
        name = layer_of(node)
        weight, bias = dense_weight(node, self.constants), self._bias(node)
        levelled, before = self._levelled_input(name, node.inputs[0])
        return [*before, *self._product(name, levelled, weight, bias, node.outputs[0])]

    def _levelled_input(self, name: str, x: str) -> tuple[str, list[Node]]:
        """An activation whose channels have like ranges: a second norm makes it, or the value's projection has."""
        norm = self.made_by[x]
        if norm.kind == "Gather":  # halfway, of the rows that go on
            levelled, before = self._levelled_input(name, norm.inputs[0])
            return f"{levelled}.rows", [
                *before,
                replace(norm, inputs=(levelled, *norm.inputs[1:]), outputs=(f"{levelled}.rows",)),
            ]
        if norm.kind != "LayerNormalization":
            return x, []
        shift, level = self.fit[f"{name}.shift"], self.fit[f"{name}.level"]
        gamma, beta = (self.constants[part] for part in norm.inputs[1:3])
        inputs = (norm.inputs[0], self._new(f"{name}.gamma", gamma / level), self._new(f"{name}.beta", (beta - shift) / level))
        levelled = f"{name}.levelled"
        return levelled, [replace(norm, inputs=inputs, outputs=(levelled,))]

    def _feed_forward(self, first: Node, gelu: Node, second: Node) -> list[Node]:
        """Both layers of a feed-forward pair, its largest inner channels apart in float32."""
        one, two = layer_of(first), layer_of(second)
        apart = self.fit[f"{two}.apart"].astype(np.int64)
        weight, bias = dense_weight(first, self.constants), self._bias(first)
        out_weight, out_bias = dense_weight(second, self.constants), self._bias(second)
        rest = np.setdiff1d(np.arange(len(weight)), apart)
        levelled, before = self._levelled_input(one, first.inputs[0])
        wide = self._product(one, levelled, weight[rest], bias[rest], f"{one}.wide")
        level = self._new(f"{two}.inverse", np.float32(1) / self.fit[f"{two}.level"][rest])
        wide += [
            replace(gelu, inputs=(f"{one}.wide",), outputs=(f"{one}.active",)),
            Node("Mul", (f"{one}.active", level), (f"{one}.even",)),
            *self._product(two, f"{one}.even", out_weight[:, rest], out_bias, f"{two}.wide", rest),
        ]
        narrow_in, narrow_out = self._new(f"{one}.apart", weight[apart].T), self._new(f"{two}.apart", out_weight[:, apart].T)
        narrow = [
            Node("MatMul", (first.inputs[0], narrow_in), (f"{one}.narrow",)),
            Node("Add", (f"{one}.narrow", self._new(f"{one}.apart.bias", bias[apart])), (f"{one}.large",)),
            replace(gelu, inputs=(f"{one}.large",), outputs=(f"{one}.large.active",)),
            Node("MatMul", (f"{one}.large.active", narrow_out), (f"{two}.narrow",)),
            Node("Add", (f"{two}.wide", f"{two}.narrow"), second.outputs),
        ]
        return [*before, *wide, *narrow]

    def _product(
        self, name: str, x: str, weight: Floats, bias: Floats, output: str, channels: NDArray[np.int64] | None = None
    ) -> list[Node]:
        """Quantise `x`, which has been shifted and levelled, and multiply in int8."""
        shift, level = self.fit[f"{name}.shift"], self.fit[f"{name}.level"]
        if channels is not None:
            shift, level = shift[channels], level[channels]
        bias = bias + weight @ shift
        codes, scales = _by_output(weight * level)
        if f"{name}.passed" in self.fit:  # the value's channels leave levelled for the projection out of attention
            scales, bias = self._passed_on(name, scales, bias)
        scale, zero = (
            self._new(f"{name}.a_scale", self.fit[f"{name}.scale"]),
            self._new(f"{name}.a_zero", self.fit[f"{name}.zero"]),
        )
        weights = self._new(f"{name}.bytes", np.ascontiguousarray(codes.T)), self._new(f"{name}.b_scale", scales)
        inputs = (f"{output}.u8", weights[0], scale, weights[1], zero, "", self._new(f"{name}.added", bias))
        return [
            Node("QuantizeLinear", (x, scale, zero), (f"{output}.u8",)),
            Node("MatMulIntegerToFloat", inputs, (output,), MICROSOFT),
        ]

    def _passed_on(self, name: str, scales: Floats, bias: Floats) -> tuple[Floats, Floats]:
        following = name.replace(".attention.qkv", ".attention.output.dense")
        shift, level = self.fit[f"{following}.shift"], self.fit[f"{following}.level"]
        values = slice(-len(shift), None)
        scales, bias = scales.copy(), bias.copy()
        scales[values] /= level
        bias[values] = (bias[values] - shift) / level
        return scales, bias

    def _bias(self, node: Node) -> Floats:
        return self.constants[node.inputs[5]]

    def _new(self, name: str, value: NDArray[Any]) -> str:
        kind = value.dtype if value.dtype.itemsize == 1 else np.dtype(np.float32)
        self.constants[name] = np.asarray(value, kind, order="C")
        return name


def _by_output(weight: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Symmetric int8 codes with a scale for every output."""
    scales = np.abs(weight).max(axis=1, keepdims=True) / np.float32(127)
    scales = np.where(scales == 0, np.float32(1), scales).astype(np.float32)
    return np.rint(weight / scales).astype(np.int8), scales[:, 0]


_DIGEST = hashlib.sha256().digest_size


def kept_file(name: str) -> Path:
    """Where a derived file of this name lies."""
    return cache_folder("models") / name


def load(path: Path) -> bytes | None:
    """A derived model file from the cache, checksum verified; None when it is not there, not ours or not whole."""
    try:
        if path.stat().st_uid != os.getuid():
            return None
        data = path.read_bytes()
    except OSError:
        return None
    body = data[_DIGEST:]
    return body if hashlib.sha256(body).digest() == data[:_DIGEST] else None


def keep(path: Path, body: bytes) -> None:
    """Write the file; where that cannot be done it is not kept, and nothing is said."""
    with suppress(OSError):
        private_folder(path.parent)
        replace_private(path, hashlib.sha256(body).digest() + body)


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
