"""What an OpenAI-compatible embeddings server sends back, checked."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

_LONGEST_COMPLAINT = 300


def read_vectors(body: bytes, count: int, dimensions: int | None) -> NDArray[np.float32]:
    """Unit vectors in the order of the request; raises `ValueError` with what is wrong with the reply."""
    try:
        items = cast("list[Mapping[str, Any]]", json.loads(body)["data"])
        placed = {int(item.get("index", place)): item["embedding"] for place, item in enumerate(items)}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ValueError("the reply is not a list of embeddings") from None
    if len(items) != count or set(placed) != set(range(count)):
        raise ValueError(f"{count} texts were sent and {len(items)} vectors came back")
    rows = [_row(placed[place]) for place in range(count)]
    expected = dimensions or len(rows[0])
    if wrong := {len(row) for row in rows} - {expected}:
        raise ValueError(f"vectors of {expected} dimensions were expected, not of {', '.join(map(str, sorted(wrong)))}")
    vectors = np.stack(rows)
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(norms).all() or not norms.all():
        raise ValueError("a vector is zero or not finite")
    return vectors / norms


def _row(value: object) -> NDArray[np.float32]:
    """One vector: a list of numbers, or the bytes of little-endian floats in base64."""
    try:
        if isinstance(value, str):
            return np.frombuffer(base64.b64decode(value, validate=True), dtype="<f4").astype(np.float32)
        row = np.asarray(value, dtype=np.float32)
    except (ValueError, TypeError):
        raise ValueError("a vector is not made of numbers") from None
    if row.ndim != 1 or not row.size:
        raise ValueError("a vector is not a list of numbers")
    return row


def complaint(body: bytes) -> str:
    """The server's own words about an error, on one line: the usual fields, else the start of the text."""
    try:
        data: object = json.loads(body)
    except ValueError:
        data = body.decode("utf-8", "replace")
    for key in ("error", "message", "detail"):
        if isinstance(data, dict) and key in data:
            data = cast("dict[str, object]", data)[key]
    text = data if isinstance(data, str) else json.dumps(data)
    return " ".join(text.split())[:_LONGEST_COMPLAINT]


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a Retry-After header asks to wait, in either of its forms."""
    value = headers.get("retry-after", "").strip()
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None
