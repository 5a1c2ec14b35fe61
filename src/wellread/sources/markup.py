"""Plain words out of what services send: HTML, wikitext quotes, entities, control characters."""

from __future__ import annotations

import re

from wellread.text.inert import unescaped

_TAG = re.compile(r"<[a-zA-Z/!?]")
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
    """Tags and what nobody sees go, line breaks come where blocks end."""
    from wellread.reading.dom import parse

    return "\n".join(run.text for run in parse(text, generous=True).runs)
