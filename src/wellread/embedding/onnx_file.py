"""Just enough of ONNX files to read a graph of ours, change it and write it again, without the `onnx` package.

A message is a list of fields; what is not looked at is written back as it was read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Field = tuple[int, int | bytes]  # number, and an integer or bytes

_MODEL_GRAPH = 7
_NODE, _INITIALIZER = 1, 5  # of a graph
_INPUT, _OUTPUT, _NAME, _KIND, _ATTRIBUTE, _DOMAIN = 1, 2, 3, 4, 5, 7  # of a node
_DIMS, _TYPE, _TENSOR_NAME, _RAW = 1, 2, 8, 9  # of a tensor
_TYPES: dict[int, str] = {1: "<f4", 2: "u1", 3: "i1", 6: "<i4", 7: "<i8", 10: "<f2"}
_NUMBERS = {np.dtype(kind): number for number, kind in _TYPES.items()}


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
    model: list[Field] = field(repr=False)
    rest: list[Field] = field(repr=False)

    def changed(self, nodes: Iterable[Node], constants: dict[str, NDArray[Any]]) -> Graph:
        """The same model with other nodes, and of these constants those that they use."""
        chosen = list(nodes)
        used = {name for node in chosen for name in node.inputs}
        return replace(self, nodes=chosen, constants={name: value for name, value in constants.items() if name in used})


def read_graph(data: bytes) -> Graph:
    """The graph of a model's file; raises `ValueError` when it is none of the kind that wellread writes."""
    try:
        model = list(_fields(data))
        inner = next(value for number, value in model if number == _MODEL_GRAPH)
        fields = list(_fields(_bytes(inner)))
        constants = dict(_tensor(_bytes(value)) for number, value in fields if number == _INITIALIZER)
        nodes = [_node(_bytes(value)) for number, value in fields if number == _NODE]
    except (IndexError, StopIteration, KeyError, TypeError) as problem:
        raise ValueError(f"not an ONNX file that can be read ({problem!r})") from problem
    outer = [(number, value) for number, value in model if number != _MODEL_GRAPH]
    return Graph(nodes, constants, outer, [pair for pair in fields if pair[0] not in (_NODE, _INITIALIZER)])


def write_graph(graph: Graph) -> bytes:
    """The file of a graph."""
    fields: list[Field] = [(_NODE, _encoded(_node_fields(node))) for node in graph.nodes]
    fields += [(_INITIALIZER, _encoded(_tensor_fields(name, value))) for name, value in graph.constants.items()]
    return _encoded([*graph.model, (_MODEL_GRAPH, _encoded([*fields, *graph.rest]))])


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise TypeError("a number where a message should be")
    return value


def _node(data: bytes) -> Node:
    found = list(_fields(data))

    def texts(wanted: int) -> tuple[str, ...]:
        return tuple(_bytes(value).decode() for number, value in found if number == wanted)

    attributes = tuple(_bytes(value) for number, value in found if number == _ATTRIBUTE)
    return Node(texts(_KIND)[0], texts(_INPUT), texts(_OUTPUT), "".join(texts(_DOMAIN)), attributes)


def _node_fields(node: Node) -> list[Field]:
    fields: list[Field] = [(_INPUT, name.encode()) for name in node.inputs]
    fields += [(_OUTPUT, name.encode()) for name in node.outputs]
    fields += [(_NAME, node.outputs[0].encode()), (_KIND, node.kind.encode())]
    return [*fields, *((_ATTRIBUTE, text) for text in node.attributes), (_DOMAIN, node.domain.encode())]


def _tensor(data: bytes) -> tuple[str, NDArray[Any]]:
    dims: list[int] = []
    kind, name, raw = 0, "", b""
    for number, value in _fields(data):
        if number == _DIMS:
            dims += [value] if isinstance(value, int) else _packed(value)
        elif number == _TYPE and isinstance(value, int):
            kind = value
        elif number == _TENSOR_NAME:
            name = _bytes(value).decode()
        elif number == _RAW:
            raw = _bytes(value)
    return name, np.frombuffer(raw, np.dtype(_TYPES[kind])).reshape(dims)


def _tensor_fields(name: str, value: NDArray[Any]) -> list[Field]:
    fields: list[Field] = [(_DIMS, length) for length in value.shape]
    return [*fields, (_TYPE, _NUMBERS[value.dtype]), (_TENSOR_NAME, name.encode()), (_RAW, value.tobytes())]


def _fields(data: bytes) -> Iterable[Field]:
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = _varint(data, at)
            yield number, value
        elif wire == 2:
            length, at = _varint(data, at)
            if at + length > len(data):
                raise IndexError("the file ends too soon")
            yield number, data[at : at + length]
            at += length
        else:
            raise KeyError(f"wire type {wire}")


def _packed(data: bytes) -> list[int]:
    found: list[int] = []
    at = 0
    while at < len(data):
        value, at = _varint(data, at)
        found.append(value)
    return found


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at += 1
        if byte < 128:
            return value, at
        shift += 7


def _encoded(fields: Sequence[Field]) -> bytes:
    parts: list[bytes] = []
    for number, value in fields:
        if isinstance(value, int):
            parts += [_as_varint(number << 3), _as_varint(value)]
        else:
            parts += [_as_varint(number << 3 | 2), _as_varint(len(value)), value]
    return b"".join(parts)


def _as_varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)
