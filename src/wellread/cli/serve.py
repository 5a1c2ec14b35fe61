"""`wellread serve`: the page, the API, the OpenAI-compatible endpoint and MCP on one port."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wellread.cli import options


@options.answering(without=["param"])
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
    history: Annotated[
        str | None,
        typer.Option(
            "--history",
            metavar="PLACE",
            help="File of the history, or postgresql://USER@HOST/DATABASE; WELLREAD_HISTORY keeps passwords out of sight.",
        ),
    ] = None,
    folder: Annotated[
        list[Path] | None,
        typer.Option("--folder", metavar="DIR", help="Folder that the page may read documents from; on loopback alone."),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option("--workers", metavar="N", min=1, max=256, help="Processes behind the one address, on a PostgreSQL history."),
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", metavar="", help="Log every request; without it only where stderr is a file.")
    ] = False,
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
    from wellread.server import workers as several

    several.check(served)
    (several if served.workers > 1 else serving).serve(chosen.settings, served)
