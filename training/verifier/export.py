"""Step 3, on any machine, without torch: the trained weights as one int8 ONNX file in the package.

    python -m training.verifier.export --weights RUN [RUN …] --output src/wellread/ranking/weights

Inputs: `input_ids`, `token_type_ids`, `attention_mask`, and `words`, the vectors of the words out of the embedder's table, which
is not stored twice. Outputs: `carried` (rows) and `astray` (rows, tokens), logits. Several runs become one model: the mean of
what they say (`--mean`: of their weights).
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto
from training.bert_graph import Array, Described, Float32Weights, Graph, Shape, SharedWords, State, encoder
from training.evaluator.weights import load_weights

NAME = "verifier.onnx"
HEAD_SIZE = 32
PLACES = "embeddings.position_embeddings.weight"


@dataclass(slots=True)
class Side(Graph):
    """A graph whose constants have a name of their own, beside others in the same one."""

    prefix: str = ""

    def constant(self, name: str, value: Array) -> str:
        return Graph.constant(self, self.prefix + name, value)


def build_model(states: Sequence[State]) -> onnx.ModelProto:
    graph = Graph()
    said = [_said(Side(graph.nodes, graph.constants, f"{number}."), state) for number, state in enumerate(states)]
    for place, name in enumerate(("carried", "astray")):
        total = said[0][place]
        for one in said[1:]:
            total = graph.op("Add", [total, one[place]])
        graph.op("Mul", [total, graph.constant("share", np.array(1 / len(said), np.float32))], name=name)
    inputs = dict.fromkeys(("input_ids", "token_type_ids", "attention_mask"), TensorProto.INT64)
    vectors: dict[str, Described] = {"words": (TensorProto.FLOAT, ["batch", "tokens", states[0][PLACES].shape[1]])}
    return graph.model(inputs, {"carried": ["batch"], "astray": ["batch", "tokens"]}, vectors)


def _said(graph: Graph, state: State) -> tuple[str, str]:
    weights, small = SharedWords(), Float32Weights()
    layers = sum(name.endswith(".attention.self.query.weight") for name in state)
    size = state[PLACES].shape[1]
    shape = Shape(layers=layers, heads=size // HEAD_SIZE, hidden=size)
    table = {"embeddings.word_embeddings.weight": np.empty((0, size), np.float32)}  # nothing is looked up in it
    hidden = encoder(graph, {**state, **table}, shape, weights, token_types="token_type_ids")
    first = graph.op("Gather", [hidden, graph.constant("first_token", np.array(0))], axis=1)
    summary = graph.op("Gelu", [weights.dense(graph, first, "head.dense", state["head.dense.weight"], state["head.dense.bias"])])
    last = graph.constant("last_axis", np.array([-1]))

    def head(x: str, name: str) -> str:
        return graph.op("Squeeze", [small.dense(graph, x, name, state[f"{name}.weight"], state[f"{name}.bias"]), last])

    return head(summary, "head.carried"), head(hidden, "head.astray")


def mean(states: Sequence[State]) -> State:
    return {name: np.mean([state[name] for state in states], axis=0, dtype=np.float32) for name in states[0]}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", type=Path, nargs="+", required=True)
    parser.add_argument("--mean", action="store_true", help="one model with the mean of the weights")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args(arguments)
    states = [load_weights(path) for path in options.weights]
    written = build_model([mean(states)] if options.mean else states).SerializeToString(deterministic=True)
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / NAME).write_bytes(written)
    print(f"{NAME}: {len(written) / 1e6:.1f} MB, sha256 {hashlib.sha256(written).hexdigest()}")


if __name__ == "__main__":
    main()
