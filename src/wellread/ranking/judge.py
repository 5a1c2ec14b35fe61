"""Inference of the evaluator's model (a cross-encoder that reads spans): questions and chains of passages in, verdicts out.

Rows are built as in training (`inputs`), batched by length and run on onnxruntime, each batch on a thread of its
own: several small batches side by side are a third faster than one large one shared by the threads. The tokenizer
is the embedder's: both models grew from MiniLM.
"""

from __future__ import annotations

import itertools
import math
import re
import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from wellread.core.effort import Windows
from wellread.core.processors import available_processors, queued, workers
from wellread.core.unicode_safety import encodable
from wellread.embedding.arithmetic import Arithmetic, Choice, settled
from wellread.embedding.batches import by_length, padded
from wellread.errors import DamagedFile, EmbedderError
from wellread.ranking.inputs import Ids, Row, Tokens, build_row, pad_rows, sentence_scores
from wellread.ranking.paths import Marked, Verdict, hopeless
from wellread.text.sentences import statements, unordered
from wellread.text.weighted_cache import remembered
from wellread.types import Passage

if TYPE_CHECKING:
    from wellread.embedding.session import Session
    from wellread.embedding.wordpiece import Tokenizer

SHIPPED = Path(__file__).parent / "weights"
TOKENIZER = Path(__file__).parents[1] / "embedding" / "weights" / "all-minilm-l6-v2" / "tokenizer.json"
WORDS = "words.npz"
LONGEST_ANSWER = 24  # tokens
MAX_TOKENS = 1024  # of a passage's text; the windows of a row are much shorter
MAX_CHARACTERS = 16_000
_BATCH_TOKENS = 512  # more does not fit a processor's caches
_MOST_ROWS = 64
STEP = 4  # of a matrix, in onnxruntime: rows left over are rounded otherwise, and a verdict would depend on its batch
_IMPOSSIBLE = -1e4
_GOES_ON = re.compile(r"(?:[.:/]\d{1,20}){1,20}")
_MARK = re.compile(r"(?:[-*•]|#{1,6})\s+")

_OUTPUTS = ["early", "kept", "relevance", "kinds", "starts", "ends", "evidence"]

T = TypeVar("T")
Chain = tuple[Passage, ...]
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Form:
    """In which arithmetic the model's file runs, and the file's checksum, by which forms made from it are kept."""

    arithmetic: Arithmetic
    checksum: str


AS_SHIPPED = Form("block", "")


def form_of(model: Path, checksum: object, choice: Choice) -> Form:
    """In which arithmetic a model's file runs here by this choice; as it is where its checksum is not known."""
    return Form(settled(choice, model), str(checksum)) if checksum and model.is_file() else AS_SHIPPED


_OPENING = threading.Lock()


@dataclass(frozen=True, slots=True)
class _Read:
    """A passage in tokens, with the characters each token stands for."""

    tokens: Tokens
    title_offsets: tuple[tuple[int, int], ...]
    text_offsets: NDArray[np.int32]
    statements: tuple[tuple[int, int], ...]


def whole(text: str, end: int) -> int:
    """Where a span ends that must not cut a number: an address, a version, a time."""
    goes_on = _GOES_ON.match(text, end) if text[end - 1 : end].isdigit() else None
    return goes_on.end() if goes_on else end


def begun(text: str, start: int, end: int) -> int:
    """Where a span begins that must not run on from a heading or another paragraph, nor have the mark of a list's item."""
    cut = text.rfind("\n\n", start, end) + 2
    start = max(start, cut) if cut > 1 and text[cut:end].strip() else start
    mark = _MARK.match(text, start, end)
    return mark.end() if mark and mark.end() < end else start


