"""Step 0d, on any machine: the verifier's written sentences, true and changed, as questions after yes or no.

    python -m training.evaluator.statements --sentences PREPARED.json.xz --output DATA/statements

`PREPARED` is what `training.verifier.prepare` wrote. Sentences on one passage whose verb can be moved to the front are asked
as people ask; a changed one is answered by no.
"""

from __future__ import annotations

import argparse
import gzip
import json
import lzma
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from training.evaluator.written import row

from wellread.text.lexicon import word_set

_VERB = re.compile(
    r"(?P<subject>(?:(?!\b(?:who|which|that|where|when|while|if|because)\b)[^;:?!]){3,90}?) "
    r"(?P<verb>is|are|was|were|can|could|will|would|must|may|should) (?P<rest>[^;?!]+?)\.?"
)
_LOWER = word_set("The A An This These Those That It Its Their His Her Both All Some There You")


# What begins with one of these names no subject first.
_ELSE = word_set(
    "After Although As At Because Before Besides But By During Even For From If In Instead Like No On Once One Only Since So "
    "Though Through To Under Unlike Until When Whereas While With Within Without Yes According And Apart Except"
)


def asked(sentence: str) -> str | None:
    """A statement as a question: "Pottery is made of clay." → "Is pottery made of clay?" None where no rule fits."""
    found = _VERB.fullmatch(sentence.strip())
    if found is None or re.split(r"\W", sentence.strip(), maxsplit=1)[0] in _ELSE:
        return None
    first, space, others = found["subject"].partition(" ")
    subject = (first.lower() if first in _LOWER else first) + space + others
    return f"{found['verb'].capitalize()} {subject} {found['rest']}?"


def questions(prepared: Mapping[str, Any]) -> Iterator[tuple[int, str, str]]:
    """Passage, question, yes or no; of every sentence either the true one or a changed one."""
    rng = random.Random(1)
    for one in prepared["written"]:
        if one["aside"] or len(one["passages"]) != 1:
            continue
        changed = [text for _, text in one["untrue"]]
        said = "no" if changed and rng.random() < 0.5 else "yes"
        if question := asked(rng.choice(changed) if said == "no" else one["true"]):
            yield one["passages"][0], question, said


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    with lzma.open(options.sentences, "rt", encoding="utf-8") as file:
        prepared = json.load(file)
    made = list(questions(prepared))
    with gzip.open(options.output / "corpus.jsonl.gz", "wt", encoding="utf-8") as out:
        for number in sorted({number for number, _, _ in made}):
            title, text = prepared["passages"][number]
            out.write(json.dumps({"id": f"{number}#0", "title": title, "text": text}, ensure_ascii=False) + "\n")
    with gzip.open(options.output / "questions.jsonl.gz", "wt", encoding="utf-8") as out:
        for place, (number, question, said) in enumerate(made):
            entry = row(str(place), question, f"{number}#0", said, [[f"{number}#0", 0, 0]])
            out.write(json.dumps(entry | {"marks": []}, ensure_ascii=False) + "\n")
    print(f"{len(made)} questions")


if __name__ == "__main__":
    main()
