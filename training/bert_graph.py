"""BERT encoders as ONNX graphs, built from a state dict without torch.

`Graph` collects nodes and constants; `encoder` adds the body of a BERT model to one and returns the name of
its last hidden states. Pooling and heads are the caller's. How weights are stored is the caller's choice
too: a `Weights` says what a dense layer and an embedding look-up become (`Float32Weights`, `Int8Weights`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

OPSET = 20  # the first with Gelu; LayerNormalization came with 17
IR_VERSION = 10
BLOCK = 128  # input features that share one scale in an int8 weight

Array: TypeAlias = "NDArray[np.generic]"
Floats: TypeAlias = NDArray[np.float32]
State: TypeAlias = Mapping[str, Floats]
Described: TypeAlias = tuple[int, list[str | int]]  # the type and shape of an input


@dataclass(frozen=True, slots=True)
class Shape:
    """The figures of a BERT encoder (the defaults are MiniLM-L6-H384's)."""

    layers: int = 6
    heads: int = 12
    hidden: int = 384
    epsilon: float = 1e-12


@dataclass(slots=True)
class Graph:
    """Nodes and constants in the making; every method returns the name of a value."""

    nodes: list[onnx.NodeProto] = field(default_factory=list[onnx.NodeProto])
    constants: dict[str, onnx.TensorProto] = field(default_factory=dict[str, onnx.TensorProto])

    def constant(self, name: str, value: Array) -> str:
        """Store `value` under `name`, once."""
        if name not in self.constants:
            self.constants[name] = numpy_helper.from_array(np.asarray(value, order="C"), name)
        return name

    def op(self, kind: str, inputs: Sequence[str], name: str | None = None, domain: str = "", **attributes: object) -> str:
        """Add a node with one output, which is called `name` or after the node's kind and number."""
        output = name or f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [output], name=output, domain=domain, **attributes))
        return output

    def model(
        self, inputs: Mapping[str, int], outputs: Mapping[str, Sequence[str | int]], more: Mapping[str, Described] | None = None
    ) -> onnx.ModelProto:
        """The finished, checked model; inputs are (batch, tokens) integers of the given type, and `more` of any shape."""
        described = {name: (kind, ["batch", "tokens"]) for name, kind in inputs.items()} | dict(more or {})
        graph = helper.make_graph(
            self.nodes,
            "bert",
            [helper.make_tensor_value_info(name, kind, dims) for name, (kind, dims) in described.items()],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, list(dims)) for name, dims in outputs.items()],
            list(self.constants.values()),
        )
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=opsets, producer_name="wellread", ir_version=IR_VERSION)
        onnx.checker.check_model(model)
        return model


class Weights(Protocol):
    """How a model's large arrays are stored and used."""

    def dense(self, graph: Graph, x: str, name: str, weight: Floats, bias: Floats) -> str:
        """`x @ weight.T + bias` (weight as torch keeps it: outputs × inputs)."""
        ...

    def look_up(self, graph: Graph, ids: str, name: str, table: Floats) -> str:
        """The rows of `table` that `ids` name."""
        ...


class Float32Weights:
    """Weights as they are: the reference."""

    def dense(self, graph: Graph, x: str, name: str, weight: Floats, bias: Floats) -> str:
        product = graph.op("MatMul", [x, graph.constant(f"{name}.weight", weight.T)])
        return graph.op("Add", [product, graph.constant(f"{name}.bias", bias)])

    def look_up(self, graph: Graph, ids: str, name: str, table: Floats) -> str:
        return graph.op("Gather", [graph.constant(f"{name}.table", table), ids])


