"""Training of lists and assignment to them on a CUDA device, through torch where it is installed: the same lists, sooner."""

from __future__ import annotations

from importlib import import_module
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from wellread.errors import MissingExtra, optional
from wellread.index.lists import Labels, Lists, chief
from wellread.index.quantize import Bytes, Codes, Floats

DEVICE = "cuda"


def torch() -> Any:
    """torch with a device, or an error that says what is missing."""
    with optional("building on a GPU", "cuda"):
        module = cast("Any", import_module("torch"))
    if not module.cuda.is_available():
        raise MissingExtra("building on a GPU (torch sees no CUDA device)", "cuda")
    return module


def nearest_centre(points: Floats, centres: Floats) -> Labels:
    """The centre at the smallest distance."""
    up = torch().from_numpy
    return _down(_scores(*(up(np.ascontiguousarray(values)).to(DEVICE) for values in (points, centres))).argmax(dim=1), np.uint32)


def _scores(points: Any, centres: Any) -> Any:
    return points @ centres.T - (centres * centres).sum(dim=1) / 2


def _down(values: Any, kind: Any) -> NDArray[Any]:
    return np.asarray(values.cpu().numpy(), dtype=kind)


class Encoder:
    """Lists on the device: int8 rows go up; numbers of lists and sketches come down, a sixteenth of that."""

    def __init__(self, lists: Lists) -> None:
        self._torch = torch()
        up = self._torch.from_numpy
        self._projection, self._centres, self._steps = (
            up(np.ascontiguousarray(values)).to(DEVICE) for values in (lists.projection, lists.centres, lists.steps)
        )
        self._places = up(np.array([128, 64, 32, 16, 8, 4, 2, 1], np.uint8)).to(DEVICE)

    def __call__(self, rows: Bytes) -> tuple[Labels, Codes]:
        points = self._torch.from_numpy(np.ascontiguousarray(rows)).to(DEVICE).float() @ self._projection
        scores = _scores(*chief(points, self._centres))
        labels = scores.argmax(dim=1)
        rest = points - self._centres[labels]
        first = rest > 0
        second = (rest.abs() > self._steps) == first
        sketches = self._torch.cat([self._packed(first), self._packed(second)], dim=1)
        return _down(labels, np.uint32), _down(sketches, np.uint8)

    def _packed(self, bits: Any) -> Any:
        return (bits.view(len(bits), -1, 8) * self._places).sum(dim=2, dtype=self._torch.uint8)
