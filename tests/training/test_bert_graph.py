"""The ONNX encoder against a plain numpy one, on a small random BERT."""

from __future__ import annotations

import math

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray
from onnx import TensorProto
from training.bert_graph import (
    Float32Weights,
    Graph,
    Int8Weights,
    Shape,
    Weights,
    encoder,
    mean_pool,
    normalize,
    quantize_rows,
)

Floats = NDArray[np.float32]
SHAPE = Shape(layers=2, heads=4, hidden=128)
IDS = np.array([[5, 9, 11, 2, 0, 0], [7, 3, 1, 8, 30, 4]])
MASK = np.array([[1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1]])
TYPES = np.array([[0, 0, 1, 1, 0, 0], [0, 0, 0, 1, 1, 1]])


def random_state(seed: int = 1, inner: int = 256) -> dict[str, Floats]:
    rng = np.random.default_rng(seed)

    def values(*shape: int) -> Floats:
        return rng.normal(0, 0.2, shape).astype(np.float32)

    hidden = SHAPE.hidden
    state = {
        "embeddings.word_embeddings.weight": values(40, hidden),
        "embeddings.position_embeddings.weight": values(16, hidden),
        "embeddings.token_type_embeddings.weight": values(2, hidden),
    }
    norms = ["embeddings.LayerNorm"]
    for layer in range(SHAPE.layers):
        name = f"encoder.layer.{layer}"
        sizes = {f"attention.self.{part}": (hidden, hidden) for part in ("query", "key", "value")}
        sizes |= {"attention.output.dense": (hidden, hidden)}
        sizes |= {"intermediate.dense": (inner, hidden), "output.dense": (hidden, inner)}
        for part, size in sizes.items():
            state[f"{name}.{part}.weight"] = values(*size)
            state[f"{name}.{part}.bias"] = values(size[0])
        norms += [f"{name}.attention.output.LayerNorm", f"{name}.output.LayerNorm"]
    for name in norms:
        state[f"{name}.weight"] = values(hidden) + 1
        state[f"{name}.bias"] = values(hidden)
    return state


def expected(state: dict[str, Floats], types: NDArray[np.int64]) -> NDArray[np.float64]:
    """The same model, written out in float64."""

    def dense(x: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        return x @ state[f"{name}.weight"].T.astype(np.float64) + state[f"{name}.bias"]

    def norm(x: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + SHAPE.epsilon)
        return scaled * state[f"{name}.weight"] + state[f"{name}.bias"]

    def heads(x: NDArray[np.float64]) -> NDArray[np.float64]:
        return x.reshape(*x.shape[:2], SHAPE.heads, -1).transpose(0, 2, 1, 3)

    x = state["embeddings.word_embeddings.weight"][IDS].astype(np.float64)
    x = x + state["embeddings.position_embeddings.weight"][: IDS.shape[1]]
    x = norm(x + state["embeddings.token_type_embeddings.weight"][types], "embeddings.LayerNorm")
    erf = np.vectorize(math.erf)
    for layer in range(SHAPE.layers):
        name = f"encoder.layer.{layer}"
        query, key, value = (heads(dense(x, f"{name}.attention.self.{part}")) for part in ("query", "key", "value"))
        scores = query @ key.transpose(0, 1, 3, 2) / math.sqrt(query.shape[-1])
        scores = np.where(MASK[:, None, None, :] == 1, scores, -np.inf)
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = (shares / shares.sum(-1, keepdims=True)) @ value
        joined = mixed.transpose(0, 2, 1, 3).reshape(x.shape)
        x = norm(x + dense(joined, f"{name}.attention.output.dense"), f"{name}.attention.output.LayerNorm")
        inner = dense(x, f"{name}.intermediate.dense")
        inner = inner * 0.5 * (1 + erf(inner / math.sqrt(2)))
        x = norm(x + dense(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm")
    return x


def run(weights: Weights, state: dict[str, Floats], types: NDArray[np.int64] | None = None) -> tuple[Floats, Floats]:
    graph = Graph()
    hidden = encoder(graph, state, SHAPE, weights, token_types=None if types is None else "token_type_ids")
    graph.op("Identity", [hidden], name="hidden")
    normalize(graph, mean_pool(graph, hidden), "embedding")
    feed = {"input_ids": IDS, "attention_mask": MASK} | ({} if types is None else {"token_type_ids": types})
    outputs = {"hidden": ["batch", "tokens", SHAPE.hidden], "embedding": ["batch", SHAPE.hidden]}
    model = graph.model(dict.fromkeys(feed, TensorProto.INT64), outputs)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    hidden_states, embedding = session.run(["hidden", "embedding"], feed)
    return hidden_states, embedding


@pytest.mark.parametrize("types", [None, TYPES])
def test_float32_encoder_equals_numpy(types: NDArray[np.int64] | None) -> None:
    state = random_state()
    hidden, embedding = run(Float32Weights(), state, types)
    right = expected(state, np.zeros_like(IDS) if types is None else types)
    present = MASK == 1
    np.testing.assert_allclose(hidden[present], right[present], atol=2e-5)
    pooled = np.stack([row[keep].mean(0) for row, keep in zip(right, present, strict=True)])
    np.testing.assert_allclose(embedding, pooled / np.linalg.norm(pooled, axis=1, keepdims=True), atol=1e-5)


def test_int8_encoder_is_close() -> None:
    state = random_state()
    _, embedding = run(Int8Weights(), state)
    _, right = run(Float32Weights(), state)
    assert (embedding * right).sum(axis=1).min() > 0.999


def test_int8_weights_refuse_a_width_that_does_not_split_into_blocks() -> None:
    with pytest.raises(ValueError, match="blocks of 128"):
        Int8Weights().dense(Graph(), "x", "odd", np.ones((4, 100), np.float32), np.ones(4, np.float32))


def test_quantize_rows_keeps_every_value_within_half_a_step() -> None:
    values = np.random.default_rng(2).normal(size=(7, 33)).astype(np.float32)
    values[3] = 0
    codes, scales = quantize_rows(values)
    assert np.abs(codes * scales - values).max() <= scales.max() * 0.501
    assert not codes[3].any()
