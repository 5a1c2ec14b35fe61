"""Cutting documents into passages of bounded size: at paragraphs, else at sentences, else at words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from wellread.text.sentences import sentences

_WIDE = "\u2e80"  # from here on scripts are written without blanks: a character is about a token
_LETTERS_PER_TOKEN = 6


@dataclass(frozen=True, slots=True)
class Splitting:
    """How large passages are, and how much of one is repeated in the next."""

    tokens: int = 250  # 0: texts stay whole
    overlap: int = 0

    def __post_init__(self) -> None:
        if self.tokens < 0 or not 0 <= self.overlap <= max(0, self.tokens - 1):
            raise ValueError("tokens cannot be negative and overlap must be smaller than tokens")


def count_tokens(text: str) -> int:
    """About as many as a word-piece tokenizer makes; no tokenizer is loaded for this."""
    total = 0
    for word in text.split():
        wide = sum(1 for letter in word if letter >= _WIDE) if not word.isascii() else 0
        total += wide + (1 + (len(word) - wide - 1) // _LETTERS_PER_TOKEN if len(word) > wide else 0)
    return total


def split(paragraphs: Sequence[str], how: Splitting) -> list[str]:
    """Passages made of whole paragraphs where they fit."""
    if not how.tokens:
        whole = "\n\n".join(paragraphs)
        return [whole] if whole.strip() else []
    passages: list[str] = []
    parts: list[tuple[str, str, int]] = []  # (what joins it to the one before, text, tokens)
    size = 0
    for joint, text in _units(paragraphs, how.tokens):
        tokens = count_tokens(text)
        if parts and size + tokens > how.tokens:
            passages.append(_joined(parts))
            parts = _tail(parts, min(how.overlap, how.tokens - tokens))
            size = sum(part[2] for part in parts)
        parts.append((joint, text, tokens))
        size += tokens
    return [*passages, _joined(parts)] if parts else passages


def _units(paragraphs: Sequence[str], limit: int) -> Iterator[tuple[str, str]]:
    for paragraph in paragraphs:
        text = paragraph.strip()
        if not text:
            continue
        if count_tokens(text) <= limit:
            yield "\n\n", text
            continue
        joint = "\n\n"
        for start, end in sentences(text):
            for piece in _pieces(text[start:end], limit):
                yield joint, piece
                joint = " "


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


def _tail(parts: list[tuple[str, str, int]], overlap: int) -> list[tuple[str, str, int]]:
    kept: list[tuple[str, str, int]] = []
    for part in reversed(parts):
        overlap -= part[2]
        if overlap < 0:
            break
        kept.insert(0, part)
    return kept


def _joined(parts: Sequence[tuple[str, str, int]]) -> str:
    return "".join(text if number == 0 else joint + text for number, (joint, text, _) in enumerate(parts))
