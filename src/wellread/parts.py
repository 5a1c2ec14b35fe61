"""Parts (sources, models, embedders, …) by dependency injection: built from settings on first use, shared, closed together."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from wellread import plugins, privacy
from wellread.core.effort import ALLOWED, Effort
from wellread.core.private_files import cache_folder
from wellread.core.values import frozen
from wellread.errors import UsageError
from wellread.parameters import fill
from wellread.protocols import AnswerReader, Closing, Embedder, Grader, Model, PageReader, Reranker, Source, checked
from wellread.settings import Settings, with_keys

T = TypeVar("T")
NO_MODEL = (
    "this needs a language model: set ANTHROPIC_API_KEY or OPENAI_API_KEY, start Ollama, or name one with --model; "
    "--strategy quote works without"
)


@frozen
class _Marked:
    """Options of any source."""

    private: bool = True


class Parts:
    """One per engine. Parts are shared by all its runs and closed with it."""

    def __init__(
        self,
        settings: Settings,
        environ: Mapping[str, str] = os.environ,
        model: Model | None = None,
    ) -> None:
        self.settings = settings
        self._outside = environ
        self.effort: Effort = settings.effort
        self.cache = settings.cache
        self.environ = with_keys(environ, settings.keys)
        self._parts: dict[tuple[str, str], Any] = {}
        self._given = model

    def choosing(self, model: str | None, effort: Effort) -> Parts:
        """The same kit, parts shared, whose runs use another model (None: the same) and read as closely as this effort says."""
        chosen = replace(self.settings, effort=effort, model=model or self.settings.model)
        other = Parts(chosen, self.environ, None if model else self._given)
        other._parts = self._parts
        return other

    def under(self, settings: Settings) -> Parts:
        """The parts that there are, and new ones by other settings with other keys; closed with this kit."""
        other = Parts(settings, self._outside, self._given)
        self._parts.pop(("default model", ""), None)  # another key may make it another one
        other._parts = self._parts
        return other

    def source(self, spec: str) -> Source:
        return self._plugin("sources", spec)

    def let_go(self, spec: str) -> None:
        """Keep a source no longer; whoever searches it just now has it until that ends, and then its files are closed."""
        self._parts.pop(("sources", spec), None)

    def several(self, specs: tuple[str, ...]) -> Source:
        """One source, or many searched together; followed a second step where the settings say so."""
        if len(specs) == 1:
            found = self.source(specs[0])
        else:
            from wellread.sources.multi_hop import Several

            found = Several([self.source(spec) for spec in specs])
        if self.settings.hops == 1:
            return found
        from wellread.sources.multi_hop import followed

        return followed(found, self.settings.hops, self)

    def model(self, spec: str | None = None) -> Model:
        if spec is None and self._given is not None:
            return self._given
        named = spec or self.model_spec()
        if named is None:
            raise UsageError(NO_MODEL)
        return self._plugin("models", named)

    async def ready(self) -> None:
        """Raise where the model that a run will use cannot be asked: a wrong name or key, nobody there. A model may `check`."""
        if check := getattr(self.model(), "check", None):  # asking for a protocol would cost as much as a call
            await check()

    def model_spec(self) -> str | None:
        """The model that a run will use, without building it."""
        if self._given is not None:
            return self._given.name
        if self.settings.model is not None:
            return None if self.settings.model == "none" else self.settings.model
        from wellread.models.default import default_spec

        return self._kept("default model", "", lambda: default_spec(self.environ))

    def embedder(self, spec: str | None = None) -> Embedder:
        return self._plugin("embedders", spec or self.settings.embedder or "onnx")

    def reranker(self, spec: str | None = None) -> Reranker | None:
        return self._optional("rerankers", spec or self.settings.reranker)

    def grader(self, spec: str | None = None) -> Grader | None:
        return self._optional("graders", spec or self.settings.grader)

    def answer_reader(self) -> AnswerReader | None:
        evaluator = self._optional("rerankers", self.settings.reranker)
        return evaluator if isinstance(evaluator, AnswerReader) else None

    def pages(self) -> PageReader:
        from wellread.net.fetch import Fetcher
        from wellread.net.guard import Guard
        from wellread.reading.reader import WebReader

        def build() -> PageReader:
            cache = cache_folder("http") / "pages.db" if self.settings.cache else None
            return WebReader(Fetcher(Guard(self.settings.allow_hosts), cache, self.settings.ignore_robots))

        return self._kept("pages", "", build)

    async def catch_up(self, seconds: float, progress: Callable[[str, int, int | None], None]) -> None:
        """Let each source that was built spend some time on what it could not finish before an answer."""
        for (kind, _), part in [*self._parts.items()]:
            if kind == "sources":
                await part.catch_up(seconds, progress)

    async def aclose(self) -> None:
        """Close whatever holds connections or files."""
        parts, self._parts = self._parts, {}
        for part in (*parts.values(), self._given):
            if isinstance(part, Closing):
                await part.aclose()

    def _plugin(self, kind: plugins.Kind, text: str) -> Any:
        def build() -> Any:
            if kind != "sources":
                spec = (plugins.parse_model if kind == "models" else plugins.parse_spec)(text)
                return plugins.load(kind, spec.name)(spec, self)
            spec = plugins.parse_source(text)
            rest = {name: value for name, value in spec.options.items() if name != "private"}
            source = checked(plugins.load(kind, spec.name)(replace(spec, options=rest), self), f"source {spec.name}")
            if said := spec.options.get("private"):
                privacy.mark(source, fill(_Marked, {"private": said}, f"source {spec.name}").private)
            return source

        closely = f" at {self.effort}" if kind in ("rerankers", "graders") else ""  # they are made for an effort
        return self._kept(kind, text + closely, build)

    def _optional(self, kind: plugins.Kind, text: str | None) -> Any:
        """The part that is named; else the evaluator, where its weights are there and the effort lets it read."""
        if text is None and ALLOWED[self.effort].pairs:
            from wellread.ranking.evaluator import available

            text = "evaluator" if available() else None
        return None if text in (None, "none") else self._plugin(kind, text)

    def _kept(self, kind: str, name: str, build: Callable[[], T]) -> T:
        key = (kind, name)
        if key not in self._parts:
            self._parts[key] = build()
        return self._parts[key]
