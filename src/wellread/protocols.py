"""The seams. Each has one or two methods; adapters translate, so nobody above sees a vendor's types."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar, runtime_checkable

from wellread.effort import Effort
from wellread.types import Capabilities, Completion, Grade, Hit, Judgement, Original, Page, Passage, Prompt, Query, ShortAnswer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

T = TypeVar("T")


@runtime_checkable
class Source(Protocol):
    """Something that can be searched. `hint` tells a model how to query it well."""

    @property
    def name(self) -> str: ...
    @property
    def hint(self) -> str: ...
    async def search(self, query: Query) -> Sequence[Hit]:
        """Best first. Nothing found is an empty list; a failing service raises `SourceError`.

        Where only a part failed (one source of several, one page of a list), `Hits` says so.
        """
        ...


@runtime_checkable
class Closing(Protocol):
    """Parts that hold connections or files may have this; the engine calls it at the end."""

    async def aclose(self) -> None: ...


@runtime_checkable
class Model(Protocol):
    """A language model."""

    @property
    def name(self) -> str: ...
    @property
    def capabilities(self) -> Capabilities: ...
    def stream(self, prompt: Prompt) -> AsyncIterator[str | Completion]:
        """Pieces of text as they come; the last item is the `Completion` with the whole text."""
        ...

    def count_tokens(self, text: str) -> int:
        """Exact where the model can tell, else an estimate that errs upwards."""
        ...


@runtime_checkable
class Checked(Protocol):
    """Models may have this: whether it is there, asked before anything else is done."""

    async def check(self) -> None:
        """Raises `UnknownModel` or another `ModelError` where a call would fail."""
        ...


@runtime_checkable
class Priced(Protocol):
    """Models may have this: the price of a call whose completion never came, from estimated tokens."""

    def price(self, input_tokens: int, output_tokens: int) -> float | None:
        """US dollars, or None when the price is not known. Never a guess."""
        ...


@runtime_checkable
class Embedder(Protocol):
    """Texts to unit vectors of float32. Queries and passages may be prompted differently."""

    @property
    def name(self) -> str: ...
    @property
    def dimensions(self) -> int: ...
    async def embed(self, texts: Sequence[str], *, kind: Literal["query", "passage"]) -> NDArray[np.float32]: ...


# What a source may offer besides. Whoever wraps a source passes these on.


@runtime_checkable
class Computed(Protocol):
    """An embedder that can compute the same model in several ways, or a feed of its vectors."""

    def settle(self, way: str = "") -> str:
        """Compute all passages from now on in one way, and name it; in this `way`, where one is asked for, or raise."""
        ...


@runtime_checkable
class Linked(Protocol):
    """A source whose cross-references can be followed by title."""

    async def find_title(self, title: str) -> Sequence[Hit]: ...


@runtime_checkable
class Shelf(Protocol):
    """A source that holds whole documents and can give all passages of one, in order."""

    async def passages(self, document: str) -> Sequence[Hit]: ...


@runtime_checkable
class Archive(Shelf, Protocol):
    """A shelf that knows which files its documents were read from."""

    async def original(self, document: str) -> Original: ...


@runtime_checkable
class Group(Protocol):
    """Several sources as one."""

    @property
    def sources(self) -> Sequence[Source]: ...


def members(source: Source) -> Sequence[Source]:
    """The sources of a group; any other is its own and only one. Asking for the protocol by name takes as long as a search."""
    return getattr(source, "sources", None) or (source,)


@runtime_checkable
class Tunable(Protocol):
    """A source that can be searched with other options of its own for once."""

    def tuned(self, **options: int) -> Source: ...


@runtime_checkable
class Exemplary(Protocol):
    """A source that brings examples of queries that find something in it."""

    @property
    def examples(self) -> str: ...


@runtime_checkable
class Reranker(Protocol):
    """Relevance of passages to a question; one score each, in the order given."""

    async def rerank(self, question: str, passages: Sequence[Passage]) -> Sequence[float]: ...


@runtime_checkable
class Grader(Protocol):
    """Judges passages; with calibrated scores where it has them."""

    async def grade(self, question: str, passages: Sequence[Passage]) -> Sequence[Grade]: ...


@runtime_checkable
class ChainGrader(Protocol):
    """A grader that can judge a passage with those that lead to it: the last of each chain is what is graded."""

    async def grade_chains(self, question: str, chains: Sequence[Sequence[Passage]]) -> Sequence[Grade]: ...


@runtime_checkable
class AnswerReader(Protocol):
    """Reads a short answer out of passages, best first; `pairs` are read together."""

    async def read(self, question: str, passages: Sequence[Passage]) -> Sequence[ShortAnswer]: ...


@runtime_checkable
class ClaimReader(Protocol):
    """A reader that says whether passages carry a sentence, knowing what the rules saw at it; None where it cannot tell."""

    async def carries(self, claim: str, passages: Sequence[Passage], signs: Sequence[str], share: float) -> Judgement | None: ...


@runtime_checkable
class Trained(Protocol):
    """A judge that knows some languages only; one that does not say so may be asked in any."""

    @property
    def languages(self) -> frozenset[str]:
        """Codes of the languages that it was trained for."""
        ...


def trained(judge: T | None, language: str | None) -> T | None:
    """The judge, if it may be asked in a language; None is English, for which everything here was trained."""
    return judge if language is None or not isinstance(judge, Trained) or language in judge.languages else None


@runtime_checkable
class PageReader(Protocol):
    """Fetches a page (or a file) and returns its main text; raises `ReadError`."""

    async def read(self, url: str) -> Page: ...


class Kit(Protocol):
    """Where parts come from: built from settings on first use, shared within one engine.

    Plugin factories get it, so that a source can ask for an embedder without knowing which.
    """

    @property
    def effort(self) -> Effort: ...
    @property
    def cache(self) -> bool:
        """False with `--no-cache`: nothing may come from an HTTP cache."""
        ...

    @property
    def environ(self) -> Mapping[str, str]: ...
    def source(self, spec: str) -> Source: ...
    def model(self, spec: str | None = None) -> Model:
        """The run's model, or the one named; raises `UsageError` when there is none."""
        ...

    def embedder(self, spec: str | None = None) -> Embedder: ...
    def reranker(self, spec: str | None = None) -> Reranker | None: ...
    def grader(self, spec: str | None = None) -> Grader | None: ...
    def answer_reader(self) -> AnswerReader | None: ...
    def pages(self) -> PageReader: ...
