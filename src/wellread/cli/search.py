"""`wellread search`: what the sources find, without an answer."""

from __future__ import annotations

import asyncio

import typer

from wellread.cli import opening, options, show
from wellread.cli.terminal import note, say_json
from wellread.types import Hits, by_document


def search(
    words: options.Words,
    source: list[str] | None = options.SOURCES,
    limit: int = options.flag("--limit -n", "N", "How many results.", 10, min=1, max=1000),
    effort: str | None = options.EFFORT,
    hops: int | None = options.HOPS,
    no_cache: options.NoCache = False,
    as_json: options.AsJson = False,
) -> None:
    """Search the sources and list what they find. Exit status 3 when nothing is found.

    wellread search "moons of Jupiter"
    wellread search "central bank" --source wikipedia --limit 3 --json
    wellread search "Who discovered the largest moon of Saturn?" --hops 2
    """
    query = " ".join(words)
    settings = options.load(sources=source, no_cache=no_cache, effort=effort, hops=hops)
    hits = asyncio.run(_search(query, settings, limit))
    if settings.cache:
        opening.keep(opening.found(by_document(hits)))
    for failure in hits.failures:
        note(f"wellread: {failure}")
    if as_json:
        from wellread.events import documents_json, hit_json

        say_json({"query": query, "hits": [hit_json(hit) for hit in hits], "documents": documents_json(hits)})
    else:
        for number, group in enumerate(by_document(hits), 1):
            show.found_document(number, group)
        if not hits:
            note("nothing found")
    raise typer.Exit(0 if hits else 3)


async def _search(query: str, settings: options.Settings, limit: int) -> Hits:
    from wellread.engine import Engine

    async with Engine(settings) as engine:
        return await engine.search(query, limit=limit)
