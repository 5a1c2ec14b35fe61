"""Python API for scripts, notebooks and threads: `ask`, `retrieve` and `Index` wait for what the engine does.

Their keywords are settings for one call; what is not given is as the settings file and the environment say.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar, Unpack

from wellread import settings
from wellread.core.effort import Effort
from wellread.engine import Engine
from wellread.privacy import Sharing
from wellread.types import Answer, Hits

if TYPE_CHECKING:
    from wellread.strategies.iterative import Retrieval

T = TypeVar("T")


class Flags(TypedDict, total=False):
    """Settings as keywords; None: as it is set."""

    sources: Sequence[str] | None  # what to search: "library", "wikipedia", a folder or file, "index:FOLDER", …
    fallback: str | None  # where `corrective` looks when the index does not know
    model: str | None  # "anthropic:NAME", "openai:NAME", "ollama:NAME", "local", "none"
    embedder: str | None
    hops: Literal[1, 2] | None  # 2: every search also follows what the first passages lead to
    reranker: str | None
    grader: str | None
    effort: Effort | None  # how much is read closely: "low", "normal", "high"
    cache: bool | None  # keep what services and pages answer, as they allow
    max_searches: int | None
    max_tokens: int | None
    max_seconds: float | None
    max_cost: float | None  # US dollars
    allow_hosts: Sequence[str] | None  # hosts of one's own that pages may be read from
    share_private: Sharing | None  # whether what only private sources said may go to public ones
    ignore_robots: bool | None


def ask(
    question: str, *, strategy: str | None = None, params: Mapping[str, object] | None = None, **flags: Unpack[Flags]
) -> Answer:
    """The answer to a question: `print(ask("Who wrote Hamlet?", sources=["wikipedia"], model="ollama:qwen3"))`.

    `strategy` names the recipe and `params` sets its parameters; all other keywords are settings, see `Flags`. What is wrong
    with them raises `UsageError`; what goes wrong later is an answer whose `outcome` is "failed".
    """

    async def go() -> Answer:
        async with Engine(settings.load(flags)) as engine:
            return await engine.ask(question, strategy=strategy, params=params)

    return run_sync(go())


def retrieve(
    question: str, *, params: Mapping[str, object] | None = None, verbose: bool = False, **flags: Unpack[Flags]
) -> Retrieval:
    """Retrieval alone: what `iterative` finds, without the answer. `verbose`: its transcript, to stderr."""

    async def go() -> Retrieval:
        async with Engine(settings.load(flags)) as engine:
            return await engine.retrieve(question, params=params, watch=sys.stderr.write if verbose else None)

    return run_sync(go())


class Index:
    """An index of documents in a folder: built once, then searched and asked.

    index = Index.build("notes", "notes-index")
    print(index.ask("What did we decide on caching?"))
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).expanduser()

    @classmethod
    def build(cls, documents: str | Path | Sequence[str | Path], path: str | Path, **flags: Unpack[Flags]) -> Index:
        """Read, split and embed documents (folders, files, addresses) into an index at `path`."""
        from wellread.index.build import build
        from wellread.index.feed import EmbeddingFeed
        from wellread.index.following import Following
        from wellread.index.inputs import InputOptions, origin

        inputs = [str(documents)] if isinstance(documents, str | Path) else list(map(str, documents))
        made = cls(path)

        async def go() -> None:
            async with Engine(settings.load(flags)) as engine:
                how = InputOptions(pages=engine.kit.pages())
                await build(made.path, EmbeddingFeed(Following(inputs, how), engine.kit.embedder(), origin(inputs, how)))

        run_sync(go())
        return made

    def search(self, query: str, *, limit: int = 10, **flags: Unpack[Flags]) -> Hits:
        """The passages that fit a query, best first."""

        async def go() -> Hits:
            async with Engine(settings.load({**flags, "sources": [f"index:{self.path}"]})) as engine:
                return await engine.search(query, limit=limit)

        return run_sync(go())

    def ask(
        self, question: str, *, strategy: str | None = None, params: Mapping[str, object] | None = None, **flags: Unpack[Flags]
    ) -> Answer:
        """The answer to a question from these documents."""
        return ask(question, strategy=strategy, params=params, **{**flags, "sources": [f"index:{self.path}"]})


def run_sync(job: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end; inside a running event loop, in a thread with its own."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(job)
    with ThreadPoolExecutor(1, "wellread-ask") as thread:
        return thread.submit(asyncio.run, job).result()
