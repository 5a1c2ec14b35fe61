"""`wellread cache`: what wellread keeps by itself, and making room."""

from __future__ import annotations

import os
import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from wellread.cli import options
from wellread.cli.commands import Commands
from wellread.cli.terminal import say, say_json, tell
from wellread.core.private_files import at_home

app = Commands("Show and clear the indexes of folders that were asked.")


@app.command("list")
def list_(as_json: options.AsJson = False) -> None:
    """The folders whose indexes are kept, the last used first."""
    from wellread.index import kept

    found = kept.everything(os.environ)
    rows = [{**asdict(one), "place": str(one.place)} for one in found]
    if as_json:
        say_json({"kept": rows, "bytes": sum(one.bytes for one in found)})
        return
    for one in found:
        day = time.strftime("%Y-%m-%d", time.localtime(one.used))
        say(f"{one.of}: {one.passages:,} passages, {one.vectors:,} vectors, {_megabytes(one.bytes)}, used {day}")
    say(f"{len(found)} kept, {_megabytes(sum(one.bytes for one in found))}")


@app.command()
def clear(
    paths: Annotated[list[Path] | None, typer.Argument(metavar="PATH", help="Of these folders alone; all unless given.")] = None,
    as_json: options.AsJson = False,
) -> None:
    """Delete the indexes; they are made again when they are asked for.

    wellread cache clear notes/
    """
    from wellread.index import kept

    wanted = {str(at_home(path).resolve()) for path in paths or []}
    found = [one for one in kept.everything(os.environ) if not wanted or one.of in wanted]
    freed = kept.clear(found)
    tell(as_json, {"bytes": freed}, f"{_megabytes(freed)} freed")


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"
