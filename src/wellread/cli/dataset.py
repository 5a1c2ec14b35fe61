"""`wellread dataset`: embedded data sets on disk."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from wellread.cli import feeds, options
from wellread.cli.commands import Commands
from wellread.cli.terminal import tell
from wellread.events import counted

if TYPE_CHECKING:
    from wellread.index.inputs import InputOptions

app = Commands("Make embedded data sets: parquet files that indexes are built from.")


@app.callback()
def group() -> None:
    """Make embedded data sets: parquet files that indexes are built from."""


@app.command()
def create(
    inputs: feeds.Inputs,
    output: Path = options.flag("--output -o", "DIR", "Folder for the parquet files.", ...),
    embedder: str | None = feeds.EMBEDDER,
    tokens: int = feeds.TOKENS,
    overlap: int = feeds.OVERLAP,
    column: list[str] | None = feeds.COLUMNS,
    config: str | None = feeds.CONFIG,
    shard_rows: int = options.flag("--shard-rows", "N", "Passages in one file.", 50000, min=1),
    fresh: bool = options.flag("--fresh", "", "Begin again, even if a part is done.", False),
    ray: str | None = feeds.ON_RAY,
    as_json: options.AsJson = False,
) -> None:
    """Read, split and embed inputs into parquet shards. Run it again after an interruption: it goes on where it stopped.

    wellread dataset create articles/ --output articles-embedded
    wellread dataset create corpus.jsonl.gz --output corpus --column text=body
    """
    feeds.apart(inputs, output)
    how = feeds.reading(tokens, overlap, column, config)
    if ray is not None:
        from wellread.cli.cluster import data_set_on_ray

        rows, unreadable = data_set_on_ray(feeds.order(inputs, embedder, 1, how), output, ray, as_json)
    else:
        rows, unreadable = asyncio.run(_create(inputs, output, embedder, how, shard_rows, fresh, as_json)), how.unreadable
    facts = {"rows": rows, "output": str(output), "unreadable": unreadable}
    tell(as_json, facts, f"{counted(rows, 'passage', 'passages')} in {output}")


async def _create(
    inputs: list[str], output: Path, embedder: str | None, how: InputOptions, shard_rows: int, fresh: bool, silent: bool
) -> int:
    from wellread.index.dataset import create as write

    go_on = f"{output} is unfinished; the same command goes on after its last file"
    async with feeds.working(silent, how.unreadable, go_on) as (kit, ticker):
        source = feeds.feed(inputs, kit, embedder, how, embed=True)
        return await write(output, source, shard_rows=shard_rows, resume=not fresh, progress=ticker)
