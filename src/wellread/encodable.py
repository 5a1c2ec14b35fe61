"""Text that every file, database, stream and terminal can hold.

Models, pages, services and file names may bring what UTF-8 cannot write (halves of characters, bytes of
another encoding) and NUL, at which others end a text. Values from outside are `Encodable`: whoever makes one,
a plugin too, gets it mended, so that nothing behind it has to think of this.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from operator import attrgetter
from typing import Any, ClassVar, TypeVar, cast

T = TypeVar("T")
_PLAIN = frozenset((type(None), float, int, bool))  # asking whether one of these is a mapping would cost more than all texts
_EMPTY = frozenset((str, tuple, dict, list))
_HALF = re.compile("[\ud800-\udfff]")


def encodable(value: T) -> T:
    """A text, or a list or mapping of texts, that can be written; the same object where it could be before."""
    if isinstance(value, str):
        return _text(value)  # pyright: ignore[reportReturnType]  a cast is a call, and this is called for every text
    if type(value) in _PLAIN or isinstance(value, Encodable):  # mended when it was made
        return value
    if isinstance(value, (list, tuple)):
        return cast("T", _parts(cast("list[Any] | tuple[Any, ...]", value)))
    if isinstance(value, Mapping):
        return cast("T", _mapping(cast("Mapping[Any, Any]", value)))
    return value


def _mapping(value: Mapping[Any, Any]) -> Mapping[Any, Any]:
    mended = {encodable(key): encodable(item) for key, item in value.items()}
    unchanged = all(key in mended and mended[key] is item for key, item in value.items())
    return value if unchanged else mended


def _parts(value: list[Any] | tuple[Any, ...]) -> list[Any] | tuple[Any, ...]:
    mended = [encodable(part) for part in value]
    if all(new is old for new, old in zip(mended, value, strict=True)):
        return value
    return mended if isinstance(value, list) else tuple(mended)


def _text(text: str) -> str:
    if text.isascii():  # which Python knows without looking
        return text.replace("\0", "") if "\0" in text else text
    try:
        text.encode()
    except UnicodeEncodeError:
        joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")  # two halves are a character
        text = _HALF.sub(_instead, joined)
    return text.replace("\0", "") if "\0" in text else text


def _instead(half: re.Match[str]) -> str:
    """Python reads byte E9 of a file's name as U+DCE9; written as \\xe9, two such names stay two."""
    byte = ord(half[0]) - 0xDC00
    return f"\\x{byte:02x}" if 0x80 <= byte <= 0xFF else "\ufffd"


class Encodable:
    """A base of frozen dataclasses: the texts in their fields can be written, from the beginning."""

    __slots__ = ()
    __dataclass_fields__: ClassVar[Mapping[str, Any]]

    def __post_init__(self) -> None:
        for value in _fields_of(self.__class__)(self):
            if (kind := value.__class__) is str:
                if (not value.isascii() or "\0" in value) and _text(value) is not value:
                    break
            elif kind not in _PLAIN and value and not _is_mended(value):
                break
        else:
            return  # as nearly always
        for name in self.__dataclass_fields__:
            object.__setattr__(self, name, encodable(getattr(self, name)))


@cache
def _fields_of(kind: type[Encodable]) -> attrgetter[tuple[Any, ...]]:
    """Reads all fields at once. Of a single field it would give the value alone: the module's name is read with it."""
    return attrgetter("__module__", *kind.__dataclass_fields__)


def _is_mended(value: Any) -> bool:
    """Whether there is nothing to mend in it: as in nearly every tuple."""
    kind = value.__class__
    if kind is tuple:
        return all(map(_is_mended, value))
    return _text(value) is value if kind is str else kind in _PLAIN or isinstance(value, Encodable)


class Pieces:
    """Text that comes in pieces: a character whose halves come one after the other is held until it is whole."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """What can be said now; together with `rest` it is what `encodable` makes of the whole."""
        text = self._held + piece
        self._held = text[-1] if "\ud800" <= text[-1:] <= "\udbff" else ""
        return encodable(text[: len(text) - len(self._held)])

    def rest(self) -> str:
        held, self._held = self._held, ""
        return encodable(held)
