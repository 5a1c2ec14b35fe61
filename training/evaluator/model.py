"""The model: MiniLM's encoder with three heads, written for speed in bfloat16.

Parameters carry BERT's usual names, so that the export needs no table of names. They are kept in float32; each step
works on a bfloat16 copy, and gradients come back through the copy.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

HEAD_SIZE, EPSILON = 32, 1e-12
LOWEST = -1e4  # a logit that stands for "cannot be"
# Outputs; None: as many as inputs. The early ones stand on half of the layers.
HEADS = {"head.dense": None, "head.relevance": 1, "head.kinds": 5, "head.span": 3, "early.dense": None, "early.relevance": 1}

State = dict[str, Tensor]


class Packed(NamedTuple):
    """Rows of tokens one after the other, without padding. `bounds` has where each begins, and the end."""

    ids: Tensor
    question_lengths: Tensor
    bounds: Tensor
    longest: int

    @classmethod
    def of(cls, ids: Sequence[NDArray[np.int32]], question_lengths: Sequence[int], device: torch.device) -> Packed:
        lengths = np.array([len(row) for row in ids])
        bounds = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        parts = (np.concatenate(ids).astype(np.int32), np.array(question_lengths, np.int32), bounds)
        moved = (torch.from_numpy(part).to(device, non_blocking=True) for part in parts)
        return cls(*moved, int(lengths.max()))

    @property
    def rows(self) -> Tensor:
        """The row of each token."""
        lengths = self.bounds.diff()
        return torch.repeat_interleave(torch.arange(len(lengths), device=self.ids.device), lengths, output_size=len(self.ids))

    @property
    def places(self) -> Tensor:
        """The place of each token in its row."""
        return torch.arange(len(self.ids), device=self.ids.device) - self.bounds[self.rows]

    def padded(self, values: Tensor, fill: float) -> Tensor:
        """Values of tokens as (rows, longest, …)."""
        shape = (len(self.bounds) - 1, self.longest, *values.shape[1:])
        return torch.full(shape, fill, dtype=values.dtype, device=values.device).index_put((self.rows, self.places), values)


class Judged(NamedTuple):
    """What the model says about each row; spans have a start and an end logit for each place, very low off the passages.

    `evidence` has a logit for each token: whether it belongs to what carries the answer; `early` says after half of the layers
    whether a row is worth reading on.
    """

    early: Tensor
    relevance: Tensor
    kinds: Tensor
    starts: Tensor
    ends: Tensor
    evidence: Tensor


def initial_state(minilm: Mapping[str, NDArray[np.float32]], seed: int, *, heads: bool = True) -> State:
    """MiniLM's parameters and fresh heads."""
    state = {
        name: torch.from_numpy(np.array(value))
        for name, value in minilm.items()
        if name.startswith(("embeddings.", "encoder.")) and not name.endswith("position_ids")
    }
    return _with_heads(state, seed) if heads else state


def _with_heads(state: State, seed: int) -> State:
    """With fresh heads where there are none."""
    generator = torch.Generator().manual_seed(seed)
    hidden = state["embeddings.position_embeddings.weight"].shape[1]
    fresh: State = {}
    for name, outputs in HEADS.items():
        fresh[f"{name}.weight"] = torch.randn((outputs or hidden, hidden), generator=generator) * 0.02
        fresh[f"{name}.bias"] = torch.zeros(outputs or hidden)
    return fresh | state


def widened(state: State) -> State:
    """Weights of a model that had fewer outputs or heads, with new ones that say nothing yet."""
    wider = _with_heads(state, 0)
    for name, outputs in HEADS.items():
        weight, bias = wider[f"{name}.weight"], wider[f"{name}.bias"]
        missing = (outputs or len(weight)) - len(weight)
        wider[f"{name}.weight"] = torch.cat([weight, torch.zeros((missing, weight.shape[1]))])
        wider[f"{name}.bias"] = torch.cat([bias, torch.full((missing,), -2.0)])
    return wider


class Evaluator(nn.Module):
    """Holds the float32 parameters; `working_copy` gives what `judge` and `encode` work on."""

    def __init__(self, state: State) -> None:
        super().__init__()
        self.values = nn.ParameterDict({name.replace(".", "|"): nn.Parameter(value.float()) for name, value in state.items()})

    def working_copy(self, kind: torch.dtype) -> State:
        return {name.replace("|", "."): value.to(kind) for name, value in self.values.items()}

    def state(self) -> State:
        return {name.replace("|", "."): value.detach() for name, value in self.values.items()}


def encode(state: State, packed: Packed, types: Tensor, dropout: float = 0.0) -> list[Tensor]:
    """Hidden states (tokens, hidden) of BERT after every layer."""
    x = functional.embedding(packed.ids, state["embeddings.word_embeddings.weight"])
    x = x + functional.embedding(packed.places, state["embeddings.position_embeddings.weight"])
    x = x + functional.embedding(types, state["embeddings.token_type_embeddings.weight"])
    x = functional.dropout(_norm(state, "embeddings.LayerNorm", x), dropout, training=dropout > 0)
    after: list[Tensor] = []
    while f"encoder.layer.{len(after)}.output.dense.weight" in state:
        x = _layer(state, f"encoder.layer.{len(after)}", x, packed, dropout)
        after.append(x)
    return after


