"""Training of lists and assignment to them on a CUDA device, through torch where it is installed: the same lists, sooner."""

from __future__ import annotations

from importlib import import_module
from typing import Any, cast

import numpy as np

from wellread.errors import MissingExtra
from wellread.index.lists import Labels, Lists, chief
from wellread.index.quantize import Bytes, Codes, Floats

DEVICE = "cuda"


def torch() -> Any:
    """torch with a device, or an error that says what is missing."""
    try:
        module = cast("Any", import_module("torch"))
    except ImportError:
        raise MissingExtra("building on a GPU", "cuda") from None
    if not module.cuda.is_available():
        raise MissingExtra("building on a GPU (torch sees no CUDA device)", "cuda")
    return module


def nearest_centre(points: Floats, centres: Floats) -> Labels:
    """The centre at the smallest distance."""
    up = torch().from_numpy
    return _nearest(*(up(np.ascontiguousarray(values)).to(DEVICE) for values in (points, centres)))


def _nearest(points: Any, centres: Any) -> Labels:
    scores = points @ centres.T - (centres * centres).sum(dim=1) / 2
    return np.asarray(scores.argmax(dim=1).cpu().numpy(), dtype=np.uint32)


class Encoder:
    """Lists on the device: int8 rows go up, numbers of lists and projected rows come down."""

    def __init__(self, lists: Lists) -> None:
        self._torch = torch()
        self._lists = lists
        up = self._torch.from_numpy
        self._projection, self._centres = (
            up(np.ascontiguousarray(values)).to(DEVICE) for values in (lists.projection, lists.centres)
        )

    def __call__(self, rows: Bytes) -> tuple[Labels, Codes]:
        points = self._torch.from_numpy(np.ascontiguousarray(rows)).to(DEVICE).float() @ self._projection
        labels = _nearest(*chief(points, self._centres))
        return labels, self._lists.sketches(points.cpu().numpy(), labels)
