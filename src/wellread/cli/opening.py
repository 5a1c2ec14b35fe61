"""`wellread open N`: a source of the last answer, at its place; `wellread cite`: its references, for a bibliography.

What the last `ask`, `chat` or `search` in a terminal has shown is kept in the user's state folder, for this user alone, so that
its numbers are known. Nothing depends on it: where it cannot be written, it is not kept.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

import typer

from wellread.answer_json import AnswerJson, CitationJson, placed
from wellread.citations.references import FORMATS, footnotes, references, written
from wellread.cli import options
from wellread.cli.terminal import note, say
from wellread.core import codec
from wellread.core.private_files import replace_private
from wellread.core.values import frozen
from wellread.errors import ReadError, UsageError, WellreadError, os_errors
from wellread.present.sections import bracketed, sections
from wellread.text.places import at_words
from wellread.types import Answer, Hit, Original, Passage

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


_TEXT = 20_000  # characters of a passage that are kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown(CitationJson):
    """One numbered source as it was shown."""

    text: str = ""
    doubts: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])  # sentences that cite it and are not carried


@frozen
class Last:
    """Last command's output: where it ran, its sources, and the answer's text where there was one."""

    where: str
    shown: list[Shown]
    answer: str = ""

    def under(self, number: int) -> Shown:
        """The source of a number; raises `UsageError` where there is none."""
        found = next((one for one in self.shown if one.number == number), None)
        if found is None:
            numbers = ", ".join(str(one.number) for one in self.shown) or "none"
            raise UsageError(f"the last answer has no source {number}; it has: {numbers}")
        return found


def cited(answer: Answer) -> list[Shown]:
    """The sources of an answer under their numbers, each with the words that carry most, and what came near it under theirs."""
    best = {one.number: one for one in sorted(answer.citations, key=lambda one: one.support)}
    near = [_shown(one.number, one.passage, one.words) for one in answer.nearest]
    doubts: dict[int, list[tuple[str, str]]] = {}
    for one in sections(AnswerJson.of(answer)).doubts:
        if one.cited:
            beside = bracketed(one.sentence, one.ours), bracketed(one.cited.quote, one.theirs)
            doubts.setdefault(one.cited.number, []).append(beside)
    shown = [_shown(number, one.passage, one.quote) for number, one in sorted(best.items())]
    return [replace(one, doubts=doubts.get(one.number, [])) for one in shown] + near


def found(groups: Sequence[Sequence[Hit]]) -> list[Shown]:
    """The documents of a list of results under theirs, each at its best passage."""
    return [_shown(number, group[0], "") for number, group in enumerate(groups, 1)]


def _shown(number: int, of: Passage | Hit, quote: str) -> Shown:
    text = of.words if isinstance(of, Hit) else of.text
    return Shown(**placed(of), number=number, quote=quote, text=text[:_TEXT])


def keep(shown: Sequence[Shown], answer: str = "", environ: Mapping[str, str] = os.environ) -> None:
    """In place of what was kept before. Where the command ran is kept too: sources may be named from there."""
    path = _path(environ)
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_private(path, codec.dumps(Last(os.getcwd(), list(shown), answer)).encode())


def load(environ: Mapping[str, str] = os.environ) -> Last:
    """Last output from the state file; raises `UsageError` where there is none."""
    try:
        return codec.loads(Last, _path(environ).read_bytes())
    except FileNotFoundError:
        raise UsageError("nothing has been asked yet: wellread ask, or wellread search, then wellread open N") from None
    except (OSError, ValueError):
        raise UsageError("what was asked last cannot be read any more: ask again") from None


def _path(environ: Mapping[str, str]) -> Path:
    if named := environ.get("WELLREAD_STATE_DIR"):
        return Path(named) / "last.json"
    from platformdirs import user_state_path

    return user_state_path("wellread") / "last.json"


def open_place(
    number: Annotated[int, typer.Argument(metavar="N", help="The number of a source, as the last answer or search shows it.")],
    printed: bool = options.flag("--print", None, "Print the passage and the command that opens it, and open nothing.", False),
) -> None:
    """Open a source of the last `ask`, `chat` or `search` at its place: the page of a PDF, the words of a page on the web.

    Sentences that cite it and are not carried are printed beside the words that come nearest, »what differs« marked in both.
    Where there is no display, the passage is printed with the command that opens it.

    wellread ask "Why is R named R?" --source manuals/
    wellread open 1
    """
    last = load()
    chosen = last.under(number)
    for sentence, quote in chosen.doubts:
        say(f"Not carried: {sentence}\n{chosen.place}: {quote or 'nothing that comes near'}\n")
    command = _command(chosen, Path(last.where))
    display = sys.platform == "darwin" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if command and not printed and display:
        nothing = subprocess.DEVNULL
        with os_errors(WellreadError, command[0]):  # it stays when we end, and says nothing into this terminal
            subprocess.Popen(command, start_new_session=True, stdin=nothing, stdout=nothing, stderr=nothing)
        note(f"{chosen.place}: {Path(command[0]).name}")
        return
    say(chosen.place)
    at = chosen.text.find(chosen.quote) if chosen.quote else -1
    say(textwrap.indent(bracketed(chosen.text, [(at, at + len(chosen.quote))] if at >= 0 else []), "    "))
    if command:
        say(shlex.join(command))


def _command(chosen: Shown, where: Path) -> list[str] | None:
    """The command line of a viewer or browser; None for what is no file and has no address."""
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
        async with aclosing(Parts(options.load())) as kit:
            return await kit.source(chosen.source).original(chosen.document or "")

    with os_errors(WellreadError, f"{where}"):
        os.chdir(where)
        return asyncio.run(find())


def _file(path: str, chosen: Shown) -> list[str]:
    suffix = Path(path).suffix.lower()
    if suffix == ".pdf" and chosen.page:
        for program, arguments in _PDF.items():
            if found := shutil.which(program):
                return [found, *(one.format(page=chosen.page, path=path) for one in arguments)]
    fragment = f"#page={chosen.page}" if suffix == ".pdf" and chosen.page else ""
    browser = next((found for name in _BROWSERS if (found := shutil.which(name))), None)
    if browser and (fragment or suffix in (".html", ".htm", ".xhtml")):
        address = Path(path).as_uri()
        return [browser, address + fragment if fragment else at_words(address, chosen.quote, chosen.anchor)]
    return [_opener(), path]


def _opener() -> str:
    return "open" if sys.platform == "darwin" else shutil.which("xdg-open") or "xdg-open"


def cite(
    numbers: Annotated[
        list[int] | None, typer.Argument(metavar="[N]…", help="Numbers of sources, as the last answer shows them; all if none.")
    ] = None,
    how: Annotated[
        str, typer.Option("--format", "-f", metavar="FORMAT", help=f"{', '.join(FORMATS)} or footnotes (the answer with them).")
    ] = "plain",
) -> None:
    """References of the last `ask`, `chat` or `search`: BibTeX, RIS, CSL-JSON, a plain list, or a style.

    wellread ask "What is known about statins and muscle pain?" --source pubmed
    wellread cite 1 --format bibtex >> thesis.bib
    wellread cite --format apa
    """
    last = load()
    cited = [one for one in last.shown if not last.answer or f"[{one.number}]" in last.answer]  # and not what only comes near
    chosen = [last.under(number) for number in numbers] if numbers else cited
    if how == "footnotes":
        if not last.answer:
            raise UsageError("footnotes stand under an answer, and the last command gave none")
        text = footnotes(last.answer, chosen)
    elif how in FORMATS:
        text = written(references(chosen), how)
    else:
        raise UsageError(f"--format must be one of {', '.join(FORMATS)}, footnotes, not {how!r}")
    typer.echo(text, nl=False)
