"""Metrics agree with reference implementations on random cases, and with SQuAD's rules."""

from __future__ import annotations

import math
import random
import re
import string
import warnings
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellread.evals import results as metrics

WORDS = ["a", "the", "An", "Paris", "paris,", "in", "1969", "U.S.", "moon", "", "the-end", "café", "New", "York"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_rankings_agree_with_ranx(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")  # compiling takes minutes, these rankings milliseconds
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from ranx import Qrels, Run, evaluate
    chance = random.Random(7)
    qrels: dict[str, dict[str, int]] = {}
    runs: dict[str, dict[str, float]] = {}
    for number in range(150):
        documents = [f"d{i}" for i in range(60)]
        chance.shuffle(documents)
        qrels[f"q{number}"] = {one: 1 for one in chance.sample(documents, chance.randint(1, 8))}
        runs[f"q{number}"] = {one: 1.0 - place / 100 for place, one in enumerate(documents[: chance.randint(1, 40)])}
    names = ["recall@1", "recall@2", "recall@5", "recall@20", "mrr", "ndcg@10"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = evaluate(Qrels(qrels), Run(runs), names, return_mean=False)
        order = list(Qrels(qrels).keys())
    for place, query in enumerate(order):
        ranking, gold = list(runs[query]), list(qrels[query])
        ours = {f"recall@{k}": metrics.recall(ranking, gold, k) for k in (1, 2, 5, 20)}
        ours |= {"mrr": metrics.reciprocal_rank(ranking, gold), "ndcg@10": metrics.ndcg(ranking, gold)}
        for name in names:
            assert ours[name] == pytest.approx(float(theirs[name][place]), abs=1e-9), (name, query)


def reference_f1(prediction: str, truth: str) -> tuple[float, float]:
    """SQuAD's rules, step by step: lower, punctuation, articles, blanks."""

    def clean(text: str) -> list[str]:
        text = "".join(c for c in text.lower() if c not in set(string.punctuation))
        return re.sub(r"\b(a|an|the)\b", " ", text).split()

    ours, theirs = clean(prediction), clean(truth)
    common = Counter(ours) & Counter(theirs)
    same = sum(common.values())
    exact = float(ours == theirs)
    if not ours or not theirs:
        return exact, exact
    if same == 0:
        return exact, 0.0
    precision, recall = same / len(ours), same / len(theirs)
    return exact, 2 * precision * recall / (precision + recall)


@given(
    st.lists(st.sampled_from(WORDS), max_size=6), st.lists(st.lists(st.sampled_from(WORDS), max_size=4), min_size=1, max_size=3)
)
def test_answers_agree_with_squads_rules(given: list[str], accepted: list[list[str]]) -> None:
    text, truths = " ".join(given), [" ".join(one) for one in accepted]
    expected = [reference_f1(text, truth) for truth in truths]
    assert metrics.exact_match(text, truths) == max(exact for exact, _ in expected)
    assert metrics.f1(text, truths) == pytest.approx(max(f1 for _, f1 in expected))


def test_answers_by_hand() -> None:
    assert metrics.exact_match("The Beatles!", ["beatles"]) == 1
    assert metrics.f1("John Lennon and Paul", ["Paul McCartney"]) == pytest.approx(1 / 3)
    assert metrics.answer_in_text("It was in the year 1969, on the Moon.", ["1969"]) == 1
    assert metrics.answer_in_text("It was in 11969.", ["1969"]) == 0
    assert metrics.answer_in_text("anything", ["the"]) == 0
    assert metrics.exact_match("", []) == 1
    assert metrics.f1("something", []) == 0
    assert metrics.recall([], [], 5) == metrics.ndcg([], []) == 0


def test_calibration() -> None:
    assert metrics.calibration_error([], []) is None
    assert metrics.calibration_error([1.0, 1.0], [True, True]) == 0
    assert metrics.calibration_error([0.95, 0.95, 0.15, 0.15], [True, False, False, False]) == pytest.approx(0.3)


def test_intervals_hold_the_mean_and_shrink_with_more_questions() -> None:
    chance = random.Random(3)
    few, many = [float(chance.random() < 0.6) for _ in range(30)], [float(chance.random() < 0.6) for _ in range(3000)]
    for values in (few, many):
        low, high = metrics.interval(values)
        assert low <= metrics.mean(values) <= high
    assert metrics.interval(few)[1] - metrics.interval(few)[0] > 5 * (metrics.interval(many)[1] - metrics.interval(many)[0])
    low, high = metrics.interval(many)
    error = 1.96 * math.sqrt(0.24 / 3000)
    assert (high - low) / 2 == pytest.approx(error, rel=0.15)
    assert metrics.interval(many) == (low, high), "the same each time"


def test_a_weight_counts_like_repeating() -> None:
    assert metrics.mean([1.0, 0.0], [3.0, 1.0]) == 0.75
    assert metrics.interval([], []) == (0.0, 0.0)
    assert metrics.percentile([1.0, 2.0, 3.0], 0.5) == 2.0


def test_a_paired_test_tells_chance_from_a_difference() -> None:
    chance = random.Random(5)
    first = [float(chance.random() < 0.5) for _ in range(200)]
    noise = [one if chance.random() < 0.9 else 1 - one for one in first]
    better = [1.0 if chance.random() < 0.3 else one for one in first]
    assert metrics.compare(first, first).p == 1.0
    assert metrics.compare(first, noise).p > 0.05
    found = metrics.compare(first, better)
    assert found.p < 0.01
    assert 0 < found.low < found.difference < found.high
    swapped = metrics.compare(better, first)
    assert swapped.difference == pytest.approx(-found.difference)
