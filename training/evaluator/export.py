"""Step 4, on any machine, without torch: the trained weights as one int8 ONNX file in the package.

    python -m training.evaluator.export --weights RUN --output src/wellread/ranking/weights

Inputs `input_ids`, `token_type_ids`, `attention_mask`; outputs `relevance` (rows), `kinds` (rows, 5: none, span, yes, no,
text), `starts`, `ends` and `evidence` (rows, tokens), all logits. `--float32 FILE` keeps the float32 model too, to compare with.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto
from training.bert_graph import Float32Weights, Graph, Int8Weights, Shape, State, Weights, encoder
from training.evaluator.minilm import read_minilm
from training.evaluator.weights import load_weights

NAME = "evaluator.onnx"
WORDS = Path("src/wellread/embedding/weights/all-minilm-l6-v2/model.onnx")


def shape_of(state: State) -> Shape:
    """The encoder's figures, read off its weights."""
    hidden = state["embeddings.word_embeddings.weight"].shape[1]
    layers = sum(name.endswith(".attention.self.query.weight") for name in state)
    return Shape(layers=layers, heads=hidden // 32, hidden=hidden)


def build_model(state: State, weights: Weights) -> onnx.ModelProto:
    """Encoder and heads as one model; the small last layers stay float32."""
    graph, small = Graph(), Float32Weights()
    hidden = encoder(graph, state, shape_of(state), weights, token_types="token_type_ids")
    first = graph.op("Gather", [hidden, graph.constant("first_token", np.array(0))], axis=1)
    dense = weights.dense(graph, first, "head.dense", state["head.dense.weight"], state["head.dense.bias"])
    summary = graph.op("Gelu", [dense])

    def head(x: str, name: str) -> str:
        return small.dense(graph, x, name, state[f"{name}.weight"], state[f"{name}.bias"])

    last = graph.constant("last_axis", np.array([-1]))
    graph.op("Squeeze", [head(summary, "head.relevance"), last], name="relevance")
    graph.op("Identity", [head(summary, "head.kinds")], name="kinds")
    spans = head(hidden, "head.span")
    for place, name in enumerate(("starts", "ends", "evidence")):
        graph.op("Gather", [spans, graph.constant(f"span_{name}", np.array(place))], name=name, axis=2)
    inputs = dict.fromkeys(("input_ids", "token_type_ids", "attention_mask"), TensorProto.INT64)
    outputs: dict[str, list[str | int]] = {"relevance": ["batch"], "kinds": ["batch", 5]}
    outputs |= {name: ["batch", "tokens"] for name in ("starts", "ends", "evidence")}
    return graph.model(inputs, outputs)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--words", type=Path, default=WORDS, help="an ONNX file with the table of words, not trained")
    parser.add_argument("--float32", type=Path)
    options = parser.parse_args(arguments)
    state = load_weights(options.weights)
    state = {"embeddings.word_embeddings.weight": read_minilm(options.words)["embeddings.word_embeddings.weight"], **state}
    options.output.mkdir(parents=True, exist_ok=True)
    written = build_model(state, Int8Weights()).SerializeToString(deterministic=True)
    (options.output / NAME).write_bytes(written)
    print(f"{NAME}: {len(written) / 1e6:.1f} MB, sha256 {hashlib.sha256(written).hexdigest()}")
    if options.float32:
        options.float32.write_bytes(build_model(state, Float32Weights()).SerializeToString(deterministic=True))


if __name__ == "__main__":
    main()
