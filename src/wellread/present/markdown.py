"""An answer as Markdown, to copy, to keep and for clients of /v1 and MCP. Foreign words in it mean nothing."""

from __future__ import annotations

import re
from urllib.parse import quote

from wellread.answer_json import AnswerJson, Placed
from wellread.present.sections import UNDERSTOOD, Cited, Sections, sections
from wellread.text.blocks import without_signs
from wellread.text.formulas import FORMULA
from wellread.text.inert import inert
from wellread.text.places import name, place

_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_SIGN = re.compile(r"[\[\]\\`*_<>]")
_ACTS = re.compile(r"[\[\]`<>]")  # what may be a link, code or an element beyond a formula's end
_SIGN_OR_FORMULA = re.compile(f"{FORMULA.pattern}|{_SIGN.pattern}")
_ENDING = re.compile(rf"[\s<>\\]|(?<=!)\[|{_UNSEEN.pattern}")  # what ends an address in Markdown, or shows it as another


def markdown(answer: AnswerJson) -> str:
    """How the question was understood, the short answer, the text with its marks, its sources, and what the marks mean."""
    parts = sections(answer)
    answer = parts.answer
    short = f"**{plain(answer.short)}**\n\n" if answer.short else ""
    lines = [(opening(answer.understood) + short + refusal(parts) + beside(parts)).strip()]
    lines += ["", lacking] if (lacking := missing_line(parts)) else []
    called = parts.headings.sources
    lines += ["", f"## {called}" if parts.contents else f"{called}:", "", *found] if (found := source_lines(parts)) else []
    lines += ["", parts.legend] if parts.legend else []
    return "\n".join(lines)


def missing_line(parts: Sections) -> str:
    """Missing parts of an answer, as a paragraph, in a report as a section; "" where it is whole."""
    if parts.missing and parts.contents:
        return "\n".join([f"## {parts.headings.missing}", "", *(f"- {plain(row)}" for row in parts.answer.missing)])
    return f"**Missing:** {plain(parts.missing)}" if parts.missing else ""


def opening(understood: str | None) -> str:
    """How a follow-up was understood, before anything else is said."""
    return f"{UNDERSTOOD}{plain(understood)}\n\n" if understood else ""


def refusal(parts: Sections) -> str:
    """The text of an answer with its marks; where there is none, what is asked back, or why there is none."""
    if text := parts.marked().strip():
        return text
    if asks := parts.answer.asks:
        return f"{inert(asks)} Please ask again with its name, or just say it."
    reason = inert(parts.answer.reason or "nothing fits")  # it may name what was found, in others' words
    return f"No answer was found: {reason}."


def beside(parts: Sections) -> str:
    """How sure an answer is; where there is none, or no sure one, the passages that come nearest and what else to try."""
    told = [f"*{parts.sure}*".capitalize()] if parts.sure else []
    told += [f"Note: {note}." for note in parts.notes]
    if parts.answer.nearest:
        rows = [f"- {_link(one)}: “{inert(' '.join(without_signs(one.text).split()))}”" for one in parts.answer.nearest]
        told.append("\n".join([f"{parts.near}:", "", *rows]))
    if parts.answer.tries:
        told.append(f"To try: {inert('; '.join(parts.answer.tries))}.")
    return "".join(f"\n\n{part}" for part in told)


def source_lines(parts: Sections) -> list[str]:
    """`- [1] [Title](url): “quote”`, each cited passage once, by number; without a quote where nothing carries the sentence. An
    item `6.` would be shown as the fifth where there is no fourth."""
    return [
        f"- [{one.number}] {_link(_quoted(one))}" + (f": “{inert(one.quotes[0])}”" if one.quotes else "") for one in parts.sources
    ]


def _quoted(one: Cited) -> Placed:
    return next((citation for citation in one.citations if citation.quote), one.best)


def _link(one: Placed) -> str:
    url = one.link or one.url or ""
    if not re.match(r"https?://", url):
        return plain(place(one))
    return f"[{plain(name(one))}](<{_ENDING.sub(lambda sign: quote(sign[0], safe=''), url)}>)"


def plain(text: str) -> str:
    """One line that means nothing in Markdown but its formulas, in the order in which it stands."""

    def escaped(found: re.Match[str]) -> str:
        return found[0] if FORMULA.fullmatch(found[0]) and not _ACTS.search(found[0]) else _SIGN.sub(r"\\\g<0>", found[0])

    return _SIGN_OR_FORMULA.sub(escaped, _UNSEEN.sub("", " ".join(text.split())))
