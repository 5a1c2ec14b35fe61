"""What our recipes have in common. One of a plugin needs no base: it only has to be a `run.Strategy`."""

from __future__ import annotations

from typing import ClassVar, Generic, TypeVar

P = TypeVar("P")


class Recipe(Generic[P]):
    needs_model: ClassVar[bool] = True

    def __init__(self, params: P) -> None:
        self.params = params
