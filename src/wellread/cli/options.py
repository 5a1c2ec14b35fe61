"""Flags that several commands share, and what they make together: settings, parameters."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, cast

import typer

from wellread import settings
from wellread.cli import completion
from wellread.errors import UsageError
from wellread.settings import Settings

Strategy = Annotated[
    str | None,
    typer.Option(
        "--strategy",
        "-s",
        metavar="NAME",
        help="How to answer: auto, quote, guided, iterative, fanout, react, corrective, digest.",
        show_default=False,
        autocompletion=completion.strategies,
    ),
]
Sources = Annotated[
    list[str] | None,
    typer.Option(
        "--source",
        metavar="SPEC",
        help="What to search: library, wikipedia, FOLDER, FILE, index:FOLDER … (wellread plugins sources). May be repeated.",
        show_default=False,
        autocompletion=completion.sources,
    ),
]
Fallback = Annotated[
    str | None,
    typer.Option(
        "--fallback",
        metavar="SPEC",
        help="Where corrective looks when the index does not know.",
        autocompletion=completion.sources,
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        metavar="SPEC",
        help="Language model: anthropic:NAME, openai:NAME, openai:NAME@URL, ollama:NAME, local, none.",
        autocompletion=completion.models,
    ),
]
Effort = Annotated[
    str | None,
    typer.Option(
        "--effort",
        metavar="LEVEL",
        help="How much is read closely: low (nothing), normal, high (a model also checks its own answer).",
        autocompletion=completion.efforts,
    ),
]
Hops = Annotated[
    int | None,
    typer.Option("--hops", metavar="N", min=1, max=2, help="2: every search also follows what its first passages lead to."),
]
Params = Annotated[
    list[str] | None,
    typer.Option(
        "--param",
        "-p",
        metavar="NAME=VALUE",
        help="A parameter of the strategy, name=value. May be repeated.",
        autocompletion=completion.parameters,
    ),
]
NoCache = Annotated[bool, typer.Option("--no-cache", metavar="", help="Take nothing from the HTTP cache.")]
MaxSearches = Annotated[
    int | None, typer.Option("--max-searches", metavar="N", min=0, rich_help_panel="Limits", help="Outer limit on searches.")
]
MaxTokens = Annotated[
    int | None,
    typer.Option(
        "--max-tokens", metavar="N", min=0, rich_help_panel="Limits", help="Outer limit on tokens, in and out together."
    ),
]
MaxSeconds = Annotated[
    float | None,
    typer.Option("--max-seconds", metavar="S", min=0, rich_help_panel="Limits", help="Outer limit on time (300 unless set)."),
]
MaxCost = Annotated[
    float | None, typer.Option("--max-cost", metavar="USD", min=0, rich_help_panel="Limits", help="Outer limit on dollars.")
]
Question = Annotated[
    list[str],
    typer.Argument(metavar="QUESTION", help="What you want to know, in one or more words; - reads it from standard input."),
]
Words = Annotated[list[str], typer.Argument(metavar="QUERY", help="What to look for, in one or more words.")]
AsEvents = Annotated[bool, typer.Option("--events", metavar="", help="Print every event as one JSON object a line.")]
AsJson = Annotated[bool, typer.Option("--json", metavar="", help="Print one JSON object on stdout and nothing else there.")]


# The flags of every command that answers, in the order of their help.
_ANSWERING: Mapping[str, Any] = {
    "strategy": Strategy,
    "source": Sources,
    "fallback": Fallback,
    "model": Model,
    "effort": Effort,
    "hops": Hops,
    "param": Params,
    "no_cache": NoCache,
    "max_searches": MaxSearches,
    "max_tokens": MaxTokens,
    "max_seconds": MaxSeconds,
    "max_cost": MaxCost,
}


@dataclass(frozen=True, slots=True)
class Chosen:
    """What these flags have chosen."""

    settings: Settings
    params: dict[str, object]
    strategy: str | None  # as given on the command line


def answering(*, without: Sequence[str] = ()) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Gives a command these flags, in the place of its parameter `chosen`, which it gets made of them."""
    taken = {name: flag for name, flag in _ANSWERING.items() if name not in without}

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def called(**given: Any) -> None:
            own = {name: value for name, value in given.items() if name not in taken}
            command(chosen=_chosen(**{name: given[name] for name in taken}), **own)

        flags = [Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=flag) for name, flag in taken.items()]
        before, after = _around(list(signature(command, eval_str=True).parameters.values()))
        cast("Any", called).__signature__ = Signature([*before, *flags, *after])
        return called

    return decorated


def _around(parameters: Sequence[Parameter]) -> tuple[list[Parameter], list[Parameter]]:
    """A command's own parameters, before and after `chosen`."""
    place = [parameter.name for parameter in parameters].index("chosen")
    own = [parameter.replace(kind=Parameter.KEYWORD_ONLY) for parameter in parameters]
    return own[:place], own[place + 1 :]


def _chosen(*, source: list[str] | None, no_cache: bool | None, param: list[str] | None = None, **flags: Any) -> Chosen:
    made = load(sources=source, no_cache=bool(no_cache), **flags)
    return Chosen(made, parameters(param), flags.get("strategy"))


def asked(words: Sequence[str]) -> str:
    """The question, with or without quotes around it; `-` stands for standard input."""
    return sys.stdin.read() if list(words) == ["-"] else " ".join(words)


def parameters(pairs: list[str] | None, flag: str = "--param") -> dict[str, object]:
    """`["top_k=5"]` → `{"top_k": "5"}`."""
    found: dict[str, object] = {}
    for pair in pairs or []:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"{flag} {pair!r}: write name=value")
        found[name.strip()] = value
    return found


def load(
    *,
    sources: list[str] | None = None,
    no_cache: bool = False,
    **flags: object,
) -> Settings:
    """Settings with these flags on top; a flag that is None was not given."""
    return settings.load({**flags, "sources": tuple(sources) if sources else None, "cache": False if no_cache else None})
