"""`wellread`: the commands, and what a person sees when one fails.

Exit status: 0 answered · 1 failed · 2 wrong usage · 3 no answer found · 130 stopped by the user.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from wellread.cli import ask, chat, compare, dataset, doctor, eval, index, mcp, plugins, read, replay, search, serve, trace
from wellread.errors import UsageError, WellreadError
from wellread.version import __version__

app = typer.Typer(
    name="wellread",
    help="An answer engine you run yourself: it searches, reads, judges and answers with checked citations.",
    epilog='Start with: wellread ask "Who invented the telescope?"',
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("ask")(ask.ask)
app.command("compare")(compare.compare)
app.command("chat")(chat.chat)
app.command("search")(search.search)
app.command("read")(read.read)
app.command("serve")(serve.serve)
app.command("mcp")(mcp.mcp)
app.command("eval")(eval.evaluate)
app.command("replay")(replay.replay)
app.command("trace")(trace.trace)
app.command("plugins")(plugins.plugins)
app.command("doctor")(doctor.doctor)
app.add_typer(dataset.app, name="dataset")
app.add_typer(index.app, name="index")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"wellread {__version__}")
        raise typer.Exit


@app.callback()
def top(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """An answer engine you run yourself: it searches, reads, judges and answers with checked citations."""


def main() -> None:
    """Run the command line; errors of ours are one line on stderr, never a traceback."""
    try:
        app()
    except WellreadError as problem:
        typer.echo(f"wellread: {problem}", err=True)
        sys.exit(2 if isinstance(problem, UsageError) else 1)
    except KeyboardInterrupt:
        typer.echo("wellread: stopped", err=True)
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
