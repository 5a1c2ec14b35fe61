"""`wellread cite`: the references of the last answer, for a bibliography."""

from __future__ import annotations

from typing import Annotated

import typer

from wellread.citations.references import FORMATS, footnotes, references, written
from wellread.cli import opening
from wellread.errors import UsageError


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
    last = opening.load()
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
