"""What reading one document may cost, and a page cut to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from wellread.types import Page

MAX_PASSAGES = 200_000
_FACT = 1_000  # characters of a title, an author, a date


@dataclass(frozen=True, slots=True)
class Allowance:
    """One for all kinds of documents; how it is enforced is the worker's business, what is cut the readers'."""

    seconds: float = 60.0
    memory: int = 512 * 1024 * 1024  # bytes, beside some copies of the document itself
    characters: int = 20_000_000


OWN_FILE = Allowance()
WEB_PAGE = Allowance(seconds=20.0, characters=2_000_000)  # strangers get less: no model reads two million characters


def fitted(page: Page, allowance: Allowance) -> Page:
    """The page with what it may hold; it says so when something was left out."""
    passages = tuple(_cut(page.passages, allowance.characters))
    whole = len(passages) == len(page.passages) and passages[-1:] == page.passages[-1:]
    return replace(
        page,
        title=page.title[:_FACT],
        published=page.published[:_FACT] if page.published else None,
        author=page.author[:_FACT] if page.author else None,
        language=page.language[:_FACT] if page.language else None,
        passages=passages,
        notice=page.notice if whole else _too_long(len(passages), allowance),
    )


def _cut(passages: Sequence[str], left: int) -> Iterator[str]:
    for text in passages[:MAX_PASSAGES]:
        if left <= 0:
            return
        yield text[:left]
        left -= len(text)


def _too_long(passages: int, allowance: Allowance) -> str:
    limit = f"{MAX_PASSAGES:,} paragraphs" if passages == MAX_PASSAGES else f"{allowance.characters:,} characters"
    return f"its text is larger than {limit}: the rest was left out"
