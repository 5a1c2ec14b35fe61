"""Values of ours as plain JSON types, and back again."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

Json = dict[str, Any]
_PLAIN: Mapping[Any, tuple[type, ...]] = {str: (str,), int: (int,), bool: (bool,), Literal: (str, int), Mapping: (dict,)}


def encode(value: object, *, whole: bool = True) -> Any:
    """Any of our values as JSON types; unless `whole`, without the fields that have their default."""
    # exact types first: whether a text is a Mapping is asked of every class that is one, and again whenever one is added
    if value is None or isinstance(value, str | bytes | int | float):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        found = ((f, getattr(value, f.name)) for f in fields(value))
        return {f.name: encode(item, whole=whole) for f, item in found if whole or not _is_default(f, item)}
    if isinstance(value, (list, tuple)):
        return [encode(item, whole=whole) for item in cast("Sequence[object]", value)]
    if isinstance(value, (dict, Mapping)):
        return {str(key): encode(item, whole=whole) for key, item in cast("Mapping[object, object]", value).items()}
    if isinstance(value, Sequence):
        return [encode(item, whole=whole) for item in cast("Sequence[object]", value)]
    return value


def decode(hint: Any, value: Any) -> Any:
    """JSON types as a value of ours; `hint` is its type."""
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        rest = [part for part in get_args(hint) if part is not type(None)]
        return None if value is None else decode(rest[0], value)
    if origin is tuple:
        return tuple(decode(get_args(hint)[0], item) for item in value)
    if (found := _PLAIN.get(origin or hint)) is not None:
        if not isinstance(value, found):
            raise TypeError(f"{type(value).__name__} in place of {hint}")
        return value
    if hint is float:
        return float(value)
    if is_dataclass(hint):
        if not isinstance(value, dict):
            raise TypeError(f"{type(value).__name__} in place of {hint}")
        hints = _hints(cast("type", hint))
        return cast("Any", hint)(**{name: decode(hints[name], item) for name, item in cast("Json", value).items()})
    if _is_named_tuple(hint):  # written as a list
        return hint(*(decode(part, item) for part, item in zip(_hints(hint).values(), value, strict=True)))
    return value


def _is_named_tuple(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, tuple) and hasattr(cast("type", hint), "_fields")


@cache
def _hints(kind: type) -> Mapping[str, Any]:
    return get_type_hints(kind)


def _is_default(spec: Field[Any], value: object) -> bool:
    if spec.default is not MISSING:
        return type(value) is type(spec.default) and value == spec.default
    return spec.default_factory is not MISSING and value == spec.default_factory()
