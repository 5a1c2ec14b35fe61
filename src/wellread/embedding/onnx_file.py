"""Graphs of ONNX files, read, changed and written again by protobuf, which onnxruntime brings, without the `onnx` package.

Described is what is looked at; protobuf writes the rest back as it was read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from google.protobuf import descriptor_pb2, descriptor_pool, message, message_factory
from numpy.typing import NDArray

_PROTO: Any = descriptor_pb2.FieldDescriptorProto
_MESSAGES = {  # of onnx.proto: names, numbers and types; * where there are several
    "Model": "graph 7 Graph",
    "Graph": "node* 1 Node, initializer* 5 Tensor",
    "Node": "input* 1 string, output* 2 string, name 3 string, op_type 4 string, attribute* 5 bytes, domain 7 string",
    "Tensor": "dims* 1 int64, data_type 2 int32, name 8 string, raw_data 9 bytes",
}
_TYPES: dict[int, str] = {1: "<f4", 2: "u1", 3: "i1", 6: "<i4", 7: "<i8", 10: "<f2"}
_NUMBERS = {np.dtype(kind): number for number, kind in _TYPES.items()}


def _model_class() -> Any:
    file: Any = descriptor_pb2.FileDescriptorProto(name="wellread/onnx.proto", package="wellread.onnx", syntax="proto2")
    for name, fields in _MESSAGES.items():
        made = file.message_type.add(name=name)
        for called, number, kind in map(str.split, fields.split(",")):
            how = {"type_name": kind} if kind in _MESSAGES else {"type": getattr(_PROTO, f"TYPE_{kind.upper()}")}
            made.field.add(name=called.rstrip("*"), number=int(number), label=3 if "*" in called else 1, **how)
    pool: Any = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("wellread.onnx.Model"))


_Model = _model_class()


@dataclass(frozen=True, slots=True)
class Node:
    """One operation. `attributes` are kept as they are written in the file."""

    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    domain: str = ""
    attributes: tuple[bytes, ...] = ()


@dataclass(slots=True)
class Graph:
    """Nodes in order and constants by name, with the rest of the file around them."""

    nodes: list[Node]
    constants: dict[str, NDArray[Any]]
    rest: Any = field(repr=False)  # the file without them

    def changed(self, nodes: Iterable[Node], constants: dict[str, NDArray[Any]]) -> Graph:
        """The same model with other nodes, and of these constants those that they use."""
        chosen = list(nodes)
        used = {name for node in chosen for name in node.inputs}
        return replace(self, nodes=chosen, constants={name: value for name, value in constants.items() if name in used})


def read_graph(data: bytes) -> Graph:
    """The graph of a model's file; raises `ValueError` when it is none of the kind that wellread writes."""
    try:
        model = _Model.FromString(data)
        nodes = [Node(n.op_type, tuple(n.input), tuple(n.output), n.domain, tuple(n.attribute)) for n in model.graph.node]
        constants = {
            one.name: np.frombuffer(one.raw_data, np.dtype(_TYPES[one.data_type])).reshape(one.dims)
            for one in model.graph.initializer
        }
    except (message.DecodeError, KeyError) as problem:
        raise ValueError(f"not an ONNX file that can be read ({problem!r})") from problem
    del model.graph.node[:], model.graph.initializer[:]
    return Graph(nodes, constants, model)


def write_graph(graph: Graph) -> bytes:
    """The file of a graph."""
    model = _Model()
    model.CopyFrom(graph.rest)
    for n in graph.nodes:
        told = {"op_type": n.kind, "input": n.inputs, "output": n.outputs, "domain": n.domain, "attribute": n.attributes}
        model.graph.node.add(name=n.outputs[0], **told)
    for name, value in graph.constants.items():
        model.graph.initializer.add(name=name, dims=value.shape, data_type=_NUMBERS[value.dtype], raw_data=value.tobytes())
    return model.SerializeToString()
