"""A small world for strategies: sources, pages, embedder and purse in memory, a scripted model, every event kept."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from wellread import events
from wellread.budget import Budget, Limits
from wellread.errors import ReadError, SourceError, UsageError
from wellread.models.scripted import Script, ScriptedModel
from wellread.parameters import fill
from wellread.protocols import Source
from wellread.questions.languages import foreign_language
from wellread.run import Run
from wellread.strategies.ending import concluded
from wellread.strategies.relevance import content
from wellread.types import Answer, Hit, Page, Passage, Query

E = TypeVar("E", bound=events.Event)


@dataclass
class Shelf(Source):
    """A source in memory: hits whose words share most with the query come first; none shared, no hit."""

    hits: Sequence[Hit] = ()
    name: str = "shelf"
    hint: str = "Ask with a few words."
    delay: float = 0.0
    everything: bool = False  # like a vector index, which always has a nearest passage
    failing: Callable[[str], bool] = lambda text: False
    asked: list[Query] = field(default_factory=list)
    running: int = 0

    async def search(self, query: Query) -> Sequence[Hit]:
        self.asked.append(query)
        self.running += 1
        try:
            await asyncio.sleep(self.delay)
        finally:
            self.running -= 1
        if self.failing(query.text):
            raise SourceError(self.name, "the service is down")
        wanted = content(query.text)
        scored = [(len(wanted & content(f"{hit.title} {hit.text or hit.snippet}")), hit) for hit in self.hits]
        return [hit for score, hit in sorted(scored, key=lambda pair: -pair[0]) if score or self.everything][: query.limit]


class Bags:
    """An embedder: one dimension for each word it has seen, so that shared words are closeness."""

    name = "bags"
    dimensions = 512

    def __init__(self) -> None:
        self.texts: list[str] = []

    async def embed(self, texts: Sequence[str], *, kind: str) -> Any:
        self.texts.extend(texts)
        rows = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in content(text):
                row[sum(word.encode()) * 31 % self.dimensions] += 1
            row /= np.linalg.norm(row) or 1
        return rows


@dataclass
class Pages:
    """Pages by address; any other address fails."""

    pages: Mapping[str, Sequence[str]] = field(default_factory=dict)
    read_urls: list[str] = field(default_factory=list)

    async def read(self, url: str) -> Page:
        self.read_urls.append(url)
        if url not in self.pages:
            raise ReadError(url, "HTTP status 404")
        return Page(url, f"Page {url.rsplit('/', 1)[-1]}", tuple(self.pages[url]))


@dataclass
class Bench:
    """A kit and what a run is made of."""

    script: Script = ()
    source: Any = field(default_factory=Shelf)
    fallback: Any = None
    limits: Limits = field(default_factory=Limits)
    sources: dict[str, Any] = field(default_factory=dict)
    models: dict[str, ScriptedModel] = field(default_factory=dict)
    page_reader: Pages = field(default_factory=Pages)
    embeds: Any = field(default_factory=Bags)
    ranks: Any = None
    grades: Any = None
    history: tuple[tuple[str, str], ...] = ()
    model_options: dict[str, Any] = field(default_factory=dict)
    effort: Any = "normal"
    cache: bool = True
    environ: Mapping[str, str] = field(default_factory=dict)
    seen: list[events.Event] = field(default_factory=list)
    listener: Callable[[events.Event], None] = lambda event: None

    def __post_init__(self) -> None:
        self.scripted = ScriptedModel(self.script, **self.model_options)

    def model(self, spec: str | None = None) -> Any:
        return self.scripted if spec is None else self.models[spec]

    def source_named(self, spec: str) -> Any:
        if spec not in self.sources:
            raise UsageError(f"unknown source {spec!r}")
        return self.sources[spec]

    def embedder(self, spec: str | None = None) -> Any:
        if isinstance(self.embeds, Exception):
            raise self.embeds
        return self.embeds

    def reranker(self, spec: str | None = None) -> Any:
        return self.ranks

    def grader(self, spec: str | None = None) -> Any:
        return self.grades

    def answer_reader(self) -> None:
        return None

    def pages(self) -> Pages:
        return self.page_reader

    def emit(self, event: events.Event) -> None:
        self.seen.append(event)
        self.listener(event)

    def run(self, question: str, strategy: str = "test") -> Run:
        return Run(
            question=question,
            strategy=strategy,
            source=self.source,
            kit=_Kit(self),  # pyright: ignore[reportArgumentType]
            budget=Budget(self.limits, time.monotonic),
            emit=self.emit,
            clock=time.monotonic,
            today="2026-11-15",
            marker="f00dcafe",
            fallback=self.fallback,
            history=self.history,
            model_name=self.scripted.name,
            language=foreign_language(question),
        )

    async def ask(self, strategy: Any, question: str, **params: object) -> Answer:
        """Run a strategy to its end; the deltas it reports add up to its answer."""
        run = self.run(question, strategy.name)
        answer = run.finished(await concluded(strategy(fill(strategy.Params, params, strategy.name)), run))
        assert "".join(event.text for event in self.of(events.AnswerDelta)) == answer.text
        return answer

    def of(self, kind: type[E]) -> list[E]:
        """The events of one kind."""
        return [event for event in self.seen if isinstance(event, kind)]

    def prompt(self, index: int) -> str:
        """Everything a model call was shown."""
        return "\n".join(message.text for message in self.scripted.prompts[index].messages)


class _Kit:
    """The bench as a kit: the same names, `source` being a method there and a part here."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench

    def __getattr__(self, name: str) -> Any:
        return self._bench.source_named if name == "source" else getattr(self._bench, name)


def entry(title: str, text: str | None, *, url: str | None = None, snippet: str = "", document: str | None = None) -> Hit:
    """A hit for a shelf."""
    return Hit(id=url or title, title=title, url=url, text=text or "", snippet=snippet, source="shelf", document=document)


def passage(number: int, text: str, title: str = "") -> Passage:
    return Passage(str(number), text, title or f"Passage {number}")


def supported(answer: Answer) -> list[bool]:
    return [sentence.supported for sentence in answer.sentences]


FILMS = (
    entry(
        "Oppenheimer (film)",
        "Oppenheimer is a 2023 film by Christopher Nolan about the physicist J. Robert Oppenheimer.\n\n"
        "It was released in the United States on July 21, 2023.",
    ),
    entry(
        "Are You There God? It's Me, Margaret. (film)",
        "Are You There God? It's Me, Margaret. is a 2023 film directed by Kelly Fremon Craig.\n\n"
        "The film was released in the United States on April 28, 2023.",
    ),
    entry("Pottery", "Pottery is made of clay and fired in a kiln."),
)
MOVIES = "Which movie came out first: Oppenheimer, or Are You There God? It's Me, Margaret."
