"""HTML builder with automatic escaping: every text is escaped, unless it is `Safe` already."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from string import Template

_FRAME = Template((Path(__file__).parent / "page.html").read_text(encoding="utf-8"))
_VOID = {"br", "hr", "img", "input", "link", "meta"}


class Safe(str):
    """HTML that is known to be safe: made by `el`, or sanitised."""

    __slots__ = ()


Child = str | int | None
Attribute = str | int | float | bool | None


def text(child: Child) -> Safe:
    """A child as HTML."""
    if child is None:
        return Safe("")
    return child if isinstance(child, Safe) else Safe(escape(str(child)))


def join(*children: Child) -> Safe:
    return Safe("".join(text(child) for child in children))


def el(tag: str, *children: Child, **attributes: Attribute) -> Safe:
    """`el("a", "text", href="/", class_="x", data_n=1)`; True is a bare attribute, None and False none at all."""
    parts = [tag]
    for name, value in attributes.items():
        if value is None or value is False:
            continue
        key = name.rstrip("_").replace("_", "-")
        parts.append(key if value is True else f'{key}="{escape(str(value))}"')
    head = f"<{' '.join(parts)}>"
    return Safe(head) if tag in _VOID else Safe(f"{head}{join(*children)}</{tag}>")


def warning(*words: Child, **attributes: Attribute) -> Safe:
    return el("p", icon("warning"), *words, class_="note", **attributes)


def field(label: str, control: Safe) -> Safe:
    """A control of a form under its label."""
    return el("label", el("span", label), control, class_="field")


def search_form(action: str, q: str, words: str, *more: Child, label: str = "", required: bool = False) -> Safe:
    """A line to search by; it says in `words` what, and in its `label` to those who do not see it."""
    line = el("input", type="search", name="q", value=q, placeholder=words, aria_label=label or words, required=required)
    return el("form", icon("search"), line, *more, class_="search", role="search", action=action, method="get")


def marked_words(text: str, start: int, end: int, spans: Sequence[tuple[int, int]], first: str | None = None) -> Safe:
    """A stretch of a text with the spans in it marked; `first` is the id of the mark that begins the first span."""
    parts: list[Child] = []
    at = start
    for number, (begin, stop) in enumerate(sorted(spans)):
        opens = number == 0 and begin >= start
        begin, stop = max(begin, at), min(stop, end)
        if begin < stop:
            parts += [text[at:begin], el("mark", text[begin:stop], id=first if opens else None)]
            at = stop
    return join(*parts, text[at:end])


def framed(**values: Child) -> Safe:
    """A whole page: the template of all of them, filled; a hole without a value is an error."""
    return Safe(_FRAME.substitute({name: text(value) for name, value in values.items()}))


def icon(name: str) -> Safe:
    """A picture from the sprite; never read out."""
    use = el("use", href=f"/static/icons.svg#{name}")
    return el("svg", use, class_="icon", aria_hidden="true", focusable="false")
