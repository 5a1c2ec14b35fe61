"""What a person sees of a run: progress while it works, then the answer with its sources.

Answers go to stdout, progress to stderr. Colour, Markdown and a moving line only on a terminal.
"""

from __future__ import annotations

import asyncio
import sys
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from wellread import events
from wellread.cli.terminal import clean, note, say, say_json
from wellread.errors import UsageError
from wellread.marks import MARK
from wellread.text.certainty import how_sure
from wellread.text.places import inside, is_file, place
from wellread.types import Answer, Citation, Hit

if TYPE_CHECKING:
    from rich.status import Status

    from wellread.privacy import Consent

_DELIBERATE = ("react", "corrective")  # a person wants to follow how these come to their answer
_STEPS = (events.Thought, events.Decided, events.Graded, events.Rewritten, events.Searched, events.Ranked)
_PASSAGES_SHOWN = 3  # of one document in a list of results


class Display(Protocol):
    """A reader of events; entered before the first and left after the last."""

    def __enter__(self) -> Display: ...
    def __exit__(self, *_: object) -> None: ...
    def event(self, event: events.Event) -> None: ...


def consent(display: Display) -> Consent | None:
    """Asks the person at the terminal whether a query with private words may leave; None where there is nobody to ask."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None

    async def ask(source: str, query: str, why: str) -> bool:
        import typer

        display.__exit__()
        try:
            note(f"{source} is to be asked: {query}\nIt was not sent yet: {why}.")
            return await asyncio.to_thread(typer.confirm, "Send it as it is?", err=True)
        except typer.Abort:
            return False
        finally:
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
        return Object(Steps(steps))
    return Terminal(Steps(steps)) if sys.stdout.isatty() else Plain(Steps(steps))


class Steps:
    """What stays on stderr beside the moving line: sources that failed and, where wanted, each step of the deliberation."""

    def __init__(self, wanted: bool | None = None) -> None:
        self._wanted = wanted
        self._failures: set[str] = set()

    def lines(self, event: events.Event) -> list[str]:
        if isinstance(event, events.Started) and self._wanted is None:
            self._wanted = event.strategy in _DELIBERATE and sys.stderr.isatty()
        kept = [f"{words}"] if self._wanted and isinstance(event, _STEPS) and (words := event.said()) else []
        failures = event.failures if isinstance(event, events.Searched) else ()
        new = [failure for failure in dict.fromkeys(failures) if failure not in self._failures]
        self._failures.update(new)
        return kept + [f"could not be searched: {failure}" for failure in new]


class Silent:
    """Says nothing."""

    def __enter__(self) -> Silent:
        return self

    def __exit__(self, *_: object) -> None: ...

    def event(self, event: events.Event) -> None: ...


class Spinner(Silent):
    """A moving line of progress on stderr, where a person looks at that while stdout goes elsewhere."""

    def __init__(self, steps: Steps | None = None) -> None:
        self._steps = steps or Steps()
        self._status: Status | None = None
        if sys.stderr.isatty():
            from rich.console import Console

            self._status = Console(stderr=True).status("…", spinner="dots")

    def __enter__(self) -> Spinner:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()

    def event(self, event: events.Event) -> None:
        if isinstance(event, events.Answered):
            self.__exit__()
            self.answer(event.answer)
            return
        for line in self._steps.lines(event):
            _leave(self._status, line)
        if self._status is not None and (doing := progress(event)):
            self._status.update(doing)

    def answer(self, answer: Answer) -> None: ...


class Object(Spinner):
    """The answer as one JSON object."""

    def answer(self, answer: Answer) -> None:
        say_json(events.answer_json(answer))


class Plain(Spinner):
    """For pipes and files: the answer, then its sources."""

    def answer(self, answer: Answer) -> None:
        _print_plain(answer)


class Lines(Silent):
    """Every event as one JSON object a line."""

    def event(self, event: events.Event) -> None:
        say_json(events.to_json(event))


class Terminal(Silent):
    """A moving line of progress on stderr, the answer as it is written, then as Markdown."""

    def __init__(self, steps: Steps | None = None) -> None:
        from rich.console import Console
        from rich.live import Live

        self._steps = steps or Steps()
        self._out = Console()
        self._status = Console(stderr=True).status("…", spinner="dots")
        self._live = Live(console=self._out, transient=True, auto_refresh=False)
        self._draft = ""

    def __enter__(self) -> Terminal:
        self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._status.stop()
        self._live.stop()

    def event(self, event: events.Event) -> None:
        if isinstance(event, events.Answered):
            self._status.stop()
            self._live.stop()
            self._answer(clean(event.answer))
            return
        for line in self._steps.lines(event):
            _leave(self._status, line)
        if isinstance(event, events.AnswerDelta):
            self._delta(clean(event.text))
        elif isinstance(event, events.Notice):
            self._status.console.print(f"[yellow]{_escaped(clean(event.message))}[/]")
        elif doing := progress(event):
            self._status.update(doing)

    def _delta(self, text: str) -> None:
        """Show the last lines of the draft; the finished answer takes their place."""
        from rich.text import Text

        if not self._draft:
            self._status.stop()
            self._live.start()
        self._draft += text
        lines = textwrap.wrap(self._draft, self._out.width - 1, replace_whitespace=False)
        self._live.update(Text("\n".join(lines[-12:]), style="dim"), refresh=True)

    def _answer(self, answer: Answer) -> None:
        from rich.markdown import Markdown
        from rich.padding import Padding

        if answer.understood:
            self._out.print(_understood(answer), style="dim", markup=False, highlight=False)
        if answer.text:
            headline = f"**{answer.short}**\n\n" if answer.short else ""
            self._out.print(Markdown(headline + answer.marked))
            self._out.print()
        if answer.outcome != "answered":
            self._out.print(_outcome(answer), style="yellow", markup=False, highlight=False)
        for line in beside(answer):
            self._out.print(line, style="dim", markup=False, highlight=False)
        for number, title, quotes in sources(answer):
            self._out.print(f"[bold cyan]\\[{number}][/] {_escaped(title)}", highlight=False)
            for quote in quotes:
                self._out.print(Padding(f"[dim]“{_escaped(quote)}”[/]", (0, 0, 0, 4)), highlight=False)
        if answer.text:
            self._out.print(answer.checked, style="yellow" if answer.checked.startswith(MARK) else "dim", highlight=False)
        self._out.print(f"[dim]{footer(answer)}[/]", highlight=False)


def _leave(status: Status | None, line: str) -> None:
    """A line that stays, above the moving one where there is one."""
    if status is None:
        note(line)
    else:
        status.console.print(_escaped(clean(line)), style="dim", highlight=False)


def progress(event: events.Event) -> str:
    """One line on what is happening now, fit for a status; empty for events that say nothing."""
    words = event.said()
    return _escaped(clean(words.short(72))) if words else ""


def sources(answer: Answer) -> list[tuple[int, str, list[str]]]:
    """Each cited passage once: its number, where it is from, and the words that carry the answer, unless it says them itself."""
    said = " ".join(answer.text.split())
    grouped: dict[int, dict[str, Citation]] = {}
    for citation in sorted(answer.citations, key=lambda one: -one.support):
        grouped.setdefault(citation.number, {})[" ".join(citation.quote.split())] = citation
    return [
        (number, _where(next(iter(found.values()))), [quote for quote in found if quote not in said])
        for number, found in sorted(grouped.items())
    ]


def footer(answer: Answer) -> str:
    """What it took, in a few words."""
    usage = answer.usage
    parts = [answer.strategy, answer.model or "no model", events.counted(usage.searches, "search", "searches")]
    if usage.input_tokens or usage.output_tokens:
        parts.append(f"{usage.input_tokens + usage.output_tokens:,} tokens")
        parts.append("cost unknown" if usage.cost is None else f"${usage.cost:.4f}")
    return " · ".join([*parts, f"{answer.seconds:.1f} s"])


def beside(answer: Answer) -> list[str]:
    """How sure an answer is; where there is none, or no sure one, the passages that come nearest and what else to try."""
    lines = [f"({how_sure(answer.confidence)})"] if answer.text and answer.confidence is not None else []
    lines += [f"Note: {note}." for note in answer.notes]
    if answer.nearest:
        lines += ["", "Nearest, not an answer:" if not answer.text else "Also near:"]
    for near in answer.nearest:
        words = textwrap.shorten(" ".join(near.words.split()), 300, placeholder=" …")
        lines += [f"  · {place(near.passage)}", textwrap.indent(f"“{words}”", "    ")]
    return [*lines, "", f"To try: {'; '.join(answer.tries)}."] if answer.tries else lines


def _print_plain(answer: Answer) -> None:
    if answer.understood:
        say(_understood(answer) + "\n")
    if answer.text:
        headline = f"{answer.short}\n\n" if answer.short else ""
        say(headline + answer.marked)
    if answer.outcome != "answered":
        say(_outcome(answer))
    for line in beside(answer):
        say(line)
    found = sources(answer)
    if found:
        say("\nSources")
    for number, title, quotes in found:
        say(f"[{number}] {title}")
        for quote in quotes:
            say(textwrap.indent(f"“{quote}”", "    "))
    if answer.text:
        say("\n" + answer.checked)


def found(number: int, title: str, where: str, text: str) -> None:
    """A search result: its title and place, and the beginning of its words, within 80 columns."""
    say(f"{number}. {textwrap.shorten(title, 72, placeholder=' …')}  ({where})")
    words = textwrap.shorten(text, 220, placeholder=" …")
    say(textwrap.fill(words, 78, initial_indent="   ", subsequent_indent="   "))


def found_document(number: int, group: Sequence[Hit]) -> None:
    """A document with the best of its passages that were found, each at its place."""
    first = group[0]
    where = (first.document or first.url or "") if is_file(first.url) else first.url or first.source
    found(number, first.title, ", ".join(filter(None, (where, inside(first.heading, first.page)))), first.snippet or first.text)
    for hit in group[1:_PASSAGES_SHOWN]:
        at = inside(hit.heading, hit.page)
        words = textwrap.shorten(hit.snippet or hit.text, 140, placeholder=" …")
        say(textwrap.fill(f"{at}: {words}" if at else words, 78, initial_indent="   · ", subsequent_indent="     "))
    if len(group) > _PASSAGES_SHOWN:
        say(f"   · {len(group) - _PASSAGES_SHOWN} more")


def _understood(answer: Answer) -> str:
    return f"Understood as: {answer.understood}"


def _outcome(answer: Answer) -> str:
    if answer.asks:
        return f"{answer.asks} Please ask again with its name, or just say it."
    opening = {
        "partial": "Missing",
        "unsure": "No answer found",
        "exhausted": "Cut short",
        "failed": "Failed",
        "answered": "",
    }[answer.outcome]
    why = "; ".join(row.rstrip(".") for row in answer.missing) if answer.outcome == "partial" else answer.reason
    return f"{opening}: {why}" if why else f"{opening}."


def _where(citation: Citation) -> str:
    return place(citation.passage)


def _escaped(text: str) -> str:
    from rich.markup import escape

    return escape(text)
