"""all-mpnet-base-v2 as a teacher (Apache-2.0): twelve layers of 768, read from its file, run on the same rows as our own models.

Its vocabulary is BERT's, moved by four; positions begin at 2; no token types; one relative bias of attention for all layers, that
stays as it is. Nothing of it is shipped: what it says of a row is what a small model learns beside the labels.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from training.evaluator.model import Packed, State

BIAS = "encoder.relative_attention_bias.weight"
WORDS = "embeddings.word_embeddings.weight"
_MOVED, _BEGIN, _END, _FIRST_PLACE = 4, 0, 2, 2
_CLS, _SEP = 101, 102  # BERT's
_EPSILON = 1e-5


def read_mpnet(path: Path) -> State:
    """The parameters of a safetensors file in float32."""
    with path.open("rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        begin, kinds = file.tell(), {"F32": np.float32, "F16": np.float16}
        state: State = {}
        for name, one in header.items():
            if name.startswith(("embeddings.", "encoder.")) and one["dtype"] in kinds:
                start, end = one["data_offsets"]
                file.seek(begin + start)
                values = np.frombuffer(file.read(end - start), kinds[one["dtype"]]).reshape(one["shape"])
                state[name] = torch.from_numpy(values.astype(np.float32))
    return state


def encode(state: State, packed: Packed, dropout: float = 0.0) -> Tensor:
    """Hidden states (tokens, hidden) of the last layer, for rows of BERT's tokens."""
    ids = packed.ids + _MOVED
    ids = torch.where(packed.ids == _CLS, _BEGIN, torch.where(packed.ids == _SEP, _END, ids))
    x = functional.embedding(ids, state[WORDS])
    x = x + functional.embedding(packed.places + _FIRST_PLACE, state["embeddings.position_embeddings.weight"])
    x = functional.dropout(_norm(state, "embeddings.LayerNorm", x), dropout, training=dropout > 0)
    seen = torch.arange(packed.longest, device=x.device) < packed.bounds.diff()[:, None]
    bias = _bias(state[BIAS].detach(), packed.longest)
    mask = bias.masked_fill(~seen[:, None, None, :], float("-inf")).to(x.dtype)
    number = 0
    while f"encoder.layer.{number}.output.dense.weight" in state:
        name = f"encoder.layer.{number}"
        mixed = _dense(state, f"{name}.attention.attn.o", _attend(state, f"{name}.attention.attn", x, packed, mask))
        mixed = functional.dropout(mixed, dropout, training=dropout > 0)
        x = _norm(state, f"{name}.attention.LayerNorm", x + mixed)
        inner = functional.gelu(_dense(state, f"{name}.intermediate.dense", x))
        outer = functional.dropout(_dense(state, f"{name}.output.dense", inner), dropout, training=dropout > 0)
        x = _norm(state, f"{name}.output.LayerNorm", x + outer)
        number += 1
    return x


def _attend(state: State, name: str, x: Tensor, packed: Packed, mask: Tensor) -> Tensor:
    heads = state[BIAS].shape[1]
    parts = (packed.padded(_dense(state, f"{name}.{part}", x).view(len(x), heads, -1), 0.0).transpose(1, 2) for part in "qkv")
    mixed = functional.scaled_dot_product_attention(*parts, attn_mask=mask)
    return mixed.transpose(1, 2)[packed.rows, packed.places].reshape(x.shape)


def _bias(table: Tensor, longest: int, farthest: int = 128) -> Tensor:
    """(1, heads, from, to): by buckets of distance, fine for near tokens, coarse for far ones, apart for both directions."""
    places = torch.arange(longest, device=table.device)
    distance = places[:, None] - places[None, :]
    side = len(table) // 2
    near = side // 2
    far = near + (torch.log(distance.abs().clamp(min=1).float() / near) / math.log(farthest / near) * (side - near)).long().clamp(
        max=side - 1 - near
    )
    bucket = (distance < 0) * side + torch.where(distance.abs() < near, distance.abs(), far)
    return table[bucket].permute(2, 0, 1)[None]


def _dense(state: State, name: str, x: Tensor) -> Tensor:
    return functional.linear(x, state[f"{name}.weight"], state[f"{name}.bias"])


def _norm(state: State, name: str, x: Tensor) -> Tensor:
    return functional.layer_norm(x, x.shape[-1:], state[f"{name}.weight"], state[f"{name}.bias"], _EPSILON)
