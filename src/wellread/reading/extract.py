"""The main text of an HTML page, with title, date, author and language.

    parse (dom) → choose (mainpart) → write (render), and metadata beside it

Pure and blocking: callers on an event loop run it in a thread.
"""

from __future__ import annotations

import re

from wellread.reading.dom import parse
from wellread.reading.mainpart import main_blocks
from wellread.reading.metadata import About, describe
from wellread.reading.render import passages
from wellread.reading.tree import Block, count_words
from wellread.types import Page

_NOT_LETTERS = re.compile(r"\W+")
_SCANT = 50  # words; with fewer, structured data may know better


def extract(html: str, url: str = "") -> Page:
    """Main text and facts about the page. `passages` is empty where nothing can be read."""
    tree = parse(html)
    blocks = main_blocks(tree)
    about = describe(tree, url)
    texts = passages(_without_title(blocks, about.title))
    if about.body and sum(map(count_words, texts)) < _SCANT:
        texts = _of_body(about, texts)
    return Page(
        url=url,
        title=about.title,
        passages=texts,
        published=about.published,
        author=about.author,
        language=about.language,
    )


def _without_title(blocks: list[Block], title: str) -> list[Block]:
    """The title stands in its own field; a text that opens with it would say it twice."""
    wanted = _letters(title)
    opening = [block for block in blocks[:3] if _letters(block.text) == wanted] if wanted else []
    return [block for block in blocks if block not in opening]


def _letters(text: str) -> str:
    return _NOT_LETTERS.sub("", text).casefold()


def _of_body(about: About, texts: tuple[str, ...]) -> tuple[str, ...]:
    """Pages that scripts draw often carry their article as data."""
    body = about.body or ""
    if count_words(body) <= 2 * sum(map(count_words, texts)):
        return texts
    if "<" in body and ">" in body:
        return passages(main_blocks(parse(body))) or texts
    return (body,)
