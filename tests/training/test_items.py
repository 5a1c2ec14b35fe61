"""What a question becomes in training, and what comes back from it."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from tests.training.conftest import TOKENIZER, tiny_state
from training.bert_graph import Float32Weights, Int8Weights
from training.evaluator.batches import Source, Stream, answer_spans, evidence_in, kind_in
from training.evaluator.calibrate import fit_relevance, logistic_fit
from training.evaluator.data import Passage, Question
from training.evaluator.export import build_model
from training.evaluator.figures import all_figures, selective_figures
from training.evaluator.items import NO, NONE, SPAN, TEXT, UNKNOWN, YES, Candidates, Item, Sampler
from training.evaluator.metrics import area_under_curve, calibration_error, exact, f1, ndcg, recall
from training.evaluator.minilm import read_minilm
from training.evaluator.records import Answering, Record, load_records, save_records, search_again
from training.evaluator.tokens import PassageTable, TokenTable, load_tokenizer
from training.evaluator.weights import load_weights, save_weights

from wellread.core.effort import Plan, Windows
from wellread.ranking.answers import AnswerWeights
from wellread.ranking.inputs import build_row
from wellread.ranking.paths import Verdict, Weights

PASSAGES = [
    Passage(0, "Painter Nine", "Painter Nine was born beside the Havel."),
    Passage(1, "Havel", "The Havel is a river. It is 325 kilometres long."),
    Passage(2, "Spree", "The Spree is a river that meets the Havel."),
    Passage(3, "Oder", "The Oder is another river."),
    Passage(4, "Havel", "Havel is also a family name."),
    Passage(5, "Moon", "It has no rivers."),
]
ASKED = Question("q", "hotpotqa", "How long is the river where Painter Nine was born?", ("325 kilometres",), (0, 1), (0, 1, 2, 3))
AROUND = Candidates(((2, 3, 4), (3, 2, 5)), {0: ((2, 3, 5),), 1: ((3, 2, 5),)}, (2, 3), range(6))


def drawn(question: Question, seed: int) -> list[Item]:
    return Sampler(question, AROUND, PASSAGES, random.Random(seed)).draw()


@pytest.mark.parametrize("seed", range(20))
def test_two_step_questions(seed: int) -> None:
    items = drawn(ASKED, seed)
    for item in items:
        assert len(set(item.chain)) == len(item.chain)
        assert item.relevant == (item.chain[-1] in ASKED.gold)
        assert 4 not in item.chain  # has a gold passage's title: perhaps relevant, so never a negative
        both = {0, 1} <= set(item.chain)
        expected = SPAN if both or item.chain == (1,) else UNKNOWN if 1 in item.chain else NONE
        assert item.kind == expected
    lists = {item.list for item in items if not item.reading}
    assert all(any(i.relevant for i in items if i.list == one and len(i.chain) < 3) for one in lists if one < 2)
    assert any(item.reading for item in items)


def test_one_step_questions_refuse_negatives_that_hold_the_answer() -> None:
    question = Question("s", "squad", "Which river meets the Spree?", ("Havel",), (2,))
    items = [item for seed in range(20) for item in drawn(question, seed)]
    assert {n for item in items for n in item.chain if n != 2} <= {3, 5}


@pytest.mark.parametrize(("answer", "kind"), [("yes", YES), ("no", NO)])
def test_yes_and_no_need_both_passages(answer: str, kind: int) -> None:
    question = Question("c", "2wiki", "Are both rivers?", (answer,), (2, 3), kind="comparison")
    items = [item for seed in range(10) for item in drawn(question, seed)]
    assert {item.kind for item in items if {2, 3} <= set(item.chain)} == {kind}
    assert {item.kind for item in items if not {2, 3} <= set(item.chain)} == {NONE}


def test_spans_stand_where_the_answer_stands() -> None:
    tokenizer = load_tokenizer(TOKENIZER)
    table = PassageTable(tokenizer, PASSAGES)
    asked = TokenTable(tokenizer, [ASKED.text]).ids(0)
    item = Item((0, 1), True, SPAN, 0)
    row = build_row(asked, [table.tokens(n) for n in item.chain], Windows())
    ((first, last),) = answer_spans(ASKED, item, row, table)
    assert tokenizer.decode(row.ids[first : last + 1].tolist()) == "325 kilometres"


def test_a_window_without_the_sentences_that_tell_holds_no_answer() -> None:
    filler = "It is a lamp like any other lamp. " * 12
    told = "Turn the left switch to dim it."
    passage = Passage(0, "Lamp", f"{filler}{told} {filler}")
    question = Question("q", "written", "less light", (), (0,), form="text", marks=((0, len(filler), len(filler + told)),))
    table = PassageTable(load_tokenizer(TOKENIZER), [passage])
    item, asked = Item((0,), True, TEXT, 0), TokenTable(load_tokenizer(TOKENIZER), [question.text]).ids(0)
    for alone, kind in ((40, NONE), (400, TEXT)):
        row = build_row(asked, [table.tokens(0)], Windows(alone=alone))
        carried = evidence_in(question, item, row, table)
        assert kind_in(question, item, [], carried, table) == kind


def test_a_stream_is_the_same_for_the_same_seed() -> None:
    tokenizer = load_tokenizer(TOKENIZER)
    table = PassageTable(tokenizer, PASSAGES)
    source = Source([ASKED], [TokenTable(tokenizer, [ASKED.text]).ids(0)], [AROUND])
    first, second = (Stream({"hotpotqa": source}, table, 7).batch({"hotpotqa": 2}, 0) for _ in range(2))
    assert len(first.ids) == len(first.kinds) == len(first.relevant)
    assert all(np.array_equal(a, b) for a, b in zip(first.ids, second.ids, strict=True))
    for row, begin, end in first.spans:
        assert first.kinds[row] == SPAN
        assert tokenizer.decode(first.ids[row][begin : end + 1].tolist()) == "325 kilometres"


def test_weights_survive_being_cut_into_files(tmp_path: Path) -> None:
    state = {"a": np.arange(3000, dtype=np.float32).reshape(100, 30), "b": np.ones(5, np.float32)}
    save_weights(state, tmp_path, limit=1000)
    assert len(list(tmp_path.glob("weights-*.npz"))) > 5
    loaded = load_weights(tmp_path)
    assert all(np.array_equal(loaded[name], np.asarray(value, np.float16)) for name, value in state.items())


def test_the_embedder_gives_back_its_weights(tiny_minilm: Path) -> None:
    read, state = read_minilm(tiny_minilm / "model.onnx"), tiny_state()
    assert set(read) == set(state)
    for name, value in state.items():
        assert np.abs(read[name] - value).max() < 0.005


def test_the_exported_model_says_the_same_in_int8() -> None:
    state = tiny_state(heads=True)
    ids = np.array([[101, 2054, 2003, 102, 3000, 3001, 102], [101, 2054, 102, 3000, 102, 0, 0]])
    types, mask = (ids >= 3000).astype(np.int64), (ids > 0).astype(np.int64)
    fed = {"input_ids": ids, "token_type_ids": types, "attention_mask": mask, "floor": np.array(-np.inf, np.float32)}
    outputs = []
    for weights in (Float32Weights(), Int8Weights()):
        model = build_model(state, weights).SerializeToString()
        session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
        outputs.append(session.run(["early", "relevance", "kinds", "starts", "ends", "evidence"], fed))
    assert [part.shape for part in outputs[0]] == [(2,), (2,), (2, 5), (2, 7), (2, 7), (2, 7)]
    for exactly, small in zip(*outputs, strict=True):
        assert np.abs(exactly - small).max() < 0.05
        assert np.abs(exactly).max() > 0.05  # not all nothing


def test_metrics() -> None:
    assert exact("The Havel!", ["havel"]) == 1
    assert f1("the river Havel", ["Havel"]) == pytest.approx(2 / 3)
    assert f1("yes indeed", ["yes"]) == 0
    assert recall([3, 1, 2], [1, 9], 2) == 0.5
    assert ndcg([1, 2], [1]) == 1
    assert ndcg([2, 1], [1]) == pytest.approx(1 / np.log2(3))
    assert calibration_error([0.9, 0.9, 0.1, 0.1], [True, True, False, False]) == pytest.approx(0.1)
    assert area_under_curve([0.1, 0.4, 0.35, 0.8], [False, False, True, True]) == 0.75


def test_a_logistic_fit_finds_what_made_the_data() -> None:
    rng = np.random.default_rng(3)
    features = rng.standard_normal((4000, 2))
    right = rng.random(4000) < 1 / (1 + np.exp(-(2 * features[:, 0] - features[:, 1] + 0.5)))
    slope, other, bias = logistic_fit(features, right.astype(float), ridge=0.0)
    assert (slope, other, bias) == pytest.approx((2, -1, 0.5), abs=0.25)


def recorded(variant: str, *, sure: bool, name: str = "squad", number: int = 0) -> Record:
    """A question with a right passage 1 and a wrong passage 2."""
    question = Question(f"q{number}", name, "How long?", ("325 kilometres",), (1,), part="report")
    good = Verdict(6.0, (-4.0, 4.0, -9.0, -9.0), -0.1, 0, 0, 14, "325 kilometres")
    bad = Verdict(-6.0, (4.0, -4.0, -9.0, -9.0), -3.0, 0, 0, 5, "wrong")
    verdicts = {(1,): good if sure else bad, (2,): bad}
    return Record(question, variant, [2, 1] if sure else [2], {}, verdicts)


def test_records_survive_and_can_be_searched_again(tmp_path: Path) -> None:
    record = recorded("open", sure=True)
    record.collected[1,] = [[2], [2, 3], []]
    save_records([record], tmp_path / "records-a.jsonl.gz")
    (loaded,) = load_records(tmp_path / "records-a.jsonl.gz")
    assert loaded == record
    found, missed = search_again(loaded, Plan(singles=2, firsts=1, seconds=2), Weights())
    assert next(key for key, _ in found.ranking) == 1
    assert missed == 2  # (1, 2) and (1, 3) were never judged


def test_figures_of_a_model_that_knows() -> None:
    records = [recorded("open" if n % 2 else "without", sure=bool(n % 2), number=n) for n in range(10)]
    answering = Answering(PASSAGES)
    figures = selective_figures(records, answering, Weights(), AnswerWeights())
    assert figures["answered"] == 100
    assert figures["wrong"] == 0
    squad = all_figures(records, answering, Weights(), AnswerWeights())["squad"]
    assert isinstance(squad, dict)
    assert squad["normal"]["recall@1"] == squad["normal"]["f1"] == squad["gold"]["f1"] == 100


def test_relevance_is_fitted_to_what_holds() -> None:
    rng = np.random.default_rng(5)
    records: list[Record] = []
    for number, name in enumerate(("hotpotqa", "2wiki", "squad", "nq_open_oracle")):
        logits = rng.normal(0, 3, 1500)
        gold = tuple(int(n) for n in np.flatnonzero(rng.random(1500) < 1 / (1 + np.exp(-(logits / 2 - 1)))))
        for start in range(0, 1500, 20):
            numbers = range(start, start + 20)
            question = Question(f"{number}:{start}", name, "", (), tuple(n for n in numbers if n in gold))
            verdicts = {(n,): Verdict(float(logits[n])) for n in numbers}
            records.append(Record(question, "open", list(numbers), {}, verdicts))
    temperature, bias = fit_relevance(records)
    assert temperature == pytest.approx(2, abs=0.3)
    assert bias == pytest.approx(-1, abs=0.2)
