"""The model: MiniLM's encoder with three heads, written for speed in bfloat16.

Parameters carry BERT's usual names, so that the export needs no table of names. They are kept in float32; each step
works on a bfloat16 copy, and gradients come back through the copy.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

HEAD_SIZE, EPSILON = 32, 1e-12
HEADS = {"head.dense": None, "head.relevance": 1, "head.kinds": 4, "head.span": 2}  # outputs; None: as many as inputs

State = dict[str, Tensor]


class Judged(NamedTuple):
    """What the model says about each row; spans have a start and an end logit for each position."""

    relevance: Tensor
    kinds: Tensor
    starts: Tensor
    ends: Tensor


def initial_state(minilm: Mapping[str, NDArray[np.float32]], seed: int, *, heads: bool = True) -> State:
    """MiniLM's parameters and fresh heads."""
    state = {
        name: torch.from_numpy(np.array(value))
        for name, value in minilm.items()
        if name.startswith(("embeddings.", "encoder.")) and not name.endswith("position_ids")
    }
    generator = torch.Generator().manual_seed(seed)
    hidden = state["embeddings.word_embeddings.weight"].shape[1]
    for name, outputs in HEADS.items() if heads else ():
        state[f"{name}.weight"] = torch.randn((outputs or hidden, hidden), generator=generator) * 0.02
        state[f"{name}.bias"] = torch.zeros(outputs or hidden)
    return state


class Evaluator(nn.Module):
    """Holds the float32 parameters; `working_copy` gives what `judge` and `encode` work on."""

    def __init__(self, state: State) -> None:
        super().__init__()
        self.values = nn.ParameterDict({name.replace(".", "|"): nn.Parameter(value.float()) for name, value in state.items()})

    def working_copy(self, kind: torch.dtype) -> State:
        return {name.replace("|", "."): value.to(kind) for name, value in self.values.items()}

    def state(self) -> State:
        return {name.replace("|", "."): value.detach() for name, value in self.values.items()}


def encode(state: State, ids: Tensor, types: Tensor, mask: Tensor, dropout: float = 0.0) -> Tensor:
    """Last hidden states (rows, tokens, hidden) of BERT."""
    x = functional.embedding(ids, state["embeddings.word_embeddings.weight"])
    x = x + state["embeddings.position_embeddings.weight"][: ids.shape[1]]
    x = x + functional.embedding(types, state["embeddings.token_type_embeddings.weight"])
    x = functional.dropout(_norm(state, "embeddings.LayerNorm", x), dropout, training=dropout > 0)
    visible = mask[:, None, None, :]
    layer = 0
    while f"encoder.layer.{layer}.output.dense.weight" in state:
        x = _layer(state, f"encoder.layer.{layer}", x, visible, dropout)
        layer += 1
    return x


def _layer(state: State, name: str, x: Tensor, visible: Tensor, dropout: float) -> Tensor:
    rows, tokens, hidden = x.shape
    parts = [f"{name}.attention.self.{part}" for part in ("query", "key", "value")]
    weight = torch.cat([state[f"{part}.weight"] for part in parts])
    bias = torch.cat([state[f"{part}.bias"] for part in parts])
    projected = functional.linear(x, weight, bias).view(rows, tokens, 3, hidden // HEAD_SIZE, HEAD_SIZE)
    query, key, value = projected.permute(2, 0, 3, 1, 4)
    mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=visible)
    attended = _dense(state, f"{name}.attention.output.dense", mixed.transpose(1, 2).reshape(rows, tokens, hidden))
    attended = functional.dropout(attended, dropout, training=dropout > 0)
    x = _norm(state, f"{name}.attention.output.LayerNorm", x + attended)
    inner = functional.gelu(_dense(state, f"{name}.intermediate.dense", x))
    outer = functional.dropout(_dense(state, f"{name}.output.dense", inner), dropout, training=dropout > 0)
    return _norm(state, f"{name}.output.LayerNorm", x + outer)


def _dense(state: State, name: str, x: Tensor) -> Tensor:
    return functional.linear(x, state[f"{name}.weight"], state[f"{name}.bias"])


def _norm(state: State, name: str, x: Tensor) -> Tensor:
    return functional.layer_norm(x, x.shape[-1:], state[f"{name}.weight"], state[f"{name}.bias"], EPSILON)


def judge(state: State, ids: Tensor, lengths: Tensor, question_lengths: Tensor, dropout: float = 0.0) -> Judged:
    """All heads; span logits are very low on the question, the last [SEP] and padding."""
    places = torch.arange(ids.shape[1], device=ids.device)
    mask = places < lengths[:, None]
    types = (places >= question_lengths[:, None]) & mask
    hidden = encode(state, ids.long(), types.long(), mask, dropout)
    summary = functional.gelu(_dense(state, "head.dense", functional.dropout(hidden[:, 0], dropout, training=dropout > 0)))
    spans = _dense(state, "head.span", hidden).float()
    spans = spans.masked_fill(~(types & (places < lengths[:, None] - 1))[..., None], -1e4)
    relevance = _dense(state, "head.relevance", summary).float().squeeze(-1)
    return Judged(relevance, _dense(state, "head.kinds", summary).float(), spans[..., 0], spans[..., 1])


def embed(state: State, ids: Tensor, lengths: Tensor) -> Tensor:
    """MiniLM's sentence vectors: the mean of the token vectors, of length one."""
    mask = torch.arange(ids.shape[1], device=ids.device) < lengths[:, None]
    hidden = encode(state, ids.long(), torch.zeros_like(ids, dtype=torch.long), mask).float()
    mean = (hidden * mask[..., None]).sum(1) / lengths[:, None]
    return functional.normalize(mean, dim=-1)
