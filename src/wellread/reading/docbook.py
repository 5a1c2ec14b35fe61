"""DocBook (XML and SGML) and Mallard, in which desktops and many projects keep their manuals: written as HTML, and read so."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape, unescape

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
_XML = "{http://www.w3.org/XML/1998/namespace}"
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
        self.title = self.language = ""
        self.written: list[str] = []
        self._open = [("", "", self.written)]  # names of elements, what closes them, and where the words in them go
        self._title: list[str] | None = None  # where those of a title of the document or of a part of it go
        self._depth = 0
        self._step = False  # just behind a step of a chain of keys or menus

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        name, (outer, _, out) = tag.rpartition("}")[2].lower(), self._open[-1]
        if not outer:
            self.language = attributes.get("lang") or attributes.get(f"{_XML}lang") or ""
        about = name.endswith("info") and name != "docinfo"
        said = out is self.written or (outer.endswith("info") and self._open[-2][2] is self.written)
        if name in _STEPS and self._step and outer in _CHAINS:
            out.append(_STEPS[name])
        if name == "title" and said and (outer in _PARTS or outer.endswith("info")):
            opens, closes, inner = "", "", list[str]()
            self._title = inner
        else:
            opens, closes = self._markup(name, outer)
            inner = [] if about or name in _UNSAID else out
        self._depth += name in _PARTS
        anchor = attributes.get("id") or attributes.get(f"{_XML}id")
        out.append(opens.replace(">", f' id="{escape(anchor)}">', 1) if anchor and opens else opens)
        self._open.append((name, closes, inner))

    def _markup(self, name: str, outer: str) -> tuple[str, str]:
        if name == "title":
            return ("<dt>", "</dt><dd>") if outer == "item" else ("<p>", "</p>")
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

    def data(self, data: str) -> None:
        self._open[-1][2].append(escape(data, quote=False))
        self._step = self._step and not data.strip()

    def end(self, tag: str) -> None:
        if len(self._open) == 1:
            return
        name, closes, inner = self._open.pop()
        self._open[-1][2].append(closes)
        self._depth -= name in _PARTS
        self._step = name in _STEPS
        if name == "title" and inner is self._title:
            words, level = " ".join("".join(inner).split()), min(max(self._depth, 1), 6)
            if self.title:
                self.written.append(f"<h{level}>{words}</h{level}>")
            self.title = self.title or unescape(words)  # the first title is the document's, which has a field of its own
