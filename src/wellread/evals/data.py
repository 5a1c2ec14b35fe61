"""Questions with answers and gold passages, from the forms they come in.

no name            the questions that come with the library
FOLDER             corpus.jsonl[.gz] and questions.jsonl[.gz]
FOLDER             BEIR: corpus.jsonl, queries.jsonl, qrels/*.tsv
FILE.json          HotpotQA (a list) or SQuAD (with "data"); their paragraphs are the corpus
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

from wellread.errors import UsageError
from wellread.types import Passage

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Question:
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
    data = _shipped() if path is None else _folder(path) if path.is_dir() else _file(path)
    if not data.questions:
        raise UsageError(f"{path}: there are no questions in it")
    return Data(data.name, data.questions[:limit], data.corpus)


def _shipped() -> Data:
    path = Path(str(files("wellread"))) / "library" / "questions.jsonl"
    return Data("library", tuple(_question(row) for row in rows(path)))


def _folder(path: Path) -> Data:
    corpus = _either(path, "corpus.jsonl")
    if (path / "qrels").is_dir():
        return Data(path.name, tuple(_beir(path)), lambda: _passages(corpus))
    questions = _either(path, "questions.jsonl")
    return Data(path.name, tuple(_question(row) for row in rows(questions)), lambda: _passages(corpus))


def _file(path: Path) -> Data:
    if not path.is_file():
        raise UsageError(f"{path}: there is no such file or folder")
    try:
        content: Any = json.loads((gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()).decode())
    except (OSError, ValueError) as problem:
        raise UsageError(f"{path} cannot be read as JSON: {problem}") from None
    try:
        questions, passages = _hotpot(cast("list[Json]", content)) if isinstance(content, list) else _squad(content)
    except (KeyError, TypeError, IndexError) as problem:
        raise UsageError(f"{path} is neither HotpotQA nor SQuAD: {problem!r}") from None
    return Data(path.name.split(".")[0], questions, lambda: iter(passages))


def _either(folder: Path, name: str) -> Path:
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            return path
    raise UsageError(f"{folder}: there is no {name} or {name}.gz in it")


def rows(path: Path) -> Iterator[Json]:
    """The objects of a file of JSON lines."""
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                yield json.loads(line)
            except (ValueError, RecursionError) as problem:
                raise UsageError(f"{path}, line {number}: {problem}") from None


def _question(row: Json) -> Question:
    try:
        return Question(
            id=str(row["id"]),
            text=row["question"],
            answers=tuple(map(str, row.get("answers", ()))),
            gold=tuple(map(str, row.get("gold", ()))),
            kind=str(row.get("type", "")),
            weight=float(row.get("repeat", 1)),
        )
    except (KeyError, TypeError, ValueError) as problem:
        raise UsageError(f"a question is not usable ({problem!r}): {json.dumps(row)[:200]}") from None


def _passages(path: Path) -> Iterator[Passage]:
    for row in rows(path):
        identity = str(row["id"] if "id" in row else row["_id"])
        yield Passage(identity, row["text"], row.get("title", ""), row.get("url"), document=identity)


def _beir(folder: Path) -> Iterator[Question]:
    gold: dict[str, list[str]] = {}
    for path in sorted((folder / "qrels").glob("*.tsv")):
        for line in path.read_text(encoding="utf-8").splitlines()[1:]:
            query, passage, score = line.split("\t")
            if int(score) > 0:
                gold.setdefault(query, []).append(passage)
    for row in rows(_either(folder, "queries.jsonl")):
        if (identity := str(row["_id"])) in gold:
            yield Question(identity, row["text"], (), tuple(gold[identity]))


def _hotpot(content: Sequence[Json]) -> tuple[tuple[Question, ...], Sequence[Passage]]:
    passages: dict[str, Passage] = {}
    questions: list[Question] = []
    for row in content:
        for title, sentences in row["context"]:
            passages.setdefault(title, Passage(title, "".join(sentences), title, document=title))
        gold = tuple(dict.fromkeys(title for title, _ in row["supporting_facts"]))
        questions.append(Question(str(row["_id"]), row["question"], (row["answer"],), gold, row.get("type", "")))
    return tuple(questions), list(passages.values())


def _squad(content: Json) -> tuple[tuple[Question, ...], Sequence[Passage]]:
    passages: list[Passage] = []
    questions: list[Question] = []
    for article in content["data"]:
        for number, paragraph in enumerate(article["paragraphs"]):
            identity = f"{article['title']}:{number}"
            passages.append(Passage(identity, paragraph["context"], article["title"].replace("_", " "), document=identity))
            for row in paragraph["qas"]:
                answers = tuple(dict.fromkeys(answer["text"] for answer in row["answers"]))
                gold = () if row.get("is_impossible") else (identity,)
                questions.append(Question(str(row["id"]), row["question"], answers, gold))
    return tuple(questions), passages
