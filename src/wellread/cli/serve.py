"""`wellread serve`: the page, the API, the OpenAI-compatible endpoint and MCP on one port."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wellread.cli import options


def serve(
    host: Annotated[
        str | None, typer.Option("--host", metavar="HOST", help="Address to listen on; any but loopback needs a token.")
    ] = None,
    port: Annotated[
        int | None, typer.Option("--port", metavar="PORT", min=0, max=65535, help="Port to listen on; 8000 unless set.")
    ] = None,
    token: Annotated[
        str | None,
        typer.Option("--token", metavar="TOKEN", help="What clients must show; WELLREAD_TOKEN keeps it out of the process list."),
    ] = None,
    data: Annotated[Path | None, typer.Option("--data", metavar="FILE", help="File of the history.")] = None,
    strategy: options.Strategy = None,
    source: options.Sources = None,
    fallback: options.Fallback = None,
    model: options.Model = None,
    effort: options.Effort = None,
    hops: options.Hops = None,
    no_cache: options.NoCache = False,
    max_searches: options.MaxSearches = None,
    max_tokens: options.MaxTokens = None,
    max_seconds: options.MaxSeconds = None,
    max_cost: options.MaxCost = None,
) -> None:
    """Serve the page and the API. Limits given here hold for every question.

    wellread serve
    wellread serve --source wikipedia --source library --max-seconds 60
    WELLREAD_TOKEN=… wellread serve --host 0.0.0.0
    """
    settings = options.load(
        sources=source,
        no_cache=no_cache,
        strategy=strategy,
        fallback=fallback,
        model=model,
        effort=effort,
        hops=hops,
        max_searches=max_searches,
        max_tokens=max_tokens,
        max_seconds=max_seconds,
        max_cost=max_cost,
    )
    from wellread.server import options as server_options

    flags = {"host": host, "port": port, "token": token, "data": str(data) if data else None}
    chosen = server_options.load(settings, flags)
    chosen.check()
    from wellread.server.serving import serve as run

    run(settings, chosen)
