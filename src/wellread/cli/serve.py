"""`wellread serve`: the page, the API, the OpenAI-compatible endpoint and MCP on one port; `wellread mcp`: MCP on standard input
and output, for editors and assistants that start it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from wellread.cli import options


@options.answering(without=["param"])
def serve(
    host: str | None = options.flag("--host", "HOST", "Address to listen on; any but loopback needs a token."),
    port: int | None = options.flag("--port", "PORT", "Port to listen on; 8000 unless set.", min=0, max=65535),
    token: str | None = options.flag(
        "--token", "TOKEN", "What clients must show; WELLREAD_TOKEN keeps it out of the process list."
    ),
    history: str | None = options.flag(
        "--history",
        "PLACE",
        "File of the history, or postgresql://USER@HOST/DATABASE; WELLREAD_HISTORY keeps passwords out of sight.",
    ),
    folder: list[Path] | None = options.flag(
        "--folder", "DIR", "Folder that the page may read documents from; on loopback alone."
    ),
    workers: int | None = options.flag(
        "--workers", "N", "Processes behind the one address, on a PostgreSQL history.", min=1, max=256
    ),
    verbose: bool = options.flag("--verbose -v", "", "Log every request; without it only where stderr is a file.", False),
    *,
    chosen: options.Chosen,
) -> None:
    """Serve the page and the API. Limits given here hold for every question.

    wellread serve
    wellread serve --source wikipedia --source library --max-seconds 60
    WELLREAD_TOKEN=… wellread serve --host 0.0.0.0
    wellread serve --workers 4 --history postgresql://db.example.org/wellread
    """
    from wellread.server import options as server_options

    flags: dict[str, object] = {"host": host, "port": port, "token": token, "history": history, "workers": workers}
    flags["verbose"] = verbose or None
    flags["folders"] = tuple(map(str, folder)) if folder else None
    served = server_options.load(chosen.settings, flags)
    served.check()
    from wellread.server import serving

    serving.serve(chosen.settings, served)


@options.answering(without=["fallback", "effort", "hops", "param"])
def mcp(chosen: options.Chosen) -> None:
    """Offer ask, search and read as MCP tools over stdio. Ends when the client closes its end."""
    from wellread.engine import Engine
    from wellread.server.mcp import serve_stdio

    asyncio.run(serve_stdio(Engine(chosen.settings)))
