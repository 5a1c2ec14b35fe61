"""DocBook (XML and SGML) and Mallard, in which desktops and many projects keep their manuals: written as HTML, and read so."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape

from wellread.reading.builder import titled
from wellread.reading.hints import words
from wellread.reading.manuals import is_grid
from wellread.reading.markup import Target, feed_html, feed_xml
from wellread.reading.render import of_markup
from wellread.types import Page

_PARTS = words(
    """book part chapter appendix preface article section sect1 sect2 sect3 sect4 sect5 simplesect refentry refsect1 refsect2
    refsect3 refsection reference glossary bibliography page topic"""
)
_UNSAID = words("info indexterm remark comment revhistory titleabbrev toc index colophon media mediaobject screeninfo graphic")
_TAGS = {
    "p": "p para simpara refpurpose refname subtitle desc cite",
    "pre": "programlisting screen literallayout synopsis cmdsynopsis funcsynopsis listing",
    "ul": "itemizedlist orderedlist procedure substeps steps list simplelist tree qandaset",
    "li": "step item member qandaentry",
    "dl": "variablelist glosslist terms",
    "dt": "term glossterm",
    "dd": "glossdef",
    "table": "table informaltable",
    "tr": "row tr",
    "td": "entry td th",
    "blockquote": "blockquote",
    "div": "note tip warning caution important example figure informalexample sidebar formalpara question answer abstract",
}
_AS = {name: tag for tag, names in _TAGS.items() for name in names.split()}
_STEPS = {"gui": " → ", "guimenu": " → ", "guimenuitem": " → ", "guisubmenu": " → ", "key": "+", "keycap": "+"}
_CHAINS = frozenset({"guiseq", "menuchoice", "keyseq", "keycombo"})


def read_docbook(text: str, url: str, name: str) -> Page:
    written = _AsHtml()
    try:
        feed_xml(re.sub(r"^\s*<\?xml[^>]*\?>", "", text).strip().encode(), written)
    except ValueError:  # SGML leaves its elements open
        written = _AsHtml()
        feed_html(text, written)
    found = of_markup("".join(written.written), is_grid)
    return titled("docbook", found, url, name, written.title, language=written.language)


class _AsHtml(Target):
    """Receives a parser's events and writes the elements that we know by those of HTML."""

    def __init__(self) -> None:
        self.title = ""
        self.language = ""
        self.written: list[str] = []
        self._open: list[tuple[str, str]] = []  # names of elements, and what closes them
        self._unsaid = 0  # how many elements deep in what is not said
        self._depth = 0
        self._titled: list[str] | None = None  # the words of a title of the document or of a part of it
        self._step = False  # just behind a step of a chain of keys or menus

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        name = tag.rpartition("}")[2].lower()
        outer = self._open[-1][0] if self._open else ""
        if not self._open:
            self.language = attributes.get("lang") or attributes.get("{http://www.w3.org/XML/1998/namespace}lang") or ""
        if self._unsaid and not (name == "title" and self._unsaid == 1 and outer.endswith("info")):
            self._unsaid += 1
            self._open.append((name, ""))
            return
        opens, closes = self._markup(name, outer)
        if name in _UNSAID or (name.endswith("info") and name != "docinfo"):
            self._unsaid = 1
        if name in _STEPS and self._step and outer in _CHAINS:
            self.written.append(escape(_STEPS[name]))
        self._depth += name in _PARTS
        anchor = attributes.get("id") or attributes.get("{http://www.w3.org/XML/1998/namespace}id")
        self.written.append(opens.replace(">", f' id="{escape(anchor)}">', 1) if anchor and opens else opens)
        self._open.append((name, closes))

    def _markup(self, name: str, outer: str) -> tuple[str, str]:
        if name == "title":
            return self._heading(outer)
        if name in _PARTS:
            return "<div>", "</div>"
        if name == "listitem":
            return ("<dd>", "</dd>") if outer == "varlistentry" else ("<li>", "</li>")
        if name == "code" and outer in _PARTS | {"item", "example", "note"}:
            return "<pre>", "</pre>"  # Mallard has one name for both
        known = _AS.get(name)
        if name == "item" and outer == "terms":
            return "", "</dd>"
        return (f"<{known}>", f"</{known}>") if known else ("", "")

    def _heading(self, outer: str) -> tuple[str, str]:
        if outer == "item":
            return "<dt>", "</dt><dd>"
        if outer in _PARTS or outer.endswith("info"):
            self._titled = []
            return "", ""
        return "<p>", "</p>"

    def data(self, data: str) -> None:
        if self._titled is not None:
            self._titled.append(data)
        elif not self._unsaid:
            self.written.append(escape(data, quote=False))
        self._step = self._step and not data.strip()

    def end(self, tag: str) -> None:
        if not self._open:
            return
        name, closes = self._open.pop()
        if name == "title" and self._titled is not None:
            words, self._titled = " ".join("".join(self._titled).split()), None
            if self.title:
                level = min(max(self._depth, 1), 6)
                self.written.append(f"<h{level}>{escape(words)}</h{level}>")
            self.title = self.title or words  # the first title is the document's, which has a field of its own
            return
        if self._unsaid:
            self._unsaid -= 1
            return
        self._depth -= name in _PARTS
        self.written.append(closes)
        self._step = name in _STEPS
