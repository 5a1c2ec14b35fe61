"""The evaluator's input rows (windowing): a question and a chain of passages as tokens, long passages cut to their best window.

    [CLS] question [SEP] title. passage [SEP]                                     a passage by itself
    [CLS] question [SEP] title. passage [SEP] title. passage [SEP]                a passage after another
    [CLS] question [SEP] … [SEP] … [SEP] … [SEP]                                  up to four, for reading

The last passage of a chain is the one that is judged; the ones before it are what is known already. The
token type is 0 up to the first [SEP] and 1 after it. Training and the engine both build their rows
here, so that the model meets at work what it was trained on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from wellread.core.effort import Windows

Ids: TypeAlias = NDArray[np.int32]

PAD, CLS, SEP, DOT = 0, 101, 102, 1012
STRIDE = 8  # windows start at every eighth token
HEAD_START = 1.0  # words


@dataclass(frozen=True, slots=True)
class Tokens:
    """A passage in tokens, its title apart from its text."""

    title: Ids
    text: Ids


@dataclass(frozen=True, slots=True)
class Placed:
    """Where a passage stands in a row: the row's position of its title, and which of its text is there."""

    title_at: int
    title_length: int
    text_at: int
    window: int  # the first token of the text that was taken
    length: int

    def position(self, token: int) -> int | None:
        """The row's position of a token of the text; None when the window leaves it out."""
        inside = token - self.window
        return self.text_at + inside if 0 <= inside < self.length else None


@dataclass(frozen=True, slots=True)
class Row:
    """One input of the model."""

    ids: Ids
    question_length: int  # with [CLS] and the first [SEP]
    passages: tuple[Placed, ...]


def build_row(question: Ids, chain: Sequence[Tokens], windows: Windows) -> Row:
    """The row for a question and a chain of passages, long passages cut to their best window."""
    head = question[: windows.question]
    parts: list[Ids] = [np.array([CLS], np.int32), head, np.array([SEP], np.int32)]
    at = len(head) + 2
    placed: list[Placed] = []
    for rank, passage in enumerate(chain):
        wanted = windows.known if rank < len(chain) - 1 else windows.judged if rank else windows.alone
        allowed = min(wanted, (windows.total - at) // (len(chain) - rank))
        title = passage.title[: min(windows.title, max(allowed - 2, 0))]
        room = max(allowed - len(title) - 2, 0)
        window = best_window(head, passage.text, room)
        text = passage.text[window : window + room]
        placed.append(Placed(at, len(title), at + len(title) + 1, window, len(text)))
        parts += [title, np.array([DOT], np.int32), text, np.array([SEP], np.int32)]
        at += len(title) + len(text) + 2
    return Row(np.concatenate(parts), len(head) + 2, tuple(placed))


def best_window(question: Ids, text: Ids, room: int) -> int:
    """Where to start reading a text that does not fit: where most of the question's rarer words are.

    A word counts less the more often the text has it. The beginning is worth one word more than other
    places, because that is where passages say what they are about.
    """
    if len(text) <= room or room == 0:
        return 0
    counts = np.bincount(text)
    asked = np.zeros(len(counts), bool)
    asked[question[question < len(counts)]] = True
    weight = np.concatenate([[0.0], np.cumsum(asked[text] / counts[text])])
    starts = np.append(np.arange(0, len(text) - room, STRIDE), len(text) - room)
    worth = weight[starts + room] - weight[starts]
    worth[0] += HEAD_START
    return int(starts[np.argmax(worth)])


def sentence_scores(
    logits: NDArray[np.float32], placed: Placed, offsets: NDArray[np.int32], spans: Sequence[tuple[int, int]]
) -> list[tuple[int, int, float]]:
    """Sentences of a passage with the mean of their tokens' logits, those alone whose tokens are in the window for the most part.

    `offsets` are the characters of every token of the text, `spans` those of its sentences.
    """
    scored: list[tuple[int, int, float]] = []
    firsts = np.searchsorted(offsets[:, 1], [start for start, _ in spans], side="right") - placed.window
    afters = np.searchsorted(offsets[:, 0], [end for _, end in spans], side="left") - placed.window
    for (start, end), first, after in zip(spans, firsts, afters, strict=True):
        a, b = max(int(first), 0), min(int(after), placed.length)
        if b > a and 2 * (b - a) >= after - first:
            scored.append((start, end, float(logits[placed.text_at + a : placed.text_at + b].mean())))
    return scored


def pad_rows(rows: Sequence[Row], width: int | None = None) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """`input_ids`, `token_type_ids` and `attention_mask` of rows, padded to the longest or to `width`."""
    size = width or max(len(row.ids) for row in rows)
    ids = np.full((len(rows), size), PAD, np.int64)
    types = np.zeros_like(ids)
    mask = np.zeros_like(ids)
    for index, row in enumerate(rows):
        ids[index, : len(row.ids)] = row.ids
        types[index, row.question_length : len(row.ids)] = 1
        mask[index, : len(row.ids)] = 1
    return ids, types, mask
