"""Step 1: passages, written sentences and questions as statements, in one file for the training machine.

    python -m training.verifier.prepare --data ../shared/data --written training/verifier/written/claims*.txt --output PREPARED

Passages of `held.txt`, of the answers and of benchmarks/citations_sentences.txt are left out everywhere. An eighth of the
written sentences, by whole passages, is set aside (`aside`) to choose and to calibrate on.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import lzma
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from training.evaluator.data import read_rows
from training.verifier.statements import Statements, compared, said
from training.verifier.written import Told, told

ROOT = Path(__file__).resolve().parents[2]
HELD = [ROOT / "training/verifier/written" / f"{name}.txt" for name in ("held", "answers", "answers_held")]
SENTENCES = ROOT / "benchmarks/citations_sentences.txt"
# Questions of each set at most; texts with a stated, open licence alone. `written`: by hand on manuals (evaluator.written)
QUESTIONS = {
    "squad": 8000, "hotpotqa": 6500, "2wiki": 5500, "nq_open_oracle": 3000, "tatqa": 1200, "covidqa": 1100, "clapnq": 300,
    "squad2_en_part": 1000, "qasper_evidence": 1800, "doqa": 700, "written": 40000,
}  # fmt: skip
PLAIN = {"docs_faq": 900, "kde_handbooks": 900, "gnome_help": 300, "libreoffice_help": 600, "gimp_help": 300, "medquad": 900,
         "contracts": 500, "covid_faq": 300, "pubmedqa": 500, "mtrag": 300}  # fmt: skip
ASIDE = 8  # one in so many
REPORT, FIT = 0, 1  # folds of the labelled claims
_OTHERS = 8  # answers to other questions on the same passages that are kept
_NAMES = 4000
_NAME = re.compile(r"(?<![\w'’.-])[A-Z][a-zà-ÿ]{3,}(?![\w-])")


def named(path: Path) -> set[str]:
    """The passages that a file of sentences is on."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return {name.strip() for line in lines if line.startswith("@ ") for name in line[2:].split(" + ")}


def is_aside(passages: Iterable[str]) -> bool:
    return int(hashlib.sha256(min(passages).encode()).hexdigest(), 16) % ASIDE == 0


def answer_type(answer: str) -> str:
    return "number" if any(letter.isdigit() for letter in answer) else "name" if answer[:1].isupper() else "words"


class Collected:
    """Passages by number, each once."""

    def __init__(self) -> None:
        self.texts: list[tuple[str, str]] = []
        self._numbers: dict[str, int] = {}

    def number(self, name: str, row: Mapping[str, Any]) -> int:
        if name not in self._numbers:
            self._numbers[name] = len(self.texts)
            self.texts.append((str(row["title"]), str(row["text"])))
        return self._numbers[name]


def asked(
    folder: str, data: Path, kept: Collected, away: set[str], statements: Statements, most: int
) -> Iterator[dict[str, Any]]:
    """Questions of a set as statements, with what others on the same passages answer."""
    corpus = {str(row["id"]): row for row in read_rows(data / folder / "corpus.jsonl.gz")}
    rows = [
        row
        for row in read_rows(data / folder / "questions.jsonl.gz")
        if row["gold"] and len(row["gold"]) <= 4 and row.get("language", "en") == "en" and not row.get("followup")
        and all(f"{folder}:{name}" not in away and name in corpus for name in row["gold"])
    ]  # fmt: skip
    random.Random(7).shuffle(rows)
    answers: dict[str, list[str]] = {}
    for row in rows:
        for name in row["gold"]:
            answers.setdefault(name, []).extend(row["answers"][:1])
    for row in rows[:most]:
        gold = [kept.number(f"{folder}:{name}", corpus[name]) for name in row["gold"]]
        near = [name for name in row.get("context", ()) if name not in row["gold"] and f"{folder}:{name}" not in away][:1]
        case: dict[str, Any] = {"passages": gold, "near": [kept.number(f"{folder}:{name}", corpus[name]) for name in near]}
        others = [one for name in row["gold"] for one in answers[name]]
        if told := _statement(row, others, statements):
            yield case | told


def _statement(row: Mapping[str, Any], others: Sequence[str], statements: Statements) -> dict[str, Any] | None:
    """A question and its answer as statements that are right and wrong, or as one with a gap for either."""
    question, answer = str(row["question"]), str((row["answers"] or [""])[0]) or str(row.get("yesno") or "")
    if answer.lower() in ("yes", "no"):
        return _side(question, answer.lower() == "yes", statements)
    if row.get("impossible") and (sides := statements.sides(question)):
        return {"wrong": [*sides]}
    if pair := compared(question, answer):
        return {"right": [pair[0]], "wrong": [pair[1]]}
    template = statements.of(question)
    if template and row.get("impossible"):
        return {"template": template, "others": [one for one in others if len(one) < 60][:3], "answers": []}
    if template and answer and len(answer) <= 100:
        known = {one.lower() for one in row["answers"]}
        alike = [one for one in others if answer_type(one) == answer_type(answer) and not _same(one, known)]
        return {"template": template, "answers": row["answers"][:3], "others": list(dict.fromkeys(alike))[:_OTHERS]}
    return None


