"""Training and assignment of lists on a CUDA device, through torch where it is installed: the same lists, sooner."""

from __future__ import annotations

from importlib import import_module
from typing import Any, cast

import numpy as np

from wellread.errors import MissingExtra
from wellread.index.lists import Labels, Lists
from wellread.index.quantize import Bytes, Floats


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
    """The centre with the largest inner product."""
    t = torch()
    scores = t.from_numpy(np.ascontiguousarray(points)).cuda() @ t.from_numpy(np.ascontiguousarray(centres)).cuda().T
    return np.asarray(scores.argmax(dim=1).cpu().numpy(), dtype=np.uint32)


class Assigner:
    """Lists on the device: int8 rows go up, numbers of lists come down."""

    def __init__(self, lists: Lists) -> None:
        self._torch = torch()
        up = self._torch.from_numpy
        self._projection, self._centres, self._regions = (
            up(np.ascontiguousarray(part)).cuda() for part in (lists.projection, lists.centres, lists.regions)
        )
        self._inside = lists.count // len(lists.regions)

    def __call__(self, rows: Bytes) -> Labels:
        t = self._torch
        points = t.from_numpy(np.ascontiguousarray(rows)).cuda().float() @ self._projection
        region = (points @ self._regions.T).argmax(dim=1)
        # All lists at once and then the region's own: cheaper on a GPU than sorting the rows by region.
        scores = (points @ self._centres.T).view(len(points), -1, self._inside)
        within = scores[t.arange(len(points), device="cuda"), region].argmax(dim=1)
        return np.asarray((region * self._inside + within).cpu().numpy(), dtype=np.uint32)
