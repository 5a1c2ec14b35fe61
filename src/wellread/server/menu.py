"""Authorization of a request: the sources and models that a client may choose, and the limits it cannot raise.

Specs of sources and models come from the operator's lists, never freely from a client: a model's spec
holds an address that the key is sent to, a source's spec may name a folder of this machine. That holds for the
parameters of strategies too: those that name a part say so in their types, and `Menu.authorize` looks at all of them.
Clients see and write the public form of a spec, in which no password stands; here alone it leads back to the spec.
Collections, which this server has made of documents that were sent to it, are sources like the operator's.
Every request becomes a run through it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Annotated, Any, ClassVar, TypeVar, get_args

from pydantic import ConfigDict, Field

from wellread import plugins
from wellread.core.effort import Effort
from wellread.core.unicode_safety import encodable
from wellread.engine import Engine, clean_question
from wellread.errors import UsageError
from wellread.parameters import Part, PublicSpec, fill, named, public
from wellread.parts import NO_MODEL
from wellread.plugins import parse_spec
from wellread.protocols import Source
from wellread.server.options import ServerOptions
from wellread.settings import Settings

T = TypeVar("T", bound=str)
Turns = tuple[tuple[str, str], ...]  # questions and answers
_NAMES = {
    "library": "Library",
    "wikipedia": "Wikipedia",
    "searxng": "SearXNG",
    "newsapi": "News",
    "mediawiki": "Wiki",
    "elasticsearch": "Elasticsearch",
    "web": "Web",
    "ollama": "Ollama",
    "openai": "OpenAI",
    "anthropic": "Anthropic",
}
_PATHS = ("index", "files")  # whose argument is a folder


@dataclass(frozen=True, slots=True)
class AskRequest:
    """A question, and optionally how to answer it. Limits can lower the server's own, never raise them."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"question": "Who invented the telescope?"},
                {"question": "Which planet has the most moons?", "strategy": "quote", "sources": ["library"], "max_seconds": 20},
            ]
        },
    )

    question: Annotated[str, Field(min_length=1, max_length=20_000, description="What you want to know.")]
    strategy: Annotated[str | None, Field(max_length=100, description="How to answer; see /api/menu.")] = None
    sources: Annotated[
        tuple[Annotated[str, Field(max_length=500)], ...], Field(max_length=8, description="What to search; see /api/menu.")
    ] = ()
    fallback: Annotated[
        str | None,
        Field(max_length=500, description="Where corrective looks when its sources are not enough; one of the menu's sources."),
    ] = None
    model: Annotated[str | None, Field(max_length=500, description="Language model; see /api/menu.")] = None
    params: Annotated[
        Mapping[Annotated[str, Field(max_length=100)], str | int | float | bool | None],
        Field(max_length=50, description="Parameters of the strategy; see /api/plugins. null: none."),
    ] = field(default_factory=dict[str, "str | int | float | bool | None"])
    effort: Annotated[Effort | None, Field(description="How thorough: low, normal or high, as far as the operator lets it.")] = (
        None
    )
    max_searches: Annotated[int | None, Field(ge=0, le=1_000_000)] = None
    max_tokens: Annotated[int | None, Field(ge=0, le=1_000_000_000)] = None
    max_seconds: Annotated[float | None, Field(ge=0, allow_inf_nan=False)] = None
    max_cost: Annotated[float | None, Field(ge=0, allow_inf_nan=False)] = None


@dataclass(frozen=True, slots=True)
class ReadyRun:
    """A request that has been checked."""

    question: str
    strategy: str
    model: PublicSpec | None
    sources: tuple[PublicSpec, ...]
    params: Mapping[str, object]
    history: Turns
    engine: Engine
    seconds: float  # a run is ended after this many, even one that never looks at its budget


