"""An answer as HTML that is safe to show: Markdown in, sanitised HTML out, numbers as buttons.

Everything in an answer is foreign: models repeat what pages tell them. The Markdown is rendered without
raw HTML and then sanitised all the same; the marks for sentences and citations are ours, put in as
private characters before rendering and replaced by elements after sanitising.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote

from wellread import panics
from wellread.errors import WellreadError
from wellread.marks import legend_of, marked_answer
from wellread.text.inert import inert
from wellread.text.places import name_of, place_of

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_TAGS = {
    *("p", "br", "em", "strong", "del", "code", "pre", "blockquote", "ul", "ol", "li", "hr", "a"),
    *("h1", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"),
}
UNDERSTOOD = "Understood as: "
_WEAK, _CITE, _CLOSE = "\ue100", "\ue102", "\ue103"
_PRIVATE = re.compile("[\ue100-\ue103]")
_NUMBERS = re.compile(r"\[(\d{1,4}(?:\s*[,;]\s*\d{1,4})*)\]")
_MARK = re.compile(f"{_CITE}([0-9]+){_CLOSE}")
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_ENDING = re.compile(rf"[\s<>\\]|(?<=!)\[|{_UNSEEN.pattern}")  # what ends an address in Markdown, or shows it as another
_WARNING = '<span class="mark" role="img" aria-label="Not carried by its sources" title="Not carried by its sources">?</span>'


def answer_html(answer: dict[str, object] | None) -> str:
    """The text of an answer (in the shape of `ask --json`) as safe HTML."""
    if not answer:
        return ""
    known = {int(str(one["number"])) for one in _rows(answer, "citations")}
    shown = {"answer": _PRIVATE.sub("", str(answer.get("answer") or ""))}
    rows = [{**row, "text": _PRIVATE.sub("", str(row["text"]))} for row in _rows(answer, "sentences")]
    return _elements(_safe(_cited(marked_answer({**shown, "sentences": rows}, _WEAK), known)))


def markdown(answer: dict[str, Any]) -> str:
    """An answer as Markdown to copy: how the question was understood, the short answer, the text with its marks, its sources,
    and what the marks mean."""
    short = answer.get("short")
    parts = [opening(answer), f"**{plain(str(short))}**\n\n" if short else "", refusal(answer), beside(answer)]
    lines = ["".join(parts).strip()]
    if lacking := missing_line(answer):
        lines += ["", lacking]
    if found := source_lines(answer):
        lines += ["", "Sources:", "", *found]
    if meaning := legend_of(answer):
        lines += ["", meaning]
    return "\n".join(lines)


def missing_line(answer: dict[str, object]) -> str:
    """What a partial answer does not answer, as a paragraph of Markdown; "" for others."""
    rows = cast("list[str]", answer.get("missing") or []) if answer.get("outcome") == "partial" else []
    return f"**Missing:** {plain('; '.join(row.rstrip('.') for row in rows))}" if rows else ""


def opening(answer: Mapping[str, Any]) -> str:
    """How a follow-up was understood, before anything else is said."""
    meant = answer.get("understood")
    return f"{UNDERSTOOD}{plain(str(meant))}\n\n" if meant else ""


def refusal(answer: Mapping[str, Any]) -> str:
    """The text of an answer with its marks; where there is none, what is asked back, or why there is none."""
    if text := marked_answer(answer).strip():
        return text
    if answer.get("asks"):
        return f"{inert(str(answer['asks']))} Please ask again with its name, or just say it."
    # a reason may name what was found, in the words of others
    return f"No answer was found: {inert(str(answer.get('reason') or 'nothing fits'))}."


def beside(answer: Mapping[str, Any]) -> str:
    """How sure an answer is; where there is none, or no sure one, the passages that come nearest and what else to try."""
    parts = [f"*{answer['sure']}*".capitalize()] if answer.get("sure") and answer.get("answer") else []
    parts += [f"Note: {note}." for note in cast("list[str]", answer.get("notes") or [])]
    if near := cast("list[dict[str, Any]]", answer.get("nearest") or []):
        rows = [f"- {_link(one)}: “{inert(' '.join(str(one['text']).split()))}”" for one in near]
        parts.append("\n".join(["Also near:" if answer.get("answer") else "Nearest, not an answer:", "", *rows]))
    if tries := cast("list[str]", answer.get("tries") or []):
        parts.append(f"To try: {inert('; '.join(tries))}.")
    return "".join(f"\n\n{part}" for part in parts)


def source_lines(answer: dict[str, object]) -> list[str]:
    """`1. [Title](url): “quote”`, each cited passage once, by number; without a quote where nothing carries the sentence."""
    first: dict[int, dict[str, Any]] = {}
    for one in sorted(_rows(answer, "citations"), key=lambda one: not one["quote"]):
        first.setdefault(int(one["number"]), one)
    quotes = {number: inert(" ".join(str(one["quote"]).split())) for number, one in first.items()}
    return [
        f"{number}. {_link(one)}" + (f": “{quotes[number]}”" if quotes[number] else "") for number, one in sorted(first.items())
    ]


def _link(one: dict[str, Any]) -> str:
    url = str(one.get("link") or one["url"] or "")
    if not re.match(r"https?://", url):
        return plain(place_of(one))
    return f"[{plain(name_of(one))}](<{_ENDING.sub(lambda sign: quote(sign[0], safe=''), url)}>)"


def plain(text: str) -> str:
    """One line that means nothing in Markdown, in the order in which it stands."""
    return re.sub(r"([\[\]\\`*_<>])", r"\\\1", _UNSEEN.sub("", " ".join(text.split())))


def _cited(text: str, known: set[int]) -> str:
    def mark(match: re.Match[str]) -> str:
        numbers = [int(n) for n in re.findall(r"\d+", match[1])]
        if not any(n in known for n in numbers):
            return match[0]
        return "".join(f"{_CITE}{n}{_CLOSE}" for n in numbers if n in known)

    return _NUMBERS.sub(mark, text)


def _safe(text: str) -> str:
    import nh3

    html = _parser().render(text)
    with panics.typed(WellreadError, "cleaning an answer's HTML"):
        return nh3.clean(
            html,
            tags=_TAGS,
            attributes={"a": {"href"}},
            url_schemes={"http", "https"},
            link_rel="noopener noreferrer nofollow",
            set_tag_attribute_values={"a": {"target": "_blank"}},
        )


def _elements(html: str) -> str:
    html = _MARK.sub(r'<a class="cite" href="#source-\1" data-number="\1" role="button" aria-label="Source \1">\1</a>', html)
    return html.replace(_WEAK, _WARNING)


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False, "linkify": False}).enable("table").disable("image")


def _rows(answer: dict[str, object], name: str) -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", answer.get(name) or [])