def _side(question: str, yes: bool, statements: Statements) -> dict[str, Any] | None:
    if sides := statements.sides(question):
        right, wrong = sides if yes else reversed(sides)
        return {"right": [right], "wrong": [wrong]}
    sentence = said(question)
    return {"right" if yes else "wrong": [sentence]} if sentence else None


def _same(one: str, known: set[str]) -> bool:
    return len(one) > 100 or any(one.lower() in other or other in one.lower() for other in known)


def plain(folder: str, data: Path, kept: Collected, away: set[str], most: int) -> None:
    """Passages without questions: their sentences are used."""
    rows = [row for row in read_rows(data / folder / "corpus.jsonl.gz") if row.get("language", "en") == "en"]
    rows = [row for row in rows if f"{folder}:{row['id']}" not in away and not str(row["id"]).startswith(_FOREIGN)]
    for row in random.Random(7).sample(rows, min(most, len(rows))):
        kept.number(f"{folder}:{row['id']}", row)


_FOREIGN = ("de:", "fr:", "es:", "it:", "nl:", "pt:", "sv:", "ru:")


def sentences(written: Sequence[Told], data: Path, kept: Collected) -> list[dict[str, Any]]:
    wanted = {name for one in written for name in one.passages}
    rows: dict[str, Mapping[str, Any]] = {}
    for folder in sorted({name.partition(":")[0] for name in wanted}):
        for row in read_rows(data / folder / "corpus.jsonl.gz"):
            if (name := f"{folder}:{row['id']}") in wanted:
                rows[name] = row
    return [
        {
            "passages": [kept.number(name, rows[name]) for name in one.passages],
            "true": one.true,
            "untrue": [*zip(one.kinds, one.untrue, strict=True)],
            "aside": is_aside(one.passages),
        }
        for one in written
        if all(name in rows for name in one.passages)
    ]


def fold_of(row: Mapping[str, Any]) -> int:
    """Of a labelled claim, by its first passage, which fifth it is in: `REPORT` is for the report alone, `FIT` to fit on."""
    return int(hashlib.sha256(str(row["passages"][0]["text"]).encode()).hexdigest(), 16) % 5


def labelled(data: Path, kept: Collected) -> list[dict[str, Any]]:
    """Sentences of real answers with what people said of them; those for the report stay at home."""
    return [
        {
            "set": row["set"],
            "claim": row["claim"],
            "carried": row["label"] == "carried",
            "partly": row["label"] == "partly",
            "fold": fold_of(row),
            "passages": [kept.number(f"claims:{one['title']}:{one['text']}", one) for one in row["passages"]],
        }
        for path in sorted((data / "claims").glob("*.jsonl.gz"))
        for row in read_rows(path)
        if fold_of(row) != REPORT
    ]


def prepare(data: Path, written: Sequence[Path]) -> dict[str, Any]:
    away = set[str]().union(*map(named, [*HELD, SENTENCES]))
    told_ones = [one for path in written for one in told(path.read_text(encoding="utf-8").splitlines())]
    told_ones = [one for one in told_ones if not away.intersection(one.passages)]
    away |= {name for one in told_ones if is_aside(one.passages) for name in one.passages}
    kept = Collected()
    by_hand = sentences(told_ones, data, kept)
    written_to = len(kept.texts)
    texts = (
        str(row["text"]) for name in ("hotpotqa", "squad", "nq_open_oracle") for row in read_rows(data / name / "corpus.jsonl.gz")
    )
    statements = Statements(texts)
    made = [
        case
        for folder, most in QUESTIONS.items()
        if (data / folder).is_dir()
        for case in asked(folder, data, kept, away, statements, most)
    ]
    for folder, most in PLAIN.items():
        if (data / folder).is_dir():
            plain(folder, data, kept, away, most)
    plain_to = len(kept.texts)
    people = labelled(data, kept)
    names = Counter(name for _, text in kept.texts for name in set(_NAME.findall(text)))
    pool = [name for name, count in names.items() if 2 <= count <= 30]
    return {
        "passages": kept.texts,
        "written": by_hand,
        "plain": [written_to, plain_to],
        "labelled": people,
        "asked": made,
        "names": sorted(random.Random(7).sample(pool, min(_NAMES, len(pool)))),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--written", type=Path, nargs="+", required=True)
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args(arguments)
    content = prepare(options.data, options.written)
    options.output.write_bytes(lzma.compress(json.dumps(content, ensure_ascii=False).encode()))
    counts = {name: len(value) for name, value in content.items()}
    print(counts, f"{options.output.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
