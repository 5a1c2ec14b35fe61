"""Record and replay of the parts of a run: each asks the tape, which records or replays.

When replaying there is no part behind it; its facts come from the file.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, cast

from wellread.core.codec import Json, brief, decode
from wellread.core.effort import Effort, Plan
from wellread.privacy import leaves
from wellread.privacy import search as ask
from wellread.protocols import AnswerReader, Embedder, Grader, Model, PageReader, Parts, Reranker, Source
from wellread.ranking.evaluator import Evaluator
from wellread.ranking.judge import Chain
from wellread.ranking.paths import Verdict
from wellread.types import Capabilities, Claim, Completion, Grade, Hit, Hits, Judgement, Page, Passage, Prompt, Query

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

T = TypeVar("T")
FACTS = {"source": ("name", "hint", "examples", "has_documents"), "model": ("name",), "embedder": ("name", "dimensions")}


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


class SourceOnTape(Source):
    """A source; a member of a group is on the tape, too."""

    def __init__(self, tape: Tape, label: str, facts: Json, inner: Any = None) -> None:
        self.name, self.hint, self.examples = facts["name"], facts["hint"], facts.get("examples", "")
        self.has_documents = facts.get("has_documents", False)
        self._tape, self._label, self._facts, self._inner = tape, label, facts, inner
        self.parts = () if inner is None else (inner,)
        inside: Sequence[Any] = facts.get("members", ()) if inner is None else inner.members
        places: Sequence[str] = facts.get("members", ())
        self._members = tuple(tape.member(source, place) for source, place in zip(inside, places, strict=False))

    @property
    def members(self) -> Sequence[Source]:
        return self._members or (self,)

    async def search(self, query: Query) -> Sequence[Hit]:
        return await self._hits("search", brief(query), query)

    async def find_title(self, title: str) -> Sequence[Hit]:
        return await self._hits("find_title", {"title": title}, title)

    async def passages(self, document: str) -> Sequence[Hit]:
        return await self._hits("passages", {"document": document}, document)

    async def _hits(self, method: str, request: Json, asked: Any) -> Hits:
        async def found() -> Hits:
            look = partial(ask, self._inner) if method == "search" else getattr(self._inner, method)
            hits = Hits.all_of(await look(asked))
            return replace(hits, unfinished=tuple(why for one in leaves(self._inner) for why in one.unfinished))

        hits = await self._tape.call(self._label, method, request, found, Hits)
        self.unfinished = hits.unfinished
        return hits

    def tuned(self, **options: int) -> SourceOnTape:
        """The same source with other options; they are part of its label, so that its calls are told apart."""
        inner = self._inner.tuned(**options) if self._inner is not None else None
        label = f"{self._label}?{'&'.join(f'{key}={value}' for key, value in options.items())}"
        return SourceOnTape(self._tape, label, self._facts, inner)


class ModelOnTape:
    def __init__(self, tape: Tape, label: str, facts: Json, inner: Any = None) -> None:
        self.name: str = facts["name"]
        self.capabilities: Capabilities = decode(Capabilities, facts["capabilities"])
        self._tape, self._label, self._inner = tape, label, inner
        if facts.get("priced"):
            self.price = self._price

    def stream(self, prompt: Prompt) -> AsyncIterator[str | Completion]:
        return self._tape.stream(self._label, brief(prompt), lambda: self._inner.stream(prompt))

    def count_tokens(self, text: str) -> int:
        return self._tape.count(self._label, text, lambda: self._inner.count_tokens(text))

    def _price(self, input_tokens: int, output_tokens: int) -> float | None:
        tokens = (input_tokens, output_tokens)
        return self._tape.price(self._label, tokens, lambda: self._inner.price(*tokens))


class EmbedderOnTape:
    def __init__(self, tape: Tape, label: str, facts: Json, inner: Any = None) -> None:
        self.name: str = facts["name"]
        self.dimensions: int = facts["dimensions"]
        self._tape, self._label, self._inner = tape, label, inner

    async def embed(self, texts: Sequence[str], *, kind: Literal["query", "passage"]) -> NDArray[np.float32]:
        asked: Json = {"kind": kind, "texts": list(texts)}

        async def made() -> Vectors:
            return Vectors.of(await self._inner.embed(texts, kind=kind))

        return (await self._tape.call(self._label, "embed", asked, made, Vectors)).array()


def _shown(passages: Sequence[Passage]) -> list[Json]:
    return [{"id": passage.id, "title": passage.title, "text": passage.text} for passage in passages]


class JudgeOnTape(Reranker, Grader, AnswerReader):
    """A reranker, a grader, or both in one."""

    def __init__(self, tape: Tape, label: str, facts: Json, inner: Any = None) -> None:
        self._tape, self._label, self._inner = tape, label, inner
        self._languages: Sequence[str] | None = facts.get("languages")

    def knows(self, language: str) -> bool:
        return self._languages is None or language in self._languages

    async def rerank(self, question: str, passages: Sequence[Passage]) -> Sequence[float]:
        return await self._judged("rerank", question, passages, list[float])

    async def grade(self, question: str, passages: Sequence[Passage]) -> Sequence[Grade]:
        return await self._judged("grade", question, passages, list[Grade])

    async def _judged(self, method: str, question: str, passages: Sequence[Passage], kind: type[T]) -> T:
        asked: Json = {"question": question, "passages": _shown(passages)}
        return await self._tape.call(self._label, method, asked, lambda: getattr(self._inner, method)(question, passages), kind)


class PagesOnTape:
    def __init__(self, tape: Tape, label: str, facts: Json, inner: Any = None) -> None:
        self._tape, self._label, self._inner = tape, label, inner

    async def read(self, url: str) -> Page:
        return await self._tape.call(self._label, "read", {"url": url}, lambda: self._inner.read(url), Page)


class EvaluatorOnTape(Evaluator):
    """Searches along paths call back into the run, so the tape has to be under them and not around them."""

    def __init__(self, tape: Tape, label: str, facts: Json, inner: Any = None) -> None:
        super().__init__()
        self._plan: Plan = decode(Plan, facts["plan"])
        self.languages = frozenset(facts["languages"])
        self._tape, self._label, self._inner = tape, label, inner

    @property
    def plan(self) -> Plan:
        return self._plan

    async def judge(self, question: str, chains: Sequence[Chain]) -> list[Verdict]:
        asked: Json = {"question": question, "chains": [_shown(chain) for chain in chains]}
        return await self._tape.call(self._label, "judge", asked, lambda: self._inner.judge(question, chains), list[Verdict])

    async def carries(self, claims: Sequence[Claim]) -> Sequence[Judgement]:
        asked: Json = {"claims": [{"claim": one.text, "passages": _shown(one.passages)} for one in claims]}
        return await self._tape.call(self._label, "carries", asked, lambda: self._inner.carries(claims), list[Judgement])


def judge(tape: Tape, label: str, facts: Json, inner: Any = None) -> Any:
    """A part that judges; the evaluator, which knows paths, is put on tape where its model is asked."""
    return (EvaluatorOnTape if "plan" in facts else JudgeOnTape)(tape, label, facts, inner)


ON_TAPE: Mapping[str, Callable[[Tape, str, Json, Any], Any]] = {
    "source": SourceOnTape,
    "model": ModelOnTape,
    "embedder": EmbedderOnTape,
    "reranker": judge,
    "grader": judge,
    "reader": judge,
    "pages": PagesOnTape,
}


def facts_of(kind: str, part: Any) -> Json:
    """Facts for a stand-in of this part."""
    facts: Json = {name: getattr(part, name) for name in FACTS.get(kind, ()) if hasattr(part, name)}
    if kind == "model":
        facts["capabilities"] = brief(part.capabilities)
        facts["priced"] = hasattr(part, "price")
    if hasattr(part, "trail"):
        facts["plan"] = brief(part.plan)
    if hasattr(part, "languages"):
        facts["languages"] = sorted(part.languages)
    if kind == "source" and part.members[0] is not part:
        facts["members"] = [source.name for source in part.members]
    return facts


class PartsOnTape:
    """The kit of one run: its parts are on the tape, their own parts are not."""

    def __init__(self, tape: Tape, inner: Parts | None, effort: Effort, cache: bool = True) -> None:
        self._tape, self._inner = tape, cast("Any", inner)
        self.effort: Effort = effort
        self.cache = cache

    @property
    def environ(self) -> Mapping[str, str]:
        return self._inner.environ if self._inner is not None else {}

    def source(self, spec: str) -> Source:
        return self._tape.part("source", spec, lambda: self._inner.source(spec))

    def model(self, spec: str | None = None) -> Model:
        return self._tape.part("model", spec or "", lambda: self._inner.model(spec))

    def embedder(self, spec: str | None = None) -> Embedder:
        return self._tape.part("embedder", spec or "", lambda: self._inner.embedder(spec))

    def reranker(self, spec: str | None = None) -> Reranker | None:
        return self._tape.part("reranker", spec or "", lambda: self._inner.reranker(spec))

    def grader(self, spec: str | None = None) -> Grader | None:
        return self._tape.part("grader", spec or "", lambda: self._inner.grader(spec))

    def answer_reader(self) -> AnswerReader | None:
        return self._tape.part("reader", "", lambda: self._inner.answer_reader())

    def pages(self) -> PageReader:
        return self._tape.part("pages", "", lambda: self._inner.pages())
