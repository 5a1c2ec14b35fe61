"""The tape that parts are recorded on and replayed from, and the replies for which JSON has no form: vectors, errors."""

from __future__ import annotations

import builtins
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from wellread import errors
from wellread.codec import Json
from wellread.types import Completion

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

T = TypeVar("T")


class Tape(Protocol):
    """Where a part's calls go."""

    async def call(self, part: str, method: str, request: Json, job: Callable[[], Awaitable[T]], kind: type[T]) -> T: ...
    def stream(
        self, part: str, request: Json, job: Callable[[], AsyncIterator[str | Completion]]
    ) -> AsyncIterator[str | Completion]: ...
    def count(self, part: str, text: str, job: Callable[[], int]) -> int: ...
    def price(self, part: str, tokens: tuple[int, int], job: Callable[[], float | None]) -> float | None: ...
    def part(self, kind: str, spec: str, build: Callable[[], Any]) -> Any:
        """The part that is asked for by this name, on the tape; None or an error like the kit's."""
        ...

    def member(self, inner: Any, place: str) -> Any:
        """A source within a source, on the tape."""
        ...


@dataclass(frozen=True, slots=True)
class Vectors:
    """Numbers that no person would read: in base64."""

    shape: tuple[int, ...]
    float32: bytes

    @classmethod
    def of(cls, vectors: NDArray[np.float32]) -> Vectors:
        return cls(vectors.shape, vectors.astype("<f4").tobytes())

    def array(self) -> NDArray[np.float32]:
        import numpy as np

        return np.frombuffer(self.float32, dtype="<f4").reshape(self.shape)


@dataclass(frozen=True, slots=True)
class Fault:
    """An error's class, words and facts."""

    type: str
    message: str
    facts: Mapping[str, str | int | float | None] = field(default_factory=dict[str, str | int | float | None])

    @classmethod
    def of(cls, problem: BaseException) -> Fault:
        facts = {name: value for name, value in vars(problem).items() if isinstance(value, str | int | float | None)}
        return cls(type(problem).__name__, str(problem), facts)

    def error(self) -> Exception:
        """The same error again; one of a plugin's own classes gets a class of that name."""
        kind = getattr(errors, self.type, None) or getattr(builtins, self.type, None)
        if not (isinstance(kind, type) and issubclass(kind, Exception)):
            kind = type(self.type, (Exception,), {})
        problem = cast("type[Exception]", kind).__new__(kind)
        problem.args = (self.message,)
        for name, value in self.facts.items():
            if isinstance(value, type(getattr(kind, name, value))):  # figures are figures
                setattr(problem, name, value)
        return problem
