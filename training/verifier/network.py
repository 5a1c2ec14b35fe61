"""The verifier's heads on MiniLM's encoder: is the claim carried, and which of its words are not.

The table of words stays as the embedder has it, so that both models share one.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional
from training.evaluator.losses import grouped_logsumexp
from training.evaluator.model import LOWEST, Packed, State, encode
from training.verifier.batches import Batch

from training import mpnet

WORDS = "embeddings.word_embeddings.weight"
HEADS = {"head.dense": None, "head.carried": 1, "head.astray": 1}  # outputs; None: as many as inputs
WEIGHTS = {"carried": 1.0, "order": 0.5, "astray": 1.0, "taught": 2.0}
_EMPTY = 0.3  # what the tokens of a true claim count


class Said(NamedTuple):
    carried: Tensor  # by row
    astray: Tensor  # by token


def initial(encoder: State, seed: int) -> State:
    """An encoder with fresh heads."""
    state = {name: value for name, value in encoder.items() if name.startswith(("embeddings.", "encoder."))}
    generator = torch.Generator().manual_seed(seed)
    hidden = state[WORDS].shape[1]
    for name, outputs in HEADS.items():
        state[f"{name}.weight"] = torch.randn((outputs or hidden, hidden), generator=generator) * 0.02
        state[f"{name}.bias"] = torch.zeros(outputs or hidden)
    return state


def deepened(encoder: State, times: int) -> State:
    """An encoder with every layer `times` times, one after the other."""
    deep = {name: value for name, value in encoder.items() if not name.startswith("encoder.layer.")}
    for name, value in encoder.items():
        if name.startswith("encoder.layer."):
            number, rest = name.removeprefix("encoder.layer.").split(".", 1)
            deep |= {f"encoder.layer.{int(number) * times + copy}.{rest}": value.clone() for copy in range(times)}
    return deep


def verify(state: State, packed: Packed, dropout: float = 0.0) -> Said:
    rows, places = packed.rows, packed.places
    if mpnet.BIAS in state:
        hidden = mpnet.encode(state, packed, dropout)
    else:
        hidden = encode(state, packed, (places >= packed.question_lengths[rows]).int(), dropout)[-1]
    first = functional.dropout(hidden[packed.bounds[:-1]], dropout, training=dropout > 0)
    summary = functional.gelu(_dense(state, "head.dense", first))
    return Said(
        _dense(state, "head.carried", summary).float().squeeze(-1), _dense(state, "head.astray", hidden).float().squeeze(-1)
    )


def _dense(state: State, name: str, x: Tensor) -> Tensor:
    return functional.linear(x, state[f"{name}.weight"], state[f"{name}.bias"])


def losses(said: Said, packed: Packed, batch: Batch, device: torch.device, taught: Tensor | None = None) -> dict[str, Tensor]:
    """What is to be made small; `taught`: what a teacher says of each row, which counts where nobody knows the label as well."""
    carried, weights, lists, astray = (
        torch.from_numpy(value).to(device, non_blocking=True)
        for value in (batch.carried, batch.weights, batch.lists, batch.astray)
    )
    entropy = functional.binary_cross_entropy_with_logits(said.carried, carried, reduction="none")
    untrue = torch.where(carried == 0, said.carried, torch.full_like(said.carried, LOWEST))
    rivals = grouped_logsumexp(untrue, lists, int(lists.max()) + 1)[lists]
    order = functional.softplus(rivals - said.carried)
    against = weights * carried * (rivals > LOWEST / 2)
    parts = {
        "carried": _mean(entropy, weights),
        "order": _mean(order, against),
        "astray": _astray(said.astray, packed.rows, astray, weights),
    }
    if taught is not None:
        parts["taught"] = functional.binary_cross_entropy_with_logits(said.carried, taught.sigmoid())
    return parts


def _astray(logits: Tensor, rows: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
    """The mean of the rows' means; changed words count as much as all others of their row."""
    known, wanted = (targets >= 0).float(), targets.clamp(min=0).float()
    empty = torch.zeros_like(weights)
    tokens, positive = (empty.index_add(0, rows, part) for part in (known, wanted))
    share = torch.where(wanted > 0, 0.5 / positive.clamp(min=1)[rows], 0.5 / (tokens - positive).clamp(min=1)[rows]) * known
    entropy = functional.binary_cross_entropy_with_logits(logits, wanted, reduction="none") * share
    return _mean(empty.index_add(0, rows, entropy), weights * (tokens > 0) * torch.where(positive > 0, 1.0, _EMPTY))


def _mean(values: Tensor, weights: Tensor) -> Tensor:
    return (values * weights).sum() / weights.sum().clamp(min=1e-6)


def total(parts: dict[str, Tensor]) -> Tensor:
    return torch.stack([WEIGHTS[name] * value for name, value in parts.items()]).sum()