class Judge:
    """Open files of the evaluator. Loaded at the first use; may be called from several threads."""

    def __init__(
        self,
        model: Path,
        tokenizer: Path,
        threads: int = 0,
        windows: Windows | None = None,
        form: Form = AS_SHIPPED,
        floor: float = -math.inf,
    ) -> None:
        self._model_file, self._tokenizer_file = model, tokenizer
        self._threads = threads or available_processors()
        self._windows = windows or Windows()
        self._form = form
        self._floor = np.array(floor, np.float32)  # rows that are below it after half of the layers end there
        self._read = remembered(6_000_000)(self._read_now)
        self._pool = readers(self._threads)

    def judge(self, question: str, chains: Sequence[Chain]) -> list[Verdict]:
        """A verdict on each chain, in order."""
        rows = self._rows(question, chains)
        places = batches(rows)
        return in_order(places, self._pool.map(partial(self._run, rows, chains), places))

    async def judged(self, question: str, chains: Sequence[Chain]) -> list[Verdict]:
        """The same beside an event loop."""
        (rows,) = await queued(self._pool, partial(self._rows, question), [chains])
        places = batches(rows)
        return in_order(places, await queued(self._pool, partial(self._run, rows, chains), places))

    def _rows(self, question: str, chains: Sequence[Chain]) -> list[Row]:
        asked = encoded(self._open()[1], question)
        texts = ([self._read(passage.title, passage.text).tokens for passage in chain] for chain in chains)
        return [build_row(asked, tokens, self._windows) for tokens in texts]

    def _run(self, all_rows: Sequence[Row], all_chains: Sequence[Chain], places: Sequence[int]) -> list[Verdict]:
        rows, chains = [all_rows[place] for place in places], [all_chains[place] for place in places]
        feed = fed(rows) | {"floor": self._floor}
        early, kept, relevance, kinds, starts, ends, evidence = run(self._open()[0], self._model_file, _OUTPUTS, feed)
        types, mask = feed["token_type_ids"], feed["attention_mask"]
        verdicts = [hopeless(float(logit)) for logit in early]
        if not len(kept):
            return verdicts
        read = kept.astype(np.int64)
        answerable = types[read].astype(bool)
        answerable[np.arange(len(read)), mask[read].sum(1) - 1] = False  # the last [SEP]
        first, last, worth = best_spans(np.where(answerable, starts, _IMPOSSIBLE), np.where(answerable, ends, _IMPOSSIBLE))
        for n, index in enumerate(map(int, read)):
            row, chain = rows[index], chains[index]
            none, span, yes, no, told = map(float, kinds[n])
            judged = self._read(chain[-1].title, chain[-1].text)
            scores = sentence_scores(evidence[n], row.passages[-1], judged.text_offsets, judged.statements)
            marks = tuple(Marked(*one) for one in scores)
            kind = none, span, yes, no
            verdict = Verdict(float(relevance[n]), kind, float(worth[n]), told=told, evidence=marks, early=verdicts[index].early)
            verdicts[index] = self._placed(verdict, row, chain, int(first[n]), int(last[n]))
        return verdicts

    def _placed(self, verdict: Verdict, row: Row, chain: Chain, first: int, last: int) -> Verdict:
        """Say where a span of row positions stands: in which passage, at which characters."""
        for place, (passage, placed) in enumerate(zip(chain, row.passages, strict=True)):
            read = self._read(passage.title, passage.text)
            if placed.text_at <= first < placed.text_at + placed.length:
                shift = placed.window - placed.text_at
                end = min(last, placed.text_at + placed.length - 1)
                a, b = int(read.text_offsets[first + shift][0]), whole(passage.text, int(read.text_offsets[end + shift][1]))
                a = begun(passage.text, a, b)
                return replace(verdict, passage=place, start=a, end=b, text=passage.text[a:b])
            if placed.title_at <= first < placed.title_at + placed.title_length:
                end = min(last, placed.title_at + placed.title_length - 1) - placed.title_at
                a, b = read.title_offsets[first - placed.title_at][0], read.title_offsets[end][1]
                return replace(verdict, passage=place, text=passage.title[a:b])
        return verdict

    def _read_now(self, title: str, text: str) -> _Read:
        _, tokenizer = self._open()
        title, text = (unordered(part[:MAX_CHARACTERS]) for part in (title, text))
        told = (encodable(part) for part in (title, text))
        (heading, at), (body, offsets) = (tokenizer.places(part, MAX_TOKENS) for part in told)
        tokens = Tokens(np.array(heading, np.int32), np.array(body, np.int32))
        return _Read(tokens, tuple(at), np.array(offsets, np.int32).reshape(-1, 2), tuple(statements(text)))

    def _open(self) -> tuple[Session, Tokenizer]:
        return opened(self._model_file, self._tokenizer_file, self._form, self._threads)


