"""Data sets in all their forms."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from wellread.errors import UsageError
from wellread.evals.data import load
from wellread.types import Passage


def lines(path: Path, rows: list[dict[str, Any]]) -> None:
    text = "".join(json.dumps(row) + "\n" for row in rows)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize("packed", ["", ".gz"])
def test_a_folder_of_json_lines(tmp_path: Path, packed: str) -> None:
    lines(tmp_path / f"corpus.jsonl{packed}", [{"id": "p1", "title": "T", "text": "Text."}])
    rows = [{"id": 7, "question": "Q?", "answers": ["A"], "gold": ["p1"], "repeat": 3}, {"id": "8", "question": "R?"}]
    lines(tmp_path / f"questions.jsonl{packed}", rows)
    data = load(tmp_path)
    assert [(q.id, q.text, q.answers, q.gold, q.weight) for q in data.questions] == [
        ("7", "Q?", ("A",), ("p1",), 3.0),
        ("8", "R?", (), (), 1.0),
    ]
    assert data.corpus is not None
    assert [(p.id, p.title, p.text) for p in data.corpus()] == [("p1", "T", "Text.")]
    assert len(load(tmp_path, limit=1).questions) == 1


def test_hotpotqa(tmp_path: Path) -> None:
    row = {
        "_id": "h1",
        "question": "Who?",
        "answer": "She",
        "type": "bridge",
        "context": [["One", ["First. ", "Second."]], ["Two", ["Third."]], ["Three", ["Fourth."]]],
        "supporting_facts": [["One", 0], ["One", 1], ["Two", 0]],
    }
    (tmp_path / "hotpot.json").write_text(json.dumps([row, {**row, "_id": "h2"}]), encoding="utf-8")
    data = load(tmp_path / "hotpot.json")
    assert data.questions[0].gold == ("One", "Two")
    assert data.questions[0].kind == "bridge"
    assert data.corpus is not None
    assert [p.text for p in data.corpus()] == ["First. Second.", "Third.", "Fourth."]


def test_squad_with_questions_that_cannot_be_answered(tmp_path: Path) -> None:
    qas = [
        {"id": "s1", "question": "Where?", "answers": [{"text": "Rome"}, {"text": "Rome"}, {"text": "in Rome"}]},
        {"id": "s2", "question": "Why?", "answers": [], "is_impossible": True},
    ]
    content = {"data": [{"title": "Old_Rome", "paragraphs": [{"context": "It was Rome.", "qas": qas}]}]}
    path = tmp_path / "squad.json.gz"
    path.write_bytes(gzip.compress(json.dumps(content).encode()))
    data = load(path)
    assert [(q.answers, q.gold) for q in data.questions] == [(("Rome", "in Rome"), ("Old_Rome:0",)), ((), ())]
    assert data.corpus is not None
    assert [p.title for p in data.corpus()] == ["Old Rome"]


def test_beir(tmp_path: Path) -> None:
    lines(tmp_path / "corpus.jsonl", [{"_id": "d1", "title": "", "text": "One."}, {"_id": "d2", "title": "", "text": "Two."}])
    lines(tmp_path / "queries.jsonl", [{"_id": "q1", "text": "one"}, {"_id": "q2", "text": "none"}])
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t0\n", encoding="utf-8")
    assert [(q.id, q.gold) for q in load(tmp_path).questions] == [("q1", ("d1",))]


def test_the_shipped_questions() -> None:
    data = load(None)
    assert data.corpus is None
    assert len(data.questions) >= 100
    assert {q.kind for q in data.questions} == {"one-step", "two-step", "unanswerable"}


def test_wrong_data_is_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file or folder"):
        load(tmp_path / "nowhere")
    with pytest.raises(UsageError, match=r"there is no corpus\.jsonl"):
        load(tmp_path)
    lines(tmp_path / "corpus.jsonl", [])
    (tmp_path / "questions.jsonl").write_text("{", encoding="utf-8")
    with pytest.raises(UsageError, match="line 1"):
        load(tmp_path)
    lines(tmp_path / "questions.jsonl", [{"id": 1}])
    with pytest.raises(UsageError, match="not usable"):
        load(tmp_path)
    lines(tmp_path / "questions.jsonl", [])
    with pytest.raises(UsageError, match="no questions"):
        load(tmp_path)
    (tmp_path / "x.json").write_text('{"a": 1}', encoding="utf-8")
    with pytest.raises(UsageError, match="neither HotpotQA nor SQuAD"):
        load(tmp_path / "x.json")


def ask(**fields: object) -> bytes:
    return json.dumps({"id": "q", "question": "Q?", **fields}).encode() + b"\n"


def whole(path: Path) -> list[Passage]:
    """All of its passages, the questions being read before."""
    corpus = load(path).corpus
    return list(corpus() if corpus else ())


DAMAGED: dict[str, tuple[str, bytes]] = {
    "not UTF-8": ("questions.jsonl", b'{"id": "q", "question": "\xff"}\n'),
    "no text": ("questions.jsonl", ask(question=5)),
    "an answer that is no list": ("questions.jsonl", ask(answers="Paris")),
    "repeated never": ("questions.jsonl", ask(repeat=0)),
    "repeated without end": ("questions.jsonl", ask(repeat=float("inf"))),
    "repeated beyond any number": ("questions.jsonl", ask(repeat=10**400)),
    "two of one id": ("questions.jsonl", ask() * 2),
    "a packed file that is cut": ("questions.jsonl.gz", gzip.compress(ask() * 100)[:-12]),
    "a packed file that is none": ("questions.jsonl.gz", b"nothing"),
    "a corpus without texts": ("corpus.jsonl", b'{"id": "1"}\n'),
    "a corpus of lists": ("corpus.jsonl", b"[]\n"),
    "a corpus of another encoding": ("corpus.jsonl", b'{"id": "1", "text": "\xff"}\n'),
    "judgements in two columns": ("qrels/test.tsv", b"q\tc\ts\n1\t1\n"),
    "judgements in words": ("qrels/test.tsv", b"q\tc\ts\n1\t1\tgood\n"),
    "queries without names": ("queries.jsonl", b"{}\n"),
    "lists in lists": ("file.json", b"[" * 200_000),
    "a file that is cut": ("file.json.gz", gzip.compress(b"[]" * 100)[:-9]),
    "a number for a title": ("file.json", b'{"data": [{"title": 5, "paragraphs": [{"context": "x", "qas": []}]}]}'),
    "pages of three": ("file.json", b'[{"context": [["t", "a", "b"]]}]'),
}


@pytest.mark.parametrize(("name", "content"), DAMAGED.values(), ids=DAMAGED)
def test_what_is_wrong_with_a_file_is_told(tmp_path: Path, name: str, content: bytes) -> None:
    written = {"corpus.jsonl": b'{"id": "1", "text": "T."}\n', "questions.jsonl": ask(), name: content}
    if name.startswith("q") and "questions" not in name:
        written = {"queries.jsonl": b'{"_id": "1", "text": "T?"}\n', "qrels/test.tsv": b"q\tc\ts\n1\t1\t1\n", **written}
    if name.endswith("questions.jsonl.gz"):
        del written["questions.jsonl"]
    for file, data in written.items():
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_bytes(data)
    with pytest.raises(UsageError):
        whole(tmp_path / name if name.startswith("file") else tmp_path)


def test_halves_of_characters_are_mended(tmp_path: Path) -> None:
    lines(tmp_path / "corpus.jsonl", [{"id": "1", "text": "T."}])
    lines(tmp_path / "questions.jsonl", [{"id": "\ud800", "question": "a\ud800b", "answers": ["\ud800"]}])
    data = load(tmp_path)
    assert data.questions[0].text == "a\ufffdb"
    assert data.fingerprint


def test_judgements_end_where_their_lines_do(tmp_path: Path) -> None:
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text("q\tc\ts\n1\ta\u2028b\t1\n\n", encoding="utf-8")
    lines(tmp_path / "corpus.jsonl", [{"_id": "a\u2028b", "text": "T."}])
    lines(tmp_path / "queries.jsonl", [{"_id": "1", "text": "T?"}])
    assert load(tmp_path).questions[0].gold == ("a\u2028b",)
