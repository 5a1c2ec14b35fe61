"""`wellread search`: what the sources find, without an answer; `wellread read`: the main text of one page or file."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Annotated
from urllib.parse import unquote, urlsplit

import typer

from wellread.cli import opening, options, show
from wellread.cli.terminal import note, say, say_json
from wellread.core.private_files import at_home
from wellread.errors import ReadError, UsageError
from wellread.events import documents_json, hit_json
from wellread.types import Hits, Page, by_document


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
    from wellread.engine import Engine

    query = " ".join(words)
    settings = options.load(sources=source, no_cache=no_cache, effort=effort, hops=hops)

    async def work() -> Hits:
        async with Engine(settings) as engine:
            return await engine.search(query, limit=limit)

    hits = asyncio.run(work())
    if settings.cache:
        opening.keep(opening.found(by_document(hits)))
    for failure in hits.failures:
        note(f"wellread: {failure}")
    if as_json:
        say_json({"query": query, "hits": [hit_json(hit) for hit in hits], "documents": documents_json(hits)})
    else:
        for number, group in enumerate(by_document(hits), 1):
            show.found_document(number, group)
        if not hits:
            note("nothing found")
    raise typer.Exit(0 if hits else 3)


def read(
    what: Annotated[str, typer.Argument(metavar="URL|FILE", help="A page (http or https) or a file.")],
    as_json: options.AsJson = False,
    ignore_robots: bool = options.flag("--ignore-robots", "", "Read what robots.txt asks not to: your own site.", False),
    allow_host: list[str] | None = options.flag(
        "--allow-host", "HOST", "A host of your own that is not public, as host or host:port. May be repeated."
    ),
    no_cache: options.NoCache = False,
) -> None:
    """Print the main text of a page, a PDF, or a text, Markdown, Word or EPUB file.

    wellread read https://en.wikipedia.org/wiki/Lighthouse
    wellread read paper.pdf --json
    wellread read http://localhost:8000/ --allow-host localhost
    """
    if not what.strip():
        raise UsageError("nothing to read: give an address or a file")
    page = (
        asyncio.run(_fetched(what, ignore_robots, allow_host, no_cache))
        if "://" in what and not what.lower().startswith("file://")
        else _opened(what)
    )
    if as_json:
        facts = {name: getattr(page, name) for name in ("url", "title", "author", "published", "language", "kind", "notice")}
        say_json({**facts, "text": page.text, "passages": page.passages})
        return
    for line in (page.title, " · ".join(filter(None, (page.author, page.published, page.url))), page.notice):
        if line:
            note(line)
    say(page.text)


def _opened(what: str) -> Page:

    from wellread.reading.documents import opened
    from wellread.reading.workers import shared

    try:
        path = Path(unquote(urlsplit(what).path)) if what.lower().startswith("file://") else at_home(what)
        return shared().read(opened(path))
    except ValueError:  # brackets that hold no address, or a path with a zero byte
        raise UsageError(f"{what!r} names no file") from None
    except ReadError as problem:
        raise ReadError(what, problem.reason) from problem  # by the name that was given, not by an address with its letters coded


async def _fetched(url: str, ignore_robots: bool, allow_host: list[str] | None, no_cache: bool) -> Page:
    from wellread.parts import Parts

    settings = options.load(no_cache=no_cache)
    hosts, unasked = (*settings.allow_hosts, *(allow_host or ())), ignore_robots or settings.ignore_robots
    async with aclosing(Parts(replace(settings, allow_hosts=hosts, ignore_robots=unasked))) as kit:
        return await kit.pages().read(url)
