"""Data sets in all their forms."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from wellread.errors import UsageError
from wellread.evals.data import load


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
