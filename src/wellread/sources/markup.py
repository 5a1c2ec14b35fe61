"""Plain words out of what services send: HTML, wikitext quotes, entities, control characters."""

from __future__ import annotations

import html
import re

_TAG = re.compile(r"<[a-zA-Z/!?]")
_SILENT = "script,style,noscript,template,head,iframe,object,svg"
_BLOCKS = (
    "p,div,br,li,ul,ol,tr,table,h1,h2,h3,h4,h5,h6,blockquote,pre,section,article,header,footer,dd,dt,figure,figcaption,hr,option"
)
_INVISIBLE = re.compile(r"[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ue000-\uf8ff]")
_WIKI_LINK = re.compile(r"\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]")
_WIKI_NOISE = re.compile(r"'{2,5}|\{\{[^{}]*\}\}|\[\[|\]\]|^[*#:;]+\s*|={2,}", re.M)


def plain(text: str) -> str:
    """One line of words, tags and entities gone."""
    return " ".join(lines(text).split())


def lines(text: str) -> str:
    """Words with line breaks where blocks end."""
    if _TAG.search(text):
        text = _without_tags(text)
    elif "&" in text:
        text = html.unescape(text)
    text = _INVISIBLE.sub("", text)
    text = "".join(c if c.isprintable() or c in "\n\t" else " " for c in text)
    rows = [" ".join(row.split()) for row in text.split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(rows)).strip()


def without_headings(text: str) -> str:
    """One line of words, the signs of Markdown headings gone."""
    return plain(re.sub(r"^#{1,6} ", "", text, flags=re.M))


def without_wikitext(text: str) -> str:
    """A search snippet of a wiki: quotes, brackets and templates of its source gone."""
    return " ".join(_WIKI_NOISE.sub(" ", _WIKI_LINK.sub(r"\1", text)).split())


def _without_tags(text: str) -> str:
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(text)
    for node in tree.css(_SILENT):
        if node.tag != "head":
            node.decompose()
    for node in tree.css(_BLOCKS):
        node.insert_before("\n")
        node.insert_after("\n")
    root = tree.body
    return re.sub(r"\n\s*\n", "\n", root.text(deep=True, separator="")) if root is not None else ""
