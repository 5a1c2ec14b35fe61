"""MiniLM's weights, read back from the embedder the project ships, or the evaluator's own: where training starts.

The file holds int8 codes with a scale for every 128 weights, which is more than exact enough to start from. The
three projections of attention are one array there, with the dot product's scale in the query's part,
and the first token type is part of the positions; the second starts like the first.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

HEAD_SIZE = 32
ZERO = 128  # the code that stands for 0 in a dense layer

Arrays = dict[str, NDArray[np.float32]]


def read_minilm(path: Path) -> Arrays:
    """The encoder's parameters under BERT's names, as torch keeps them (outputs x inputs)."""
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in onnx.load(path).graph.initializer}
    places = stored["positions"].astype(np.float32)
    state: Arrays = {
        "embeddings.position_embeddings.weight": places,
        "embeddings.token_type_embeddings.weight": stored.get("types", np.zeros((2, places.shape[1]), np.float32)),
    }
    if "words.codes" in stored:
        state["embeddings.word_embeddings.weight"] = stored["words.codes"].astype(np.float32) * stored["words.scales"]
    for name, value in stored.items():
        layer, _, part = name.rpartition(".")
        if part == "codes" and name.startswith("encoder."):
            codes = value.astype(np.float32) - ZERO
            state[f"{layer}.weight"] = (codes * stored[f"{layer}.scales"][..., None]).reshape(len(value), -1)
            state[f"{layer}.bias"] = stored[f"{layer}.bias"]
        elif part == "codes" and layer.startswith(("head.", "early.")):
            state[f"{layer}.weight"] = ((value.astype(np.float32) - ZERO) * stored[f"{layer}.scales"][..., None]).reshape(
                len(value), -1
            )
            state[f"{layer}.bias"] = stored[f"{layer}.bias"]
        elif name.startswith(("head.", "early.")) and part == "weight":
            state[name], state[f"{layer}.bias"] = np.ascontiguousarray(value.T), stored[f"{layer}.bias"]
        elif "LayerNorm" in name:
            state[name] = value
    for layer in [name.removesuffix(".qkv.weight") for name in state if name.endswith(".qkv.weight")]:
        _split_projections(state, layer)
    return state


def _split_projections(state: Arrays, attention: str) -> None:
    """`….attention.qkv` into `….attention.self.query`, `key` and `value`."""
    for part in ("weight", "bias"):
        query, key, value = np.split(state.pop(f"{attention}.qkv.{part}"), 3)
        state[f"{attention}.self.query.{part}"] = query * np.float32(HEAD_SIZE**0.5)
        state[f"{attention}.self.key.{part}"] = key
        state[f"{attention}.self.value.{part}"] = value
