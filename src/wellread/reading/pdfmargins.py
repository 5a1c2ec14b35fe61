"""What of a PDF's pages is no text: running heads and feet, page numbers, tables of contents."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from wellread.reading.pdflines import Line

_EDGE = 3  # lines that a running head or foot may have
_DIGITS = re.compile(r"\d+")
_NUMBER = re.compile(r"^(\d{1,5})\b|\b(\d{1,5})$")
_ONLY_NUMBER = re.compile(r"[\W_]*(?:page )?(?:\d+|[ivxlcdm]+)(?: (?:of|/) \d+)?[\W_]*", re.IGNORECASE)
_LEADER = re.compile(r"(?:[.·…] ?){4,}\s*(?:[\divxlcA-Z-]{0,8})\s*$")
_ENDS_IN_NUMBER = re.compile(r"\s(?:\d{1,5}|[ivxlc]+)$")
_FEWEST = 3  # pages on which a line must stand to be a running head

Pages = Sequence[Sequence[Line]]
Runs = Callable[[Line, int], bool]


def without_margins(pages: Pages) -> list[list[Line]]:
    """The lines that are text."""
    return [_without_contents(page) for page in _without_running_heads(pages)]


def _without_running_heads(pages: Pages) -> Iterator[list[Line]]:
    offset = _common_offset(pages)
    placed = Counter(key for page in pages for key in {_key(line) for line in _edges(page)})
    worded = Counter(key for page in pages for key in {_key(line)[0] for line in _edges(page)})
    often = max(_FEWEST, len(pages) // 3)

    def runs(line: Line, page: int) -> bool:
        words, place = _key(line)
        if not any(letter.isalnum() for letter in line.text):
            return False
        repeated = placed[words, place] >= _FEWEST or worded[words] >= often
        return repeated or bool(_ONLY_NUMBER.fullmatch(line.text)) or (offset is not None and offset in _offsets(line, page))

    for number, page in enumerate(pages):
        by_height = sorted(page, key=lambda line: -line.y)
        gone = set(map(id, [*_run(by_height, number, runs), *_run(by_height[::-1], number, runs)]))
        yield [line for line in page if id(line) not in gone]


def _run(outermost_first: Sequence[Line], page: int, runs: Runs) -> list[Line]:
    """The running lines at one edge. A number may stand on the same line as words that were set apart from it."""
    found: list[Line] = []
    for line in outermost_first[:_EDGE]:
        if not runs(line, page):
            break
        found.append(line)
    return found


def _edges(page: Sequence[Line]) -> list[Line]:
    by_height = sorted(page, key=lambda line: -line.y)
    return [*by_height[:_EDGE], *by_height[-_EDGE:]]


def _key(line: Line) -> tuple[str, int]:
    return _DIGITS.sub("#", line.text).casefold(), round(line.y / 3)


def _common_offset(pages: Pages) -> int | None:
    """By how much the printed numbers differ from the pages' own, where they do so all along."""
    outer = [(number, sorted(page, key=lambda line: -line.y)) for number, page in enumerate(pages) if page]
    found = Counter(
        offset for number, page in outer for offset in {*_offsets(page[0], number), *_offsets(page[-1], number)}
    ).most_common(1)
    return found[0][0] if found and found[0][1] >= max(_FEWEST, 0.3 * len(pages)) else None


def _offsets(line: Line, page: int) -> set[int]:
    return {int(found[1] or found[2]) - page for found in _NUMBER.finditer(line.text)}


def _without_contents(page: list[Line]) -> list[Line]:
    """Lines with leaders lead elsewhere; a page that is mostly of them is a table of contents, or an index."""
    leaders = sum(bool(_LEADER.search(line.text)) for line in page)
    if not leaders:
        return page
    numbered = sum(bool(_LEADER.search(line.text) or _ENDS_IN_NUMBER.search(line.text)) for line in page)
    if leaders >= _FEWEST and numbered >= 0.6 * len(page):
        return []
    return [line for line in page if not _LEADER.search(line.text)]
