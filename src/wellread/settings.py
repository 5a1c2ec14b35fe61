"""Settings: flags over environment over file over defaults. Pure data; builds nothing.

The file is `config.toml` in the user's configuration folder (`WELLREAD_CONFIG` names another):

    model = "ollama:qwen3"
    sources = ["library", "wikipedia"]
    max_seconds = 60

    [params.iterative]
    max_searches = 8

    [server]
    retention_days = 90

    [keys]
    ANTHROPIC_API_KEY = "…"
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from dataclasses import field, fields, replace
from pathlib import Path
from typing import Annotated, cast

from wellread.budget import Limits
from wellread.core import keychain
from wellread.core.effort import ALLOWED, Effort
from wellread.core.private_files import OTHERS, may_others
from wellread.core.values import frozen
from wellread.errors import SettingsError, UsageError
from wellread.parameters import EmbedderSpec, GraderSpec, Hops, ModelSpec, Range, RerankerSpec, SourceSpec, fill, param
from wellread.privacy import Sharing


@frozen
class Settings:
    """Everything a user can set once and for all."""

    strategy: str | None = param(None, "how to answer; auto with a model, else quote")
    sources: tuple[SourceSpec, ...] = param((), "what to search; the library in the wheel if empty")
    fallback: SourceSpec | None = param(None, "where corrective looks when the index does not know")
    model: ModelSpec | None = param(None, "language model; the first provider with a key, a running Ollama, or none")
    embedder: EmbedderSpec | None = param(None, "embedder for searches by meaning; the one in the wheel")
    hops: Hops = param(1, "2: every search also follows what the first passages lead to, in all sources together")
    reranker: RerankerSpec | None = param(None, "re-ranker: evaluator (unless the effort is low), onnx:PATH or none")
    grader: GraderSpec | None = param(None, "grader of corrective: evaluator (unless the effort is low), none: the model")
    effort: Effort = param(
        "normal",
        "how many pairs the evaluator reads: low none, "
        f"normal up to {ALLOWED['normal'].pairs}, high up to {ALLOWED['high'].pairs}, and a model checks its own answer",
    )
    cache: bool = param(True, "keep answers of search services and pages on disk as they allow")
    max_searches: Annotated[int, Range(0, 1_000_000)] | None = param(None, "outer limit on searches")
    max_tokens: Annotated[int, Range(0, 1_000_000_000)] | None = param(None, "outer limit on tokens, in and out together")
    max_seconds: Annotated[float, Range(0, 1_000_000)] | None = param(300.0, "outer limit on time")
    max_cost: Annotated[float, Range(0, 1_000_000)] | None = param(None, "outer limit on dollars")
    allow_hosts: tuple[str, ...] = param((), "hosts of your own that pages may be read from although they are not public")
    share_private: Sharing = param(
        "ask",
        "queries to public services that hold what only private sources said: ask a person at the terminal, or send none; "
        "always: send them; never: once private passages were read, send nothing but the question",
    )
    ignore_robots: bool = param(False, "read pages that robots.txt asks not to read (your own site)")
    params: Mapping[str, Mapping[str, object]] = field(default_factory=dict[str, Mapping[str, object]])
    server: Mapping[str, object] = field(default_factory=dict[str, object])
    keys: Mapping[str, object] = field(default_factory=dict[str, object], repr=False)  # by variable, which go before them

    @property
    def limits(self) -> Limits:
        return Limits(self.max_searches, self.max_tokens, self.max_seconds, self.max_cost)


_TABLES = ("params", "server", "keys")
_OFF = ("model", "reranker", "grader")  # where "none" is a choice; elsewhere it stands for the default
_VARIABLE = re.compile("[A-Z][A-Z0-9_]*")
_VARIABLES = {f"WELLREAD_{f.name.upper()}": f.name for f in fields(Settings) if f.name not in _TABLES}
_VARIABLES["WELLREAD_SOURCE"] = "sources"


def config_path(environ: Mapping[str, str] = os.environ) -> Path:
    """Where the settings file is, or would be."""
    if named := environ.get("WELLREAD_CONFIG"):
        return Path(named)
    base = environ.get("XDG_CONFIG_HOME") or str(Path(environ.get("HOME", "~")).expanduser() / ".config")
    return Path(base) / "wellread" / "config.toml"


def load(flags: Mapping[str, object] | None = None, environ: Mapping[str, str] = os.environ) -> Settings:
    """The settings in force. Flags that are None were not given."""
    path = config_path(environ)
    from_file = _from_file(path, named=bool(environ.get("WELLREAD_CONFIG")))
    tables = {name: _table(from_file.pop(name, {}), path, name) for name in _TABLES}
    secret = any(not keychain.is_mark(key) for key in tables["keys"].values())
    _check_permissions(path, secret="the token" if "token" in tables["server"] else "keys" if secret else "")
    for name, key in tables["keys"].items():
        if not _VARIABLE.fullmatch(name) or not isinstance(key, str):
            raise SettingsError(f'{path}: [keys] holds lines like ANTHROPIC_API_KEY = "…", not {name!r}')
    for name, table in tables["params"].items():
        _table(table, path, f"params.{name}")
    plain = {f.name: f for f in fields(Settings) if f.name not in _TABLES}
    for name in from_file:
        if name not in plain:
            raise SettingsError(f"{path}: unknown setting {name!r}; there are: {', '.join([*plain, *_TABLES])}")
    values: dict[str, object] = dict(from_file)
    for variable, name in _VARIABLES.items():
        if (value := environ.get(variable, "")).strip():
            values[name] = tuple(value.split()) if name in ("sources", "allow_hosts") else value
    given = {name: value for name, value in (flags or {}).items() if value is not None}
    try:
        fill(Settings, values, "settings")
    except UsageError as problem:
        raise SettingsError(f"{problem} (in {path} or a WELLREAD_* variable)") from problem
    said = {**values, **given}
    off = {name: "none" for name in _OFF if str(said.get(name, "")).lower() == "none"}
    return replace(fill(Settings, {**said, **tables}, "settings"), **off)


def with_keys(environ: Mapping[str, str], keys: Mapping[str, object]) -> Mapping[str, str]:
    """The environment, with keys of the settings file, or of the keyring that it names, where it has none."""
    missing = {name: key for name, key in keys.items() if not environ.get(name, "").strip()}
    found = {name: keychain.key(name) if keychain.is_mark(key) else str(key) for name, key in missing.items()}
    return {**environ, **{name: key for name, key in found.items() if key}} if found else environ


def _from_file(path: Path, *, named: bool) -> dict[str, object]:
    try:
        text = path.read_text(encoding="utf-8")
        import tomllib

        return tomllib.loads(text)
    except FileNotFoundError:
        if named:
            raise SettingsError(f"{path}: there is no such settings file (WELLREAD_CONFIG names it)") from None
        return {}
    except (OSError, ValueError, RecursionError) as problem:  # also of a number without an end, or of brackets in brackets
        raise SettingsError(f"{path}: the settings file cannot be read: {problem}") from None


def _check_permissions(path: Path, *, secret: str) -> None:
    """Who can write the file chooses what is read and sent; who can read a token or a key has it."""
    if may_others(path, stat.S_IWOTH):
        raise SettingsError(f"{path}: everybody may write the settings file; run: chmod go-w {path}")
    if secret and may_others(path, OTHERS):
        raise SettingsError(f"{path}: others may read {secret} in the settings file; run: chmod 600 {path}")


def _table(value: object, path: Path, name: str) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise SettingsError(f"{path}: {name} must be a table, [{name}]")
    return cast("Mapping[str, object]", value)
