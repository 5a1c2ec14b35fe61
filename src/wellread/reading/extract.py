"""The main text of an HTML page, with title, date, author and language.

    parse (dom) → choose (mainpart) → write (render), and metadata beside it

Pure and blocking: callers on an event loop run it in a thread.
"""

from __future__ import annotations

import re

from wellread.reading.dom import parse
from wellread.reading.mainpart import main_blocks
from wellread.reading.manuals import is_grid, is_manual, manual_runs
from wellread.reading.metadata import About, describe
from wellread.reading.render import blocks
from wellread.reading.tree import Run, Tree, count_words
from wellread.reading.weights import is_data
from wellread.text.blocks import passages
from wellread.types import Block, Page

_NOT_LETTERS = re.compile(r"\W+")
_LARGE = 3_000  # characters of markup
_MORE = 3  # times as many words make a generous reading the better one
_SCANT = 100  # words; with fewer, structured data may know better


def read_html(text: str, url: str, name: str = "") -> Page:
    return extract(text, url)


def extract(html: str, url: str = "") -> Page:
    """Main text and facts about the page. `passages` is empty where nothing can be read."""
    local = url.startswith("file:")
    tree = parse(html, local=local)
    found, about = _read(tree, url, local)
    if about.body:
        found = _of_body(about.body, found)
    # a page of a manual that is nothing but navigation is none the less read well
    if _words(found) < _SCANT and len(html) > _LARGE and not (tree.runs and is_manual(tree, local=local)):
        generous, _ = _read(parse(html, local=local, generous=True), url, local)
        found = generous if _words(generous) > _MORE * _words(found) else found
    return Page(
        url=url,
        title=about.title,
        passages=passages(found),
        published=about.published,
        author=about.author,
        language=about.language,
        blocks=found,
    )


def _read(tree: Tree, url: str, local: bool) -> tuple[tuple[Block, ...], About]:
    manual = is_manual(tree, local=local)
    runs = manual_runs(tree) if manual else main_blocks(tree)
    about = describe(tree, url)
    return blocks(_without_title(runs, about.title), is_grid if manual else is_data), about


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
    return tuple(block for piece in body for block in _of_piece(piece)) or found


def _of_piece(text: str) -> tuple[Block, ...]:
    if "<" in text and ">" in text:
        return blocks(main_blocks(parse(text)))
    return (Block("paragraph", text),)
