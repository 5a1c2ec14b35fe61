"""`wellread read`: the main text of one page or file."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from wellread.cli import options
from wellread.cli.terminal import note, say, say_json
from wellread.core.private_files import at_home
from wellread.errors import ReadError, UsageError
from wellread.types import Page


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
    from urllib.parse import unquote, urlsplit

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
    from wellread.reading.reader import WebReader

    settings = options.load(no_cache=no_cache)
    reader = WebReader(
        cache=settings.cache,
        allow_hosts=(*settings.allow_hosts, *(allow_host or ())),
        ignore_robots=ignore_robots or settings.ignore_robots,
    )
    try:
        return await reader.read(url)
    finally:
        await reader.aclose()
