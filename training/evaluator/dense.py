"""Dense neighbours with MiniLM's own sentence vectors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from training.evaluator.model import Packed, State, embed

from wellread.embedding.batches import by_length
from wellread.ranking.inputs import CLS, DOT, SEP, Ids, Tokens

LONGEST = 256
TOKENS = 262_144  # in one batch


def passage_ids(passage: Tokens) -> Ids:
    """`title. text` as a row of its own."""
    return np.concatenate([[CLS], passage.title, [DOT], passage.text])[: LONGEST - 1].astype(np.int32)


def query_ids(question: Ids, known: Sequence[Tokens] = ()) -> Ids:
    """A question, and what is known already, as one row."""
    parts: list[Iterable[int]] = [[CLS], question]
    for passage in known:
        parts += [passage.title, [DOT], passage.text]
    return np.concatenate([np.asarray(part, np.int32) for part in parts])[: LONGEST - 1]


@torch.no_grad()
def vectors(state: State, rows: Sequence[Ids], device: torch.device, tokens: int = TOKENS) -> Tensor:
    """A unit vector for each row (without its last [SEP]), on the device, in the state's precision."""
    words = state["embeddings.word_embeddings.weight"]
    result = torch.empty((len(rows), words.shape[1]), dtype=words.dtype, device=device)
    for members in by_length([len(row) + 1 for row in rows], budget=tokens, most=4096):
        ended = [np.append(rows[index], np.int32(SEP)) for index in members]
        found = embed(state, Packed.of(ended, [0] * len(ended), device))
        result[torch.tensor(members, device=device)] = found.to(words.dtype)
    return result


@torch.no_grad()
def nearest(queries: Tensor, pool: Tensor, count: int, chunk: int = 4096) -> NDArray[np.int32]:
    """For each query the places of the `count` most similar vectors of the pool, best first."""
    count = min(count, len(pool))
    found = [(queries[start : start + chunk] @ pool.T).topk(count, dim=1).indices for start in range(0, len(queries), chunk)]
    empty = np.empty((0, count), np.int32)
    return torch.cat(found).int().cpu().numpy() if found else empty
