"""Cache of embeddings that were made before their passage's turn, in a file for the commands to come.

A question must not wait until a whole folder is embedded: what words find first gets its vector at once, and the index its own
later, in order and batches of its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

import numpy as np

from wellread.index.quantize import Floats
from wellread.protocols import Embedder

FILE = "early.vectors"


class Kept:
    """An embedder that finds passages in a file before it computes them, by a checksum of their text."""

    def __init__(self, embedder: Embedder, folder: Path) -> None:
        self._embedder, self._path = embedder, folder / FILE
        self.name, self.dimensions = embedder.name, embedder.dimensions
        self._row = np.dtype([("text", "V16"), ("vector", "<f4", (self.dimensions,))])

    async def embed(self, texts: Sequence[str], *, kind: Literal["query", "passage"]) -> Floats:
        """Vectors from the cache; new ones are computed and written down, as far as that is possible."""
        if kind == "query":
            return await self._embedder.embed(texts, kind=kind)
        known = self._read()
        keys = [hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest() for text in texts]
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if new:
            made = await self._embedder.embed([*new.values()], kind=kind)
            rows = np.array([*zip(new, made, strict=True)], self._row)
            with suppress(OSError), self._path.open("ab") as out:
                out.write(rows.tobytes())
            known |= zip(new, made, strict=True)
        return np.array([known[key] for key in keys], np.float32)

    def _read(self) -> dict[bytes, Floats]:
        """Vectors in the cache file; one that was cut off begins anew."""
        try:
            rows = np.fromfile(self._path, np.uint8)
        except OSError:
            return {}
        if len(rows) % self._row.itemsize:
            self._path.unlink(missing_ok=True)
            return {}
        return {bytes(row["text"]): row["vector"] for row in rows.view(self._row)}
