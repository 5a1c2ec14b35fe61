"""gte-small as a start: its float32 ONNX file (MIT; docs: MODEL_CARD.md) as an int8 file of this project's form, heads fresh.

    python -m training.gte --model gte/onnx_model.onnx --output START.onnx

BERT with twelve layers of 384 and the vocabulary of all-MiniLM-L6-v2. The projections' weights are transposed there and have no
names of their own: the nodes that use them do.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper
from training.bert_graph import Int8Weights
from training.evaluator.export import build_model

SUM = "398a29991324e0b383afa13375d681ced3079c83e097fb1ebd9290d7498523b3"

HEADS = {"head.dense": 384, "head.relevance": 1, "head.kinds": 5, "head.span": 3, "early.dense": 384, "early.relevance": 1}


def read_gte(path: Path) -> dict[str, NDArray[np.float32]]:
    """The encoder's parameters under BERT's names, as torch keeps them (outputs x inputs)."""
    graph = onnx.load(path).graph
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    state = {name: value for name, value in stored.items() if name.startswith(("embeddings.", "encoder."))}
    for node in graph.node:
        if node.op_type == "MatMul" and node.input[1] in stored:
            name = node.name.strip("/").removesuffix("/MatMul").replace("/", ".")
            state[f"{name}.weight"] = np.ascontiguousarray(stored[node.input[1]].T)
    return state


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args(arguments)
    state, rng = read_gte(options.model), np.random.default_rng(1)
    for name, outputs in HEADS.items():
        state[f"{name}.weight"] = (rng.standard_normal((outputs, 384)) * 0.02).astype(np.float32)
        state[f"{name}.bias"] = np.zeros(outputs, np.float32)
    options.output.write_bytes(build_model(state, Int8Weights()).SerializeToString(deterministic=True))


if __name__ == "__main__":
    main()
