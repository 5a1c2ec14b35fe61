"""`wellread mcp`: MCP on standard input and output, for editors and assistants that start it."""

from __future__ import annotations

import asyncio

from wellread.cli import options


@options.answering(without=["fallback", "effort", "hops", "param"])
def mcp(chosen: options.Chosen) -> None:
    """Offer ask, search and read as MCP tools over stdio. Ends when the client closes its end."""
    from wellread.engine import Engine
    from wellread.server.mcp import serve_stdio

    asyncio.run(serve_stdio(Engine(chosen.settings)))
