"""Training of lists and assignment to them on a CUDA device, through torch where it is installed: the same lists, sooner."""

from __future__ import annotations

from importlib import import_module
from typing import Any, cast

import numpy as np

from wellread.errors import MissingExtra
from wellread.index.lists import Labels, Lists, chief
from wellread.index.quantize import Bytes, Codes, Floats


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
    t = torch()
    return _nearest(t, t.from_numpy(np.ascontiguousarray(points)).cuda(), t.from_numpy(np.ascontiguousarray(centres)).cuda())


def _nearest(t: Any, points: Any, centres: Any) -> Labels:
    scores = points @ centres.T - (centres * centres).sum(dim=1) / 2
    return np.asarray(scores.argmax(dim=1).cpu().numpy(), dtype=np.uint32)


class Encoder:
    """Lists on the device: int8 rows go up, numbers of lists and projected rows come down."""

    def __init__(self, lists: Lists) -> None:
        self._torch = torch()
        self._lists = lists
        up = self._torch.from_numpy
        self._projection = up(np.ascontiguousarray(lists.projection)).cuda()
        self._centres = up(np.ascontiguousarray(lists.centres)).cuda()

    def __call__(self, rows: Bytes) -> tuple[Labels, Codes]:
        t = self._torch
        points = t.from_numpy(np.ascontiguousarray(rows)).cuda().float() @ self._projection
        labels = _nearest(t, *chief(points, self._centres))
        return labels, self._lists.sketches(points.cpu().numpy(), labels)
