"""Weights on disk: float16 arrays in a few files of limited size."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Arrays = Mapping[str, NDArray[np.float32]]

LIMIT = 16_500_000  # bytes in one file


def save_weights(state: Arrays, folder: Path, limit: int = LIMIT) -> None:
    """Write `weights-N.npz`, each filled up to `limit` bytes; an array that does not fit is cut by rows."""
    folder.mkdir(parents=True, exist_ok=True)
    part: dict[str, NDArray[np.float16]] = {}
    written, room = 0, limit
    for name, value in state.items():
        array = np.asarray(value, np.float16)
        row_size = array[:1].nbytes
        start = 0
        while start < len(array):
            rows = room // row_size
            if rows == 0:
                np.savez(folder / f"weights-{written}.npz", allow_pickle=False, **part)
                part, room, written = {}, limit, written + 1
                continue
            piece = array[start : start + rows]
            part[f"{name}@{start}"] = piece
            room -= piece.nbytes
            start += len(piece)
    np.savez(folder / f"weights-{written}.npz", allow_pickle=False, **part)


def load_weights(folder: Path) -> dict[str, NDArray[np.float32]]:
    """The reverse of `save_weights`."""
    pieces: dict[str, dict[int, NDArray[np.float32]]] = {}
    for path in sorted(folder.glob("weights-*.npz")):
        with np.load(path) as arrays:
            for key in arrays.files:
                name, start = key.rsplit("@", 1)
                pieces.setdefault(name, {})[int(start)] = arrays[key].astype(np.float32)
    return {name: np.concatenate([parts[start] for start in sorted(parts)]) for name, parts in pieces.items()}