class Menu:
    """Catalogue of what clients may choose, and how a choice becomes an engine."""

    def __init__(self, engine: Engine, options: ServerOptions, collections: Callable[[], Mapping[str, str]] = dict) -> None:
        """`collections` are the specs, by name, of sources that this server has made itself."""
        self.engine = engine
        self.options = options
        self._defaults = engine.settings.sources or ("library",)
        sources = _named(*self._defaults, *options.sources, "library", "wikipedia")
        self.default_sources = tuple(name for name, spec in sources.items() if spec in self._defaults)  # searched unless chosen
        self.default_source = PublicSpec(" + ".join(self.default_sources))
        self._fixed = {self.default_source: self._defaults, **{name: (spec,) for name, spec in sources.items()}}
        self._collections = collections
        self._seen: frozenset[str] = frozenset()  # specs of those that there were at the last look
        usual = engine.kit.model_spec()
        self._parts: Mapping[Part, Mapping[PublicSpec, str]] = {
            "sources": sources,
            "models": _named(*([usual] if usual else ()), *options.models),
        }
        self.models = tuple(self._parts["models"])
        self.default_model = self.models[0] if usual else None
        self.default_strategy = engine.strategy()

    def _specs(self) -> Mapping[PublicSpec, tuple[str, ...]]:
        """Source specs by name at this moment, the operator's first. Collections come and go on the disk, so that a second look
        may find others: whoever needs more than one thing of it looks once."""
        made = {PublicSpec(name): (spec,) for name, spec in self._made_here().items()}
        return {**self._fixed, **{name: specs for name, specs in made.items() if name not in self._fixed}}

    def _made_here(self) -> Mapping[str, str]:
        """Collections by name. One that is gone, by whichever process, lets go of its files: they would stay on the disk."""
        there = self._collections()
        for spec in self._seen.difference(there.values()):
            self.engine.kit.let_go(spec)
        self._seen = frozenset(there.values())
        return there

    @property
    def sources(self) -> tuple[PublicSpec, ...]:
        """Names of sources that a client can choose: the operator's first, then collections."""
        return tuple(self._specs())

    @property
    def single_sources(self) -> Mapping[PublicSpec, str]:
        """Those of them that are one source each, to be ticked side by side, with their specs."""
        return {name: specs[0] for name, specs in self._specs().items() if len(specs) == 1}

    def strategies(self) -> list[tuple[str, str, bool]]:
        """Name, summary, and whether it can be used here."""
        found: list[tuple[str, str, bool]] = []
        for name in plugins.names("strategies"):
            cls: Any = plugins.load("strategies", name)
            found.append((name, str(cls.summary), cls.needs_model is not True or bool(self.models)))
        return found

    def authorize(self, wish: AskRequest, *, history: Turns = (), also: Sequence[Source] = (), share: bool = False) -> ReadyRun:
        """Check a wish; raises `UsageError` with what is wrong. `share`: the person at this machine lets words of private sources
        out, where the setting wants to be asked."""
        question = clean_question(wish.question)
        if len(question) > self.options.max_question:
            raise UsageError(f"the question is {len(question):,} characters long; at most {self.options.max_question:,} are read")
        strategy = self._strategy(wish)
        cls: Any = plugins.load("strategies", strategy)
        params = self._checked(strategy, cls, wish.params)
        chosen = wish.model or self.default_model
        without = cls.needs_model == "optional" and chosen in (None, "none")
        model = self._model(wish.model) if cls.needs_model and not without else None
        settings = self._limited(wish)
        if wish.fallback:
            offered = self.single_sources
            settings = replace(settings, fallback=offered[_offered(wish.fallback, offered, "fallback")])
        if share and self.asks_to_share:
            settings = replace(settings, share_private="always")
        other = self._parts["models"][model] if model and model != self.default_model else None
        effort = _offered(wish.effort, self.efforts, "effort") if wish.effort else settings.effort
        kit = self.engine.kit.choosing(other, effort)
        source, names = self._source(wish.sources)
        searched, known = (also, ()) if cls.needs_model else ((), also)
        engine = self.engine.changed(settings, kit=kit, source=source, also=searched, before=known)
        seconds = (settings.max_seconds or 0) + 15.0
        return ReadyRun(question, strategy, model, names, params, history, engine, seconds)

    @property
    def asks_to_share(self) -> bool:
        """Whether a client may let private words out: one who is at this machine, where the operator wants to be asked."""
        return self.options.private and self.engine.settings.share_private == "ask"

    @property
    def efforts(self) -> tuple[Effort, ...]:
        """Effort levels that clients may ask for, from the least on."""
        known: tuple[Effort, ...] = get_args(Effort)
        return known[: known.index(self.options.max_effort) + 1]

    def searching(self, sources: Sequence[str]) -> Engine:
        """An engine for plain searches in these sources."""
        source, _ = self._source(tuple(sources))
        return self.engine.changed(self.engine.settings, source=source)

    def shelves(self, name: str) -> list[Source]:
        """Those of the operator's sources that go by this name and hold documents."""
        found: list[Source] = []
        for spec in (*self._parts["sources"].values(), *self._made_here().values()):
            with suppress(UsageError):  # one that cannot be built here (a folder that is gone, a key that is missing) has none
                source = self.engine.kit.source(spec)
                if source.has_documents and encodable(source.name) == name:
                    found.append(source)
        return found

    def _strategy(self, wish: AskRequest) -> str:
        """The one named, or the default; without a model, which is what the model `none` means, that is `quote`."""
        if wish.model == "none":
            return "quote" if wish.strategy in (None, "", "auto") else wish.strategy
        return wish.strategy or self.default_strategy if wish.model else self.engine.strategy(wish.strategy or None)

    def _checked(self, strategy: str, cls: Any, wanted: Mapping[str, object]) -> dict[str, object]:
        """Parameters have to fit, and may name only parts that are offered or that the operator has put in that place."""
        owner = f"strategy {strategy}"
        own = self.engine.settings.params.get(strategy, {})
        set_here = set(named(fill(cls.Params, own, owner)))
        meant = dict(wanted)
        for choice in named(fill(cls.Params, {**own, **wanted}, owner)):
            if choice not in set_here:
                parameter, part, name = choice
                offered = self._parts.get(part, {})
                meant[parameter] = offered[_offered(name, offered, f"{owner}: {parameter}: {part.removesuffix('s')}")]
        return meant

    def _model(self, wanted: str | None) -> PublicSpec:
        if not wanted:
            if self.default_model is None:
                raise UsageError(NO_MODEL)
            return self.default_model
        return _offered(wanted, self.models, "model")

    def _source(self, wanted: tuple[str, ...]) -> tuple[Source | None, tuple[PublicSpec, ...]]:
        """None stands for the engine's own."""
        known = self._specs()
        chosen = [_offered(name, known, "source") for name in wanted]
        specs = tuple(dict.fromkeys(spec for name in chosen for spec in known[name]))
        if not specs or set(specs) == set(self._defaults):
            return None, self.default_sources
        names = (one for name in chosen for one in ((name,) if len(known[name]) == 1 else self.default_sources))
        return self.engine.kit.several(specs), tuple(dict.fromkeys(names))

    def _limited(self, wish: AskRequest) -> Settings:
        settings = self.engine.settings
        changes: dict[str, Any] = {"max_seconds": 300.0 if settings.max_seconds is None else settings.max_seconds}
        for name in ("max_searches", "max_tokens", "max_seconds", "max_cost"):
            if (value := getattr(wish, name)) is not None:
                own: float | None = changes.get(name, getattr(settings, name))
                changes[name] = value if own is None else min(own, value)
        return replace(settings, **changes)