class Int8Weights:
    """One byte a weight, a scale for every block of 128 inputs (dense) or every row (tables).

    MatMulNBits with accuracy level 4 multiplies in int8 and quantises activations by row and block, so that a
    text's vector does not depend on the texts beside it in the batch, which DynamicQuantizeLinear's
    one scale per tensor makes it do.
    """

    def dense(self, graph: Graph, x: str, name: str, weight: Floats, bias: Floats) -> str:
        outputs, inputs = weight.shape
        if inputs % BLOCK:
            raise ValueError(f"{name}: {inputs} inputs do not split into blocks of {BLOCK}")
        codes, scales = quantize_rows(weight.reshape(outputs, inputs // BLOCK, BLOCK))
        packed = (codes.astype(np.int16) + 128).astype(np.uint8)  # the operator's zero is 128
        weights = [graph.constant(f"{name}.codes", packed), graph.constant(f"{name}.scales", scales[..., 0])]
        figures = {"K": inputs, "N": outputs, "bits": 8, "block_size": BLOCK, "accuracy_level": 4}
        bias_name = graph.constant(f"{name}.bias", bias)
        return graph.op("MatMulNBits", [x, *weights, "", "", bias_name], domain="com.microsoft", **figures)

    def look_up(self, graph: Graph, ids: str, name: str, table: Floats) -> str:
        codes, scales = quantize_rows(table)
        rows = graph.op("Gather", [graph.constant(f"{name}.codes", codes), ids])
        row_scales = graph.op("Gather", [graph.constant(f"{name}.scales", scales), ids])
        return graph.op("Mul", [graph.op("Cast", [rows], to=TensorProto.FLOAT), row_scales])


class SharedWords(Int8Weights):
    """The vectors of words come from outside, as the input `words`."""

    def look_up(self, graph: Graph, ids: str, name: str, table: Floats) -> str:
        return "words"


def quantize_rows(values: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Symmetric int8 codes and a scale for every run of the last axis (the scale keeps that axis, of length 1)."""
    scales = np.abs(values).max(axis=-1, keepdims=True).astype(np.float32) / np.float32(127)
    scales = np.where(scales == 0, np.float32(1), scales)  # an all-zero row: any scale will do
    return np.rint(values / scales).astype(np.int8), scales


def encoder(
    graph: Graph,
    state: State,
    shape: Shape,
    weights: Weights,
    *,
    token_types: str | None = None,
    halfway: Callable[[str], str] | None = None,
) -> str:
    """Add a BERT body that reads `input_ids` and `attention_mask`; returns its last hidden states.

    `token_types` names an input with the segment of each token; without it every token is of segment 0, which then
    costs nothing because its row is folded into the positions. `halfway` is given the hidden states after half of the layers
    and says which rows go on.
    """
    x = _embeddings(graph, state, shape, weights, token_types)
    bias = _attention_bias(graph)
    for layer in range(shape.layers):
        if halfway and layer == shape.layers // 2:
            kept = halfway(x)
            x, bias = (graph.op("Gather", [value, kept], axis=0) for value in (x, bias))
        name = f"encoder.layer.{layer}"
        attended = _attention(graph, state, shape, weights, x, bias, name)
        x = _add_and_norm(graph, state, shape, x, attended, f"{name}.attention.output.LayerNorm")
        inner = _dense(graph, state, weights, x, f"{name}.intermediate.dense")
        outer = _dense(graph, state, weights, graph.op("Gelu", [inner]), f"{name}.output.dense")
        x = _add_and_norm(graph, state, shape, x, outer, f"{name}.output.LayerNorm")
    return x


def _embeddings(graph: Graph, state: State, shape: Shape, weights: Weights, token_types: str | None) -> str:
    words = weights.look_up(graph, "input_ids", "words", state["embeddings.word_embeddings.weight"])
    positions = state["embeddings.position_embeddings.weight"]
    types = state["embeddings.token_type_embeddings.weight"]
    if token_types is None:
        positions = positions + types[0]
    # A slice of the table, because Range and Gather of dynamic length crash onnxruntime.
    zero, one = graph.constant("zero", np.array([0])), graph.constant("one", np.array([1]))
    length = graph.op("Shape", ["input_ids"], start=1, end=2)
    stored = positions.astype(np.float16) if isinstance(weights, Int8Weights) else positions
    placed = graph.op("Slice", [graph.constant("positions", stored), zero, length, zero, one])
    x = graph.op("Add", [words, graph.op("Cast", [placed], to=TensorProto.FLOAT)])
    if token_types is not None:
        x = graph.op("Add", [x, graph.op("Gather", [graph.constant("types", types), token_types])])
    return _norm(graph, state, shape, x, "embeddings.LayerNorm")


def _attention_bias(graph: Graph) -> str:
    """(batch, 1, 1, tokens): 0 where there is a token and a very low number on padding."""
    mask = graph.op("Cast", ["attention_mask"], to=TensorProto.FLOAT)
    absent = graph.op("Sub", [graph.constant("unit", np.float32(1)), mask])
    bias = graph.op("Mul", [absent, graph.constant("lowest", np.float32(-1e9))])
    return graph.op("Unsqueeze", [bias, graph.constant("head_axes", np.array([1, 2]))])


def _attention(graph: Graph, state: State, shape: Shape, weights: Weights, x: str, bias: str, name: str) -> str:
    size = shape.hidden // shape.heads
    # The scale of the dot products goes into the query's weights; the three projections are one product.
    parts = [(f"{name}.attention.self.{part}", factor) for part, factor in (("query", size**-0.5), ("key", 1), ("value", 1))]
    weight = np.concatenate([state[f"{part}.weight"] * np.float32(factor) for part, factor in parts])
    offset = np.concatenate([state[f"{part}.bias"] * np.float32(factor) for part, factor in parts])
    projected = weights.dense(graph, x, f"{name}.attention.qkv", weight, offset)
    split = graph.constant("split_heads", np.array([0, 0, 3, shape.heads, size]))
    by_head = graph.op("Transpose", [graph.op("Reshape", [projected, split])], perm=[2, 0, 3, 1, 4])
    query, key, value = (
        graph.op("Gather", [by_head, graph.constant(f"part_{part}", np.array(part))], axis=0) for part in range(3)
    )
    scores = graph.op("MatMul", [query, graph.op("Transpose", [key], perm=[0, 1, 3, 2])])
    shares = graph.op("Softmax", [graph.op("Add", [scores, bias])], axis=-1)
    mixed = graph.op("Transpose", [graph.op("MatMul", [shares, value])], perm=[0, 2, 1, 3])
    joined = graph.op("Reshape", [mixed, graph.constant("join_heads", np.array([0, 0, shape.hidden]))])
    return _dense(graph, state, weights, joined, f"{name}.attention.output.dense")


def _dense(graph: Graph, state: State, weights: Weights, x: str, name: str) -> str:
    return weights.dense(graph, x, name, state[f"{name}.weight"], state[f"{name}.bias"])


def _add_and_norm(graph: Graph, state: State, shape: Shape, x: str, y: str, name: str) -> str:
    return _norm(graph, state, shape, graph.op("Add", [x, y]), name)


def _norm(graph: Graph, state: State, shape: Shape, x: str, name: str) -> str:
    scale = graph.constant(f"{name}.weight", state[f"{name}.weight"])
    shift = graph.constant(f"{name}.bias", state[f"{name}.bias"])
    return graph.op("LayerNormalization", [x, scale, shift], axis=-1, epsilon=shape.epsilon)


def mean_pool(graph: Graph, hidden: str) -> str:
    """The mean of the token vectors where `attention_mask` is 1."""
    last, one = graph.constant("last", np.array([-1])), graph.constant("one", np.array([1]))
    mask = graph.op("Unsqueeze", [graph.op("Cast", ["attention_mask"], to=TensorProto.FLOAT), last])
    summed = graph.op("ReduceSum", [graph.op("Mul", [hidden, mask]), one], keepdims=0)
    count = graph.op("ReduceSum", [mask, one], keepdims=0)
    return graph.op("Div", [summed, graph.op("Max", [count, graph.constant("unit", np.float32(1))])])


def normalize(graph: Graph, x: str, name: str) -> str:
    """Rows of length one, as an output called `name`."""
    norm = graph.op("ReduceL2", [x, graph.constant("last", np.array([-1]))], keepdims=1)
    floor = graph.op("Max", [norm, graph.constant("tiny", np.float32(1e-12))])
    return graph.op("Div", [x, floor], name=name)
