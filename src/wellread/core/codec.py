"""JSON codec and validation: the one way of our values in and out.

Values are frozen dataclasses. `encode` and `decode` go between them and JSON types, `dumps` and `loads` between them and
text; whatever comes in is checked against the types of its fields, and what does not fit is a `ValueError` that names the
place (`$.hits[3].score`). Fields that a type does not know are passed over, so that a newer file can be read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, TypeVar, cast

import msgspec
from msgspec import UNSET as UNSET  # the value of a field that is not written at all
from msgspec import UnsetType as UnsetType

Json = dict[str, Any]
Raw = msgspec.Raw  # a part that stays packed until somebody knows its type
Meta = msgspec.Meta  # in a type: the least and the most that it may be, or what it looks like
T = TypeVar("T")


def encode(value: object) -> Any:
    """Any of our values as JSON types."""
    return msgspec.to_builtins(value, str_keys=True, enc_hook=_known)


def decode(kind: type[T], value: object, *, strict: bool = True) -> T:
    """JSON types as a value of ours; not `strict`: texts as the numbers that they are, too."""
    return msgspec.convert(value, kind, strict=strict)


def dumps(value: object) -> str:
    """Any of our values as one line of JSON."""
    try:
        return msgspec.json.encode(value, enc_hook=_known).decode()
    except UnicodeEncodeError:  # the name of a file whose bytes are no text
        return json.dumps(encode(value))


def loads(kind: type[T], text: str | bytes) -> T:
    """The value that stands in a text; `ValueError` also for brackets in brackets without end."""
    try:
        if b"\\ud" in text if isinstance(text, bytes) else "\\ud" in text:  # such a name, which msgspec does not read
            return decode(kind, json.loads(text))
        return msgspec.json.decode(text, type=kind)
    except RecursionError as problem:
        raise ValueError("it is nested too deeply") from problem


def pack(value: object) -> bytes:
    """A value as bytes (MessagePack): what is bytes in it stays as it is."""
    return msgspec.msgpack.encode(value)


def unpack(kind: type[T], data: bytes | bytearray) -> T:
    """The value that was packed; nothing but the types that it names can come of it."""
    return msgspec.msgpack.decode(data, type=kind)


def brief(value: object) -> Any:
    """A value as JSON types without the fields that have their default, for a person to read."""
    if is_dataclass(value) and not isinstance(value, type):
        found = ((f, getattr(value, f.name)) for f in fields(value))
        return {f.name: brief(item) for f, item in found if not _is_default(f, item)}
    if isinstance(value, (list, tuple)):
        return [brief(item) for item in cast("Sequence[object]", value)]
    return encode(value)


def _known(value: object) -> object:
    """Encoding hook for types that are not ours: numbers of numpy, other mappings and sequences."""
    if isinstance(value, Mapping):
        return dict(cast("Mapping[object, object]", value))
    if isinstance(value, Sequence):
        return list(cast("Sequence[object]", value))
    if hasattr(value, "tolist"):
        return cast("Any", value).tolist()
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def _is_default(spec: Field[Any], value: object) -> bool:
    if spec.default is not MISSING:
        return type(value) is type(spec.default) and value == spec.default
    return spec.default_factory is not MISSING and value == spec.default_factory()
