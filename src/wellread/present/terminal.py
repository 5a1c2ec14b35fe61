"""An answer in a terminal: as plain lines for pipes and files, or with colour and Markdown for a person."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

from wellread.answer_json import AnswerJson
from wellread.events import counted
from wellread.present.sections import UNDERSTOOD, Sections, sections
from wellread.text.blocks import without_signs
from wellread.text.formulas import FORMULA
from wellread.text.places import place

if TYPE_CHECKING:
    from rich.console import Console

_MOST = 1_000  # characters of a passage that comes near
_OPENINGS = {"partial": "Missing", "unsure": "No answer found", "exhausted": "Cut short", "failed": "Failed"}


def lines(answer: AnswerJson) -> Iterator[str]:
    """The answer, then its sources."""
    parts = sections(answer)
    answer = parts.answer
    if answer.understood:
        yield f"{UNDERSTOOD}{answer.understood}\n"
    if answer.answer:
        yield (f"{answer.short}\n\n" if answer.short else "") + parts.marked()
    if parts.answer.outcome != "answered":
        yield _outcome(parts)
    yield from (textwrap.indent(text, " " * indent) for text, indent in _beside(parts))
    if parts.sources:
        yield "\nSources"
    for one in parts.sources:
        yield f"[{one.number}] {place(one.best)}"
        yield from (textwrap.indent(f"“{quote}”", "    ") for quote in one.new)
    if answer.answer:
        yield "\n" + (parts.legend or parts.checked)


def show(answer: AnswerJson, out: Console) -> None:
    """The same with colour and Markdown, and what it took; the words must have been cleaned for a terminal."""
    from rich.markdown import Markdown
    from rich.markup import escape
    from rich.padding import Padding
    from rich.text import Text

    parts = sections(answer)
    answer = parts.answer
    if answer.understood:
        out.print(f"{UNDERSTOOD}{answer.understood}", style="dim", markup=False, highlight=False)
    if answer.answer:
        text = FORMULA.sub(lambda found: re.sub(r"([\\_*])", r"\\\1", found[0]), parts.marked())  # TeX as it stands
        out.print(Markdown((f"**{answer.short}**\n\n" if answer.short else "") + text))
        out.print()
    if parts.answer.outcome != "answered":
        out.print(_outcome(parts), style="yellow", markup=False, highlight=False)
    for line, indent in _beside(parts):
        out.print(Padding(Text(line), (0, 0, 0, indent), expand=False), style="dim", highlight=False)
    for one in parts.sources:
        out.print(f"[bold cyan]\\[{one.number}][/] {escape(place(one.best))}", highlight=False)
        for quote in one.new:
            out.print(Padding(f"[dim]“{escape(quote)}”[/]", (0, 0, 0, 4)), highlight=False)
    if answer.answer:
        cited = sorted({one.cited.number for one in parts.doubts if one.cited})
        hint = f" (wellread open {cited[0]} shows it beside its source)" if cited else ""
        out.print(
            f"{parts.legend}{hint}" if parts.legend else parts.checked, style="yellow" if parts.legend else "dim", highlight=False
        )
    out.print(f"[dim]{_footer(answer)}[/]", highlight=False)


def _outcome(parts: Sections) -> str:
    if parts.answer.asks:
        return f"{parts.answer.asks} Please ask again with its name, or just say it."
    told = {_OPENINGS[parts.answer.outcome]: parts.answer.reason, "Missing": parts.missing}
    return "\n".join(f"{what}: {why}" for what, why in told.items() if why) or f"{_OPENINGS[parts.answer.outcome]}."


def _beside(parts: Sections) -> list[tuple[str, int]]:
    """How sure an answer is; where there is none, or no sure one, the passages that come nearest and what else to try. Each with
    how far in it stands."""
    told = [(f"({parts.sure})", 0)] if parts.sure else []
    told += [(f"Note: {note}.", 0) for note in parts.answer.notes]
    told += [(f"\n{parts.near}:", 0)] if parts.answer.nearest else []
    for near in parts.answer.nearest:
        sign = f"[{near.number}]" if near.number else "·"
        told += [(f"{sign} {place(near)}", 2), (f"“{_in_lines(without_signs(near.text))}”", 4)]
    return [*told, (f"\nTo try: {'; '.join(parts.answer.tries)}.", 0)] if parts.answer.tries else told


def _in_lines(text: str) -> str:
    """Words with the lines of a list, a table or code as they stand, the empty ones left out."""
    short = text if len(text) <= _MOST else f"{text[:_MOST].rsplit(maxsplit=1)[0]} …"
    first, _, below = short.partition("\n")
    return "\n".join(line.rstrip() for line in (first, *textwrap.dedent(below).splitlines()) if line.strip())


def _footer(answer: AnswerJson) -> str:
    """Footer: strategy, model and cost of a run."""
    usage, told = answer.used, [answer.strategy, answer.model or "no model"]
    told.append(counted(usage.searches, "search", "searches"))
    if tokens := usage.input_tokens + usage.output_tokens:
        told += [f"{tokens:,} tokens", "cost unknown" if usage.cost is None else f"${usage.cost:.4f}"]
    return " · ".join([*told, f"{answer.seconds:.1f} s"])
