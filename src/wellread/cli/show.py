"""Display of a run in the terminal: progress while it works, then the answer with its sources.

Answers go to stdout, progress to stderr. Colour, Markdown and a moving line only on a terminal.
"""

from __future__ import annotations

import asyncio
import sys
import textwrap
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Self

from wellread import events
from wellread.answer_json import AnswerJson
from wellread.cli.terminal import clean, note, say, say_json
from wellread.errors import UsageError
from wellread.present import terminal
from wellread.text.places import inside, is_file
from wellread.types import Answer, Hit

if TYPE_CHECKING:
    from rich.status import Status

    from wellread.privacy import Consent

_DELIBERATE = ("react", "corrective")  # a person wants to follow how these come to their answer
_PROGRESS = (events.Outlined, events.Section)  # of a report, which takes its time
_STEPS = (*_PROGRESS, events.Thought, events.Decided, events.Graded, events.Rewritten, events.Searched, events.Ranked)
_PASSAGES_SHOWN = 3  # of one document in a list of results


def consent(display: Display) -> Consent | None:
    """Asks the person at the terminal whether a query with private words may leave; None where there is nobody to ask."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None

    async def ask(source: str, query: str, why: str) -> bool:
        loop, typed = asyncio.get_running_loop(), asyncio.Event()
        display.__exit__()
        loop.add_reader(sys.stdin, typed.set)  # a thread that reads cannot be stopped, and would take the next line
        try:
            note(f"{source} is to be asked: {query}\nIt was not sent yet: {why}.\nSend it as it is? [y/N]")
            await typed.wait()
            return sys.stdin.readline().strip().lower() in ("y", "yes")
        finally:
            loop.remove_reader(sys.stdin)
            display.__enter__()

    return ask


def display(*, as_json: bool = False, as_events: bool = False, steps: bool | None = None) -> Display:
    """The display that fits: one object for --json, lines for --events, live on a terminal, else plain.

    `steps`: whether thoughts, decisions and observations stay readable; None: where a person follows such a strategy.
    """
    if as_json and as_events:
        raise UsageError("--json and --events exclude each other")
    if as_events:
        return Lines()
    if as_json:
        return Display(lambda answer: say_json(events.answer_json(answer)), steps)
    return Terminal(steps) if sys.stdout.isatty() else Display(_plain, steps)


def _plain(answer: Answer) -> None:
    """For pipes and files: the answer, then its sources."""
    for line in terminal.lines(AnswerJson.of(answer)):
        say(line)


async def followed(
    stream: AsyncGenerator[events.Event, None], display: Display, *writers: Callable[[events.Event], object]
) -> Answer | None:
    """The answer of a run that is shown as it goes; None where it was left before that."""
    answer: Answer | None = None
    async with aclosing(stream):
        with display:
            async for event in stream:
                for write in (*writers, display.event):
                    write(event)
                if isinstance(event, events.Answered):
                    answer = event.answer
    return answer


class Steps:
    """Log lines on stderr beside the moving line: sources that failed and, where wanted, each step of the deliberation."""

    def __init__(self, wanted: bool | None = None) -> None:
        self._wanted = wanted
        self._failures: set[str] = set()

    def lines(self, event: events.Event) -> list[str]:
        if isinstance(event, events.Started) and self._wanted is None:
            self._wanted = event.strategy in _DELIBERATE and sys.stderr.isatty()
        kinds = _STEPS if self._wanted else _PROGRESS
        kept = [f"{words}"] if isinstance(event, kinds) and (words := event.said()) else []
        failures = event.failures if isinstance(event, events.Searched) else ()
        new = [failure for failure in dict.fromkeys(failures) if failure not in self._failures]
        self._failures.update(new)
        what = "not all was searched" if isinstance(event, events.Searched) and event.hits else "could not be searched"
        return kept + [f"{what}: {failure}" for failure in new]


class Display:
    """A reader of events, entered before the first and left after the last: a moving line on stderr where a person looks at
    that, and what is told of the answer."""

    def __init__(self, tell: Callable[[Answer], None] = lambda answer: None, steps: bool | None = None) -> None:
        self._tell, self._steps = tell, Steps(steps)
        self._status: Status | None = None
        if sys.stderr.isatty():
            from rich.console import Console

            self._status = Console(stderr=True).status("…", spinner="dots")

    def __enter__(self) -> Self:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()

    def event(self, event: events.Event) -> None:
        if isinstance(event, events.Answered):
            self.__exit__()
            self._tell(event.answer)
            return
        for line in self._steps.lines(event):
            self._leave(line)
        if self._status is not None and (words := event.said()):
            self._status.update(_escaped(words.short(72)))

    def _leave(self, line: str, style: str = "dim") -> None:
        """A line that stays, above the moving one where there is one."""
        if self._status is None:
            note(line)
        else:
            self._status.console.print(_escaped(line), style=style, highlight=False)


class Lines(Display):
    """Every event as one JSON object a line."""

    def __init__(self) -> None:
        self._status = None

    def event(self, event: events.Event) -> None:
        say_json(events.to_json(event))


class Terminal(Display):
    """On a terminal: the answer as it is written, then as Markdown."""

    def __init__(self, steps: bool | None = None) -> None:
        from rich.console import Console
        from rich.live import Live

        super().__init__(lambda answer: terminal.show(clean(AnswerJson.of(answer)), self._out), steps)
        self._out = Console()
        self._live = Live(console=self._out, transient=True, auto_refresh=False)
        self._draft = ""

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        self._live.stop()

    def event(self, event: events.Event) -> None:
        if isinstance(event, events.AnswerDelta):
            from rich.text import Text

            if not self._draft:
                super().__exit__()
                self._live.start()
            self._draft += clean(event.text)  # its last lines are shown; the finished answer takes their place
            lines = textwrap.wrap(self._draft, self._out.width - 1, replace_whitespace=False)
            self._live.update(Text("\n".join(lines[-12:]), style="dim"), refresh=True)
        elif isinstance(event, events.Notice):
            self._leave(event.message, "yellow")
        else:
            super().event(event)


def found(number: int, title: str, where: str, text: str) -> None:
    """A search result: its title and place, and the beginning of its words, within 80 columns."""
    say(f"{number}. {textwrap.shorten(title, 72, placeholder=' …')}  ({where})")
    words = textwrap.shorten(text, 220, placeholder=" …")
    say(textwrap.fill(words, 78, initial_indent="   ", subsequent_indent="   "))


def found_document(number: int, group: Sequence[Hit]) -> None:
    """A document with the best of its passages that were found, each at its place."""
    from wellread.sources.hits import without_headings

    first = group[0]
    where = (first.document or first.url or "") if is_file(first.url) else first.url or first.source
    found(
        number,
        first.title,
        ", ".join(filter(None, (where, inside(first.heading, first.page, first.anchor)))),
        without_headings(first.snippet or first.text),
    )
    for hit in group[1:_PASSAGES_SHOWN]:
        at = inside(hit.heading, hit.page, hit.anchor)
        words = textwrap.shorten(without_headings(hit.snippet or hit.text), 140, placeholder=" …")
        say(textwrap.fill(f"{at}: {words}" if at else words, 78, initial_indent="   · ", subsequent_indent="     "))
    if len(group) > _PASSAGES_SHOWN:
        say(f"   · {len(group) - _PASSAGES_SHOWN} more")


def _escaped(text: str) -> str:
    from rich.markup import escape

    return escape(clean(text))
