"""An answer in a terminal: as plain lines for pipes and files, or with colour and Markdown for a person."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from wellread.events import counted
from wellread.present.sections import UNDERSTOOD, Sections, sections
from wellread.text.places import place_of

if TYPE_CHECKING:
    from rich.console import Console

_OPENINGS = {"partial": "Missing", "unsure": "No answer found", "exhausted": "Cut short", "failed": "Failed"}


def lines(answer: dict[str, Any]) -> Iterator[str]:
    """The answer, then its sources."""
    parts = sections(answer)
    if parts.understood:
        yield f"{UNDERSTOOD}{parts.understood}\n"
    if parts.text:
        yield (f"{parts.short}\n\n" if parts.short else "") + parts.marked()
    if parts.outcome != "answered":
        yield _outcome(parts)
    yield from _beside(parts)
    if parts.sources:
        yield "\nSources"
    for one in parts.sources:
        yield f"[{one.number}] {place_of(one.best)}"
        yield from (textwrap.indent(f"“{quote}”", "    ") for quote in one.new)
    if parts.text:
        yield "\n" + (parts.legend or parts.checked)


def show(answer: dict[str, Any], out: Console) -> None:
    """The same with colour and Markdown, and what it took; the words must have been cleaned for a terminal."""
    from rich.markdown import Markdown
    from rich.markup import escape
    from rich.padding import Padding

    parts = sections(answer)
    if parts.understood:
        out.print(f"{UNDERSTOOD}{parts.understood}", style="dim", markup=False, highlight=False)
    if parts.text:
        out.print(Markdown((f"**{parts.short}**\n\n" if parts.short else "") + parts.marked()))
        out.print()
    if parts.outcome != "answered":
        out.print(_outcome(parts), style="yellow", markup=False, highlight=False)
    for line in _beside(parts):
        out.print(line, style="dim", markup=False, highlight=False)
    for one in parts.sources:
        out.print(f"[bold cyan]\\[{one.number}][/] {escape(place_of(one.best))}", highlight=False)
        for quote in one.new:
            out.print(Padding(f"[dim]“{escape(quote)}”[/]", (0, 0, 0, 4)), highlight=False)
    if parts.text:
        out.print(parts.legend or parts.checked, style="yellow" if parts.legend else "dim", highlight=False)
    out.print(f"[dim]{_footer(answer)}[/]", highlight=False)


def _outcome(parts: Sections) -> str:
    if parts.asks:
        return f"{parts.asks} Please ask again with its name, or just say it."
    why = parts.missing if parts.outcome == "partial" else parts.reason
    return f"{_OPENINGS[parts.outcome]}: {why}" if why else f"{_OPENINGS[parts.outcome]}."


def _beside(parts: Sections) -> list[str]:
    """How sure an answer is; where there is none, or no sure one, the passages that come nearest and what else to try."""
    told = [f"({parts.sure})"] if parts.sure else []
    told += [f"Note: {note}." for note in parts.notes]
    told += ["", f"{parts.near}:"] if parts.nearest else []
    for near in parts.nearest:
        words = textwrap.shorten(" ".join(str(near["text"]).split()), 300, placeholder=" …")
        told += [
            f"  [{near['number']}] {place_of(near)}" if near.get("number") else f"  · {place_of(near)}",
            textwrap.indent(f"“{words}”", "    "),
        ]
    return [*told, "", f"To try: {'; '.join(parts.tries)}."] if parts.tries else told


def _footer(answer: dict[str, Any]) -> str:
    """What it took, in a few words."""
    usage, told = answer["usage"], [str(answer["strategy"]), str(answer["model"] or "no model")]
    told.append(counted(usage["searches"], "search", "searches"))
    if tokens := usage["input_tokens"] + usage["output_tokens"]:
        told += [f"{tokens:,} tokens", "cost unknown" if usage["cost"] is None else f"${usage['cost']:.4f}"]
    return " · ".join([*told, f"{answer['seconds']:.1f} s"])
