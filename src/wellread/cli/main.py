"""`wellread`: the commands, and what a person sees when one fails.

Exit status: 0 answered · 1 failed · 2 wrong usage · 3 no answer found · 130 stopped by the user.
"""

from __future__ import annotations

import gc
import io
import os
import sys
from collections.abc import Iterable
from importlib import import_module
from typing import Annotated

import typer

from wellread.cli.options import Commands
from wellread.cli.terminal import note, say
from wellread.errors import UsageError, WellreadError
from wellread.version import __version__

# The commands in the order of the help, each with where it is and its summary; only the one that is called is loaded.
_COMMANDS = {
    "ask": ("ask.ask", "Answer a question, with numbered sources that a program has checked."),
    "research": ("ask.research", "Write a cited report in sections, each sentence checked, and what could not be found."),
    "compare": (
        "compare.compare",
        "Answer one question with several strategies, one after the other, and show the results in one table.",
    ),
    "chat": ("chat.chat", "Ask one question after another. A follow-up is made to stand alone before it is searched."),
    "search": ("read.search", "Search the sources and list what they find. Exit status 3 when nothing is found."),
    "open": (
        "opening.open_place",
        "Open a source of the last `ask`, `chat` or `search` at its place: the page of a PDF, the words of a page on the web.",
    ),
    "cite": (
        "opening.cite",
        "References of the last `ask`, `chat` or `search`: BibTeX, RIS, CSL-JSON, a plain list, or a style.",
    ),
    "read": ("read.read", "Print the main text of a page, a PDF, or a text, Markdown, Word or EPUB file."),
    "serve": ("serve.serve", "Serve the page and the API. Limits given here hold for every question."),
    "mcp": ("serve.mcp", "Offer ask, search and read as MCP tools over stdio. Ends when the client closes its end."),
    "eval": ("eval.evaluate", "Measure retrieval, answers, citations and cost over questions with known answers."),
    "replay": ("trace.replay", "Run a recording again, without network or model, and compare it event by event."),
    "trace": ("trace.trace", "Show where the time and tokens of a run went, what was found, kept and dropped, and why."),
    "plugins": ("init.plugins", "List strategies, sources, models, embedders, re-rankers and graders with their parameters."),
    "doctor": (
        "init.doctor",
        "Check Python, weights, library, keys, servers and settings. Exit status 1 when something is broken.",
    ),
    "init": ("init.init", "Write a settings file that names every setting with its meaning and default."),
    "completion": ("completion.completion", "Print the completion for a shell; put the line for yours into its start-up file."),
    "dataset": ("index.dataset", "Make embedded data sets: parquet files that indexes are built from."),
    "index": ("index.app", "Build, change, search and check local indexes."),
    "cache": ("index.cache", "Show and clear the indexes of folders that were asked."),
    "cluster": ("cluster.app", "Put an index on the nodes of a Ray cluster."),
}


def commands(loaded: Iterable[str] = _COMMANDS) -> Commands:
    """The command line with these commands; with none, its outline: what its help and its complaints name."""
    made = Commands(
        "An answer engine you run yourself: it searches, reads, judges and answers with checked citations.",
        name="wellread",
        epilog="Start with: wellread ask Who invented the telescope",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    made.callback()(top)
    for name in loaded:
        file, _, called = _COMMANDS[name][0].partition(".")
        found = getattr(import_module(f"wellread.cli.{file}"), called)
        if isinstance(found, Commands):
            made.add_typer(found, name=name)
        else:
            made.command(name)(found)
    for name, (_, summary) in () if loaded else _COMMANDS.items():
        made.command(name, help=summary)(lambda: None)
    return made


def __getattr__(name: str) -> Commands:
    """`app`: the command line with all of its commands."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return commands()


def _version(wanted: bool) -> None:
    if wanted:
        say(f"wellread {__version__}")
        raise typer.Exit


def top(
    version: Annotated[
        bool, typer.Option("--version", metavar="", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """An answer engine you run yourself: it searches, reads, judges and answers with checked citations."""


def main() -> None:
    """Run the command line; what goes wrong is one line on stderr, never a traceback."""
    _mend_streams()
    if "_WELLREAD_COMPLETE" in os.environ:
        from typer.completion import completion_init  # pyright: ignore[reportPrivateImportUsage]

        completion_init()  # teaches typer the shells: without its own two flags it knows none
    status = _written(_status())
    gc.freeze()  # what is left goes with the process: Python would look through all of it once more, a tenth of a short command
    sys.exit(status)


def _mend_streams() -> None:
    """A stream that the caller has closed reads and writes nothing; a letter that a terminal lacks becomes a question mark."""
    sys.stdin = sys.stdin or open(os.devnull, encoding="utf-8")  # noqa: SIM115
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _status() -> int | str | None:
    try:
        words = with_values(sys.argv[1:])
        completes = "_WELLREAD_COMPLETE" in os.environ
        commands(_COMMANDS if completes else [word for word in words[:1] if word in _COMMANDS])(words)
    except SystemExit as end:
        return _told("stopped", 130) if end.code == 130 else end.code
    except KeyboardInterrupt:
        return _told("stopped", 130)
    except WellreadError as problem:
        return _told(str(problem), 2 if isinstance(problem, UsageError) else 1)
    except OSError as problem:  # a full disk, a folder that may not be written: the machine's matter, not a mistake of ours
        return _told(_reason(problem), 1)
    except Exception as problem:
        if os.environ.get("WELLREAD_DEBUG"):
            raise
        first = (str(problem).splitlines() or [""])[0]
        return _told(f"unexpected {type(problem).__name__}: {first} (WELLREAD_DEBUG=1 shows where)", 1)
    return 0


def with_values(words: list[str]) -> list[str]:
    """`--ray` may stand without a value, which Typer's options cannot."""
    options = words[: words.index("--")] if "--" in words else words
    filled: list[str] = []
    for place, word in enumerate(options):
        filled.append(word)
        if word == "--ray" and (place + 1 == len(options) or options[place + 1].startswith("-")):
            filled.append("auto")
    return filled + words[len(options) :]


def _written(status: int | str | None) -> int | str | None:
    """The status, once everything is out; what cannot be written would else be said by Python, after us and at length."""
    try:
        sys.stdout.flush()
    except OSError as problem:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        broken = isinstance(problem, BrokenPipeError)  # whoever read has read enough
        return 1 if broken else _told(_reason(problem), 1)
    return status


def _told(message: str, status: int) -> int:
    note(f"wellread: {message}")
    return status


def _reason(problem: OSError) -> str:
    why = problem.strerror or str(problem)
    return f"{problem.filename}: {why}" if problem.filename else why
