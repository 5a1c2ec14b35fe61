"""`wellread mcp`: MCP on standard input and output, for editors and assistants that start it."""

from __future__ import annotations

import asyncio

from wellread.cli import options


def mcp(
    strategy: options.Strategy = None,
    source: options.Sources = None,
    model: options.Model = None,
    no_cache: options.NoCache = False,
    max_searches: options.MaxSearches = None,
    max_tokens: options.MaxTokens = None,
    max_seconds: options.MaxSeconds = None,
    max_cost: options.MaxCost = None,
) -> None:
    """Offer ask, search and read as MCP tools over stdio. Ends when the client closes its end."""
    settings = options.load(
        sources=source,
        no_cache=no_cache,
        strategy=strategy,
        model=model,
        max_searches=max_searches,
        max_tokens=max_tokens,
        max_seconds=max_seconds,
        max_cost=max_cost,
    )
    from wellread.engine import Engine
    from wellread.server.mcp import serve_stdio

    asyncio.run(serve_stdio(Engine(settings)))
