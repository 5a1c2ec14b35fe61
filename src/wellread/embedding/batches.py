"""Batches of texts of like length, so that little is spent on padding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def by_length(lengths: Sequence[int], *, budget: int, most: int | None = None, multiple: int = 1) -> Iterator[list[int]]:
    """Positions of `lengths`, shortest first, in batches.

    A batch padded to its longest member, rounded up to `multiple`, holds at most `budget` in all and `most`
    members; something longer than the budget is a batch of its own.
    """
    batch: list[int] = []
    for position in sorted(range(len(lengths)), key=lengths.__getitem__):
        width = padded(lengths[position], multiple)
        if batch and (width * (len(batch) + 1) > budget or len(batch) == most):
            yield batch
            batch = []
        batch.append(position)
    if batch:
        yield batch


def padded(length: int, multiple: int) -> int:
    """`length` rounded up to a multiple."""
    return -(-length // multiple) * multiple
