"""Documents that are no news pages: manuals, references, files of one's own. All of their text is content but navigation.

Navigation is what leads to other pages of the same manual: lists that are nothing but such links, lines with
links to the next page, and parts that are named so and full of links. Sidebars, notes, asides, footnotes and
authors stay.
"""

from __future__ import annotations

from wellread.reading.dom import Node, Run, Tree, below
from wellread.reading.hints import words, writes_manuals
from wellread.reading.mainpart import without_orphans

_MARKS = words(  # classes and ids that programs write into every page of a manual
    """sphinxsidebar documentwrapper rst-content navheader navfooter refentry refsect1 titlepage docblock md-content
    theme-doc-markdown markdown-body docutils javadoc doc-content sect1"""
)
_LINKED_PARTS = words(
    """toc contents menu sidebar index related search footer header banner links minitoc localtoc globaltoc tabs langs
    languages skip toolbar pager pagination breadcrumb breadcrumbs"""
)
_BARS = words("nav navbar navheader navfooter docnav navigation")
_LISTS = frozenset({"ul", "ol", "dl", "dir", "table"})
_WHOLE = frozenset({"html", "body", "main", "article"})
_MANY = 6  # links that make a list one of navigation
_FEW_WORDS = 12  # beside the links of a line that turns the page
_SHORT_FOOTER = 80
_SHORT_BAR = 40  # words
_LONGEST_CELL = 250


def is_manual(tree: Tree, *, local: bool) -> bool:
    """By the program that wrote it, by the marks such programs leave; a local file unless it was an article on the web."""
    if writes_manuals(tree.facts.metas.get("generator", "")):
        return True
    if any(not _MARKS.isdisjoint(node.hint.split()) for node in tree.nodes if node.hint):
        return True
    metas = tree.facts.metas
    article = metas.get("og:type") == "article" or "article:published_time" in metas or bool(tree.facts.json_ld)
    return local and not article


def manual_runs(tree: Tree) -> list[Run]:
    """Everything but navigation; of a page that is nothing else, its words."""
    if not tree.nodes:
        return []
    # Doxygen calls the text itself so
    linked_parts = _LINKED_PARTS - {"contents"} if "doxygen" in tree.facts.metas.get("generator", "").lower() else _LINKED_PARTS
    for node in tree.nodes:
        if node.tag not in _WHOLE:
            node.dropped = _navigation(node, linked_parts)
    # without lines that turn the page, and lines of links before the first and after the last text
    kept = [run for run in below(tree.nodes[0]) if not (run.turns and 0 < max(run.linked, run.inner) >= run.words - _FEW_WORDS)]
    told = [at for at, run in enumerate(kept) if run.is_heading or not run.inner or run.inner * 10 < run.words * 8]
    kept = without_orphans(tree.runs, kept[told[0] : told[-1] + 1] if told else [])
    return kept or [run for run in tree.runs if run.node.tag != "h1"][: _MANY * 10]


def is_grid(table: Node) -> bool:
    """Rows and cells with anything but code in them, as against a table that lays out the page."""
    return (
        table.rows >= 2
        and table.cells >= 1.5 * table.rows
        and not (table.tables or table.code)
        and table.longest <= _LONGEST_CELL
    )


def _navigation(node: Node, linked_parts: frozenset[str]) -> str:
    """The reason to take it for that; empty where there is none."""
    if not node.words:
        return ""
    # a table of links that lead out of the manual is content: it says what there is
    linked = node.inner if node.rows > 1 else max(node.inner, node.linked)
    if node.tag in _LISTS and node.inner * 10 >= node.words * 9 and node.pieces >= _MANY:
        return "links"
    if any(name.startswith("nav") or name.endswith("nav") for name in node.tokens) and linked * 10 >= node.words * 3:
        return "navigation"
    if node.words <= _SHORT_BAR and not node.tokens.isdisjoint(_BARS):
        return "navigation"  # its links may be pictures
    if any(name.endswith("toc") for name in node.tokens) and linked * 5 >= node.words:
        return "table of contents"
    is_named = node.tag in {"header", "footer", "form"} or not node.tokens.isdisjoint(linked_parts)
    if is_named and linked * 2 >= node.words:
        return "part full of links"
    # a notice of copyright that is named so says who wrote the document
    is_foot = (node.tag == "footer" or "footer" in node.tokens) and "copyright" not in node.tokens
    return "footer" if is_foot and node.words <= _SHORT_FOOTER and not node.holds else ""
