"""Trains the table that tells languages apart (questions/languages.npy); measures it on questions that it has not seen.

    python training/languages.py --words DIR --data DIR [--output FILE]

DIR of words: the folder `data` of wordfreq 3.1.1 (CC BY-SA 4.0). Texts to learn from are words drawn by frequency, two
to eight in a row, names in between as questions have them, accents left out now and then as people do; and half of the questions
of sets with an open licence (by a hash of the document, the same page on the same side in all languages). Texts of nothing but
names have no language: all are equally likely. Measured on the other half and on squad2_pt, which is never learnt from; where
there are no questions in a language, on messages of programs (/usr/share/locale).
"""

from __future__ import annotations

import argparse
import gettext
import gzip
import hashlib
import json
import random
import re
import unicodedata
from collections import Counter, defaultdict
from itertools import accumulate
from pathlib import Path

import msgpack
import numpy as np
from scipy.sparse import csr_matrix

from wellread.questions.languages import BUCKETS, CODES, STEP, features

LEARNT = ("xquad", "norquad", "jaquad", "squad_it", "gnome_help", "libreoffice_help", "kde_handbooks", "docs_faq")
LEARNT += ("cnil_faq_fr", "squad")
WITHOUT_BLANKS = {"ja", "zh"}
DRAWN = 6_000  # texts of drawn words for each language
QUESTIONS = 1_500  # at most, for each language
NAMED = 6_000  # texts of names alone
MEASURED = 500


def rows(path: Path) -> list[dict]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def kept_out(row: dict) -> bool:
    document = re.sub(r"^[a-z]{2}[:-]", "", row["gold"][0].split("#")[0]) if row.get("gold") else row["question"]
    return hashlib.sha256(document.encode()).digest()[0] % 2 == 1


def questions(data: Path) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    learnt, measured = defaultdict(list), defaultdict(list)
    for name in (*LEARNT, "squad2_pt"):
        for row in rows(data / name / "questions.jsonl.gz"):
            language = row.get("language") or "en"
            if row.get("style") == "keywords" or language not in CODES:
                continue
            aside = name == "squad2_pt" or kept_out(row)
            if not (aside and name.endswith(("help", "books", "faq")) and language not in ("fr", "sv", "nl")):
                (measured if aside else learnt)[language].append(row["question"])
    return learnt, measured


def names(data: Path) -> list[str]:
    found = {row["title"] for row in rows(data / "hotpotqa" / "corpus.jsonl.gz")}
    ordinary = re.compile(r"[(,:0-9]|\b(?:the|of|in|and|a|list)\b", re.IGNORECASE)
    return sorted(title for title in found if 3 < len(title) < 30 and not ordinary.search(title))


def words(folder: Path, code: str) -> tuple[list[str], list[float]]:
    path = folder / f"small_{'nb' if code == 'no' else code}.msgpack.gz"
    if not path.exists():
        return [], []
    with gzip.open(path) as file:
        buckets = msgpack.load(file, raw=False)[1:]
    found = [(word, 10 ** (-at / 100)) for at, bucket in enumerate(buckets) for word in bucket]
    return [word for word, _ in found], [weight for _, weight in found]


def without_accents(text: str) -> str:
    return "".join(one for one in unicodedata.normalize("NFD", text) if not unicodedata.combining(one))


def drawn(code: str, folder: Path, called: list[str], chance: random.Random) -> list[str]:
    known, weights = words(folder, code)
    # every second text with the rarer words more often: of few words in a question, one is a name and one a verb
    sums, flat = list(accumulate(weights)), list(accumulate(weight**0.7 for weight in weights))
    made = []
    for number in range(DRAWN if known else 0):
        parts = chance.choices(known, cum_weights=(sums, flat)[number % 2], k=chance.randint(2, 8))
        if chance.random() < 0.5:
            parts.insert(chance.randrange(len(parts) + 1), chance.choice(called))
        text = ("" if code in WITHOUT_BLANKS else " ").join(parts)
        made.append(without_accents(text) if chance.random() < 0.12 else text)
    return made


def messages(code: str) -> list[str]:
    """Whole sentences of programs in a language that the sets do not have."""
    found: set[str] = set()
    for path in sorted(Path("/usr/share/locale", "nb" if code == "no" else code, "LC_MESSAGES").glob("*.mo")):
        try:
            catalogue = gettext.GNUTranslations(path.open("rb"))._catalog
        except (OSError, UnicodeDecodeError):
            continue
        for original, said in catalogue.items():
            if isinstance(said, str) and said != original and re.fullmatch(r"[^%<>{}$\\|@=_/\n-]{20,80}", said):
                found.add(said)
    return sorted(one for one in found if len(re.findall(r"\w+", one)) >= (3 if code in ("ko", "fi", "hu") else 4))


