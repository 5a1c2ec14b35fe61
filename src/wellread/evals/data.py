"""Evaluation data sets (HotpotQA, SQuAD, BEIR): questions with answers and gold passages, from the forms they come in.

no name            the questions that come with the library
FOLDER             corpus.jsonl[.gz] and questions.jsonl[.gz]
FOLDER             BEIR: corpus.jsonl, queries.jsonl, qrels/*.tsv
FILE.json          HotpotQA (a list) or SQuAD (with "data"); their paragraphs are the corpus
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, cast

from wellread.core import safe_files
from wellread.core.codec import Json, Meta, decode, loads
from wellread.core.unicode_safety import Encodable, encodable
from wellread.errors import UsageError
from wellread.replay.record import lines_of
from wellread.types import Passage

_LARGEST = 4 * 1024**3  # bytes of a file that is read in one piece, unpacked
_WEIGHT: type[float] = cast("Any", Annotated[float, Meta(gt=0, le=1_000_000)])
_DAMAGE = (OSError, EOFError, zlib.error, ValueError)
_ODD = (*_DAMAGE, KeyError, IndexError, TypeError, AttributeError)


@dataclass(frozen=True, slots=True)
class Question(Encodable):
    """One question. No answers: it cannot be answered from the corpus. `weight` counts repetitions."""

    id: str
    text: str
    answers: tuple[str, ...] = ()
    gold: tuple[str, ...] = ()
    kind: str = ""
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Data:
    """A set of questions and, unless it is the library's, a way to read its corpus."""

    name: str
    questions: tuple[Question, ...]
    corpus: Callable[[], Iterator[Passage]] | None = None

    @property
    def fingerprint(self) -> str:
        """Changes when a question does."""
        rows = [[q.id, q.text, q.answers, q.gold, q.weight] for q in self.questions]
        return sha256(json.dumps(rows, ensure_ascii=False).encode()).hexdigest()[:16]


def load(path: Path | None, limit: int | None = None) -> Data:
    """The data in any of its forms; `limit` keeps the first questions."""
    shipped = Path(str(files("wellread"))) / "library" / "questions.jsonl"
    data = Data("library", _questions(shipped)) if path is None else _folder(path) if path.is_dir() else _file(path)
    if not data.questions:
        raise UsageError(f"{path}: there are no questions in it")
    if len({question.id for question in data.questions}) < len(data.questions):
        raise UsageError(f"{path}: two of its questions have the same id")
    return Data(encodable(data.name), data.questions[:limit], data.corpus)


def _folder(path: Path) -> Data:
    corpus = _either(path, "corpus.jsonl")
    if (path / "qrels").is_dir():
        return Data(path.name, tuple(_beir(path)), lambda: _passages(corpus))
    return Data(path.name, _questions(_either(path, "questions.jsonl")), lambda: _passages(corpus))


def _file(path: Path) -> Data:
    if not path.is_file():
        raise UsageError(f"{path}: there is no such file or folder")
    try:
        with safe_files.opened(path) as file, gzip.open(file) if path.suffix == ".gz" else nullcontext(file) as unpacked:
            data = unpacked.read(_LARGEST + 1)
        if len(data) > _LARGEST:
            raise ValueError(f"larger than {_LARGEST // 1024**3} GB")
        content = loads(object, data)
    except _DAMAGE as problem:
        raise UsageError(f"{path} cannot be read as JSON: {problem}") from None
    try:
        questions, passages = _hotpot(cast("list[Json]", content)) if isinstance(content, list) else _squad(cast("Json", content))
    except _ODD as problem:
        raise UsageError(f"{path} is neither HotpotQA nor SQuAD: {problem!r}") from None
    return Data(path.name.split(".")[0], questions, lambda: iter(passages))


def _either(folder: Path, name: str) -> Path:
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            return path
    raise UsageError(f"{folder}: there is no {name} or {name}.gz in it")


def rows(path: Path) -> Iterator[Json]:
    """The objects of a file of JSON lines."""
    number = 1
    try:
        for line in lines_of(path):
            if line.strip():
                yield loads(Json, line)
            number += 1
    except _DAMAGE as problem:
        raise UsageError(f"{path}, line {number}: {problem}") from None


def _questions(path: Path) -> tuple[Question, ...]:
    def read(row: Json) -> Question:
        answers, gold = (tuple(map(str, decode(list[Any], row.get(name, ())))) for name in ("answers", "gold"))
        weight = decode(_WEIGHT, row.get("repeat", 1), strict=False)
        return Question(str(row["id"]), decode(str, row["question"]), answers, gold, str(row.get("type", "")), weight)

    found: list[Question] = []
    for row in rows(path):
        try:
            found.append(read(row))
        except _ODD as problem:
            raise UsageError(f"a question is not usable ({problem!r}): {json.dumps(row)[:200]}") from None
    return tuple(found)


@contextmanager
def _usable(path: Path) -> Generator[None]:
    try:
        yield
    except _ODD as problem:
        raise UsageError(f"{path} is not usable: {problem!r}") from None


def _passages(path: Path) -> Iterator[Passage]:
    with _usable(path):
        for row in rows(path):
            identity = str(row["id"] if "id" in row else row["_id"])
            yield Passage(
                identity, decode(str, row["text"]), decode(str, row.get("title") or ""), row.get("url"), document=identity
            )


def _beir(folder: Path) -> Iterator[Question]:
    gold: dict[str, list[str]] = {}
    for path in sorted((folder / "qrels").glob("*.tsv")):
        with _usable(path):
            for line in list(lines_of(path))[1:]:
                if line.strip():
                    query, passage, score = line.rstrip("\n").split("\t")
                    if int(score) > 0:
                        gold.setdefault(query, []).append(passage)
    queries = _either(folder, "queries.jsonl")
    with _usable(queries):
        for row in rows(queries):
            if (identity := str(row["_id"])) in gold:
                yield Question(identity, decode(str, row["text"]), (), tuple(gold[identity]))


def _hotpot(content: Sequence[Json]) -> tuple[tuple[Question, ...], Sequence[Passage]]:
    passages: dict[str, Passage] = {}
    questions: list[Question] = []
    for row in content:
        for title, sentences in row["context"]:
            passages.setdefault(decode(str, title), Passage(title, "".join(sentences), title, document=title))
        gold = tuple(dict.fromkeys(title for title, _ in row["supporting_facts"]))
        questions.append(
            Question(str(row["_id"]), decode(str, row["question"]), (decode(str, row["answer"]),), gold, str(row.get("type", "")))
        )
    return tuple(questions), list(passages.values())


def _squad(content: Json) -> tuple[tuple[Question, ...], Sequence[Passage]]:
    passages: list[Passage] = []
    questions: list[Question] = []
    for article in content["data"]:
        for number, paragraph in enumerate(article["paragraphs"]):
            identity = f"{article['title']}:{number}"
            passages.append(
                Passage(identity, decode(str, paragraph["context"]), article["title"].replace("_", " "), document=identity)
            )
            for row in paragraph["qas"]:
                answers = tuple(dict.fromkeys(decode(str, answer["text"]) for answer in row["answers"]))
                gold = () if row.get("is_impossible") else (identity,)
                questions.append(Question(str(row["id"]), decode(str, row["question"]), answers, gold))
    return tuple(questions), passages
