"""Plain words out of what services send: HTML, wikitext quotes, entities, control characters."""

from __future__ import annotations

import re

from wellread.text.entities import unescaped

_TAG = re.compile(r"<[a-zA-Z/!?]")
_NAME = re.compile(r"/?([a-zA-Z][a-zA-Z0-9]{0,12})")
_LONGEST_VALUE = 2000  # characters of an attribute; a quotation mark that is not closed by then is none
_END = re.compile(r"[>\"']")
_SILENT = {
    name: re.compile(f"</{name}", re.IGNORECASE)
    for name in ("script", "style", "noscript", "template", "title", "iframe", "object", "svg")
}
_BLOCKS = {
    *("p", "div", "br", "li", "ul", "ol", "tr", "table", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre", "section"),
    *("article", "header", "footer", "dd", "dt", "figure", "figcaption", "hr", "option"),
}
_INVISIBLE = re.compile(r"[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ue000-\uf8ff]")
_WIKI_LINK = re.compile(r"\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]")
_WIKI_NOISE = re.compile(r"'{2,5}|\{\{[^{}]*\}\}|\[\[|\]\]|^[*#:;]+\s*|={2,}", re.M)


def plain(text: str) -> str:
    """One line of words, tags and entities gone."""
    return " ".join(lines(text).split())


def lines(text: str) -> str:
    """Words with line breaks where blocks end."""
    text = _without_tags(text) if _TAG.search(text) else unescaped(text)
    text = _INVISIBLE.sub("", text)
    text = "".join(c if c.isprintable() or c in "\n\t" else " " for c in text)
    rows = [" ".join(row.split()) for row in text.split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(rows)).strip()


def without_headings(text: str) -> str:
    """One line of words, the signs of Markdown headings and the fences of code gone."""
    return plain(re.sub(r"^(?:#{1,6} |(?:```|~~~)\w*$)", "", text, flags=re.M))


def without_wikitext(text: str) -> str:
    """A search snippet of a wiki: quotes, brackets and templates of its source gone."""
    return " ".join(_WIKI_NOISE.sub(" ", _WIKI_LINK.sub(r"\1", text)).split())


def _without_tags(text: str) -> str:
    """Tags and what is silent go, line breaks come where blocks end. One pass: parsers of HTML take quadratic time on
    elements that are deep in each other, and services repeat what anyone wrote."""
    parts: list[str] = []
    at = 0
    while (opens := text.find("<", at)) >= 0:
        parts.append(text[at:opens])
        if text.startswith("<!--", opens):
            ends = text.find("-->", opens + 4)
            at = ends + 3 if ends >= 0 else len(text)
        elif _TAG.match(text, opens):
            at = _tag_end(text, opens)
            at = _silenced(text, opens, at, parts)
        else:
            parts.append("<")
            at = opens + 1
    parts.append(text[at:])
    return re.sub(r"\n\s*\n", "\n", unescaped("".join(parts)))


def _silenced(text: str, opens: int, at: int, parts: list[str]) -> int:
    """Where to read on after a tag."""
    found = _NAME.match(text, opens + 1)
    name = found[1].lower() if found else ""
    if name in _BLOCKS:
        parts.append("\n")
    if name in _SILENT and text[opens + 1] != "/":
        closes = _SILENT[name].search(text, at)
        return closes.start() if closes else len(text)
    return at


def _tag_end(text: str, opens: int) -> int:
    """Behind the `>` that ends a tag, quoted ones passed over; the end of the text when there is none."""
    at = opens + 1
    while found := _END.search(text, at):
        at = found.end()
        if found[0] == ">":
            return at
        closing = text.find(found[0], at, at + _LONGEST_VALUE)
        at = closing + 1 if closing >= 0 else at
    return len(text)