def encoded(tokenizer: Tokenizer, text: str) -> Ids:
    """A question, a claim or a passage in tokens."""
    return np.array(tokenizer.ids(encodable(text[:MAX_CHARACTERS]))[:MAX_TOKENS], np.int32)


def fed(rows: Sequence[Row]) -> dict[str, NDArray[Any]]:
    """Rows as a model takes them."""
    width = padded(max(len(row.ids) for row in rows), STEP)
    return dict(zip(("input_ids", "token_type_ids", "attention_mask"), pad_rows(rows, width), strict=True))


def run(session: Session, model: Path, outputs: list[str], feed: dict[str, NDArray[Any]]) -> Sequence[NDArray[Any]]:
    """What a model's file says of rows. Where it has no table of words of its own, the one beside it is used."""
    try:
        if any(value.name == "words" for value in session.get_inputs()):
            feed["words"] = words_in(model.parent).vectors(feed["input_ids"])
        return session.run(outputs, feed)
    except Exception as problem:  # onnxruntime's errors have no common root but this
        raise EmbedderError(f"{model} failed: {problem}") from problem


class Words(NamedTuple):
    """The table of word vectors (gte-small's) that evaluator and verifier share: a byte a number, with a scale for each word."""

    codes: NDArray[np.int8]
    scales: NDArray[np.float32]

    def vectors(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        return self.codes[ids].astype(np.float32) * self.scales[ids]


@cache
def words_in(folder: Path) -> Words:
    """The table beside a model's file."""
    try:
        with np.load(folder / WORDS) as table:
            return Words(table["codes"], table["scales"])
    except (OSError, ValueError, KeyError) as problem:
        raise DamagedFile(f"{folder / WORDS} cannot be read: {problem}") from problem


def in_order(places: Sequence[Sequence[int]], found: Iterable[Sequence[T]]) -> list[T]:
    """What was found of each row, in the order of the rows and not of their batches."""
    told = dict(zip(itertools.chain.from_iterable(places), itertools.chain.from_iterable(found), strict=True))
    return [told[place] for place in range(len(told))]


def batches(rows: Sequence[Row]) -> list[list[int]]:
    """Rows of like length by their places, the longest first, so that the threads end together."""
    return [*by_length([len(row.ids) for row in rows], budget=_BATCH_TOKENS, most=_MOST_ROWS, multiple=STEP)][::-1]


@cache
def readers(threads: int) -> ThreadPoolExecutor:
    """The threads on which all runs of a process have evaluator and verifier read."""
    return workers("wellread-evaluator", threads)


def opened(model: Path, tokenizer: Path, form: Form = AS_SHIPPED, threads: int = 0) -> tuple[Session, Tokenizer]:
    """A model's file, for batches that run side by side, and its tokenizer; judges of all efforts share them."""
    with _OPENING:
        return _opened(model, tokenizer, form, threads)


@cache
def _opened(model: Path, tokenizer: Path, form: Form, threads: int) -> tuple[Session, Tokenizer]:
    from wellread.embedding.session import open_shipped
    from wellread.embedding.wordpiece import open_tokenizer

    session = open_shipped(model, form.checksum, form.arithmetic, threads, side_by_side=True)
    return session, open_tokenizer(tokenizer)


def best_spans(starts: Floats, ends: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """The best span of each row: first and last position and its log-likelihood."""
    starts, ends = _log_softmax(starts), _log_softmax(ends)
    width = starts.shape[1]
    padded = np.pad(ends, ((0, 0), (0, LONGEST_ANSWER)), constant_values=_IMPOSSIBLE)
    windows = np.lib.stride_tricks.sliding_window_view(padded, LONGEST_ANSWER, axis=1)[:, :width]
    worth = starts + windows.max(2)
    first = worth.argmax(1)
    rows = np.arange(len(starts))
    return first, first + windows[rows, first].argmax(1), worth[rows, first]


def _log_softmax(logits: Floats) -> Floats:
    shifted = logits - logits.max(1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