def _named(*specs: str) -> Mapping[PublicSpec, str]:
    """Specs by what a client can write: without passwords, and as text, which the bytes of a folder's name need not be."""
    found: dict[PublicSpec, str] = {}
    for spec in dict.fromkeys(specs):
        name = shown = encodable(public(spec))
        while name in found:  # the same with another login
            name = f"{shown} ({len(found)})"
        found[PublicSpec(name)] = spec
    return found


def _offered(name: str, choices: Collection[T], what: str) -> T:
    for choice in choices:
        if choice == name:
            return choice
    raise UsageError(f"{what} {name!r} is not offered here; there are: {', '.join(choices) or 'none'}")


def label(source: str) -> str:
    """A source's or a model's name: the one it was given, the last part of its folder, or the service with what sets it apart."""
    if ":" not in source and "?" not in source:
        return _NAMES.get(source, source)
    try:
        spec = parse_spec(source)
    except UsageError:
        return source
    if named := spec.options.get("name"):
        return str(named)
    if spec.name in _PATHS:
        return PurePosixPath(spec.argument).name or source
    apart = [spec.argument, *map(str, spec.options.values())]
    return " ".join([_NAMES.get(spec.name, spec.name), *(f"({part})" for part in apart if part)])


def labels(sources: Iterable[str]) -> Mapping[str, str]:
    """Names of sources that stand side by side: those that would have the same name keep their specs."""
    names = {source: label(source) for source in sources}
    count = Counter(names.values())
    return {source: name if count[name] == 1 else source for source, name in names.items()}
