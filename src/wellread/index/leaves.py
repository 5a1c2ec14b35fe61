"""The passages of one document, each read when it is looked at: a document may have a hundred thousand of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from json.encoder import encode_basestring as quoted
from typing import overload

from wellread.types import Hit


class Leaves(Sequence[Hit]):
    """In order. Whoever looks at many of them does so beside the event loop."""

    def __init__(self, rows: Sequence[int], read: Callable[[int], Hit], line: Callable[[int], bytes]) -> None:
        """`read` and `line` give a passage by its number in the index, taken apart and as it is stored."""
        self._rows = rows
        self._read = read
        self._line = line

    def holding(self, words: str) -> Iterator[int]:
        """The places of passages with these words in their text, title, id or whatever else is stored of them."""
        stored = quoted(words)[1:-1].encode()
        return (place for place, row in enumerate(self._rows) if stored in self._line(row))

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, place: int) -> Hit: ...
    @overload
    def __getitem__(self, place: slice) -> Leaves: ...
    def __getitem__(self, place: int | slice) -> Hit | Leaves:
        return Leaves(self._rows[place], self._read, self._line) if isinstance(place, slice) else self._read(self._rows[place])
