"""Texts in tokens, many at once, with the characters each token stands for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer
from training.evaluator.data import Passage

from wellread.ranking.inputs import Ids, Tokens
from wellread.text.sentences import sentences

SENTENCE = 400  # characters that one may have on each side of an answer
_BREAK = re.compile(r"(?<=[.!?])[\s\"”')]+|\n+")
MAX_TOKENS = 1024  # of a passage's text; the windows of a row are much shorter


def load_tokenizer(path: Path) -> Tokenizer:
    """MiniLM's tokenizer, without its own cutting and padding."""
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


class TokenTable:
    """Token ids and character offsets of texts, kept in three flat arrays."""

    def __init__(self, tokenizer: Tokenizer, texts: Sequence[str], chunk: int = 8192) -> None:
        ids: list[Ids] = []
        offsets: list[NDArray[np.int32]] = []
        lengths: list[int] = []
        for start in range(0, len(texts), chunk):
            for encoding in tokenizer.encode_batch(list(texts[start : start + chunk]), add_special_tokens=False):
                ids.append(np.array(encoding.ids[:MAX_TOKENS], np.int32))
                offsets.append(np.array(encoding.offsets[:MAX_TOKENS], np.int32).reshape(-1, 2))
                lengths.append(len(ids[-1]))
        self._ids = np.concatenate(ids) if ids else np.empty(0, np.int32)
        self._offsets = np.concatenate(offsets) if offsets else np.empty((0, 2), np.int32)
        self._ends = np.cumsum(np.array(lengths, np.int64))

    def __len__(self) -> int:
        return len(self._ends)

    def _slice(self, index: int) -> slice:
        return slice(int(self._ends[index - 1]) if index else 0, int(self._ends[index]))

    def ids(self, index: int) -> Ids:
        return self._ids[self._slice(index)]

    def offsets(self, index: int) -> NDArray[np.int32]:
        return self._offsets[self._slice(index)]


class PassageTable:
    """All passages in tokens, and where a string stands in them."""

    def __init__(self, tokenizer: Tokenizer, passages: Sequence[Passage]) -> None:
        self.passages = passages
        self._titles = TokenTable(tokenizer, [passage.title for passage in passages])
        self._texts = TokenTable(tokenizer, [passage.text for passage in passages])
        self._sentences: dict[int, list[tuple[int, int]]] = {}

    def tokens(self, number: int) -> Tokens:
        return Tokens(self._titles.ids(number), self._texts.ids(number))

    def find(self, number: int, answers: Sequence[str]) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """First and last tokens of every occurrence of the answers: in the title, in the text."""
        passage = self.passages[number]
        titles = _occurrences(passage.title, answers, self._titles.offsets(number))
        return titles, _occurrences(passage.text, answers, self._texts.offsets(number))

    def marked(self, number: int, start: int, end: int) -> tuple[int, int]:
        """First token of the text from a character on, and the one after the last before another."""
        offsets = self._texts.offsets(number)
        return int(np.searchsorted(offsets[:, 1], start, side="right")), int(np.searchsorted(offsets[:, 0], end, side="left"))

    def sentence(self, number: int, first: int, last: int) -> tuple[int, int]:
        """The sentence or line around some tokens of the text: its first token, and the one after its last."""
        text = self.passages[number].text
        start, end = self.text_of(number, first, last)
        before = max(
            (match.end() for match in _BREAK.finditer(text, max(0, start - SENTENCE), start)), default=max(0, start - SENTENCE)
        )
        after = _BREAK.search(text, end, end + SENTENCE)
        return self.marked(number, before, after.start() if after else min(len(text), end + SENTENCE))

    def sentences(self, number: int) -> list[tuple[int, int]]:
        """Where the sentences of a text stand."""
        if number not in self._sentences:
            self._sentences[number] = sentences(self.passages[number].text)
        return self._sentences[number]

    def offsets(self, number: int) -> NDArray[np.int32]:
        """The characters of each token of a text."""
        return self._texts.offsets(number)

    def text_of(self, number: int, first: int, last: int) -> tuple[int, int]:
        """The characters of the text from token `first` to token `last`."""
        offsets = self._texts.offsets(number)
        return int(offsets[first, 0]), int(offsets[last, 1])

    def title_of(self, number: int, first: int, last: int) -> tuple[int, int]:
        offsets = self._titles.offsets(number)
        return int(offsets[first, 0]), int(offsets[last, 1])


def _occurrences(text: str, answers: Sequence[str], offsets: NDArray[np.int32]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    if not len(offsets):
        return found
    for answer in answers:
        for match in re.finditer(rf"(?<!\w){re.escape(answer)}(?!\w)", text, re.IGNORECASE):
            first = int(np.searchsorted(offsets[:, 1], match.start(), side="right"))
            last = int(np.searchsorted(offsets[:, 0], match.end(), side="left")) - 1
            if first <= last < len(offsets):
                found.append((first, last))
    return found
