"""One thread for numpy's matrix products while our own threads share out the work.

OpenBLAS starts a thread per core for every product; under threads of ours these wait for each other by spinning, which
made assignment to lists three times as dear. numpy has no switch for it, so the library that its wheels carry is asked.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

_GET, _SET = "scipy_openblas_get_num_threads64_", "scipy_openblas_set_num_threads64_"


@cache
def _switch() -> tuple[Callable[[], int], Callable[[int], Any]] | None:
    for path in (Path(np.__file__).parents[1] / "numpy.libs").glob("*openblas*"):
        library = ctypes.CDLL(str(path))
        if hasattr(library, _SET):
            return getattr(library, _GET), getattr(library, _SET)
    return None  # another build of numpy: slower, not wrong


@contextmanager
def one_thread() -> Generator[None]:
    """Within, a matrix product uses the thread that asks for it."""
    switch = _switch()
    if switch is None:
        yield
        return
    get, put = switch
    before = get()
    put(1)
    try:
        yield
    finally:
        put(before)
