"""Libraries written in Rust panic where others raise: a `BaseException` that no handler expects.

tantivy, tokenizers, pydantic-monty and nh3 are called inside `typed`, so that a panic is an error like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

from wellread.errors import WellreadError


@contextmanager
def typed(error: Callable[[str], WellreadError], doing: str) -> Generator[None]:
    """Turn a panic of the block into `error`, which is told what was being done."""
    try:
        yield
    except BaseException as problem:
        # Each library has a class of its own by this name, and none can be imported.
        if type(problem).__name__ != "PanicException":
            raise
        raise error(f"{doing}: a library has failed ({str(problem)[:200]})") from problem
