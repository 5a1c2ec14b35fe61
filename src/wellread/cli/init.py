"""`wellread init`: a settings file in which everything stands as it is by default, ready to be changed; `wellread plugins`: what
can be named in it, with all parameters; `wellread doctor`: is everything in place, and what to do where it is not."""

from __future__ import annotations

import difflib
import json
import os
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from textwrap import wrap
from typing import Annotated

import typer

from wellread.cli import completion, options
from wellread.cli.terminal import note, say, say_json
from wellread.errors import UsageError, WellreadError
from wellread.parameters import Parameter, describe
from wellread.plugins import KINDS, Plugin, everything, one_of
from wellread.settings import Settings, config_path

_OPENING = """\
# Settings of wellread. Every line below is a comment that shows the default (or, where there is none, an example):
# take the # away and change the value. Flags and WELLREAD_* variables go before this file.
# Keys of providers come from ANTHROPIC_API_KEY, OPENAI_API_KEY and the like, or from the end of this file.
"""
_EXAMPLES: dict[str, object] = {
    "strategy": "auto",
    "sources": ["library", "wikipedia"],
    "fallback": "wikipedia",
    "model": "ollama:qwen3",
    "embedder": "onnx:all-minilm-l6-v2",
    "reranker": "evaluator",
    "grader": "evaluator",
    "max_searches": 20,
    "max_tokens": 100_000,
    "max_cost": 0.5,
    "allow_hosts": ["wiki.example.org"],
    "history": "/var/lib/wellread/history.sqlite",
    "allowed_hosts": ["answers.example.org"],
    "models": ["ollama:qwen3"],
    "collections": True,
    "folders": ["/srv/papers"],
}
_SIGNS = {"ok": "✓", "note": "·", "problem": "✗"}
_SECRET = "token"  # belongs into WELLREAD_TOKEN: a file is read by more eyes


def init(
    path: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="Where to write it; where wellread looks for it unless given.")
    ] = None,
    stdout: bool = options.flag("--print", "", "Print it, write nothing.", False),
    force: bool = options.flag("--force", "", "Write over a file that is there.", False),
) -> None:
    """Write a settings file that names every setting with its meaning and default.

    wellread init
    wellread init --print | less
    """
    text = written()
    if stdout:
        say(text.rstrip("\n"))
        return
    place = path or config_path()
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        with open(os.open(place, os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if force else os.O_EXCL), 0o600), "w") as out:
            out.write(text)
    except FileExistsError:
        raise UsageError(f"{place} is there already; --force writes over it, --print shows what would be written") from None
    except OSError as problem:
        raise WellreadError(f"{place} cannot be written: {problem.strerror or problem}") from None
    say(f"{place} is written; wellread doctor says what is in force")


def written() -> str:
    """The file."""
    from wellread.server.options import ServerOptions

    own = [one for one in describe(Settings) if one.name not in ("params", "server", "keys")]
    served = [one for one in describe(ServerOptions) if one.name != _SECRET]
    return "\n".join(
        [
            *_OPENING.splitlines(),
            *_lines(own),
            "\n# Parameters of a strategy; `wellread plugins strategies` lists them.\n# [params.iterative]\n# max_searches = 8",
            "\n# What `wellread serve` goes by.\n# [server]",
            *_lines(served),
            "\n# Keys, for when their variables are not set; nobody else may read this file then (chmod 600).\n# [keys]",
            '# ANTHROPIC_API_KEY = "…"',
            "",
        ]
    )


def _lines(parameters: Iterable[Parameter]) -> Iterator[str]:
    for one in parameters:
        yield ""
        yield from (f"# {line}" for line in wrap(one.help, 96))
        empty = one.default is None or one.default == ()  # texts, numbers, truths and lists are alike in TOML and JSON
        yield f"# {one.name} = {json.dumps(_EXAMPLES.get(one.name, []) if empty else one.default, ensure_ascii=False)}"


def doctor(as_json: options.AsJson = False) -> None:
    """Check Python, weights, library, keys, servers and settings. Exit status 1 when something is broken.

    Keys are only looked for, never printed.
    """
    from wellread.server import diagnosis

    findings = diagnosis.findings()
    if as_json:
        from wellread.events import to_json

        say_json(to_json(findings))
    else:
        for finding in findings:
            say(f"{_SIGNS[finding.state]} {finding.what}")
            if finding.advice:
                say(f"    {finding.advice}")
    raise typer.Exit(1 if any(finding.state == "problem" for finding in findings) else 0)


def plugins(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Show only plugins of this name or kind.", autocompletion=completion.kinds),
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """List strategies, sources, models, embedders, re-rankers and graders with their parameters."""
    known = everything()
    found = [plugin for plugin in known if name in (None, plugin.name, plugin.kind, one_of(plugin.kind))]
    if not found:
        close = difflib.get_close_matches(name or "", [*KINDS, *(plugin.name for plugin in known)], n=1)
        hint = f" (did you mean {close[0]}?)" if close else ""
        note(f"wellread: nothing is called {name!r}{hint}; the kinds are: {', '.join(KINDS)}")
    if as_json:
        from wellread.events import to_json

        say_json(to_json(found))
    else:
        for kind in KINDS:
            _list(kind, [plugin for plugin in found if plugin.kind == kind], detailed=name is not None)
    raise typer.Exit(0 if found else 3)


def _list(kind: str, found: list[Plugin], *, detailed: bool) -> None:
    if not found:
        return
    say(f"{kind}")
    for plugin in found:
        say(textwrap.fill(f"{plugin.name:<14} {plugin.summary}", 80, initial_indent="  ", subsequent_indent=" " * 17))
        if detailed or plugin.kind == "strategies":
            for one in plugin.parameters:
                line = f"{one.name}={one.default} ({one.kind})  {one.help}"
                say(textwrap.fill(line, 80, initial_indent="      ", subsequent_indent=" " * 10))
    say("")
