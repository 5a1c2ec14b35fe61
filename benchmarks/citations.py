"""How well the citation check tells right sentences from wrong ones, on questions with answers.

    python benchmarks/citations.py [--data DIR] [--limit N] [--quick]

For each question: the sentence of the gold passage that has the answer, quoted with its marker
(`quoted`), its clauses in another order (`retold`), with the
answer replaced by another question's answer (`swapped_name`, `swapped_number`, `swapped_words`, by what
that one is), with a number changed (`renumbered`), with another unit or power behind a number (`remeasured`) or the same one
written otherwise (`respelled`), and with a negation added (`negated`); the question
itself as a statement with its answer (`asked`) and with another's (`misanswered`), and beside another
passage (`misplaced`). Printed are the shares that came out supported: near 1 is right for quoted,
retold, respelled and asked, near 0 for the others. `words_ratio` is the time of a check, passage read anew, against a list
of the same text's words.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from wellread.text.citations import check, sentences
from wellread.text.evidence import source
from wellread.types import Passage

_VERB = re.compile(r"\b(is|was|are|were|has|had|can|could|will|would)\b")
_ASKING = re.compile(
    r"^(?:(?:in|on|at|by|to|for|from|of) )?(?:what|which|who|whom|whose|when|where|why|how(?: many| much| long| old| far)?)\b"
    r"(?: (?:year|kind of|type of|is|was|are|were|did|does|do)\b)*",
    re.IGNORECASE,
)
RIGHT = ("quoted", "retold", "respelled", "asked")
_FAMILIES = (
    ("million", "billion", "thousand"),
    ("dollars", "euros", "yen"),
    ("km", "miles", "metres", "feet"),
    ("kilometres", "miles", "metres"),
    ("kg", "tonnes", "grams"),
    ("minutes", "seconds", "hours", "days"),
    ("years", "months", "weeks", "days"),
    ("MB", "GB", "kB"),
    ("am", "pm"),
)
_SPELLINGS = {
    "km": "kilometres",
    "kilometres": "km",
    "kg": "kilograms",
    "minutes": "min",
    "seconds": "s",
    "MB": "megabytes",
    "am": "a.m.",
}
_MEASURE = re.compile(rf"(?<=\d )(?:{'|'.join(word for family in _FAMILIES for word in family)})\b")


class Case(NamedTuple):
    kind: str
    text: str
    passage: Passage


def rows(path: Path) -> list[dict[str, object]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def cases(data: Path, limit: int) -> Iterator[Case]:
    passages = {
        str(row["id"]): Passage(str(row["id"]), str(row["text"]), title=str(row["title"]))
        for row in rows(data / "corpus.jsonl.gz")
    }
    questions = rows(data / "questions.jsonl.gz")
    chance = random.Random(7)
    chance.shuffle(questions)
    others = [str(row["answers"][0]) for row in questions]  # type: ignore[index]
    for row, other in zip(questions[:limit], others[1:], strict=False):
        passage = passages[row["gold"][0]]  # type: ignore[index]
        answer = str(row["answers"][0])  # type: ignore[index]
        yield Case("asked", statement(str(row["question"]), answer), passage)
        yield Case("misanswered", statement(str(row["question"]), other), passage)
        yield Case("misplaced", statement(str(row["question"]), answer), chance.choice(list(passages.values())))
        for start, end in sentences(passage.text):
            sentence = passage.text[start:end]
            if answer in sentence:
                yield from variants(sentence, answer, other, passage, chance)
                break


def statement(question: str, answer: str) -> str:
    return f"It {_ASKING.sub('', question.rstrip('?')).strip()}, {answer}."


def variants(sentence: str, answer: str, other: str, passage: Passage, chance: random.Random) -> Iterator[Case]:
    yield Case("quoted", sentence, passage)
    words = sentence.rstrip(".").split(", ", 1)
    if len(words) == 2:  # "In 1610, he saw it." becomes "he saw it in 1610."
        head = (
            words[0][0].lower() + words[0][1:] if words[0].split()[0].lower() in ("in", "on", "at", "after", "by") else words[0]
        )
        yield Case("retold", f"{words[1][0].upper()}{words[1][1:]}, {head}.", passage)
    if other.casefold() not in passage.text.casefold():
        shape = "number" if re.search(r"\d", other) else "name" if re.search(r"[A-Z]", other) else "words"
        yield Case(f"swapped_{shape}", sentence.replace(answer, other, 1), passage)
    if number := re.search(r"\d+", sentence):
        changed = str(int(number[0]) + chance.randint(1, 9))
        if changed not in passage.text:
            yield Case("renumbered", sentence[: number.start()] + changed + sentence[number.end() :], passage)
    if unit := _MEASURE.search(sentence):
        family = next(family for family in _FAMILIES if unit[0] in family)
        changed = chance.choice([word for word in family if word != unit[0]])
        yield Case("remeasured", sentence[: unit.start()] + changed + sentence[unit.end() :], passage)
        if same := _SPELLINGS.get(unit[0]):
            yield Case("respelled", sentence[: unit.start()] + same + sentence[unit.end() :], passage)
    if (verb := _VERB.search(sentence)) and not re.search(r"\b(not|no|never)\b|n't", sentence):
        yield Case("negated", f"{sentence[: verb.end()]} not{sentence[verb.end() :]}", passage)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parents[2] / "shared/data/squad")
    parser.add_argument("--limit", type=int, default=2000)
    parser.add_argument("--quick", action="store_true", help="300 questions")
    parser.add_argument("--show", metavar="KIND", help="print what came out wrong of this kind")
    options = parser.parse_args()
    if not (options.data / "questions.jsonl.gz").is_file():
        parser.error(f"no questions in {options.data}; name a folder with --data")
    total: Counter[str] = Counter()
    held: Counter[str] = Counter()
    spent = listed = 0.0
    for kind, text, passage in cases(options.data, 300 if options.quick else options.limit):
        source.clear()
        begun = time.perf_counter()
        found = check(f"{text} [1]", {1: passage})
        spent += time.perf_counter() - begun
        begun = time.perf_counter()
        re.findall(r"\w+", f"{text} {passage.text}")
        listed += time.perf_counter() - begun
        supported = all(sentence.supported for sentence in found)
        total[kind] += 1
        held[kind] += supported
        if kind == options.show and supported != (kind in RIGHT):
            print(f"{text}\n    {passage.title}: {[citation.quote for s in found for citation in s.citations]}\n")
    shares = {kind: round(held[kind] / count, 4) for kind, count in total.items()}
    print({kind: count for kind, count in total.items()})
    print(json.dumps({**shares, "words_ratio": round(spent / listed, 1)}))


if __name__ == "__main__":
    main()
