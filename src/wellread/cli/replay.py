"""`wellread replay`: a recorded run again, and where it would go another way today."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path
from typing import Annotated

import typer

from wellread.cli import ask, options, show
from wellread.cli.terminal import note, say
from wellread.errors import ReplayMismatch
from wellread.types import Answer


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
    display = show.display(as_json=as_json, as_events=as_events)
    try:
        answer, count = asyncio.run(_replay(file, strategy, options.parameters(param), display))
    except ReplayMismatch as problem:
        if diff and problem.diff:
            say(problem.diff)
        raise
    note(f"{file}: the same {count} events as recorded")
    raise typer.Exit(ask.status(answer) if answer is not None else 0)


async def _replay(
    file: Path, strategy: str | None, params: dict[str, object], display: show.Display
) -> tuple[Answer | None, int]:
    from wellread import events
    from wellread.replay.runs import replayed

    answer: Answer | None = None
    count = 0
    async with aclosing(replayed(file, strategy=strategy, params=params)) as stream:
        with display:
            async for event in stream:
                display.event(event)
                count += 1
                if isinstance(event, events.Answered):
                    answer = event.answer
    return answer, count
