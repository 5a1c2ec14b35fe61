"""How `quote` answers in other languages by words and meaning.

    python benchmarks/languages.py --data DIR [--language de …] [--part tuned|kept] [--limit N] [--effort low|normal] [--quick]

DATA holds `corpus.jsonl.gz` and `questions.jsonl.gz` with a `language` each. Every language is searched over its own passages,
as the project's own evaluation does it. Measured: whether the gold passage is among the first five, whether the answer (where a
set has none: a sentence of the gold passage) is in what is quoted, and how often nothing is quoted. The parts are halves by a
hash of the id: `tuned` was looked at, figures are told of `kept`.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path
from typing import Any

Row = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--language", action="append", default=[])
    parser.add_argument("--part", choices=("tuned", "kept"), default="kept")
    parser.add_argument("--limit", type=int, default=400)
    parser.add_argument("--effort", default="low")
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    questions, corpus = _rows(given.data / "questions.jsonl.gz"), _rows(given.data / "corpus.jsonl.gz")
    result: dict[str, Any] = {"data": given.data.name, "part": given.part, "effort": given.effort}
    for language in given.language or sorted({row["language"] for row in questions}):
        asked = [row for row in questions if row["language"] == language and _part(row) == given.part]
        asked = asked[: 20 if given.quick else given.limit]
        result[language] = _measured([row for row in corpus if _language(row) == language], asked, given.effort)
        print(language, json.dumps(result[language]), flush=True)
    print(json.dumps(result))


def _measured(corpus: list[Row], asked: list[Row], effort: str) -> Row:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        texts = {row["id"]: row["text"] for row in corpus}
        if not any(row["answers"] for row in asked):  # then a sentence of the gold passage is right
            asked = [{**row, "answers": _sentences(texts, row)} for row in asked]
        _write(folder / "corpus.jsonl", corpus)
        _write(folder / "questions.jsonl", asked)
        how = ["--strategy", "quote", "--effort", effort, "--model", "none", "--json"]
        command = [sys.executable, "-m", "wellread", "eval", made, *how]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found = json.loads(done.stdout)
    names = ("questions", "recall@5", "answer_in_text", "unsure")
    return {name: found[0][name] if isinstance(found, list) else found[name] for name in names}


def _sentences(texts: dict[str, str], row: Row) -> list[str]:
    from wellread.text.sentences import sentences

    golds = [texts[gold] for gold in row["gold"] if gold in texts]
    return [text[start:end] for text in golds for start, end in sentences(text) if end - start > 25]


def _language(row: Row) -> str:
    return str(row.get("language") or str(row["id"]).partition(":")[0])


def _part(row: Row) -> str:
    return "kept" if zlib.crc32(str(row["id"]).encode()) % 2 else "tuned"


def _rows(file: Path) -> list[Row]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _write(file: Path, rows: list[Row]) -> None:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main()
