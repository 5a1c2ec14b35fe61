"""What parts reply, as plain JSON and back again without loss.

Fields that have their default are left out, which keeps recordings readable. Vectors are the one thing
that no person would read: they are float32 numbers in base64.
"""

from __future__ import annotations

import base64
import builtins
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from wellread import errors, plain
from wellread.plain import Json, decode
from wellread.types import Capabilities, Completion, Grade, Hit, Hits, Page, ShortAnswer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Shape(Generic[T]):
    """How one kind of reply is written and read."""

    encode: Callable[[Any], Any]
    decode: Callable[[Any], T]


def encode(value: object) -> Any:
    return plain.encode(value, whole=False)


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
        if isinstance(value, type(getattr(kind, name, value))):  # figures are figures
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
SHORT_ANSWERS: Shape[Sequence[ShortAnswer]] = _of_many(ShortAnswer)
PAGE: Shape[Page] = _of_one(Page)
COMPLETION: Shape[Completion] = _of_one(Completion)
CAPABILITIES: Shape[Capabilities] = _of_one(Capabilities)
