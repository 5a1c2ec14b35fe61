"""Step 4, on any machine, without torch: the trained weights as one int8 ONNX file in the package.

    python -m training.evaluator.export --weights RUN --output src/wellread/ranking/weights

Inputs: `input_ids`, `token_type_ids`, `attention_mask`, `words` (out of the table that the verifier has, too) and `floor`.
After half of the layers every row has a logit `early` that it is worth reading on; only those at or above `floor` are, and `kept`
has their numbers. Of these: `relevance` (rows), `kinds` (rows, 5: none, span, yes, no, text), `starts`, `ends` and `evidence`
(rows, tokens), all logits. `--float32 FILE` keeps a model in that arithmetic, its table inside, to compare with.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto
from training.bert_graph import Described, Float32Weights, Graph, Shape, SharedWords, State, Weights, encoder, quantize_rows
from training.evaluator.minilm import read_minilm
from training.evaluator.weights import load_weights

from wellread.ranking.judge import WORDS as TABLE

NAME = "evaluator.onnx"
WORDS = "embeddings.word_embeddings.weight"


def shape_of(state: State) -> Shape:
    """The encoder's figures, read off its weights."""
    hidden = state["embeddings.word_embeddings.weight"].shape[1]
    layers = sum(name.endswith(".attention.self.query.weight") for name in state)
    return Shape(layers=layers, heads=hidden // 32, hidden=hidden)


def build_model(state: State, weights: Weights) -> onnx.ModelProto:
    """Encoder and heads as one model; the small last layers stay float32."""
    graph, small = Graph(), Float32Weights()
    last = graph.constant("last_axis", np.array([-1]))

    def head(x: str, name: str) -> str:
        return small.dense(graph, x, name, state[f"{name}.weight"], state[f"{name}.bias"])

    def summary_of(x: str, name: str) -> str:
        first = graph.op("Gather", [x, graph.constant("first_token", np.array(0))], axis=1)
        return graph.op("Gelu", [weights.dense(graph, first, name, state[f"{name}.weight"], state[f"{name}.bias"])])

    def halfway(x: str) -> str:
        early = graph.op("Squeeze", [head(summary_of(x, "early.dense"), "early.relevance"), last], name="early")
        going_on = graph.op("NonZero", [graph.op("GreaterOrEqual", [early, "floor"])])
        rows = graph.op("Squeeze", [going_on, graph.constant("zero", np.array([0]))])
        graph.op("Cast", [rows], name="kept", to=TensorProto.FLOAT)
        return rows

    hidden = encoder(graph, state, shape_of(state), weights, token_types="token_type_ids", halfway=halfway)
    summary = summary_of(hidden, "head.dense")
    graph.op("Squeeze", [head(summary, "head.relevance"), last], name="relevance")
    graph.op("Identity", [head(summary, "head.kinds")], name="kinds")
    spans = head(hidden, "head.span")
    for place, name in enumerate(("starts", "ends", "evidence")):
        graph.op("Gather", [spans, graph.constant(f"span_{name}", np.array(place))], name=name, axis=2)
    inputs = dict.fromkeys(("input_ids", "token_type_ids", "attention_mask"), TensorProto.INT64)
    outputs: dict[str, list[str | int]] = {"early": ["batch"], "kept": ["rows"], "relevance": ["rows"], "kinds": ["rows", 5]}
    outputs |= {name: ["rows", "tokens"] for name in ("starts", "ends", "evidence")}
    more: dict[str, Described] = {"floor": (TensorProto.FLOAT, [])}
    if isinstance(weights, SharedWords):
        more["words"] = (TensorProto.FLOAT, ["batch", "tokens", shape_of(state).hidden])
    return graph.model(inputs, outputs, more)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--words", type=Path, required=True, help="an ONNX file with the table of words, not trained")
    parser.add_argument("--float32", type=Path)
    options = parser.parse_args(arguments)
    state = load_weights(options.weights)
    state = {WORDS: read_minilm(options.words)[WORDS], **state}
    options.output.mkdir(parents=True, exist_ok=True)
    if not (table := options.output / TABLE).exists():
        codes, scales = quantize_rows(state[WORDS])
        np.savez(table, codes=codes, scales=scales)
    written = build_model(state, SharedWords()).SerializeToString(deterministic=True)
    (options.output / NAME).write_bytes(written)
    print(f"{NAME}: {len(written) / 1e6:.1f} MB, sha256 {hashlib.sha256(written).hexdigest()}")
    if options.float32:
        options.float32.write_bytes(build_model(state, Float32Weights()).SerializeToString(deterministic=True))


if __name__ == "__main__":
    main()
