"""Unicode safety: surrogates and NUL are mended, so that every file, database, stream and terminal can hold a text.

Models, pages, services and file names may bring what UTF-8 cannot write (halves of characters, bytes of
another encoding) and NUL, at which others end a text. Values from outside are `Encodable`: whoever makes one,
a plugin too, gets it mended, so that nothing behind it has to think of this.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, ClassVar, TypeVar, cast

T = TypeVar("T")
_PLAIN = frozenset((type(None), float, int, bool))  # asking whether one of these is a mapping would cost more than all texts
_TWO_HALVES = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def encodable(value: T) -> T:
    """A text, or a list or mapping of texts, that can be written; the same object where it could be before."""
    if isinstance(value, str):
        return _text(value)  # pyright: ignore[reportReturnType]  a cast is a call, and this is called for every text
    if type(value) in _PLAIN or isinstance(value, Encodable):  # mended when it was made
        return value
    if isinstance(value, (list, tuple)):
        return _parts(value)  # pyright: ignore[reportReturnType, reportUnknownArgumentType]
    if isinstance(value, (dict, Mapping)):  # a dictionary is known as one in a tenth of the time
        return _mapping(value)  # pyright: ignore[reportReturnType, reportUnknownArgumentType]
    return value


def _mapping(value: Mapping[Any, Any]) -> Mapping[Any, Any]:
    mended = {encodable(key): encodable(item) for key, item in value.items()}
    unchanged = all(key in mended and mended[key] is item for key, item in value.items())
    return value if unchanged else mended


def _parts(value: list[Any] | tuple[Any, ...]) -> list[Any] | tuple[Any, ...]:
    for part in value:
        if not isinstance(part, Encodable) and encodable(part) is not part:
            mended = map(encodable, value)
            return list(mended) if isinstance(value, list) else tuple(mended)
    return value


def _text(text: str) -> str:
    if text.isascii():  # which Python knows without looking
        return text.replace("\0", "") if "\0" in text else text
    try:
        text.encode()
    except UnicodeEncodeError:
        if _TWO_HALVES.search(text):  # which are a character
            text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        text = text.translate(_Mended())
    return text.replace("\0", "") if "\0" in text else text


class _Mended(dict[int, int | str]):
    """Translation table of signs, filled once for each: a text of nothing but halves is mended as fast as another."""

    def __missing__(self, sign: int) -> int | str:
        instead: int | str = sign
        if 0xD800 <= sign <= 0xDFFF:  # Python reads byte E9 of a file's name as U+DCE9; written as \xe9, two such names stay two
            instead = f"\\x{sign - 0xDC00:02x}" if 0xDC80 <= sign <= 0xDCFF else "\ufffd"
        self[sign] = instead
        return instead


class Encodable:
    """A base of frozen dataclasses: the texts in their fields can be written, from the beginning."""

    __slots__ = ()
    __dataclass_fields__: ClassVar[Mapping[str, Any]]

    def __post_init__(self) -> None:
        self.mend()
        self.settle()

    def mend(self) -> None:
        for name in self.__dataclass_fields__:
            object.__setattr__(self, name, encodable(getattr(self, name)))

    def settle(self) -> None:
        """Put right what else there is to a value of this kind."""

    @classmethod
    def closing(cls, known: dict[str, Any]) -> Sequence[str]:
        """`__post_init__` as the last lines of an `__init__` that is written for the class, with the names that these know: going
        through the fields of every value that is made cost the engine a tenth of its time."""
        if cls.__post_init__ is not Encodable.__post_init__:
            return [" self.__post_init__()"]
        known.update(_KNOWN)
        settled = [] if cls.settle is Encodable.settle else [" self.settle()"]
        text = "(_kind := _value.__class__) is str and _value.isascii() and NUL not in _value"
        each = f"(not (_value := {{}}) or {text} or _kind in PLAIN or encodable(_value) is _value)"
        return [f" if not ({' and '.join(map(each.format, cls.__dataclass_fields__))}): self.mend()", *settled]


_KNOWN: Mapping[str, Any] = {"NUL": "\0", "PLAIN": _PLAIN, "encodable": encodable}


def with_texts(value: T, change: Callable[[str], str]) -> T:
    """The same value with every text in it changed, in lists, mappings and dataclasses, too."""
    if isinstance(value, str):
        return cast("T", change(value))
    if isinstance(value, tuple | list):
        items = [with_texts(item, change) for item in cast("list[object]", value)]
        return cast("T", tuple(items) if isinstance(value, tuple) else items)
    if isinstance(value, Mapping):
        return cast("T", {key: with_texts(item, change) for key, item in cast("Mapping[object, object]", value).items()})
    if is_dataclass(value) and not isinstance(value, type):
        own = (one.name for one in fields(value) if one.init)
        return replace(cast("Any", value), **{name: with_texts(getattr(value, name), change) for name in own})
    return value


class Pieces:
    """Text that comes in pieces: a character whose halves come one after the other is held until it is whole."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """The decodable part so far; together with `rest` it is what `encodable` makes of the whole."""
        if not self._held and piece.isascii():  # as nearly every piece
            return encodable(piece)
        text = self._held + piece
        self._held = text[-1] if "\ud800" <= text[-1:] <= "\udbff" else ""
        return encodable(text[: len(text) - len(self._held)])

    def rest(self) -> str:
        held, self._held = self._held, ""
        return encodable(held)
