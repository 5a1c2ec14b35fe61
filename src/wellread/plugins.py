"""Plugins: `name:argument?key=value` → object, through entry points. Built-ins come in by the same door."""

from __future__ import annotations

import difflib
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.metadata import EntryPoint, EntryPoints, distribution, entry_points
from typing import Any, Literal, cast
from urllib.parse import parse_qsl

from wellread.core.private_files import at_home
from wellread.core.values import frozen
from wellread.errors import UsageError
from wellread.parameters import Parameter, Part, describe, fill, public
from wellread.types import Spec

Kind = Literal["strategies"] | Part
KINDS: tuple[Kind, ...] = ("strategies", "sources", "models", "embedders", "rerankers", "graders")


@frozen
class Plugin:
    """One plugin as `wellread plugins` shows it."""

    kind: Kind
    name: str
    summary: str
    parameters: tuple[Parameter, ...]
    origin: str


def parse_spec(text: str) -> Spec:
    """Take a spec apart. The argument may be an address: only the first `:` and the first `?` count."""
    head, _, query = text.strip().partition("?")
    name, _, argument = head.partition(":")
    if not name or not name.replace("-", "").replace("_", "").isalnum():
        raise UsageError(f"{public(text)!r} is not a spec; write name, name:argument or name:argument?key=value")
    try:
        pairs = parse_qsl(query, strict_parsing=True, keep_blank_values=True) if query else []
    except ValueError:
        raise UsageError(f"{public(text)!r}: write the part after ? as key=value&key=value") from None
    return Spec(name, argument, dict(pairs))


def parse_source(text: str) -> Spec:
    """The spec of a source; a bare folder or file stands for the index or bibliography that it is, or for its documents."""
    head, _, _ = text.strip().partition("?")
    if not head or _find("sources", head.partition(":")[0]):
        return parse_spec(text)
    path = at_home(head)
    if os.path.exists(path):  # of a name that is too long for any file, too
        is_index = any((path / name).is_file() for name in ("manifest.json", "shards.json"))
        listed = path.suffix.lower() in (".bib", ".ris")
        return parse_spec(f"{'index' if is_index else 'bibliography' if listed else 'files'}:{text.strip()}")
    if path.suffix or len(path.parts) > 1:  # no name of a source has a dot or a slash
        raise UsageError(f"there is no file or folder {public(head)!r}; sources are: {', '.join(names('sources'))}")
    return parse_spec(text)


def parse_model(text: str) -> Spec:
    """The spec of a model; the name of one alone is answered with the spec that it lacks."""
    head = text.strip().partition("?")[0]
    if not head or _find("models", provider := head.partition(":")[0]):
        return parse_spec(text)
    close = difflib.get_close_matches(provider, names("models"), n=1)
    from wellread.models.prices import Tariff

    # the provider that has a model of that name by the tables of prices; else it is one to be run by oneself
    seller = next((name for name in ("openai", "anthropic") if Tariff(head, name).window()), "ollama")
    meant = f"{close[0]}:{head.partition(':')[2]}" if close else f"{seller}:{head}"
    there = ", ".join(f"{name}:NAME" for name in names("models"))
    raise UsageError(f"unknown model {public(head)!r} (did you mean {public(meant)}?); there are: {there}")


def _find(kind: Kind, name: str) -> EntryPoint | None:
    """One of our own; else of any package, all of which have to be looked through for it."""
    return _registered(kind, own=True).get(name) or _registered(kind).get(name)


@cache
def _registered(kind: Kind, *, own: bool = False) -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in _installed(own).select(group=f"wellread.{kind}")}


@cache
def _installed(own: bool) -> EntryPoints:
    return distribution("wellread").entry_points if own else cast("Any", entry_points())


def names(kind: Kind) -> list[str]:
    """The plugins of a kind, sorted."""
    return sorted(_registered(kind))


def one_of(kind: Kind) -> str:
    """Singular of a plugin kind."""
    return "strategy" if kind == "strategies" else kind.removesuffix("s")


def known_to(strategy: str, names: Iterable[str]) -> list[str]:
    """Those of these parameters that a strategy has."""
    there = {one.name for one in describe(cast("Any", load("strategies", strategy)).Params)}
    return [name for name in names if name in there]


def recipe(name: str, values: Mapping[str, object]) -> Any:
    """A strategy with these parameters; raises `UsageError` where there is none, or they do not fit."""
    kind: Any = load("strategies", name)
    return kind(fill(kind.Params, values, f"strategy {name}"))


def load(kind: Kind, name: str) -> Callable[..., Any]:
    """A plugin's factory (or a strategy's class)."""
    found = _find(kind, name)
    if found is None:
        one = one_of(kind)
        close = difflib.get_close_matches(name, names(kind), n=1)
        hint = f" (did you mean {close[0]}?)" if close else ""
        raise UsageError(f"unknown {one} {name!r}{hint}; there are: {', '.join(names(kind))}")
    return found.load()


def everything() -> list[Plugin]:
    """All plugins with their help, for `wellread plugins` and the server."""
    return [plugin(kind, name) for kind in KINDS for name in names(kind)]


def plugin(kind: Kind, name: str) -> Plugin:
    """One plugin with its help."""
    try:
        factory = load(kind, name)
    except ImportError as problem:  # one broken plugin must not hide the others
        return Plugin(kind, name, f"cannot be loaded: {problem}", (), "?")
    options = getattr(factory, "Params", None) or getattr(sys.modules[factory.__module__], "Options", None)
    summary = getattr(factory, "summary", None) or (inspect.getdoc(factory) or "").split("\n")[0]
    entry = _registered(kind)[name]
    origin = entry.dist.name if entry.dist else "?"
    return Plugin(kind, name, summary, tuple(describe(options)) if options else (), origin)
