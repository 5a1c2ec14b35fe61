"""A tokenizer and a session, opened: texts to tokens, tokens to unit vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from wellread.core.unicode_safety import encodable
from wellread.embedding.batches import padded
from wellread.embedding.known import Pooling
from wellread.embedding.layout import Layout
from wellread.embedding.session import Session, Value, first_line, open_tokenizer
from wellread.errors import EmbedderError, panics_as

# Widths are multiples of this: the kernels then sum every text in the same order whatever it is padded
# to, and a vector does not depend, to the last bit, on the texts beside it.
STEP = 16
_CHARACTERS_PER_TOKEN = 40  # text beyond this cannot matter and would only be tokenised to be cut off
_POOLED_NAMES = ("embedding", "sentence_embedding", "embeddings", "text_embeds")
_TOKEN_NAMES = ("last_hidden_state", "token_embeddings")
_KNOWN_INPUTS = {"input_ids", "attention_mask", "token_type_ids", "position_ids"}


class Runtime:
    """Open files of one model. `tokens` and `vectors` may be called from several threads at once."""

    def __init__(self, layout: Layout, session: Session) -> None:
        self.layout = layout
        self._tokenizer = open_tokenizer(layout.tokenizer, layout.max_tokens)
        self._pad = _padding_id(self._tokenizer)
        self._session = session
        self._inputs = {value.name: np.dtype(_dtype(value)) for value in self._session.get_inputs()}
        if unknown := set(self._inputs) - _KNOWN_INPUTS:
            raise EmbedderError(f"{layout.model} wants inputs that wellread does not know: {', '.join(sorted(unknown))}")
        self._output = _choose_output(self._session, layout)
        self.dimensions = layout.dimensions or self._measure()

    def tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """Token numbers of every text, special tokens included, cut to what the model reads."""
        most = self.layout.max_tokens * _CHARACTERS_PER_TOKEN
        ready = [encodable(text[:most]) for text in texts]
        with panics_as(EmbedderError, f"{self.layout.tokenizer}: cutting texts into tokens"):
            return [encoding.ids for encoding in self._tokenizer.encode_batch_fast(ready)]

    def vectors(self, batch: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """Unit vectors of the texts with these tokens."""
        out = self._run(batch)
        if out.shape != (len(batch), self.dimensions):
            raise EmbedderError(f"{self.layout.model} returned vectors of shape {out.shape}, not {self.dimensions} long")
        return out

    def _measure(self) -> int:
        length = self._output.shape[-1]
        return length if isinstance(length, int) else self._run(self.tokens(["length"])).shape[1]

    def _run(self, batch: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        width = padded(max(len(ids) for ids in batch), STEP)
        feed, mask = self._feed(batch, min(width, max(self.layout.max_tokens, STEP)))
        try:
            out = self._session.run([self._output.name], feed)[0].astype(np.float32, copy=False)
        except Exception as problem:  # onnxruntime's errors have no common root but this
            raise EmbedderError(f"{self.layout.model} failed: {first_line(problem)}") from problem
        if out.ndim == 3:
            out = _pool(out, mask, self.layout.pooling)
        norms = np.linalg.norm(out, axis=-1, keepdims=True)
        if not np.isfinite(norms).all() or not norms.all():
            raise EmbedderError(f"{self.layout.model} returned a vector that is zero or not finite; is the file damaged?")
        return out / norms

    def _feed(self, batch: Sequence[Sequence[int]], width: int) -> tuple[dict[str, NDArray[Any]], NDArray[np.int64]]:
        ids = np.full((len(batch), width), self._pad, np.int64)
        mask = np.zeros_like(ids)
        for row, numbers in enumerate(batch):
            ids[row, : len(numbers)] = numbers
            mask[row, : len(numbers)] = 1
        values = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        values["position_ids"] = np.broadcast_to(np.arange(width), ids.shape)
        return {name: values[name].astype(kind, copy=False) for name, kind in self._inputs.items()}, mask


def _padding_id(tokenizer: Tokenizer) -> int:
    for name in ("[PAD]", "<pad>", "<|endoftext|>"):
        if (number := tokenizer.token_to_id(name)) is not None:
            return number
    return 0


def _dtype(value: Value) -> str:
    return "int32" if "int32" in value.type else "int64"


def _choose_output(session: Session, layout: Layout) -> Value:
    """The sentence's vector if the graph makes one, else the tokens' vectors."""
    outputs = {value.name: value for value in session.get_outputs() if "float" in value.type}
    for name in _POOLED_NAMES:
        if name in outputs and len(outputs[name].shape) == 2:
            return outputs[name]
    if layout.dense:
        raise EmbedderError(f"{layout.model} leaves out a layer that comes after pooling; export the whole model")
    by_name = [outputs[name] for name in _TOKEN_NAMES if name in outputs]
    by_rank = [value for rank in (3, 2) for value in outputs.values() if len(value.shape) == rank]
    if not by_name and not by_rank:
        raise EmbedderError(f"{layout.model} has no output that could be an embedding: {', '.join(outputs)}")
    return (by_name + by_rank)[0]


def _pool(states: NDArray[np.float32], mask: NDArray[np.int64], pooling: Pooling) -> NDArray[np.float32]:
    if pooling == "cls":
        return states[:, 0]
    counts = mask.sum(axis=1)
    if pooling == "last":
        return states[np.arange(len(states)), counts - 1]
    weighted = states * mask[..., None].astype(np.float32)
    return weighted.sum(axis=1) / np.maximum(counts, 1)[:, None].astype(np.float32)
