"""Values of a run as plain JSON, and back again without loss.

Fields that have their default are left out, which keeps recordings readable. Vectors are the one thing
that no person would read: they are float32 numbers in base64.
"""

from __future__ import annotations

import base64
import builtins
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from wellread import errors
from wellread.types import Capabilities, Completion, Grade, Hit, Hits, Page, Reading

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

T = TypeVar("T")
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Shape(Generic[T]):
    """How one kind of reply is written and read."""

    encode: Callable[[Any], Any]
    decode: Callable[[Any], T]


def encode(value: object) -> Any:
    """Any of our values as JSON types."""
    if is_dataclass(value) and not isinstance(value, type):
        found = ((f, getattr(value, f.name)) for f in fields(value))
        return {f.name: encode(item) for f, item in found if not _is_default(f, item)}
    if isinstance(value, Mapping):
        return {str(key): encode(item) for key, item in cast("Mapping[object, object]", value).items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [encode(item) for item in cast("Sequence[object]", value)]
    return value


def decode(hint: Any, value: Any) -> Any:
    """JSON types as a value of ours; `hint` is its type."""
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        rest = [part for part in get_args(hint) if part is not type(None)]
        return None if value is None else decode(rest[0], value)
    if origin is tuple:
        return tuple(decode(get_args(hint)[0], item) for item in value)
    if origin is Literal or origin is Mapping or value is None:
        return value
    if hint is float:
        return float(value)
    if is_dataclass(hint):
        hints = _hints(cast("type", hint))
        return cast("Any", hint)(**{name: decode(hints[name], item) for name, item in value.items()})
    return value


def encode_error(problem: BaseException) -> Json:
    """An error's class, words and facts."""
    facts = {name: value for name, value in vars(problem).items() if isinstance(value, str | int | float | None)}
    return {"type": type(problem).__name__, "message": str(problem), **({"facts": facts} if facts else {})}


def decode_error(data: Json) -> Exception:
    """The same error again; one of a plugin's own classes gets a class of that name."""
    kind = getattr(errors, data["type"], None) or getattr(builtins, data["type"], None)
    if not (isinstance(kind, type) and issubclass(kind, Exception)):
        kind = type(data["type"], (Exception,), {})
    problem = cast("type[Exception]", kind).__new__(kind)
    problem.args = (data["message"],)
    for name, value in data.get("facts", {}).items():
        setattr(problem, name, value)
    return problem


def _encode_vectors(vectors: NDArray[np.float32]) -> Json:
    import numpy as np

    numbers = np.ascontiguousarray(vectors, dtype="<f4")
    return {"shape": list(numbers.shape), "float32": base64.b64encode(numbers.tobytes()).decode()}


def _decode_vectors(data: Json) -> NDArray[np.float32]:
    import numpy as np

    return np.frombuffer(base64.b64decode(data["float32"]), dtype="<f4").reshape(data["shape"])


def _of_many(kind: Any) -> Shape[Any]:
    return Shape(lambda values: [encode(value) for value in values], lambda data: [decode(kind, item) for item in data])


def _of_one(kind: Any) -> Shape[Any]:
    return Shape(encode, lambda data: decode(kind, data))


HITS: Shape[Sequence[Hit]] = Shape(lambda found: encode(Hits.all_of(found)), lambda data: decode(Hits, data))
VECTORS: Shape[NDArray[np.float32]] = Shape(_encode_vectors, _decode_vectors)
SCORES: Shape[Sequence[float]] = Shape(lambda scores: [float(score) for score in scores], list)
GRADES: Shape[Sequence[Grade]] = _of_many(Grade)
READINGS: Shape[Sequence[Reading]] = _of_many(Reading)
PAGE: Shape[Page] = _of_one(Page)
COMPLETION: Shape[Completion] = _of_one(Completion)
CAPABILITIES: Shape[Capabilities] = _of_one(Capabilities)


@cache
def _hints(kind: type) -> Mapping[str, Any]:
    return get_type_hints(kind)


def _is_default(spec: Field[Any], value: object) -> bool:
    if spec.default is not MISSING:
        return type(value) is type(spec.default) and value == spec.default
    return spec.default_factory is not MISSING and value == spec.default_factory()
