"""Quantisation of vectors: one bit a dimension to find candidates, one byte a dimension to order them.

The scale of the bytes is symmetric, so that zero stays zero and a code's bit is the sign of its byte.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from wellread.errors import EmbedderError

Floats: TypeAlias = NDArray[np.float32]
Bytes: TypeAlias = NDArray[np.int8]
Codes: TypeAlias = NDArray[np.uint8]

SAMPLE = 4096  # rows that decide the scale
_MARGIN = 1.25  # later vectors may reach a little further than the sample
_LEVELS = 127


def check(vectors: Floats, dimensions: int) -> Floats:
    """Unit vectors of the right width, or an error that says what is wrong with them."""
    if vectors.ndim != 2 or vectors.shape[1] != dimensions:
        raise EmbedderError(f"vectors of {dimensions} dimensions were expected, not of shape {vectors.shape}")
    if not np.isfinite(vectors).all():
        raise EmbedderError("a vector contains a number that is not finite (NaN or infinity)")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths == 0, 1, lengths), dtype=np.float32)


def calibrate(sample: Floats) -> Floats:
    """The width of one int8 step in each dimension."""
    typical = 1 / np.sqrt(sample.shape[1])
    reach = np.abs(sample).max(axis=0) * _MARGIN if len(sample) else np.zeros(sample.shape[1])
    return np.asarray(np.maximum(reach, typical) / _LEVELS, dtype=np.float32)


def to_bytes(vectors: Floats, scale: Floats) -> Bytes:
    """One byte a dimension."""
    return np.clip(np.rint(vectors / scale), -_LEVELS, _LEVELS).astype(np.int8)


def code_bytes(dimensions: int) -> int:
    """Bytes of one code: whole 64-bit words, which is what the scan reads."""
    return -(-dimensions // 64) * 8


def to_codes(rows: Floats | Bytes) -> Codes:
    """One bit a dimension: is it above zero? Padded with zero bits to whole words."""
    return pad_codes(np.packbits(rows > 0, axis=1), rows.shape[1])


def pad_codes(codes: Codes, dimensions: int) -> Codes:
    """Codes of the bare width (as data sets hold them) in whole words."""
    missing = code_bytes(dimensions) - codes.shape[1]
    return np.pad(codes, ((0, 0), (0, missing))) if missing else codes
