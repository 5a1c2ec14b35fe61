"""Interfaces of adapters: base classes with defaults, small protocols. Nobody above an adapter sees a vendor's types."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar, runtime_checkable

from wellread.core.effort import Effort
from wellread.errors import UsageError
from wellread.types import Capabilities, Claim, Completion, Grade, Hit, Judgement, Original, Page, Passage, Prompt, Query

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Source:
    """Base class of sources: something that can be searched. Give it a `name`, say in `hint` how a model queries it well, and
    write `search`; all else has a default that fits a source that cannot do more."""

    name: str
    hint: str = ""
    examples: str = ""  # of queries that find something in it
    public: bool = False  # a service of others: what it is asked leaves the operator's hands
    private: bool | None = None  # whether what it says is the operator's own; None: where nobody said so, see `is_private`
    has_documents: bool = False  # whether `passages` knows whole documents
    unfinished: tuple[str, ...] = ()  # what cannot be found in it yet, for the reader of an answer
    # of groups and wrappers: the sources that hear the query in its stead; a wrapper of one can what that one can
    parts: Sequence[Source] = ()

    @property
    def members(self) -> Sequence[Source]:
        """The sources of a group; any other is its own and only one."""
        return (self,)

    async def search(self, query: Query) -> Sequence[Hit]:
        """Best first. Nothing found is an empty list; a failing service raises `SourceError`.

        Where only a part failed (one source of several, one page of a list), `Hits` says so.
        """
        raise NotImplementedError

    async def find_title(self, title: str) -> Sequence[Hit]:
        """The passages of the document that a cross-reference names, and those whose titles stand in a text."""
        return await self.parts[0].find_title(title) if len(self.parts) == 1 else ()

    async def passages(self, document: str) -> Sequence[Hit]:
        """All passages of a document, in order."""
        return await self.parts[0].passages(document) if len(self.parts) == 1 else ()

    async def original(self, document: str) -> Original:
        """The file that a document was read from."""
        return await self.parts[0].original(document) if len(self.parts) == 1 else Original("none")

    async def catch_up(self, seconds: float, progress: Callable[[str, int, int | None], None]) -> None:
        """Spend some time on what is `unfinished`; asked for when nobody waits for an answer, and safe to cancel."""
        for one in self.parts:
            await one.catch_up(seconds, progress)

    def tuned(self, **options: int) -> Source:
        """The same source, searched with other options of its own for once."""
        return self

    def remembered(self) -> Sequence[Hit] | None:
        """Passages of earlier answers of a conversation, where those are what it searches."""
        return None

    def is_private(self) -> bool:
        """Whether what it says is the operator's own: where nobody says so, all is that is no service of others."""
        return not self.public if self.private is None else self.private

    async def aclose(self) -> None:
        """Let go of connections and files."""


def checked(source: object, spec: str) -> Source:
    """A source that somebody else has made, if it is one."""
    if isinstance(source, Source):
        return source
    raise UsageError(f"{spec}: {type(source).__name__} is no source: derive it from wellread.protocols.Source")


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


@runtime_checkable
class Computed(Protocol):
    """An embedder that can compute the same model in several ways."""

    def settle(self, way: str = "") -> str:
        """Compute all passages from now on in one way, and name it; in this `way`, where one is asked for, or raise."""
        ...


class Judge:
    """Base class of models that read passages for a question, and may not know its language."""

    def knows(self, language: str) -> float:
        """How well it knows a language, by its code: 1 like English, 0 not at all."""
        return 1.0


J = TypeVar("J")


def trained(judge: J | None, language: str | None) -> J | None:
    """The judge or embedder, if it may be asked in a language; None is English, for which everything here was trained."""
    return judge if knowing(judge, language) else None


def knowing(judge: object, language: str | None) -> float:
    """How well it knows a question's language."""
    return judge.knows(language) if language is not None and isinstance(judge, Judge) else 1.0


class Reranker(Judge):
    """Relevance of passages to a question; one score each, in the order given."""

    async def rerank(self, question: str, passages: Sequence[Passage]) -> Sequence[float]:
        raise NotImplementedError


class Grader(Judge):
    """Judges passages; with calibrated scores where it has them."""

    async def grade(self, question: str, passages: Sequence[Passage]) -> Sequence[Grade]:
        raise NotImplementedError

    async def grade_chains(self, question: str, chains: Sequence[Sequence[Passage]]) -> Sequence[Grade]:
        """Grades of the last of each chain, by one that can with those that lead to it."""
        return await self.grade(question, [chain[-1] for chain in chains])


class AnswerReader(Judge):
    """Says whether passages carry what an answer tells; the evaluator, which also follows them and reads the answer."""

    async def carries(self, claims: Sequence[Claim]) -> Sequence[Judgement]:
        """Whether their passages carry the sentences of an answer; nothing where it cannot tell."""
        return ()


@runtime_checkable
class PageReader(Protocol):
    """Fetches a page (or a file) and returns its main text; raises `ReadError`."""

    async def read(self, url: str) -> Page: ...


class Parts(Protocol):
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
