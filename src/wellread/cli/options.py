"""Flags that several commands share, and the settings they make."""

from __future__ import annotations

from typing import Annotated

import typer

from wellread import settings
from wellread.errors import UsageError
from wellread.settings import Settings

Strategy = Annotated[
    str | None,
    typer.Option(
        "--strategy",
        "-s",
        metavar="NAME",
        help="How to answer: quote, iterative, fanout, react, corrective, digest.",
        show_default=False,
    ),
]
Sources = Annotated[
    list[str] | None,
    typer.Option(
        "--source",
        metavar="SPEC",
        help="What to search: library, wikipedia, files:FOLDER, index:FOLDER … (wellread plugins sources). May be repeated.",
        show_default=False,
    ),
]
Fallback = Annotated[
    str | None, typer.Option("--fallback", metavar="SPEC", help="Where corrective looks when the index does not know.")
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        metavar="SPEC",
        help="Language model: anthropic:NAME, openai:NAME, openai:NAME@URL, ollama:NAME, local, none.",
    ),
]
Effort = Annotated[
    str | None, typer.Option("--effort", metavar="LEVEL", help="How much the evaluator reads: low (nothing), normal, high.")
]
Hops = Annotated[
    int | None,
    typer.Option("--hops", metavar="N", min=1, max=2, help="2: every search also follows what its first passages lead to."),
]
Params = Annotated[
    list[str] | None,
    typer.Option("--param", "-p", metavar="NAME=VALUE", help="A parameter of the strategy, name=value. May be repeated."),
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
AsJson = Annotated[bool, typer.Option("--json", metavar="", help="Print one JSON object on stdout and nothing else there.")]


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
