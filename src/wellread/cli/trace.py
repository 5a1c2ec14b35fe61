"""`wellread trace`: what a run did, as a timeline; `wellread replay`: a recorded run again, and where it would go another way."""

from __future__ import annotations

import asyncio
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wellread import events
from wellread.cli import ask, options, show
from wellread.cli.terminal import clean, note, say
from wellread.errors import ReplayMismatch, UsageError, os_errors

if TYPE_CHECKING:
    from wellread.trace.timeline import Step, Timeline

_WIDTH = 24  # characters of a bar
_BARS = ("search", "read", "model")


def trace(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A trace (ask --trace) or a recording (ask --record).")],
    html: Path | None = options.flag("--html", "FILE", "Write a page that needs nothing else."),
) -> None:
    """Show where the time and tokens of a run went, what was found, kept and dropped, and why.

    wellread ask "Who invented the telescope?" --trace run.jsonl
    wellread trace run.jsonl --html run.html
    """
    from wellread.trace.timeline import load

    story = load(file)
    if html is not None:
        from wellread.trace.timeline import page

        with os_errors(UsageError, f"{html} cannot be written"):
            html.write_text(page(story), encoding="utf-8")
        note(str(html))
        return
    _print(clean(story))


def _print(story: Timeline) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, emoji=False, soft_wrap=not sys.stdout.isatty())
    console.print(Text(story.question, style="bold"))
    tokens = story.usage.input_tokens + story.usage.output_tokens
    head = [story.strategy, story.model or "no model", story.outcome, f"{story.seconds:.2f} s"]
    head += [f"{kind} {seconds:.2f} s" for kind, seconds in story.by_kind.items()]
    console.print(Text(" · ".join([*head, *([f"{tokens:,} tokens"] if tokens else [])]), style="dim"))
    console.print()
    for step in story.steps:
        console.print(_line(story, step), no_wrap=True, overflow="ellipsis", crop=sys.stdout.isatty())
    if story.fates:
        console.print()
        for fate in story.fates:
            style = {"cited": "green", "shown": "", "dropped": "dim"}[fate.verdict]
            where = f"“{_short(fate.query, 40)}” #{fate.place}"
            told = Text(f"{fate.verdict:8} {_short(fate.name or fate.id, 60)} · {fate.why} · {where}", style=style)
            console.print(told, no_wrap=True, overflow="ellipsis", crop=sys.stdout.isatty())


def _short(text: str, width: int) -> str:
    """A query may be a whole passage; on a line of its own it is a hint."""
    return textwrap.shorten(text, width, placeholder=" …") if sys.stdout.isatty() else " ".join(text.split())


def _line(story: Timeline, step: Step) -> str:
    from rich.markup import escape

    total = story.seconds or 1.0
    kind, label = escape(step.kind), escape(" ".join(step.label.split())[:90])
    if step.kind not in _BARS:
        return f"{step.start:7.2f}  {' ' * _WIDTH}  [dim]{kind}: {label}[/]"
    start = min(_WIDTH - 1, int(step.start / total * _WIDTH))
    length = max(1, min(_WIDTH - start, round(step.seconds / total * _WIDTH)))
    bar = " " * start + "█" * length + " " * (_WIDTH - start - length)
    return f"{step.start:7.2f}  [cyan]{bar}[/]  {kind}: {label} [dim]({step.seconds:.2f} s, {escape(step.detail)})[/]"


def replay(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A recording, made with: wellread ask QUESTION --record FILE.")],
    strategy: str | None = options.STRATEGY,
    param: list[str] | None = options.PARAMS,
    diff: bool = options.flag("--diff", "", "Show what was asked then and now where the run departs.", False),
    as_json: options.AsJson = False,
    as_events: options.AsEvents = False,
) -> None:
    """Run a recording again, without network or model, and compare it event by event.

    Exit status 1 says that the run departs from its recording: a prompt, a strategy or a part of the program has changed.

    wellread ask "Who invented the telescope?" --record telescope.jsonl
    wellread replay telescope.jsonl
    wellread replay telescope.jsonl --param results=3 --diff
    """
    from wellread.replay.runs import replayed

    display, seen = show.display(as_json=as_json, as_events=as_events), list[events.Event]()
    stream = replayed(file, strategy=strategy, params=options.parameters(param))
    try:
        answer = asyncio.run(show.followed(stream, display, seen.append))
    except ReplayMismatch as problem:
        if diff and problem.diff:
            say(problem.diff)
        raise
    note(f"{file}: the same {len(seen)} events as recorded")
    raise typer.Exit(ask.status(answer) if answer is not None else 0)