def _layer(state: State, name: str, x: Tensor, packed: Packed, dropout: float) -> Tensor:
    parts = [f"{name}.attention.self.{part}" for part in ("query", "key", "value")]
    weight = torch.cat([state[f"{part}.weight"] for part in parts])
    bias = torch.cat([state[f"{part}.bias"] for part in parts])
    projected = functional.linear(x, weight, bias).view(len(x), 3, x.shape[1] // HEAD_SIZE, HEAD_SIZE)
    mixed = _attend(*projected.unbind(1), packed).reshape(x.shape)
    attended = _dense(state, f"{name}.attention.output.dense", mixed)
    attended = functional.dropout(attended, dropout, training=dropout > 0)
    x = _norm(state, f"{name}.attention.output.LayerNorm", x + attended)
    inner = functional.gelu(_dense(state, f"{name}.intermediate.dense", x))
    outer = functional.dropout(_dense(state, f"{name}.output.dense", inner), dropout, training=dropout > 0)
    return _norm(state, f"{name}.output.LayerNorm", x + outer)


def _attend(query: Tensor, key: Tensor, value: Tensor, packed: Packed) -> Tensor:
    """Attention within rows, on (tokens, heads, size)."""
    if query.is_cuda and _packed_attention_works():
        return _attend_packed(query, key, value, packed)
    return _attend_padded(query, key, value, packed)


def _attend_packed(query: Tensor, key: Tensor, value: Tensor, packed: Packed) -> Tensor:
    from torch.nn.attention.varlen import varlen_attn

    parts = (part.contiguous() for part in (query, key, value))
    return varlen_attn(*parts, packed.bounds, packed.bounds, packed.longest, packed.longest)


def _attend_padded(query: Tensor, key: Tensor, value: Tensor, packed: Packed) -> Tensor:
    by_row = [packed.padded(part, 0.0).transpose(1, 2) for part in (query, key, value)]
    lengths = packed.bounds.diff()
    visible = (torch.arange(packed.longest, device=lengths.device) < lengths[:, None])[:, None, None, :]
    mixed = functional.scaled_dot_product_attention(*by_row, attn_mask=visible)
    return mixed.transpose(1, 2)[packed.rows, packed.places]


@functools.cache
def _packed_attention_works() -> bool:
    """Whether this torch and this GPU have attention without padding, with gradients that agree with the padded way."""
    device = torch.device("cuda")
    rows = [np.zeros(length, np.int32) for length in (5, 130, 64)]
    packed = Packed.of(rows, [0, 0, 0], device)
    parts = torch.randn((3, len(packed.ids), 2, HEAD_SIZE), device=device, dtype=torch.bfloat16)
    results: list[tuple[Tensor, Tensor]] = []
    try:
        for way in (_attend_packed, _attend_padded):
            with torch.enable_grad():  # the caller may have switched gradients off
                given = parts.clone().requires_grad_()
                mixed = way(*given.unbind(0), packed)
                (gradient,) = torch.autograd.grad(mixed.float().square().sum(), given)
            results.append((mixed.detach().float(), gradient.float()))
    except (ImportError, RuntimeError, TypeError, ValueError) as error:
        print(f"attention without padding is not to be had: {error!r}", flush=True)
        return False
    off = max(float((a - b).norm() / b.norm()) for a, b in zip(*results, strict=True))
    print(f"attention without padding agrees to {off:.4f}", flush=True)
    return off < 0.02


def _dense(state: State, name: str, x: Tensor) -> Tensor:
    return functional.linear(x, state[f"{name}.weight"], state[f"{name}.bias"])


def _norm(state: State, name: str, x: Tensor) -> Tensor:
    return functional.layer_norm(x, x.shape[-1:], state[f"{name}.weight"], state[f"{name}.bias"], EPSILON)


def judge(state: State, packed: Packed, dropout: float = 0.0) -> Judged:
    """All heads; span logits are very low on the question, the last [SEP] and padding."""
    rows, places, lengths = packed.rows, packed.places, packed.bounds.diff()
    types = places >= packed.question_lengths[rows]
    after = encode(state, packed, types.int(), dropout)
    hidden = after[-1]

    def summary_of(x: Tensor, name: str) -> Tensor:
        first = functional.dropout(x[packed.bounds[:-1]], dropout, training=dropout > 0)
        return functional.gelu(_dense(state, name, first))

    summary = summary_of(hidden, "head.dense")
    early = _dense(state, "early.relevance", summary_of(after[len(after) // 2 - 1], "early.dense")).float().squeeze(-1)
    tokens = _dense(state, "head.span", hidden).float()
    spans = packed.padded(tokens[:, :2].masked_fill(~(types & (places < lengths[rows] - 1))[:, None], LOWEST), LOWEST)
    relevance = _dense(state, "head.relevance", summary).float().squeeze(-1)
    return Judged(early, relevance, _dense(state, "head.kinds", summary).float(), spans[..., 0], spans[..., 1], tokens[:, 2])


def embed(state: State, packed: Packed) -> Tensor:
    """MiniLM's sentence vectors: the mean of the token vectors, of length one."""
    hidden = encode(state, packed, torch.zeros_like(packed.ids))[-1].float()
    summed = torch.zeros((len(packed.bounds) - 1, hidden.shape[1]), device=hidden.device).index_add(0, packed.rows, hidden)
    return functional.normalize(summed / packed.bounds.diff()[:, None], dim=-1)
