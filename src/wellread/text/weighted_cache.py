"""Memoisation by how much text results were made of: a count alone lets a few long texts fill the memory."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, ParamSpec, TypeVar

from wellread.types import Passage

P = ParamSpec("P")
R = TypeVar("R")


class Remembered(Generic[P, R]):
    """A function whose results are kept until the texts that they were made of have so many characters together; those that
    nobody has asked for the longest go first. The last one stays, however long it is: whoever asks for it will ask again."""

    def __init__(self, function: Callable[P, R], characters: int) -> None:
        self._function, self._characters = function, characters
        self._kept: OrderedDict[Hashable, tuple[R, int]] = OrderedDict()
        self._total = 0
        self._lock = threading.Lock()

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        key = (args, *kwargs.items()) if kwargs else args
        with self._lock:
            if (known := self._kept.get(key)) is not None:
                self._kept.move_to_end(key)
                return known[0]
        made, given = self._function(*args, **kwargs), (*args, *kwargs.values())
        texts = (value.text if isinstance(value, Passage) else value for value in given)
        size = sum(len(text) for text in texts if isinstance(text, str))
        with self._lock:
            if key not in self._kept:
                self._kept[key] = made, size
                self._total += size
            while self._total > self._characters and len(self._kept) > 1:
                self._total -= self._kept.popitem(last=False)[1][1]
        return made

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()
            self._total = 0


def remembered(characters: int) -> Callable[[Callable[P, R]], Remembered[P, R]]:
    def remembering(function: Callable[P, R]) -> Remembered[P, R]:
        return Remembered(function, characters)

    return remembering
