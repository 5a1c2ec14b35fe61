"""The tape that parts are recorded on and replayed from, and vectors, for which JSON has no form."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

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
