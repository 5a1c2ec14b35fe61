"""Chunking of documents into passages of bounded size that know their place: the one splitter.

A heading begins a passage and stays with what follows it; a page of a PDF ends one, so that a passage has one heading
path and begins on one page. Inside of that passages are cut at blocks, else at sentences (code: at lines), else at words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, takewhile

from wellread.core.values import frozen
from wellread.text.blocks import as_blocks, goes_on, lines, marked
from wellread.text.places import HEADINGS
from wellread.text.sentences import paragraphs
from wellread.types import Block, Page, Passage

_WIDE = "\u2e80"  # from here on scripts are written without blanks: a character is about a token
_LETTERS_PER_TOKEN = 6
_DIGITS = 9  # of a passage's number; what has more is none


@frozen
class Splitting:
    """How large passages are, and how much of one is repeated in the next."""

    tokens: int = 250  # 0: texts stay whole
    overlap: int = 0

    def __post_init__(self) -> None:
        if self.tokens < 0 or not 0 <= self.overlap <= max(0, self.tokens - 1):
            raise ValueError("tokens cannot be negative and overlap must be smaller than tokens")


@frozen
class Piece:
    """A passage's text and its place in the document."""

    text: str
    heading: str = ""
    page: int | None = None
    anchor: str = ""


@frozen
class _Part:
    """A part that passages are put together from: a block, or a part of a long one."""

    joint: str  # what joins it to the one before
    text: str
    tokens: int
    block: Block


def count_tokens(text: str) -> int:
    """About as many as a word-piece tokenizer makes; no tokenizer is loaded for this."""
    total = 0
    for word in text.split():
        wide = sum(1 for letter in word if letter >= _WIDE) if not word.isascii() else 0
        total += wide + (1 + (len(word) - wide - 1) // _LETTERS_PER_TOKEN if len(word) > wide else 0)
    return total


def split(paragraphs: Sequence[str], how: Splitting) -> list[str]:
    """Passages made of whole paragraphs where they fit."""
    return [piece.text for piece in pieces([Block("paragraph", text) for text in paragraphs], how)]


def passages(page: Page, name: str, how: Splitting) -> list[Passage]:
    """The passages of a page; `name` is the document's and begins their ids."""
    return [
        Passage(
            id=part_id(name, number),
            text=piece.text,
            title=page.title or name,
            url=page.url,
            published=page.published,
            document=name,
            heading=piece.heading,
            page=piece.page,
            anchor=piece.anchor,
        )
        for number, piece in enumerate(pieces(as_blocks(page), how))
    ]


def part_id(name: str, number: int) -> str:
    return f"{name}#{number}"


def number_in_document(passage: Passage) -> int | None:
    """Which of its document's passages it is, counted from 0; None where it is not one of several."""
    number = passage.id.rpartition("#")[2]
    counts = number.isascii() and number.isdigit() and len(number) <= _DIGITS
    return int(number) if counts and passage.id != number else None


def pieces(blocks: Sequence[Block], how: Splitting) -> list[Piece]:
    """All words of the blocks, in order."""
    filled = [block for block in blocks if block.text.strip()]
    writer = _Writer(how)
    last: Block | None = None
    for block in filled:
        writer.add(block, "\n" if last is not None and goes_on(last, block) else "\n\n")
        last = block
    writer.end()
    return writer.pieces


class _Writer:
    def __init__(self, how: Splitting) -> None:
        self._how = how
        self._limit = how.tokens or 1 << 62
        self._path: list[Block] = []  # headings that are open
        self._parts: list[_Part] = []
        self._size = 0
        self._body = False  # whether there is more than headings
        self.pieces: list[Piece] = []

    def add(self, block: Block, joint: str) -> None:
        tokens = count_tokens(block.text)
        if block.kind == "heading" and tokens <= self._limit // 2:
            self._head(_Part(joint, marked(block), tokens + 1, block))
            return
        first = self._parts[0].block.page if self._body else None
        if first is not None and block.page is not None and first != block.page and self._how.tokens:
            self.end()
        taken = 0 if self._body else self._size
        for part in _cut(block, joint, self._limit - taken):
            self._put(part)

    def end(self) -> None:
        """End the passage."""
        if self._parts:
            first = next((part.block for part in self._parts if part.block.kind != "heading"), self._parts[0].block)
            text = "".join(part.text if place == 0 else part.joint + part.text for place, part in enumerate(self._parts))
            heading = HEADINGS.join(" ".join(one.text.split()) for one in self._path)
            self.pieces.append(Piece(text, heading, first.page, first.anchor))
        self._parts, self._size, self._body = [], 0, False

    def _head(self, part: _Part) -> None:
        """A heading ends what stands before it; headings that follow each other stay together as long as they are few."""
        if (self._body or self._size + part.tokens > self._limit // 2) and self._how.tokens:
            self.end()
        while self._path and self._path[-1].level >= part.block.level:
            self._path.pop()
        self._path.append(part.block)
        self._parts.append(part)
        self._size += part.tokens

    def _put(self, part: _Part) -> None:
        if self._body and self._size + part.tokens > self._limit:
            overlap = min(self._how.overlap, self._limit - part.tokens)
            sizes = takewhile(lambda size: size <= overlap, accumulate(one.tokens for one in reversed(self._parts)))
            repeated = self._parts[len(self._parts) - len(list(sizes)) :]
            self.end()
            self._parts, self._size = repeated, sum(one.tokens for one in repeated)
        self._parts.append(part)
        self._size += part.tokens
        self._body = True


def _cut(block: Block, joint: str, limit: int) -> Iterator[_Part]:
    text = marked(block).strip("\n")
    tokens = count_tokens(text)
    if tokens <= limit:
        yield _Part(joint, text if block.kind == "code" else text.strip(), tokens, block)
        return
    last = 0
    for start, end in lines(text) if block.kind == "code" else _units(text, limit):
        joint = text[last:start] if last else joint  # the items of a list stay on lines of their own
        for piece in _pieces(text[start:end], limit):
            yield _Part(joint, piece, count_tokens(piece), block)
            joint = " "
        last = end


def _units(text: str, limit: int) -> Iterator[tuple[int, int]]:
    """The items of a list, whole where they fit, and the sentences of what is longer."""
    for spans in paragraphs(text):
        whole = spans[0][0], spans[-1][1]
        yield from [whole] if count_tokens(text[slice(*whole)]) <= limit else spans


def _pieces(sentence: str, limit: int) -> Iterator[str]:
    """A sentence, cut at blanks when it is longer than a passage, and anywhere when it has none."""
    if count_tokens(sentence) <= limit:
        yield sentence
        return
    piece: list[str] = []
    size = 0
    for word in sentence.split():
        for start in range(0, len(word), limit):
            part = word[start : start + limit]
            tokens = count_tokens(part)
            if piece and size + tokens > limit:
                yield " ".join(piece)
                piece, size = [], 0
            piece.append(part)
            size += tokens
    if piece:
        yield " ".join(piece)
