"""`wellread open N`: a source of the last answer, at its place."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Annotated

import typer

from wellread.cli import last, options
from wellread.cli.last import Shown
from wellread.cli.terminal import note, say
from wellread.errors import ReadError, UsageError, WellreadError
from wellread.text.places import at_words
from wellread.types import Original

# Programs that open a PDF at a page, and how they are told; the first that is installed is taken.
_PDF = {
    "evince": ("--page-index={page}", "{path}"),
    "papers": ("--page-index={page}", "{path}"),
    "okular": ("--page", "{page}", "{path}"),
    "atril": ("--page-index={page}", "{path}"),
    "xreader": ("--page-index={page}", "{path}"),
    "zathura": ("--page={page}", "{path}"),
    "mupdf": ("{path}", "{page}"),
}
_BROWSERS = ("x-www-browser", "firefox", "chromium", "google-chrome")


def open_place(
    number: Annotated[int, typer.Argument(metavar="N", help="The number of a source, as the last answer or search shows it.")],
    printed: bool = options.flag("--print", None, "Print the passage and the command that opens it, and open nothing.", False),
) -> None:
    """Open a source of the last `ask`, `chat` or `search` at its place: the page of a PDF, the words of a page on the web.

    Where there is no display, the passage is printed with the command that opens it.

    wellread ask "Why is R named R?" --source manuals/
    wellread open 1
    """
    where, shown = last.load()
    chosen = next((one for one in shown if one.number == number), None)
    if chosen is None:
        numbers = ", ".join(str(one.number) for one in shown) or "none"
        raise UsageError(f"the last answer has no source {number}; it has: {numbers}")
    command = _command(chosen, where)
    if command and not printed and _has_display():
        _start(command)
        note(f"{chosen.place}: {Path(command[0]).name}")
        return
    say(chosen.place)
    say(textwrap.indent(_with_quote(chosen), "    "))
    if command:
        say(shlex.join(command))


def _start(command: list[str]) -> None:
    """It stays when we end, and says nothing into this terminal."""
    nothing = subprocess.DEVNULL
    try:
        subprocess.Popen(command, start_new_session=True, stdin=nothing, stdout=nothing, stderr=nothing)
    except OSError as problem:
        raise WellreadError(f"{command[0]}: {problem.strerror}") from None


def _with_quote(chosen: Shown) -> str:
    """The passage; the words that were quoted stand between marks."""
    at = chosen.text.find(chosen.quote) if chosen.quote else -1
    if at < 0:
        return chosen.text
    end = at + len(chosen.quote)
    return f"{chosen.text[:at]}»{chosen.text[at:end]}«{chosen.text[end:]}"


def _command(chosen: Shown, where: Path) -> list[str] | None:
    """What opens it; None for what is no file and has no address."""
    from wellread.reading.registry import by_suffix

    url = chosen.url or ""
    if url.startswith(("http://", "https://")):
        return [_opener(), at_words(url, chosen.quote, chosen.anchor)]
    if not chosen.document:
        return None
    original = _original(chosen, where)
    if original.state == "gone":
        raise ReadError(chosen.document, "the file is no longer where it was when it was read")
    if original.path is None or Path(original.path).suffix.lower() not in by_suffix():
        return None  # a desktop would rather run some files than show them
    if original.state == "changed":
        note(f"wellread: {chosen.document} has changed since it was read")
    return _file(original.path, chosen)


def _original(chosen: Shown, where: Path) -> Original:
    """As the source itself has it in its records: an address in an index of others may lead anywhere."""
    from wellread.parts import Parts

    async def find() -> Original:
        kit = Parts(options.load())
        try:
            source = kit.source(chosen.source)
            return await source.original(chosen.document or "")
        finally:
            await kit.aclose()

    try:
        os.chdir(where)
        return asyncio.run(find())
    except OSError as problem:
        raise WellreadError(f"{where}: {problem.strerror}") from None


def _file(path: str, chosen: Shown) -> list[str]:
    suffix = Path(path).suffix.lower()
    if suffix == ".pdf" and chosen.page:
        for program, arguments in _PDF.items():
            if found := shutil.which(program):
                page = chosen.page - 1 if "index" in arguments[0] else chosen.page
                return [found, *(one.format(page=page, path=path) for one in arguments)]
    fragment = f"#page={chosen.page}" if suffix == ".pdf" and chosen.page else ""
    browser = next((found for name in _BROWSERS if (found := shutil.which(name))), None)
    if browser and (fragment or suffix in (".html", ".htm", ".xhtml")):
        address = Path(path).as_uri()
        return [browser, address + fragment if fragment else at_words(address, chosen.quote, chosen.anchor)]
    return [_opener(), path]


def _opener() -> str:
    return "open" if sys.platform == "darwin" else shutil.which("xdg-open") or "xdg-open"


def _has_display() -> bool:
    return sys.platform == "darwin" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