def matrix(texts: list[str]) -> csr_matrix:
    found = [features(text) for text in texts]
    ends = np.cumsum([0, *map(len, found)])
    flat = np.fromiter((one for some in found for one in some), np.int32, ends[-1])
    made = csr_matrix((np.ones(len(flat), np.float32), flat, ends), shape=(len(texts), BUCKETS))
    made.sum_duplicates()
    return made


def train(texts: list[str], wanted: np.ndarray, epochs: int = 6, batch: int = 1_024) -> np.ndarray:
    """Multinomial logistic regression by Adam; a little weight decay, so that rare hashes say little."""
    every, table = matrix(texts), np.zeros((BUCKETS, len(CODES)), np.float32)
    first, second, step, chance = np.zeros_like(table), np.zeros_like(table), 0, np.random.default_rng(0)
    total = epochs * -(-len(texts) // batch)
    for _ in range(epochs):
        order = chance.permutation(len(texts))
        for at in range(0, len(order), batch):
            part, step = every[order[at : at + batch]], step + 1
            scores = part @ table
            scores = np.exp(scores - scores.max(1, keepdims=True))
            error = scores / scores.sum(1, keepdims=True) - wanted[order[at : at + batch]]
            slope = part.T @ error / len(error) + 2e-6 * table
            first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
            rate = 0.02 * (1 - step / total) + 1e-4
            table -= rate * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    return table


def measure(table: np.ndarray, told: dict[str, list[str]], sure: float) -> None:
    print(f"{'':4}{'texts':>6}{'right':>8}{'none':>8}{'wrong':>8}   taken for")
    sums = np.zeros(3)
    for code, texts in sorted(told.items()):
        scores = matrix(texts) @ table
        likely = np.exp(scores - scores.max(1, keepdims=True))
        certain = (likely / likely.sum(1, keepdims=True)).max(1) >= sure
        best = np.array([CODES[one] for one in scores.argmax(1)])
        right, none, wrong = ((best == code) & certain).mean(), (~certain).mean(), ((best != code) & certain).mean()
        others = ", ".join(f"{one} {n}" for one, n in Counter(best[certain & (best != code)].tolist()).most_common())
        print(f"{code:4}{len(texts):6}{right:8.3f}{none:8.3f}{wrong:8.3f}   {others}")
        sums += (right, none, wrong)
    print(f"{'all':4}{'':6}{sums[0] / len(told):8.3f}{sums[1] / len(told):8.3f}{sums[2] / len(told):8.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--output", type=Path, default=Path(__file__).parents[1] / "src/wellread/questions/languages.npy")
    asked = parser.parse_args()
    chance, called = random.Random(0), names(asked.data)
    chance.shuffle(called)
    called, unseen = called[::2], called[1::2]
    learnt, measured = questions(asked.data)
    texts, wanted = [], []
    for at, code in enumerate(CODES):
        real = chance.sample(learnt[code], min(QUESTIONS, len(learnt[code])))
        for text in (*drawn(code, asked.words, called, chance), *real, *real):
            texts.append(text)
            wanted.append(np.eye(len(CODES), dtype=np.float32)[at])
    for _ in range(NAMED):
        texts.append(" ".join(chance.sample(called, chance.randint(1, 2))))
        wanted.append(np.full(len(CODES), 1 / len(CODES), np.float32))
    table = np.clip(np.rint(train(texts, np.array(wanted)) / STEP), -127, 127).astype(np.int8)
    np.save(asked.output, table)
    for code in CODES:
        if code not in measured:
            measured[code] = messages(code)
    told = {code: chance.sample(some, min(MEASURED, len(some))) for code, some in measured.items()}
    for sure in (0.5, 0.7, 0.9):
        print(f"\nasked to be {sure} sure")
        measure(table * STEP, told, sure)
        scores = matrix(alone := unseen[:2_000]) @ (table * STEP)
        likely = np.exp(scores - scores.max(1, keepdims=True))
        certain, best = (likely / likely.sum(1, keepdims=True)).max(1) >= sure, scores.argmax(1)
        foreign = (certain & (best != CODES.index("en"))).sum()
        print(f"of {len(alone)} names alone {foreign} are taken for another language than English")


if __name__ == "__main__":
    main()
