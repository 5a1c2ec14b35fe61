"""Content extraction: the main text of an HTML page, with title, date, author and language.

    parse (dom) → choose (mainpart) → write (render); beside it what it says of itself

Pure and blocking: callers on an event loop run it in a thread.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import cast

from wellread.reading.dom import Facts, Node, Run, Tree, below, count_words, parse
from wellread.reading.mainpart import is_data, main_blocks
from wellread.reading.manuals import is_grid, is_manual, manual_runs
from wellread.reading.render import blocks
from wellread.text.blocks import passages
from wellread.text.dates import iso_date
from wellread.types import Block, Page

_TITLES = ("og:title", "twitter:title", "dc.title", "citation_title", "headline")
_DATES = (
    "article:published_time", "datepublished", "og:article:published_time", "citation_publication_date", "citation_date",
    "dc.date.issued", "dc.date", "dcterms.created", "parsely-pub-date", "sailthru.date", "publication_date", "publishdate",
    "pubdate", "article.published", "date",
)  # fmt: skip
_AUTHORS = ("author", "article:author", "dc.creator", "citation_author", "parsely-author", "sailthru.author", "byl")
_LANGUAGES = ("content-language", "og:locale", "dc.language", "language")
_URL_DATE = re.compile(r"/((?:19|20)\d\d)[/-](\d{1,2})[/-](\d{1,2})(?:[/-]|\b)")
_SEPARATORS = re.compile(r"\s+[|\-–—·•»:]+\s+")
_BY = re.compile(r"^\s*(?:written\s+)?by:?\s+", re.IGNORECASE)
_MAX_HEADINGS = 20


def describe(tree: Tree, url: str) -> tuple[Page, tuple[str, ...]]:
    """Metadata of a page out of meta tags, structured data and its text; and the article, where structured data carries it:
    text or markup, piece by piece."""
    items = [item for text in tree.facts.json_ld for item in _items(text)]
    articles = [item for item in items if "headline" in item or "articleBody" in item or "datePublished" in item]
    published, author = _published(tree.facts, articles, url), _author(tree, articles)
    page = Page(url, _title(tree, articles), (), published=published, author=author, language=_language(tree.facts))
    return page, _body(items, articles)


def _body(items: Iterable[Mapping[str, object]], articles: Iterable[Mapping[str, object]]) -> tuple[str, ...]:
    """The article; of guides, recipes and questions, which have none, their description and the texts of their steps."""
    for item in articles:
        if text := _text(item.get("articleBody")):
            return (text,)
    described = (_text(item.get("description")) for item in articles)
    said = (_text(item.get("text")) for item in items if item.get("@type") != "Comment")
    texts = list(dict.fromkeys(text for text in said if text))
    return (*dict.fromkeys(text for text in described if text), *texts) if texts else ()


def _items(text: str) -> Iterator[Mapping[str, object]]:
    """Every object in a piece of JSON-LD; broken ones are skipped."""
    try:
        stack: list[object] = [json.loads(text, strict=False)]
    except (ValueError, RecursionError):
        return
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            item = cast("dict[str, object]", value)
            yield item
            stack.extend(reversed(list(item.values())))
        elif isinstance(value, list):
            stack.extend(reversed(cast("list[object]", value)))


def _text(value: object) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""


def _first(metas: Mapping[str, str], names: Iterable[str]) -> Iterator[str]:
    return (text for name in names if (text := _text(metas.get(name))))


def _title(tree: Tree, articles: Iterable[Mapping[str, object]]) -> str:
    metas = tree.facts.metas
    site = _text(metas.get("og:site_name"))
    first = islice((node for node in tree.nodes if node.tag == "h1"), _MAX_HEADINGS)
    headings = [text for node in first if (text := _node_text(node))]
    tag = _text(tree.facts.title)
    for candidate in (*_first(metas, _TITLES), *(_text(item.get("headline")) for item in articles)):
        if candidate and candidate != site:
            return _without_site(candidate, site)
    within = next((heading for heading in headings if len(heading) > 3 and heading in tag), None)
    if within or not tag:
        return within or (headings[0] if headings else "")
    if site:
        return _without_site(tag, site)
    return max(_SEPARATORS.split(tag), key=len) if len(headings) == 1 else tag


def _without_site(title: str, site: str) -> str:
    parts = _SEPARATORS.split(title)
    if site and len(parts) > 1 and parts[-1].casefold() == site.casefold():
        return title[: title.rindex(parts[-1])].rstrip(" |-–—·•»:\t")
    return title


def _published(facts: Facts, articles: Iterable[Mapping[str, object]], url: str) -> str | None:
    candidates = [
        *_first(facts.metas, _DATES),
        *(_text(item.get("datePublished")) for item in articles),
        *facts.times[:3],
    ]
    if match := _URL_DATE.search(url):
        candidates.append("{}-{:0>2}-{:0>2}".format(*match.groups()))
    return next(filter(None, map(iso_date, candidates)), None)


def _author(tree: Tree, articles: Iterable[Mapping[str, object]]) -> str | None:
    for item in articles:
        if name := _names(item.get("author")):
            return name
    for text in _first(tree.facts.metas, _AUTHORS):
        if name := _person(text):
            return name
    lines = (node for node in tree.nodes if not node.tokens.isdisjoint({"byline", "author"}) and 0 < node.words <= 12)
    for node in islice(lines, _MAX_HEADINGS):
        text = _node_text(node)
        if _BY.match(text):
            return _person(text) or None
    return None


def _names(value: object) -> str:
    """The names in a value that may be a text, an object or a list of them, however nested."""
    names: list[str] = []
    stack = [value]
    while stack:
        part = stack.pop()
        if isinstance(part, list):
            stack.extend(reversed(cast("list[object]", part)))
        elif isinstance(part, dict):
            stack.append(cast("dict[str, object]", part).get("name"))
        elif name := _person(_text(part)):
            names.append(name)
    return ", ".join(names)


def _person(text: str) -> str:
    """A name without "By", handles and reading times; nothing where there is no name."""
    name = re.split(r"\s[@•|]", _BY.sub("", text), maxsplit=1)[0].strip(" ,;|")
    return "" if "://" in name or len(name) > 120 else name


def _language(facts: Facts) -> str | None:
    for text in (facts.language, *_first(facts.metas, _LANGUAGES)):
        code = re.split(r"[-_,;\s]", text.strip().lower(), maxsplit=1)[0]
        if 2 <= len(code) <= 3 and code.isascii() and code.isalpha():
            return code
    return None


def _node_text(node: Node) -> str:
    return " ".join(block.text for block in islice(below(node), 20)).replace("\n", " ")


_NOT_LETTERS = re.compile(r"\W+")
_LEADS_ON = re.compile(r"\s*\d\s*[;,]\s*url\s*=", re.IGNORECASE)  # at once to another page
_LARGE = 3_000  # characters of markup
_MORE = 3  # times as many words make a generous reading the better one
_SCANT = 100  # words; with fewer, structured data may know better


def extract(html: str, url: str = "", name: str = "") -> Page:
    """Main text and facts about the page. `passages` is empty where nothing can be read."""
    local = url.startswith("file:")
    tree = parse(html)
    page, body = _read(tree, url, local)
    if local and _words(page.blocks) < _SCANT and _LEADS_ON.match(tree.facts.metas.get("refresh", "")):
        return Page(url, page.title, (), kind="pointer")  # as makeinfo writes one for each anchor of a manual
    found = _of_body(body, page.blocks) if body else page.blocks
    # a page of a manual that is nothing but navigation is none the less read well
    if _words(found) < _SCANT and len(html) > _LARGE and not (tree.runs and is_manual(tree, local=local)):
        generous = _read(parse(html, generous=True), url, local)[0].blocks
        found = generous if _words(generous) > _MORE * _words(found) else found
    return replace(page, passages=passages(found), blocks=found)


def _read(tree: Tree, url: str, local: bool) -> tuple[Page, tuple[str, ...]]:
    manual = is_manual(tree, local=local)
    runs = manual_runs(tree) if manual else main_blocks(tree)
    page, body = describe(tree, url)
    return replace(page, blocks=blocks(_without_title(runs, page.title), is_grid if manual else is_data)), body


def _without_title(runs: list[Run], title: str) -> list[Run]:
    """The title stands in its own field; a text that opens with it would say it twice."""
    wanted = _letters(title)
    opening = [run for run in runs[:3] if _letters(run.text) == wanted] if wanted else []
    return [run for run in runs if run not in opening]


def _letters(text: str) -> str:
    return _NOT_LETTERS.sub("", text).casefold()


def _words(found: tuple[Block, ...]) -> int:
    return sum(count_words(block.text) for block in found)


def _of_body(body: tuple[str, ...], found: tuple[Block, ...]) -> tuple[Block, ...]:
    """Pages that scripts draw often carry their article as data; what else is on them is cookies and menus."""
    said, shown = sum(map(count_words, body)), _words(found)
    if said <= (2 if shown < _SCANT else _MORE) * shown:
        return found
    pieces = (blocks(main_blocks(parse(one))) if "<" in one and ">" in one else (Block("paragraph", one),) for one in body)
    return tuple(block for piece in pieces for block in piece) or found
